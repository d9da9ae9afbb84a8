// An environment variable with another value for as long as this lives.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace lockring::app {

class ScopedVariable {
 public:
  // Without a value the variable is unset.
  explicit ScopedVariable(std::string name, std::optional<std::string> value = std::nullopt) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = old;
    set(value);
  }
  ~ScopedVariable() { set(old_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      setenv(name_.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name_.c_str());
    }
  }

  std::string name_;
  std::optional<std::string> old_;
};

}  // namespace lockring::app
