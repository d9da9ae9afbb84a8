#include "core/cuda/check.h"

#include "core/error.h"

#include <string>
#include <string_view>

namespace lockring::cuda {
namespace {

// The path from the root of the tree, which is where folder/cuda/file begins.
std::string_view from_root(std::string_view file) {
  std::size_t begin = file.size();
  for (int parts = 0; parts < 3 && begin != std::string_view::npos && begin > 0; ++parts)
    begin = file.rfind('/', begin - 1);
  return begin == std::string_view::npos ? file : file.substr(begin + 1);
}

}  // namespace

void fail_call(const char* call, const char* error, const char* file, int line) {
  cudaGetLastError();  // what could be recovered from is reported once
  fail(ErrorCode::device, "{} failed at {}:{}: {}", call, from_root(file), line, error);
}

void check_call(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) [[likely]]
    return;
  const std::string error = std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
  fail_call(call, error.c_str(), file, line);
}

}  // namespace lockring::cuda
