// All parameters of a model in one buffer; gradients and each optimizer state lie in buffers of the same layout.
//
// So a range of the arena is what replicas exchange, an optimizer updates in one pass, and a checkpoint walks.
// A tensor starts at a multiple of 64 bytes; the padding between is zero and stays zero.
#pragma once

#include "core/tensor.h"
#include "nn/parameter.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockring::nn {

class Module;

struct Segment {
  std::string name;  // the parameter's path
  Shape shape;
  ParameterKind kind;
  std::int64_t offset;  // in elements

  std::int64_t end() const { return offset + shape.elements(); }
};

// Makes the buffer of an arena: zeros, float32 [elements].
using ArenaMemory = std::function<Tensor(std::int64_t elements)>;
// In the memory of a device.
ArenaMemory memory_on(Device device);

class ArenaLayout {
 public:
  // The parameters of `root` in their order. Arenas of this layout lie in `memory`, by default in memory of the
  // process. Throws Error{usage} on a name that occurs twice.
  explicit ArenaLayout(Module& root, ArenaMemory memory = {});

  const std::vector<Segment>& segments() const { return segments_; }
  // Elements of the whole buffer, padding included.
  std::int64_t elements() const { return elements_; }
  // Where the segment's padding ends: where the next one begins, or the buffer ends.
  std::int64_t padded_end(std::size_t segment) const;
  // Elements of the parameters that gradients move.
  std::int64_t trainable() const;
  // The segment named so, or null.
  const Segment* find(const std::string& name) const;
  // Names, shapes, kinds and order as text: replicas agree on its digest before they exchange anything.
  std::string plan() const;
  Tensor make_buffer() const;

 private:
  ArenaMemory memory_;
  std::vector<Segment> segments_;
  std::int64_t elements_ = 0;
};

// One buffer of a layout, zero at first. A handle: copies share the buffer.
class Arena {
 public:
  Arena() = default;
  explicit Arena(std::shared_ptr<const ArenaLayout> layout);

  const ArenaLayout& layout() const { return *layout_; }
  const std::shared_ptr<const ArenaLayout>& shared_layout() const { return layout_; }
  bool defined() const { return buffer_.defined(); }
  // The whole buffer, [elements].
  Tensor& buffer() { return buffer_; }
  const Tensor& buffer() const { return buffer_; }
  // The range of one segment under its shape.
  Tensor view(const Segment& segment) const;

 private:
  std::shared_ptr<const ArenaLayout> layout_;
  Tensor buffer_;
};

// An arena of training state ("momentum"), as checkpoints name it.
struct NamedArena {
  std::string name;
  Arena arena;
};

}  // namespace lockring::nn
