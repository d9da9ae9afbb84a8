#include "nn/arena.h"

#include "core/error.h"
#include "nn/module.h"

#include <algorithm>
#include <limits>

namespace lockring::nn {

ArenaMemory memory_on(Device device) {
  return [device](std::int64_t elements) { return Tensor::zeros({elements}, DType::f32, device); };
}

ArenaLayout::ArenaLayout(Module& root, ArenaMemory memory) : memory_(std::move(memory)) {
  constexpr std::int64_t kAlignment = 64 / sizeof(float);
  root.for_each_parameter([&](const std::string& path, const Parameter& parameter) {
    check(find(path) == nullptr, "two parameters are named '{}'", path);
    segments_.push_back({path, parameter.shape, parameter.kind, elements_});
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() - elements_ - kAlignment;
    check(parameter.shape.elements() <= most, "the parameters are too many to count, with {} of shape {}", path,
          parameter.shape);
    elements_ += (parameter.shape.elements() + kAlignment - 1) / kAlignment * kAlignment;
  });
}

std::int64_t ArenaLayout::padded_end(std::size_t segment) const {
  return segment + 1 < segments_.size() ? segments_[segment + 1].offset : elements_;
}

std::int64_t ArenaLayout::trainable() const {
  std::int64_t count = 0;
  for (const Segment& segment : segments_)
    if (segment.kind != ParameterKind::statistic) count += segment.shape.elements();
  return count;
}

const Segment* ArenaLayout::find(const std::string& name) const {
  const auto found = std::ranges::find(segments_, name, &Segment::name);
  return found == segments_.end() ? nullptr : &*found;
}

std::string ArenaLayout::plan() const {
  std::string text;
  for (const Segment& segment : segments_)
    text += fmt::format("{} {} {}\n", segment.name, segment.shape, static_cast<int>(segment.kind));
  return text;
}

Tensor ArenaLayout::make_buffer() const { return memory_ ? memory_(elements_) : Tensor::zeros({elements_}); }

Arena::Arena(std::shared_ptr<const ArenaLayout> layout) : layout_(std::move(layout)), buffer_(layout_->make_buffer()) {}

Tensor Arena::view(const Segment& segment) const {
  return buffer_.slice(segment.offset, segment.end()).view(segment.shape);
}

}  // namespace lockring::nn
