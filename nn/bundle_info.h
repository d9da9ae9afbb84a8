// What a bundle says about its model: all that serving needs besides the parameters, and where the model comes from.
//
// Nothing here depends on time, path, host or the placement of replicas: the same training gives the same file.
#pragma once

#include "core/dtype.h"
#include "core/shape.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockring::nn {

struct BundleInfo {
  std::string program_version;  // of the program that trained it
  std::string architecture;     // the model's name in the table of models
  std::string input_name = "image";
  DType input_dtype = DType::u8;
  Shape input_shape;             // of one sample: [height, width, channels]
  std::string transform;         // the spec of what makes an input of a sample
  std::vector<float> mean;       // of the training images by channel, of bytes scaled to [0, 1]
  std::vector<float> deviation;  // the same
  std::vector<std::string> classes;
  std::map<std::string, double> metrics;  // "val_accuracy", "test_loss", "epoch", ...; any may be NaN
  std::string data_digest;
  std::uint64_t seed = 0;

  bool operator==(const BundleInfo&) const = default;
};

using Metadata = std::map<std::string, std::string>;

// As the metadata of a safetensors file, with the format's name, its version and the layouts.
Metadata to_metadata(const BundleInfo& info);
// Ignores what it does not know. Throws Error{data} on metadata that is not a bundle's, of another format version, or
// damaged.
BundleInfo info_from(const Metadata& metadata);

}  // namespace lockring::nn
