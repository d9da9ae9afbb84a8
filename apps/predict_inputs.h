// Images that the user names on the command line, made ready for a model.
#pragma once

#include "core/tensor.h"
#include "data/front.h"
#include "models/models.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app {

struct PredictInput {
  std::string name;         // as the user would call it: "shoe.png", "t10k-images-idx3-ubyte.gz[12]"
  Tensor pixels;            // u8 [height, width, channels], of the model's size
  bool inverted = false;    // the file was dark on light, the data are light on dark
  std::int64_t truth = -1;  // its class, or -1 if unknown
};

// `argument` is a PNG or JPEG file of any size, or an IDX file of images, plain or gzip: all of it, or the entries
// that follow its name in brackets, FILE[i] or FILE[begin:end]. Throws Error{data} on a file that is neither or
// damaged, and on entries that are not there.
// `front` is that of the model's transform.
std::vector<PredictInput> read_inputs(const std::string& argument, const models::ImageSpec& images,
                                      const data::Front& front);

}  // namespace lockring::app
