#include "apps/cluster/shared_dataset.h"

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/dataset_store.h"
#include "data/file_lock.h"
#include "data/random_file.h"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string text_from_first(dist::Communicator& group, const std::string& text) {
  return group.all_gather(group.rank() == 0 ? text : "")[0];
}

// While one rank reads or prepares, the others wait without a limit: who fails ends the job.
class Patience {
 public:
  explicit Patience(std::initializer_list<dist::Communicator*> groups) {
    for (dist::Communicator* group : groups) {
      waiting_.emplace_back(group, group->timeout());
      group->set_timeout(std::chrono::hours(24 * 365));
    }
  }
  ~Patience() {
    for (const auto& [group, timeout] : waiting_) group->set_timeout(timeout);
  }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

 private:
  std::vector<std::pair<dist::Communicator*, std::chrono::milliseconds>> waiting_;
};

constexpr const char* kCopyPrefix = ".copy-";
constexpr const char* kManifest = "manifest.json";

// A folder for what arrives, which vanishes unless it is renamed. Its name tells the process.
class Incoming {
 public:
  Incoming(const fs::path& folder, const std::string& host, int rank)
      : path_(folder / fmt::format("{}{}-{}-{}", kCopyPrefix, host, getpid(), rank)) {
    std::error_code error;
    fs::create_directories(path_, error);
    check(!error, ErrorCode::data, "cannot make {}: {}", path_.string(), error.message());
    remove_leftovers(folder, host);
  }
  ~Incoming() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  const fs::path& path() const { return path_; }

 private:
  // Of processes of this host that are no more.
  static void remove_leftovers(const fs::path& folder, const std::string& host) {
    const std::string prefix = kCopyPrefix + host + "-";
    std::vector<fs::path> leftovers;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      pid_t process = 0;
      if (name.starts_with(prefix) &&
          std::from_chars(name.data() + prefix.size(), name.data() + name.size(), process).ec == std::errc() &&
          process > 0 && kill(process, 0) != 0 && errno == ESRCH)
        leftovers.push_back(entry.path());
    }
    std::error_code ignored;
    for (const fs::path& leftover : leftovers) fs::remove_all(leftover, ignored);
  }

  fs::path path_;
};

// One file, from the first rank of `leaders` to those who want it (`to` is not empty); the others let it pass.
void copy_file(dist::Communicator& leaders, const fs::path& from, std::int64_t bytes, const fs::path& to) {
  constexpr std::int64_t kPiece = 4 << 20;
  std::vector<std::byte> piece;
  std::unique_ptr<data::RandomFile> source;
  if (leaders.rank() == 0) source = std::make_unique<data::RandomFile>(from);
  std::ofstream target;
  if (!to.empty()) target.open(to, std::ios::binary);
  for (std::int64_t at = 0; at < bytes; at += kPiece) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, bytes - at)));
    if (source) source->read(at, piece);
    leaders.broadcast(piece, 0);
    if (!to.empty()) target.write(reinterpret_cast<const char*>(piece.data()), std::ssize(piece));
  }
  target.close();
  check(to.empty() || !target.fail(), ErrorCode::data, "cannot write {}", to.string());
}

// Makes what has arrived visible, unless another process has stored the same meanwhile.
void store(const fs::path& arrived, const fs::path& folder, const std::string& version,
           const data::Manifest& manifest) {
  const std::vector<std::string> damage = data::find_damage(arrived, manifest);
  check(damage.empty(), ErrorCode::data, "a copy of a data set is damaged: {}", joined(damage, "; "));
  try {
    const data::FileLock lock(folder / ".lock");
    if (!fs::exists(folder / version)) fs::rename(arrived, folder / version);
    if (!fs::exists(folder / "current")) data::set_current_version(folder, version);
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::data, "cannot store a copy of a data set: {}", error.what());
  }
}

// By the first ranks of all machines: those that lack the version get it.
void copy_version(dist::World& world, const fs::path& folder, const std::string& version, bool lacks) {
  dist::Communicator& leaders = world.across();
  const bool gives = leaders.rank() == 0;
  std::unique_ptr<Incoming> incoming;
  if (lacks) incoming = std::make_unique<Incoming>(folder, world.host(world.rank()), world.rank());
  const std::string manifest = text_from_first(leaders, gives ? read_file(folder / version / kManifest) : "");
  if (incoming) write_file(incoming->path() / kManifest, manifest);
  Json files = Json::array();
  if (gives)
    for (const data::StoredFile& file : data::read_manifest(folder / version).files)
      files.push_back({{"name", file.name}, {"bytes", file.bytes}});
  files = Json::parse(text_from_first(leaders, files.dump()));
  data::Manifest found;
  if (incoming) found = data::read_manifest(incoming->path());  // so its names are those of plain files
  for (std::size_t i = 0; i < files.size(); ++i)
    copy_file(leaders, folder / version / files[i]["name"].get<std::string>(), files[i]["bytes"].get<std::int64_t>(),
              incoming ? incoming->path() / found.files.at(i).name : fs::path());
  if (incoming) store(incoming->path(), folder, version, found);
}

// The digest of the version found, behind '+', or the reason why there is none, behind '-'.
std::string look_for(const fs::path& data_dir, const std::string& name) {
  try {
    return "+" + data::read_manifest(data::find_version(data_dir, name)).digest;
  } catch (const Error& error) {
    return "-" + std::string(error.what());
  }
}

Json describe(const data::Split& split) {
  const bool known = split.images != nullptr;
  const Shape shape = known ? split.images->shape() : Shape{0, 0, 0, 0};
  return {{"shape", {shape[0], shape[1], shape[2], shape[3]}},
          {"in_memory", known && split.images->access() == data::Access::memory},
          {"labels", split.size()}};
}

// All but the images and labels.
Json describe(const data::Dataset& dataset) {
  return {{"name", dataset.name},
          {"digest", dataset.digest},
          {"classes", dataset.classes},
          {"mean", dataset.statistics.mean},
          {"deviation", dataset.statistics.deviation},
          {"warning", dataset.warning},
          {"train", describe(dataset.train)},
          {"test", describe(dataset.test)}};
}

void take_description(const Json& from, data::Dataset& dataset) {
  dataset.name = from["name"].get<std::string>();
  dataset.digest = from["digest"].get<std::string>();
  dataset.classes = from["classes"].get<std::vector<std::string>>();
  dataset.statistics = {from["mean"].get<std::vector<float>>(), from["deviation"].get<std::vector<float>>()};
  dataset.warning = from["warning"].get<std::string>();
}

// Labels and images of a split from the machine's first rank, the images in memory that all see. False, on all, if
// there is none.
bool share_split(dist::World& world, const Json& from, data::Split& split) {
  dist::Communicator& node = world.node();
  if (node.rank() != 0) split.labels = Tensor::empty({from["labels"].get<std::int64_t>()}, DType::u8);
  node.broadcast(std::as_writable_bytes(split.labels.values<std::uint8_t>()), 0);
  const auto sizes = from["shape"].get<std::vector<std::int64_t>>();
  const Shape shape{std::span<const std::int64_t>(sizes)};
  const std::shared_ptr<std::byte> memory = world.share(shape.elements());
  if (memory == nullptr) return false;
  const Tensor images = Tensor::view_of(Storage::wrap(memory.get(), shape.elements(), memory), 0, shape, DType::u8);
  if (node.rank() == 0) {
    auto* to = reinterpret_cast<std::uint8_t*>(memory.get());
    for (std::int64_t i = 0; i < split.images->size(); ++i, to += split.images->image_bytes())
      if (const std::uint8_t* pixels = split.images->image(i, to); pixels != to)
        std::copy_n(pixels, split.images->image_bytes(), to);
  }
  node.barrier();
  split.images = data::in_memory(images);
  return true;
}

// Nobody else reads the directory while this one does, but for machines of other numbers modulo a few. Afterwards the
// directory is as it was: what it holds may be known by its content.
class Turn {
 public:
  Turn(const fs::path& data_dir, int machine) : path_(data_dir / fmt::format(".reading-{}.lock", machine % kAtOnce)) {
    try {
      lock_ = std::make_unique<data::FileLock>(path_);
    } catch (const Error&) {  // a folder that cannot be written to, or a file system without locks
    }
  }
  ~Turn() {
    std::error_code ignored;
    if (lock_) fs::remove(path_, ignored);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  static constexpr int kAtOnce = 4;

  fs::path path_;
  std::unique_ptr<data::FileLock> lock_;
};

}  // namespace

std::string provide_dataset(dist::World& world, const fs::path& data_dir, const std::string& name,
                            const std::function<void(const std::string&)>& say) {
  if (world.size() == 1) return name;
  const Patience patience{&world.all(), &world.node(), &world.across()};
  const bool leads = world.node().rank() == 0;
  const std::string first = text_from_first(world.all(), world.rank() == 0 ? look_for(data_dir, name) : "");
  check(first.starts_with('+'), ErrorCode::data, "{}", first.substr(1));
  const std::string version = first.substr(1, data::kVersionDigits);
  const std::string dataset = name.substr(0, name.find('@'));
  const std::string exact = dataset + "@" + version;
  const bool lacks = leads && !look_for(data_dir, exact).starts_with('+');
  double lacking = lacks ? 1 : 0;
  world.all().all_reduce(std::span(&lacking, 1));
  if (lacking == 0) return exact;
  if (world.rank() == 0) say(fmt::format("copying data set {} to machines without it: {}", exact, lacking));
  if (leads) copy_version(world, data::dataset_folder(data_dir, dataset), version, lacks);
  world.all().barrier();
  return exact;
}

data::Dataset load_shared_dataset(dist::World& world, const fs::path& data_dir, const std::string& name,
                                  const data::LoadOptions& options) {
  if (world.size() == 1) return data::load_dataset(data_dir, name, options);
  const Patience patience{&world.all(), &world.node(), &world.across()};
  dist::Communicator& node = world.node();
  data::Dataset dataset;
  const auto load = [&] {
    const Turn turn(data_dir, world.node_index());
    dataset = data::load_dataset(data_dir, name, options);
  };
  if (node.rank() == 0) load();
  if (node.size() > 1) {
    const Json first = Json::parse(text_from_first(node, describe(dataset).dump()));
    bool shared = first["train"]["in_memory"].get<bool>() && first["test"]["in_memory"].get<bool>();
    if (shared) {
      take_description(first, dataset);
      shared = share_split(world, first["train"], dataset.train) && share_split(world, first["test"], dataset.test);
    }
    for (int rank = 1; rank < node.size(); ++rank) {
      if (!shared && rank == node.rank()) load();
      node.barrier();
    }
  }
  world.all().barrier();
  return dataset;
}

}  // namespace lockring::app
