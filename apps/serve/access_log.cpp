#include "apps/serve/access_log.h"

#include "apps/serve/json_text.h"
#include "core/error.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace lockring::app::serve {
namespace {

constexpr std::size_t kLongest = 1024;

void append_field(std::string& line, std::string_view name, std::string_view value) {
  append_text(line, name);
  line += ':';
  append_text(line, value.substr(0, kLongest));
  line += ',';
}

}  // namespace

AccessLog::AccessLog(const std::string& path) : file_(STDERR_FILENO) {
  if (path == "-") return;
  file_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  check(file_ >= 0, ErrorCode::data, "cannot open {}: {}", path, std::strerror(errno));
}

AccessLog::~AccessLog() {
  if (file_ != STDERR_FILENO) close(file_);
}

void AccessLog::write(const http::Completed& completed) const {
  const std::string line = access_line(completed);
  [[maybe_unused]] const ssize_t written = ::write(file_, line.data(), line.size());
}

std::string access_line(const http::Completed& completed) {
  const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string line = fmt::format("{{\"time\":{:.3f},", now);
  append_field(line, "peer", completed.peer);
  append_field(line, "id", completed.id);
  append_field(line, "method", completed.method);
  append_field(line, "target", completed.target);
  line += fmt::format("\"status\":{},\"bytes_in\":{},\"bytes_out\":{},\"ms\":{:.3f}}}\n", completed.status,
                      completed.bytes_in, completed.bytes_out, completed.seconds * 1e3);
  return line;
}

}  // namespace lockring::app::serve
