// The program run within the test, with what it wrote.
#pragma once

#include "apps/program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockring::app {

struct CapturedRun {
  int code = 0;
  std::string out;
  std::string err;
};

inline CapturedRun captured_run(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  CapturedRun run;
  run.code = run_program(arguments);
  run.out = testing::internal::GetCapturedStdout();
  run.err = testing::internal::GetCapturedStderr();
  return run;
}

}  // namespace lockring::app
