#include "nn/bundle.h"

#include "core/error.h"
#include "core/files.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <utility>

namespace lockring::nn {
namespace {

constexpr const char* kGoldenImage = "golden.image";
constexpr const char* kGoldenLogits = "golden.logits";
constexpr std::string_view kStatePrefix = "state.";
constexpr std::string_view kTrainingPrefix = "training.";

void append(std::vector<NamedTensor>& tensors, const std::string& prefix, const Arena& arena) {
  for (const Segment& segment : arena.layout().segments())
    tensors.push_back({prefix + segment.name, arena.view(segment).to(Device{})});
}

// Tells the file's tensors and texts apart by their names.
void sort_in(TensorFile&& file, Bundle& bundle) {
  for (NamedTensor& entry : file.tensors) {
    if (entry.name == kGoldenImage) {
      bundle.golden.image = entry.tensor;
    } else if (entry.name == kGoldenLogits) {
      bundle.golden.logits = entry.tensor;
    } else if (entry.name.starts_with(kStatePrefix)) {
      bundle.state.push_back({entry.name.substr(kStatePrefix.size()), entry.tensor});
    } else {
      bundle.parameters.push_back(std::move(entry));
    }
  }
  for (auto& [key, value] : file.metadata)
    if (key.starts_with(kTrainingPrefix)) bundle.training[key.substr(kTrainingPrefix.size())] = std::move(value);
}

std::string description(const Tensor& tensor) {
  return tensor.defined() ? fmt::format("{} {}", name_of(tensor.dtype()), to_string(tensor.shape())) : "nothing";
}

void check_tensor(const Tensor& tensor, DType dtype, const Shape& shape, std::string_view name) {
  check(tensor.defined() && tensor.dtype() == dtype && tensor.shape() == shape, ErrorCode::data,
        "damaged bundle: expected {} to be {} {}, found {}", name, name_of(dtype), to_string(shape),
        description(tensor));
}

// What a file is expected to hold: floats of this shape.
struct Slot {
  std::string name;
  Shape shape;
};

void append(std::vector<Slot>& slots, const std::string& prefix, const ArenaLayout& layout) {
  for (const Segment& segment : layout.segments()) slots.push_back({prefix + segment.name, segment.shape});
}

const Tensor* find(const std::vector<NamedTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? nullptr : &found->tensor;
}

// These tensors and no others. `message` says what it means if they differ.
void check_tensors(const std::vector<NamedTensor>& tensors, const std::vector<Slot>& slots,
                   const std::string& message) {
  for (const auto& [name, shape] : slots) {
    const Tensor* found = find(tensors, name);
    check(found != nullptr && found->dtype() == DType::f32 && found->shape() == shape, ErrorCode::data,
          "{}: expected {} to be {} {}, found {}", message, name, name_of(DType::f32), to_string(shape),
          description(found == nullptr ? Tensor() : *found));
  }
  for (const auto& [name, tensor] : tensors)
    check(std::ranges::count(slots, name, &Slot::name) == 1, ErrorCode::data, "{}: did not expect {}", message, name);
}

// Checked before.
void copy_in(const std::vector<NamedTensor>& tensors, const std::string& prefix, const Arena& arena) {
  for (const Segment& segment : arena.layout().segments()) {
    arena.view(segment).copy_from(*find(tensors, prefix + segment.name));
  }
}

}  // namespace

void save_bundle(const std::filesystem::path& path, const BundleInfo& info, const Arena& parameters,
                 const GoldenSample& golden) {
  save_checkpoint(path, info, parameters, golden, {});
}

void save_checkpoint(const std::filesystem::path& path, const BundleInfo& info, const Arena& parameters,
                     const GoldenSample& golden, const TrainingState& training) {
  assert(golden.image.shape() == info.input_shape && golden.image.dtype() == info.input_dtype);
  assert(golden.logits.elements() == static_cast<std::int64_t>(info.classes.size()));
  TensorFile file{.metadata = to_metadata(info), .tensors = {}};
  for (const auto& [key, value] : training.values) file.metadata[std::string(kTrainingPrefix) + key] = value;
  append(file.tensors, "", parameters);
  file.tensors.push_back({kGoldenLogits, golden.logits});
  for (const auto& [name, arena] : training.arenas) append(file.tensors, std::string(kStatePrefix) + name + ".", arena);
  file.tensors.push_back({kGoldenImage, golden.image});  // last: bytes, behind which floats would not be aligned
  write_safetensors(path, file);
}

Bundle load_bundle(const std::filesystem::path& path) {
  Bundle bundle;
  bundle.path = path;
  TensorFile file = read_safetensors(path);
  try {
    bundle.info = info_from(file.metadata);
    sort_in(std::move(file), bundle);
    check_tensor(bundle.golden.image, bundle.info.input_dtype, bundle.info.input_shape, kGoldenImage);
    check_tensor(bundle.golden.logits, DType::f32, {static_cast<std::int64_t>(bundle.info.classes.size())},
                 kGoldenLogits);
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", path.string(), error.what());
  }
  return bundle;
}

void check_parameters(const Bundle& bundle, const ArenaLayout& layout) {
  std::vector<Slot> slots;
  append(slots, "", layout);
  check_tensors(bundle.parameters, slots, fmt::format("{}: from another architecture", bundle.path.string()));
}

void load_parameters(const Bundle& bundle, Arena& parameters) {
  check_parameters(bundle, parameters.layout());
  copy_in(bundle.parameters, "", parameters);
}

void load_state(const Bundle& checkpoint, const std::vector<NamedArena>& arenas) {
  std::vector<Slot> slots;
  for (const auto& [name, arena] : arenas) append(slots, name + ".", arena.layout());
  check_tensors(checkpoint.state, slots, fmt::format("{}: not a checkpoint of such a run", checkpoint.path.string()));
  for (const auto& [name, arena] : arenas) copy_in(checkpoint.state, name + ".", arena);
}

std::string bundle_digest(const std::filesystem::path& path) { return sha256(read_file(path)); }

}  // namespace lockring::nn
