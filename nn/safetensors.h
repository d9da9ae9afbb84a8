// Safetensors files: named tensors and text metadata, the format of the `safetensors` package for Python.
//
//   8 bytes, little endian: N | N bytes of JSON | the tensors' elements, row-major, little endian, back to back
//
// The reader is strict: it trusts nothing that it has not checked, and refuses whatever the format's description does.
#pragma once

#include "core/tensor.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockring::nn {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct TensorFile {
  std::map<std::string, std::string> metadata;
  std::vector<NamedTensor> tensors;  // in the order of their elements in the file

  // The tensor named so, or null.
  const Tensor* find(const std::string& name) const;
};

// Writes the file whole or not at all; the same content gives the same bytes. Text that is not UTF-8 is mended. Throws
// Error{usage} on a name that is given twice, Error{data} if the file cannot be written.
void write_safetensors(const std::filesystem::path& path, const TensorFile& content);

// Throws Error{data}, with the path and what is wrong, on a file that is missing, damaged or of another format, and on
// a tensor of a type or rank that Lockring has not. Any element values are accepted, NaN included.
TensorFile read_safetensors(const std::filesystem::path& path);

}  // namespace lockring::nn
