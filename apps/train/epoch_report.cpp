#include "apps/train/epoch_report.h"

#include "apps/terminal.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace lockring::app {

std::string report_line(const EpochReport& r) {
  std::string line =
      fmt::format("epoch {}/{}  loss {:.4f}  acc {:.4f}", r.epoch, r.epochs, r.train_loss, r.train_accuracy);
  if (r.validated)
    line += fmt::format("  val_loss {:.4f}  val_acc {:.4f}{}", r.val_loss, r.val_accuracy, r.best ? " *" : "");
  return line + fmt::format("  lr {:.3g}  {} img/s  wait {:.1f} %", r.learning_rate,
                            with_thousands(static_cast<std::int64_t>(r.timing.images_per_second())),
                            100 * r.timing.data_wait_fraction());
}

std::string report_json(const EpochReport& r) {
  nlohmann::ordered_json json = {{"epoch", r.epoch},
                                 {"step", r.step},
                                 {"learning_rate", r.learning_rate},
                                 {"train_loss", r.train_loss},
                                 {"train_accuracy", r.train_accuracy}};
  if (r.validated) {
    json["val_loss"] = r.val_loss;
    json["val_accuracy"] = r.val_accuracy;
  }
  json["images_per_second"] = r.timing.images_per_second();
  json["data_wait_fraction"] = r.timing.data_wait_fraction();
  json["seconds"] = r.timing.seconds;
  json["resident_bytes"] = r.resident_bytes;
  return json.dump();
}

}  // namespace lockring::app
