// A bundle made ready to compute with: for evaluating, predicting and serving.
#pragma once

#include "data/dataset.h"
#include "data/transform.h"
#include "models/models.h"
#include "nn/bundle.h"
#include "nn/model.h"

#include <cstdint>
#include <filesystem>
#include <memory>

namespace lockring::app {

// Any number of threads may compute with one at once.
struct LoadedModel {
  std::filesystem::path path;
  nn::BundleInfo info;
  std::unique_ptr<nn::Model> model;
  data::Transform transform;
  models::ImageSpec images;
  nn::GoldenSample golden;  // what the bundle was checked with
  // How far the answer to the golden sample is from the recorded one, relative to its largest value: 0 on the kernels
  // that the bundle was made with, up to 1e-4 on others.
  double golden_difference = 0;
};

// Throws Error{data} on a damaged file, an architecture that does not exist here or has other parameters, and on a
// model that does not answer the golden sample as recorded: on the CPU, whatever the device that it will compute on.
LoadedModel load_model(const std::filesystem::path& path, Device device = {});

// Throws Error{data} unless the data set's images, after the transform's front, and number of classes are what the
// model is for.
void check_suits(const LoadedModel& loaded, const data::Dataset& dataset);

}  // namespace lockring::app
