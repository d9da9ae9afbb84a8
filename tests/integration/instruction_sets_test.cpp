// Training gives the same bits whatever instruction set the machine has: the program trains each model twice, the
// second time with AVX2 only, and the files it writes are the same.
#include "core/cpu.h"
#include "core/files.h"
#include "core/rng.h"
#include "models/models.h"
#include "tests/data/small_files.h"
#include "tests/support/temporary_directory.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace lockring {
namespace {

std::string noise_images(std::uint32_t count, std::uint64_t seed) {
  constexpr std::size_t kHeader = 16;
  std::string file = data::idx_file({count, 28, 28});
  Rng rng(seed, RngStream::test);
  for (std::size_t i = kHeader; i < file.size(); ++i) file[i] = static_cast<char>(rng.next_u32());
  return file;
}

class InstructionSetsTest : public testing::TestWithParam<models::Architecture> {
 protected:
  void SetUp() override {
    if (active_isa() != Isa::avx512) GTEST_SKIP() << "this machine or environment offers one instruction set only";
    data::write_dataset(directory_ / "raw",
                        {noise_images(400, 1), data::label_file(400), noise_images(50, 2), data::label_file(50)});
    lockring("", fmt::format("data ingest --source '{}'", (directory_ / "raw").string()));
  }

  // Runs the program, `environment` before its name.
  void lockring(const std::string& environment, const std::string& arguments) const {
    const std::string log = (directory_ / "log").string();
    const std::string command = fmt::format("{} '{}' {} --dataset noise --data-dir '{}' >'{}' 2>&1", environment,
                                            LOCKRING_PROGRAM, arguments, (directory_ / "data").string(), log);
    ASSERT_EQ(std::system(command.c_str()), 0) << command << "\n" << read_file(log);
  }

  // Five steps with all that has a kernel of its own.
  std::filesystem::path train(const std::string& environment, const std::string& name) const {
    const std::filesystem::path run = directory_ / name;
    lockring(environment, fmt::format("train --model {} --run-dir '{}' --max-steps 5 --batch-size 64 --replicas 2 "
                                      "--augment crop:2,flip --optimizer adamw --weight-decay 0.01 --clip-norm 1 "
                                      "--ema 0.9 --label-smoothing 0.1 --quiet",
                                      GetParam().name, run.string()));
    return run;
  }

  TemporaryDirectory directory_;
};

TEST_P(InstructionSetsTest, TrainTheSameBits) {
  const std::filesystem::path avx512 = train("", "avx512");
  const std::filesystem::path avx2 = train("LIBXSMM_TARGET=hsw", "avx2");
  for (const char* file : {"last.safetensors", "best.safetensors"})
    EXPECT_TRUE(read_file(avx512 / file) == read_file(avx2 / file)) << file << " differs";
}

INSTANTIATE_TEST_SUITE_P(, InstructionSetsTest, testing::ValuesIn(models::architectures()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockring
