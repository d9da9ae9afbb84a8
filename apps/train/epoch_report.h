// What one epoch came to, as a line for people and a line for programs.
#pragma once

#include <cstdint>
#include <string>

namespace lockring::app {

// 0 of nothing.
inline double mean(double sum, std::int64_t count) { return count == 0 ? 0 : sum / static_cast<double>(count); }

// Where training time went; validation and saving are not part of it.
struct Timing {
  double seconds = 0;
  double data_seconds = 0;  // of which replicas waited for their data
  std::int64_t images = 0;

  void add(const Timing& other) {
    seconds += other.seconds;
    data_seconds += other.data_seconds;
    images += other.images;
  }
  double images_per_second() const { return seconds > 0 ? static_cast<double>(images) / seconds : 0; }
  double data_wait_fraction() const { return seconds > 0 ? data_seconds / seconds : 0; }
};

struct EpochReport {
  std::int64_t epoch = 0;  // counts from 1
  std::int64_t epochs = 0;
  std::int64_t step = 0;  // of the run
  double learning_rate = 0;
  double train_loss = 0;
  double train_accuracy = 0;
  bool validated = false;
  double val_loss = 0;
  double val_accuracy = 0;
  bool best = false;
  Timing timing;
  std::int64_t resident_bytes = 0;  // held by the process at the epoch's end
};

// "epoch 3/10  loss 0.3124  acc 0.8871  val_loss 0.3010  val_acc 0.8902 *  lr 0.001  18,230 img/s  wait 0.5 %"
std::string report_line(const EpochReport& report);
// One JSON object; values that are not finite are null.
std::string report_json(const EpochReport& report);

}  // namespace lockring::app
