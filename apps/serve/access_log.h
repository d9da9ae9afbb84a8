// One JSON line a request.
#pragma once

#include "apps/http/server.h"

#include <memory>
#include <string>

namespace lockring::app::serve {

// Appends to a file, or to stderr for "-". Any thread: each line is one write. Lines that cannot be written are lost,
// and requests go on.
class AccessLog {
 public:
  // Throws Error{data} if the file cannot be opened.
  explicit AccessLog(const std::string& path);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void write(const http::Completed& completed) const;

 private:
  int file_;
};

// The line, with its end: whatever a client sent, it is one line of JSON.
std::string access_line(const http::Completed& completed);

}  // namespace lockring::app::serve
