#include "apps/serve/repository_poll.h"

#include "core/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace lockring::app::serve {

std::vector<std::string> changes_of_index(const std::vector<IndexRow>& before, const std::vector<IndexRow>& after) {
  const auto lacks = [](const std::vector<IndexRow>& rows, const IndexRow& row) {
    return std::ranges::find(rows, row) == rows.end();
  };
  const auto serves = [](const IndexRow& row) { return row.state == "READY"; };
  std::vector<std::string> lines;
  for (const IndexRow& row : after) {
    if (!lacks(before, row) || row.version.empty()) continue;
    lines.push_back(serves(row) ? fmt::format("{} version {} is served", row.name, row.version)
                                : fmt::format("{} version {} cannot be served: {}", row.name, row.version, row.reason));
  }
  for (const IndexRow& row : before)
    if (serves(row) && lacks(after, row)) lines.push_back(fmt::format("{} version {} is gone", row.name, row.version));
  return lines;
}

RepositoryPoll::RepositoryPoll(Repository& repository, std::chrono::milliseconds interval,
                               std::function<void(const std::string&)> say)
    : repository_(repository), interval_(interval), say_(std::move(say)), seen_(repository.index()), thread_([this] {
        run();
      }) {}

RepositoryPoll::~RepositoryPoll() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void RepositoryPoll::run() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, interval_, [this] { return stopping_; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

void RepositoryPoll::look() {
  std::string complaint;
  try {
    repository_.poll();
  } catch (const std::exception& error) {
    complaint = error.what();
  }
  if (complaint != complaint_ && !complaint.empty()) say_(complaint);
  complaint_ = std::move(complaint);
  std::vector<IndexRow> now = repository_.index();
  for (const std::string& line : changes_of_index(seen_, now)) say_(line);
  seen_ = std::move(now);
}

}  // namespace lockring::app::serve
