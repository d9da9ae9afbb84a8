// The data set of a job: every machine has it, and one rank of each reads it for all.
#pragma once

#include "data/dataset.h"
#include "distributed/world.h"

#include <filesystem>
#include <functional>
#include <string>

namespace lockring::app {

// Agrees on the version that the first rank finds, and copies it to the data directories of machines without it: from
// the first rank, through messages, to one rank of each, which stores it whole or not at all. Returns its name,
// NAME@DIGITS, to be loaded on every rank. `say` is told of copies. Throws Error{data}, on all ranks, if the first has
// no such data set, and on a rank that cannot store it.
std::string provide_dataset(dist::World& world, const std::filesystem::path& data_dir, const std::string& name,
                            const std::function<void(const std::string&)>& say);

// The first rank of each machine loads, and prepares what is kept on disk; images that it holds in memory are shared
// with the others there, which hold no copy. Those on disk are opened by one after the other. Machines that share a
// file system read it a few at a time. Waits for as long as that takes, whatever the timeout.
data::Dataset load_shared_dataset(dist::World& world, const std::filesystem::path& data_dir, const std::string& name,
                                  const data::LoadOptions& options);

}  // namespace lockring::app
