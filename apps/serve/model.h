// A bundle ready to serve: immutable, and shared by all threads that compute with it.
#pragma once

#include "apps/loaded_model.h"
#include "core/tensor.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockring::app::serve {

class Model {
 public:
  // Checks the file's SHA-256 against `digest` unless that is empty, and the golden sample (loaded_model.h). Throws
  // Error{data}; a file that is not whole never becomes a model. Each of the devices gets a copy.
  static std::shared_ptr<const Model> load(const std::filesystem::path& path, const std::string& digest = "",
                                           const std::vector<Device>& devices = {Device{}});

  // Writes the probabilities of the images of several requests, computed as one batch on the next device: answers[i] is
  // f32 [n, classes] for requests[i], [n, h, w, c] of bytes or of f32 that stand for bytes. The bits of an answer do
  // not depend on the other requests on a CPU, and are those of `lockring predict`. A GPU computes as many images as
  // the next power of two, so that it need not look for its fastest way for each number of them.
  void compute(std::span<const Tensor> requests, std::span<Tensor> answers) const;

  // Lets every GPU look for its fastest ways with batches of up to so many images, so that no request waits for that.
  void warm_up(std::int64_t rows) const;

  const nn::BundleInfo& info() const { return loaded_.info; }
  const models::ImageSpec& images() const { return loaded_.images; }
  const LoadedModel& loaded() const { return loaded_; }
  const std::string& digest() const { return digest_; }
  // The sample that the bundle came with, u8 [1, h, w, c].
  Tensor sample() const;
  std::int64_t parameters() const { return loaded_.model->layout().trainable(); }

 private:
  Model(LoadedModel loaded, std::string digest, const std::vector<Device>& devices);
  const nn::Model& next_model() const;
  Tensor room_for(const nn::Model& model, std::int64_t rows) const;

  LoadedModel loaded_;                              // on the first device
  std::vector<std::unique_ptr<nn::Model>> copies_;  // on the others
  mutable std::atomic<std::uint64_t> next_ = 0;
  std::string digest_;
  std::int64_t rows_at_once_;  // as many as stay in a core's cache
};

}  // namespace lockring::app::serve
