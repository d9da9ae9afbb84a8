#include "data/download.h"

#include "core/error.h"

#include <curl/curl.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <system_error>
#include <utility>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 4;
constexpr long kMostRedirects = 5;
constexpr long kConnectSeconds = 20;
constexpr long kStalledSeconds = 30;  // without a byte
constexpr long kNotFound = 404;
constexpr long kRangeNotSatisfiable = 416;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FilePointer = std::unique_ptr<std::FILE, CloseFile>;

// One file's transfer; libcurl's callbacks work on it.
struct Transfer {
  std::string url;
  fs::path part;
  std::string name;
  FileProgress progress;
  FilePointer file;
  std::int64_t resumed_at = 0;
  int write_error = 0;         // of the system, once the part cannot be written
  std::exception_ptr stopped;  // what the progress callback threw
};

struct Outcome {
  CURLcode code = CURLE_OK;
  long status = 0;
  std::string message;
};

std::size_t on_bytes(char* bytes, std::size_t, std::size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  const std::size_t written = std::fwrite(bytes, 1, count, transfer.file.get());
  if (written < count) transfer.write_error = errno;
  return written;
}

// An exception must not cross libcurl's frames: it waits in `stopped`.
int on_progress(void* context, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(context);
  if (!transfer.progress || total == 0) return 0;
  try {
    transfer.progress(transfer.name, transfer.resumed_at + done, transfer.resumed_at + total);
    return 0;
  } catch (...) {
    transfer.stopped = std::current_exception();
    return 1;
  }
}

// Limits in every direction: protocols, redirects, time to connect, time without a byte.
void set_options(CURL* curl, Transfer& transfer, char* error_text) {
  curl_easy_setopt(curl, CURLOPT_URL, transfer.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMostRedirects);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "lockring");
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error_text);
  curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(transfer.resumed_at));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
}

// One request, for what the part lacks. Bytes that arrive are kept even if it fails.
Outcome attempt(Transfer& transfer) {
  std::error_code absent;
  const std::uintmax_t size = fs::file_size(transfer.part, absent);
  transfer.resumed_at = absent ? 0 : static_cast<std::int64_t>(size);
  transfer.file.reset(std::fopen(transfer.part.c_str(), "ab"));
  check(transfer.file != nullptr, ErrorCode::data, "cannot write {}: {}", transfer.part.string(), std::strerror(errno));
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  check(curl != nullptr, ErrorCode::other, "cannot start libcurl");
  std::array<char, CURL_ERROR_SIZE> error_text{};
  set_options(curl.get(), transfer, error_text.data());
  Outcome outcome;
  outcome.code = curl_easy_perform(curl.get());
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &outcome.status);
  outcome.message = error_text[0] != '\0' ? error_text.data() : curl_easy_strerror(outcome.code);
  if (std::fclose(transfer.file.release()) != 0) transfer.write_error = errno;
  if (transfer.stopped) std::rethrow_exception(transfer.stopped);
  check(transfer.write_error == 0, ErrorCode::data, "cannot write {}: {}", transfer.part.string(),
        std::strerror(transfer.write_error));
  return outcome;
}

// Broken connections are; refusals and wrong answers are not.
bool worth_another_try(CURLcode code) {
  return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
         code == CURLE_GOT_NOTHING || code == CURLE_OPERATION_TIMEDOUT || code == CURLE_COULDNT_CONNECT;
}

// False if there is no such file on the server.
bool download(Transfer& transfer, const fs::path& target) {
  Outcome outcome;
  for (int i = 0; i < kAttempts; ++i) {
    outcome = attempt(transfer);
    // A part that the server cannot continue is no use. libcurl takes status 416 for success: nothing is left to get.
    const bool bad_part = outcome.code == CURLE_RANGE_ERROR || outcome.status == kRangeNotSatisfiable;
    if (outcome.code == CURLE_OK && !bad_part) {
      fs::rename(transfer.part, target);
      return true;
    }
    if (bad_part || fs::file_size(transfer.part) == 0) fs::remove(transfer.part);
    if (outcome.status == kNotFound) return false;
    if (!bad_part && !worth_another_try(outcome.code)) break;
  }
  fail(ErrorCode::data, "cannot download {}: {}", transfer.url, outcome.message);
}

void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  check(started == CURLE_OK, ErrorCode::other, "cannot start libcurl");
}

// Publishers offer gzip, mirrors sometimes the plain file.
fs::path download_either(const std::string& url, const fs::path& folder, const std::string& name,
                         const FileProgress& progress) {
  for (const char* ending : {".gz", ""})
    if (download_if_there(url, folder, name + ending, progress)) return folder / (name + ending);
  fail(ErrorCode::data, "cannot download {}/{}: neither it nor {}.gz is there (HTTP status {})", url, name, name,
       kNotFound);
}

}  // namespace

FilePaths download_files(const std::string& url, const fs::path& folder, const FileProgress& progress) {
  const std::string base = url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
  FilePaths paths;
  for (std::size_t i = 0; i < paths.size(); ++i)
    paths[i] = download_either(base, folder, std::string(kFileNames[i]), progress);
  return paths;
}

bool download_if_there(const std::string& url, const fs::path& folder, const std::string& name,
                       const FileProgress& progress) {
  start_curl();
  const fs::path target = folder / name;
  if (fs::exists(target)) return true;
  const char* slash = url.ends_with('/') ? "" : "/";
  Transfer transfer{url + slash + name, folder / (name + ".part"), name, progress, nullptr, 0, 0, nullptr};
  return download(transfer, target);
}

}  // namespace lockring::data
