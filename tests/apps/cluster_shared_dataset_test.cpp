#include "apps/cluster/shared_dataset.h"
#include "core/files.h"
#include "data/dataset_store.h"
#include "tests/apps/small_training.h"
#include "tests/distributed/thread_world.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <mutex>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;

// The fixture has stored the data set "small" under directory_/store.
class SharedDatasetTest : public TrainCommandTest {
 protected:
  fs::path store() const { return directory_ / "store"; }
  // A store of each machine's own; the first one's is the fixture's.
  fs::path store_of(int machine) const {
    return machine == 0 ? store() : fs::path(directory_ / fmt::format("machine{}", machine));
  }
  std::string digest() const { return data::read_manifest(data::find_version(store(), "small")).digest; }
};

TEST_F(SharedDatasetTest, MachinesWithoutItGetACopy) {
  std::vector<std::string> said;
  std::vector<std::string> names(3);
  dist::run_machines(3, [&](dist::World& world) {
    const int machine = world.rank();
    names[machine] = provide_dataset(world, store_of(machine), "small", [&](const std::string& text) {
      said.push_back(text);  // by the first rank only
    });
  });
  const std::string version = digest().substr(0, data::kVersionDigits);
  EXPECT_EQ(names, std::vector<std::string>(3, "small@" + version));
  ASSERT_EQ(said.size(), 1);
  EXPECT_NE(said[0].find("copying data set small@" + version + " to machines without it: 2"), std::string::npos);
  for (const int machine : {1, 2}) {
    EXPECT_EQ(data::verify_dataset(store_of(machine), "small").manifest.digest, digest());
    for (const fs::directory_entry& entry : fs::directory_iterator(store_of(machine) / "small"))
      EXPECT_FALSE(entry.path().filename().string().starts_with(".copy")) << entry.path();
  }
}

TEST_F(SharedDatasetTest, ThoseWhoHaveItKeepTheirs) {
  fs::copy(store(), store_of(1), fs::copy_options::recursive);
  const auto before = fs::last_write_time(store_of(1) / "small" / "current");
  dist::run_machines(2, [&](dist::World& world) {
    provide_dataset(world, store_of(world.rank()), "small", [](const std::string& text) { ADD_FAILURE() << text; });
  });
  EXPECT_EQ(fs::last_write_time(store_of(1) / "small" / "current"), before);
}

TEST_F(SharedDatasetTest, AnotherVersionIsNotTaken) {
  // Machine 1 has a data set of this name with other content, which stays the current one there.
  fs::create_directories(store_of(1) / "small" / "0123456789abcdef");
  write_file(store_of(1) / "small" / "current", "0123456789abcdef\n");
  dist::run_machines(2, [&](dist::World& world) {
    const std::string name = provide_dataset(world, store_of(world.rank()), "small", [](const std::string&) {});
    const data::Dataset dataset = load_shared_dataset(world, store_of(world.rank()), name, {});
    EXPECT_EQ(dataset.digest, digest());
  });
  EXPECT_EQ(read_file(store_of(1) / "small" / "current"), "0123456789abcdef\n");
}

TEST_F(SharedDatasetTest, MachinesThatShareAStoreMakeOneCopy) {
  dist::run_machines(3, [&](dist::World& world) {
    const fs::path place = world.rank() == 0 ? store() : store_of(1);
    const std::string name = provide_dataset(world, place, "small", [](const std::string&) {});
    EXPECT_EQ(load_shared_dataset(world, place, name, {}).train.size(), dataset().train.size());
  });
  EXPECT_EQ(data::verify_dataset(store_of(1), "small").versions.size(), 1);
}

TEST_F(SharedDatasetTest, WithoutAnyAllRanksSayWhy) {
  std::mutex mutex;
  int failed = 0;
  dist::run_machines(2, [&](dist::World& world) {
    expect_error(ErrorCode::data, "no data set 'smal'",
                 [&] { provide_dataset(world, store_of(world.rank()), "smal", [](const std::string&) {}); });
    const std::lock_guard lock(mutex);
    ++failed;
  });
  EXPECT_EQ(failed, 2);
}

TEST_F(SharedDatasetTest, ReadingLeavesTheStoreAsItWas) {
  dist::run_machines(3, [&](dist::World& world) { load_shared_dataset(world, store(), "small", {}); });
  for (const fs::directory_entry& entry : fs::directory_iterator(store())) EXPECT_EQ(entry.path().filename(), "small");
}

TEST_F(SharedDatasetTest, AProcessAloneNeedsNobody) {
  const std::unique_ptr<dist::World> world = dist::alone();
  EXPECT_EQ(provide_dataset(*world, store(), "small", [](const std::string&) {}), "small");
  EXPECT_EQ(load_shared_dataset(*world, store(), "small", {}).digest, digest());
}

}  // namespace
}  // namespace lockring::app
