#include "data/cache_file.h"

#include "core/error.h"
#include "core/files.h"
#include "data/file_lock.h"
#include "data/random_file.h"

#include <zlib.h>
#include <nlohmann/json.hpp>

#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace lockring::data {
namespace {

using Json = nlohmann::ordered_json;
using Bytes = std::span<const std::byte>;

constexpr std::int64_t kStart = 64;
constexpr std::string_view kStartText = "lockring images";
constexpr std::string_view kEndText = "image cache end\n";

struct End {
  std::array<char, kEndText.size()> text{};
  std::uint32_t description_bytes = 0;
  std::uint32_t description_crc = 0;
  std::uint32_t checksums_crc = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(End) == 32);
constexpr auto kEnd = static_cast<std::int64_t>(sizeof(End));

std::uint32_t crc_of(Bytes bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}
template <class T>
std::uint32_t crc_of(const T& values) {
  return crc_of(std::as_bytes(std::span(values)));
}

Json to_json(const CacheKey& key) {
  return {{"format", key.format}, {"digest", key.digest}, {"split", key.split}, {"front", key.front}};
}

std::string describe(const CacheInfo& info) {
  const Json json = {{"key", to_json(info.key)},
                     {"dataset", info.dataset},
                     {"shape", std::vector<std::int64_t>(info.shape.begin(), info.shape.end())},
                     {"mean", info.statistics.mean},
                     {"deviation", info.statistics.deviation}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

CacheInfo info_from(const std::string& description) {
  const Json json = Json::parse(description);
  const Json& key = json.at("key");
  CacheInfo info;
  info.key = {key.at("format"), key.at("digest"), key.at("split"), key.at("front")};
  info.dataset = json.at("dataset");
  const auto shape = json.at("shape").get<std::array<std::int64_t, 4>>();
  info.shape = Shape(std::span<const std::int64_t>(shape));
  info.statistics = {json.at("mean").get<std::vector<float>>(), json.at("deviation").get<std::vector<float>>()};
  return info;
}

// All but the images.
struct Frame {
  CacheInfo info;
  std::vector<std::uint32_t> checksums;
};

// Images and checksums of this many bytes in all; -1 if no file could hold that.
std::int64_t body_bytes(const Shape& shape) {
  std::int64_t bytes = 1;
  for (const std::int64_t size : shape) {
    if (size <= 0 || size > std::numeric_limits<std::int64_t>::max() / 8 / bytes) return -1;
    bytes *= size;
  }
  return bytes + 4 * shape[0];
}

End read_end(const RandomFile& file) {
  const std::string path = file.path().string();
  std::array<char, kStart> start{};
  End end;
  const bool long_enough = file.size() >= kStart + kEnd;
  if (long_enough) file.read(0, std::as_writable_bytes(std::span(start)));
  check(std::string_view(start.data(), kStartText.size()) == kStartText, ErrorCode::data,
        "{}: expected a file of cached images, found {}", path, long_enough ? "something else" : "too few bytes");
  file.read(file.size() - kEnd, std::as_writable_bytes(std::span(&end, 1)));
  check(std::string_view(end.text.data(), end.text.size()) == kEndText, ErrorCode::data,
        "{}: truncated or damaged: its last bytes are not those of a file of cached images", path);
  return end;
}

std::string read_description(const RandomFile& file, const End& end) {
  const std::int64_t at = file.size() - kEnd - end.description_bytes;
  check(at >= kStart, ErrorCode::data, "{}: damaged: it cannot hold a description of {} bytes", file.path().string(),
        end.description_bytes);
  std::string description(end.description_bytes, '\0');
  file.read(at, std::as_writable_bytes(std::span(description)));
  check(crc_of(description) == end.description_crc, ErrorCode::data, "{}: damaged: the CRC-32 of its description",
        file.path().string());
  return description;
}

// A length is compared with the file's before it is believed.
Frame read_frame(const RandomFile& file) {
  const std::string path = file.path().string();
  const End end = read_end(file);
  Frame frame;
  try {
    frame.info = info_from(read_description(file, end));
  } catch (const Json::exception&) {
    fail(ErrorCode::data, "{}: expected the description of cached images, found another", path);
  }
  const Shape& shape = frame.info.shape;
  const std::int64_t body = file.size() - kStart - end.description_bytes - kEnd;
  check(body_bytes(shape) == body && std::ssize(frame.info.statistics.mean) == shape[3] &&
            std::ssize(frame.info.statistics.deviation) == shape[3],
        ErrorCode::data, "{}: damaged: {} bytes of images are not {}", path, body, to_string(shape));
  frame.checksums.resize(static_cast<std::size_t>(shape[0]));
  file.read(kStart + shape.elements(), std::as_writable_bytes(std::span(frame.checksums)));
  check(crc_of(frame.checksums) == end.checksums_crc, ErrorCode::data, "{}: damaged: the CRC-32 of its checksums",
        path);
  return frame;
}

class CachedImages : public ImageStore {
 public:
  CachedImages(std::unique_ptr<RandomFile> file, Frame frame, std::function<std::shared_ptr<const ImageStore>()> source,
               std::function<void(const std::string&)> on_damage)
      : ImageStore(frame.info.shape),
        use_(file->path()),
        file_(std::move(file)),
        checksums_(std::move(frame.checksums)),
        states_(checksums_.size()),
        make_source_(std::move(source)),
        on_damage_(std::move(on_damage)) {}

  const std::uint8_t* image(std::int64_t index, std::uint8_t* scratch) const override {
    std::atomic<State>& state = states_[static_cast<std::size_t>(index)];
    const State known = state.load(std::memory_order_relaxed);
    if (known != State::damaged && read(index, scratch, known == State::good)) {
      if (known == State::unknown) state.store(State::good, std::memory_order_relaxed);
      return scratch;
    }
    state.store(State::damaged, std::memory_order_relaxed);
    return source()->image(index, scratch);
  }

 private:
  enum class State : std::uint8_t { unknown, good, damaged };

  // False, after on_damage was told, if the image is not what was written.
  bool read(std::int64_t index, std::uint8_t* scratch, bool known_good) const {
    const std::span pixels(scratch, static_cast<std::size_t>(image_bytes()));
    std::string reason;
    try {
      file_->read(kStart + index * image_bytes(), std::as_writable_bytes(pixels));
      if (known_good || crc_of(pixels) == checksums_[static_cast<std::size_t>(index)]) return true;
      reason = fmt::format("{}: image {} is damaged", file_->path().string(), index);
    } catch (const Error& error) {
      reason = error.what();
    }
    const std::lock_guard lock(mutex_);
    if (!std::exchange(told_, true)) on_damage_(reason);
    return false;
  }

  const std::shared_ptr<const ImageStore>& source() const {
    const std::lock_guard lock(mutex_);
    if (source_ == nullptr) source_ = make_source_();
    return source_;
  }

  UseLock use_;
  std::unique_ptr<RandomFile> file_;
  std::vector<std::uint32_t> checksums_;
  mutable std::vector<std::atomic<State>> states_;
  std::function<std::shared_ptr<const ImageStore>()> make_source_;
  std::function<void(const std::string&)> on_damage_;
  mutable std::mutex mutex_;
  mutable bool told_ = false;
  mutable std::shared_ptr<const ImageStore> source_;
};

// An AtomicFile whose errors are told from those of the images.
class CacheWriter {
 public:
  explicit CacheWriter(const std::filesystem::path& path) {
    translated([&] { file_.emplace(path); });
  }
  template <class T>
  void write(const T& values) {
    translated([&] { file_->write(std::as_bytes(std::span(values))); });
  }
  void commit() {
    translated([&] { file_->commit(); });
  }

 private:
  template <class F>
  static void translated(F f) {
    try {
      f();
    } catch (const Error& error) {
      throw CacheUnusable(error.code(), error.what());
    }
  }

  std::optional<AtomicFile> file_;
};

}  // namespace

std::string CacheKey::name() const {
  constexpr std::size_t kDigits = 16;
  return sha256(to_json(*this).dump()).substr(0, kDigits);
}

void write_cache_file(const std::filesystem::path& path, const CacheKey& key, const std::string& dataset,
                      const ImageStore& images, const ImageProgress& progress) {
  CacheWriter file(path);
  std::array<char, kStart> start{};
  kStartText.copy(start.data(), start.size());
  file.write(start);
  std::vector<std::uint32_t> checksums;
  const auto bytes = static_cast<std::size_t>(images.image_bytes());
  const auto sink = [&](std::span<const std::uint8_t> pixels) {
    file.write(pixels);
    for (; !pixels.empty(); pixels = pixels.subspan(bytes)) checksums.push_back(crc_of(pixels.first(bytes)));
  };
  const ChannelStatistics statistics = read_images(images, sink, progress);
  const std::string description = describe({key, dataset, images.shape(), statistics});
  file.write(checksums);
  file.write(description);
  End end{.text = {},
          .description_bytes = static_cast<std::uint32_t>(description.size()),
          .description_crc = crc_of(description),
          .checksums_crc = crc_of(checksums)};
  kEndText.copy(end.text.data(), end.text.size());
  file.write(std::span(&end, 1));
  file.commit();
}

CacheInfo read_cache_info(const std::filesystem::path& path) { return read_frame(RandomFile(path)).info; }

CacheFile open_cache_file(const std::filesystem::path& path, std::function<std::shared_ptr<const ImageStore>()> source,
                          std::function<void(const std::string&)> on_damage) {
  auto file = std::make_unique<RandomFile>(path);
  Frame frame = read_frame(*file);
  const CacheInfo info = frame.info;
  return {info,
          std::make_shared<CachedImages>(std::move(file), std::move(frame), std::move(source), std::move(on_damage))};
}

}  // namespace lockring::data
