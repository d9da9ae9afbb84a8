// What a run works with, made from what the user asked for.
#pragma once

#include "apps/data_reports.h"
#include "apps/device_option.h"
#include "apps/train/options.h"
#include "apps/train/trainer.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "data/transform.h"
#include "models/models.h"
#include "nn/schedule.h"

#include <cstdint>
#include <string>

namespace lockring::app {

struct Setup {
  data::Dataset dataset;
  data::Transform transform;
  data::Holdout holdout;  // of the training images: those to train on, those to validate with
  const models::Architecture* architecture = nullptr;
  models::ImageSpec images;
  DeviceChoice devices;
  TrainerOptions trainer;
  nn::ScheduleOptions schedule;
  std::int64_t steps_per_epoch = 0;
};

nn::OptimizerOptions optimizer_options(const TrainOptions& options);

// Which GPUs, or why none; empty where there is nothing to say.
std::string place_of_replicas(const Setup& setup);

// Throws Error{usage} for options that cannot be, before anything is written; Error{data} if there is no data set.
Setup make_setup(const TrainOptions& options, const DataReports& reports);

}  // namespace lockring::app
