#include "core/autograd.h"

#include "core/device_memory.h"
#include "core/error.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace lockring {
namespace {

std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> counter{1};  // 0 is the generation of leaves: valid on every tape
  return counter.fetch_add(1, std::memory_order_relaxed);
}

struct Record {
  GradNode* output;
  tape::Closure* closure;
  std::span<GradTarget> inputs;
};

class Tape {
 public:
  ~Tape() { reset(); }

  void* allocate(std::size_t bytes, std::size_t alignment) {
    used_ = (used_ + alignment - 1) / alignment * alignment;
    if (chunk_ == chunks_.size() || used_ + bytes > kChunk) next_chunk(bytes);
    void* memory = chunks_[chunk_].get() + used_;
    used_ += bytes;
    return memory;
  }

  void append(Tensor& output, std::span<const Tensor* const> inputs, tape::Closure* closure) {
    auto* node = new (allocate(sizeof(GradNode), alignof(GradNode))) GradNode;
    node->shape = output.shape();
    node->dtype = output.dtype();
    node->device = output.device();
    auto* targets = static_cast<GradTarget*>(allocate(sizeof(GradTarget) * inputs.size(), alignof(GradTarget)));
    for (std::size_t i = 0; i < inputs.size(); ++i) new (targets + i) GradTarget(use(*inputs[i]));
    records_.push_back({node, closure, {targets, inputs.size()}});
    output.set_node(node, generation_);
  }

  bool tracks(const Tensor& tensor) const {
    return tensor.node() != nullptr && (tensor.node_generation() == 0 || tensor.node_generation() == generation_);
  }

  void run(const Tensor& output, const Tensor& gradient) {
    const NoGrad no_grad;
    struct Reset {
      Tape* tape;
      ~Reset() { tape->reset(); }
    } const reset_at_end{this};
    GradTarget(output.node()).add(gradient);
    for (std::size_t i = records_.size(); i > 0; --i) {
      Record& record = records_[i - 1];
      if (record.output->written) record.closure->run(record.output->grad, record.inputs);
      finish(record, static_cast<std::int64_t>(i - 1));
      if (op_hook) op_hook(static_cast<std::int64_t>(i - 1));
    }
  }

  void reset() {
    for (const Record& record : records_) destroy(record);
    records_.clear();
    leaf_uses_.clear();
    chunk_ = 0;
    used_ = 0;
    generation_ = next_generation();
  }

  std::uint64_t generation() const { return generation_; }
  std::int64_t live() const { return static_cast<std::int64_t>(records_.size()); }

  bool enabled = true;
  GradientHook hook;
  BackwardHook op_hook;

 private:
  static constexpr std::size_t kChunk = std::size_t{64} << 10;

  void next_chunk(std::size_t bytes) {
    check(bytes <= kChunk, ErrorCode::other, "a closure of {} bytes is too large for the tape", bytes);
    if (!chunks_.empty() && chunk_ < chunks_.size()) ++chunk_;
    if (chunk_ == chunks_.size()) chunks_.push_back(std::make_unique<std::byte[]>(kChunk));
    used_ = 0;
  }

  // The node that gathers an input's gradient, or null; notes the first use of a leaf.
  GradNode* use(const Tensor& tensor) {
    if (!tracks(tensor)) return nullptr;
    GradNode* node = tensor.node();
    if (node->leaf && node->generation != generation_) {
      node->generation = generation_;
      node->first_use = live();
      leaf_uses_.push_back(node);
    }
    return node;
  }

  // Frees what the closure and the node held, as early as that is possible, and reports complete leaves.
  void finish(Record& record, std::int64_t index) {
    destroy(record);
    record.closure = nullptr;
    record.output = nullptr;
    while (!leaf_uses_.empty() && leaf_uses_.back()->first_use == index) {
      const GradNode* leaf = leaf_uses_.back();
      leaf_uses_.pop_back();
      if (hook && leaf->written) hook(leaf->grad);
    }
  }

  static void destroy(const Record& record) {
    if (record.closure != nullptr) std::destroy_at(record.closure);
    if (record.output != nullptr) std::destroy_at(record.output);
  }

  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::size_t chunk_ = 0;
  std::size_t used_ = 0;
  std::vector<Record> records_;
  std::vector<GradNode*> leaf_uses_;  // in order of first use
  std::uint64_t generation_ = next_generation();
};

Tape& this_tape() {
  thread_local Tape tape;
  return tape;
}

void add_in_place(Tensor& sum, const Tensor& term) {
  const std::int64_t count = sum.elements();
  if (sum.device().kind != DeviceKind::cpu) return device_memory::add(sum.reals(), term.reals(), count, sum.device());
  float* to = sum.data();
  const float* from = term.data();
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

}  // namespace

GradSlot GradTarget::slot() const {
  if (!node_->grad.defined()) node_->grad = Tensor::empty(node_->shape, node_->dtype, node_->device);
  // Memory that add() kept may be another gradient's too.
  if (node_->written && !node_->bound && !node_->grad.storage().unique()) node_->grad = node_->grad.clone();
  return {node_->grad, std::exchange(node_->written, true)};
}

void GradTarget::add(Tensor gradient) const {
  assert(gradient.shape().elements() == node_->shape.elements());
  if (!node_->grad.defined()) {
    node_->grad = gradient.detach().view(node_->shape);
    node_->written = true;
    return;
  }
  auto [sum, accumulate] = slot();
  if (accumulate) {
    add_in_place(sum, gradient);
  } else {
    sum.copy_from(gradient);
  }
}

Leaf::~Leaf() {
  if (node_.generation == this_tape().generation()) clear_tape();
}

void Leaf::set_value(const Tensor& value) {
  node_.shape = value.shape();
  node_.dtype = value.dtype();
  if (value.defined()) node_.device = value.device();
  value_ = value.detach();
  value_.set_node(&node_, 0);
}

void Leaf::bind_gradient(Tensor memory) {
  check(memory.shape() == node_.shape, "a gradient of shape {} does not fit a leaf of shape {}", memory.shape(),
        node_.shape);
  node_.grad = std::move(memory);
  node_.written = false;
  node_.bound = true;
}

void Leaf::clear_gradient() {
  node_.written = false;
  if (!node_.bound) node_.grad = Tensor();
}

bool grad_enabled() { return this_tape().enabled; }

bool needs_gradient(std::initializer_list<const Tensor*> tensors) {
  const Tape& tape = this_tape();
  return tape.enabled && std::ranges::any_of(tensors, [&](const Tensor* tensor) { return tape.tracks(*tensor); });
}

NoGrad::NoGrad() : before_(std::exchange(this_tape().enabled, false)) {}
NoGrad::~NoGrad() { this_tape().enabled = before_; }

void backward(const Tensor& loss) {
  check(loss.elements() == 1, "backward starts from a single value, not from shape {}", loss.shape());
  backward(loss, Tensor::full(loss.shape(), 1.0F, loss.device()));
}

void backward(const Tensor& output, const Tensor& gradient) {
  Tape& tape = this_tape();
  check(tape.tracks(output), "backward starts from a result of recorded ops; this tensor is not on the tape");
  check(gradient.elements() == output.elements(), "a gradient of shape {} does not fit an output of shape {}",
        gradient.shape(), output.shape());
  tape.run(output, gradient);
}

void clear_tape() { this_tape().reset(); }
std::int64_t live_nodes() { return this_tape().live(); }
void set_gradient_hook(GradientHook hook) { this_tape().hook = std::move(hook); }
void set_backward_hook(BackwardHook hook) { this_tape().op_hook = std::move(hook); }

namespace tape {

void* arena_allocate(std::size_t bytes, std::size_t alignment) { return this_tape().allocate(bytes, alignment); }
void append(Tensor& output, std::span<const Tensor* const> inputs, Closure* closure) {
  this_tape().append(output, inputs, closure);
}

}  // namespace tape
}  // namespace lockring
