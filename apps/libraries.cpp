// Versions of what the program stands on: of shared libraries those that it runs with, else those it was built with.
#include "apps/machine.h"
#include "core/devices.h"
#include "distributed/world.h"
#include "ops/cpu/generated_brgemm.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <jpeglib.h>
#include <openssl/crypto.h>
#include <png.h>
#include <zlib.h>

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

// jpeglib.h defines the version as a bare word.
#define LOCKRING_TEXT_OF(word) #word
#define LOCKRING_TEXT(macro) LOCKRING_TEXT_OF(macro)

std::string dotted(int major, int minor, int patch) { return fmt::format("{}.{}.{}", major, minor, patch); }

}  // namespace

std::vector<Component> libraries() {
  return {
      {"LIBXSMM", kernels::cpu::libxsmm_version()},
      {"zlib", zlibVersion()},
      {"libcurl", curl_version_info(CURLVERSION_NOW)->version},
      {"OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING)},
      {"libpng", png_get_libpng_ver(nullptr)},
      {"libjpeg-turbo", LOCKRING_TEXT(LIBJPEG_TURBO_VERSION)},
      {"fmt", dotted(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"CLI11", CLI11_VERSION},
      {"nlohmann/json", dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
  };
}

std::vector<Component> optional_parts() {
  constexpr char kAbsent[] = "not in this build";
  const std::string mpi = dist::mpi_library(), cuda = describe_gpus().runtime;
  return {{"MPI", mpi.empty() ? kAbsent : mpi}, {"CUDA", cuda.empty() ? kAbsent : cuda}};
}

std::string compiler() {
#if defined(__clang__)
  return "Clang " + dotted(__clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return "GCC " + dotted(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace lockring::app
