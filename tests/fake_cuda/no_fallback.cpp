// A part of every test program: what a GPU's libraries refuse is computed otherwise and rightly, so that only what is
// said of it shows that a test did not test what it should.
#include "core/notes.h"

#include <gtest/gtest.h>

namespace lockring {
namespace {

class NoFallback final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo&) override {
    for (const std::string& note : take_notes()) ADD_FAILURE() << "nobody expected this: " << note;
  }
};

[[maybe_unused]] const bool listens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new NoFallback);
  return true;
}();

}  // namespace
}  // namespace lockring
