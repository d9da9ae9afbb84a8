// Configuration files. What is read can be written down and read again.
#include "apps/toml.h"

#include "tests/fuzz/fuzz.h"

#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace lockring;
  fuzz::read_or_refuse(ErrorCode::usage, [&] {
    for (const app::TomlEntry& entry : app::parse_toml(fuzz::text_of(bytes, size), "config.toml")) {
      fuzz::expect(entry.line >= 1, "lines count from 1");
      for (const std::string& value : entry.values) {
        const auto again = app::parse_toml("key = " + app::toml_value(value), "again");
        fuzz::expect(again.size() == 1 && again[0].values == std::vector{value}, "a value comes back");
      }
    }
  });
  return 0;
}
