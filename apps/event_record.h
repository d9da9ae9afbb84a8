// What an event of a TensorBoard event file says, in protocol buffer encoding: the fields of TensorFlow's Event message
// besides its time and step (event.proto, summary.proto; TensorBoard's plugins/hparams/plugin_data.proto). To be given
// to EventFile::add.
//
// Scalars, images and histograms take the plain forms of summary.proto, which every reader knows.
#pragma once

#include "apps/histogram.h"

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lockring::app {

// The first of every file.
std::string version_event();
// A point of the curve `tag`; TensorBoard groups tags by what stands before their first '/'.
std::string scalar_event(std::string_view tag, double value);
std::string histogram_event(std::string_view tag, const Histogram& histogram);

struct PngImage {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;  // 1 (grey) or 3 (red, green, blue)
  std::string bytes;          // of the PNG file
};
std::string image_event(std::string_view tag, const PngImage& image);
// Shown as Markdown.
std::string text_event(std::string_view tag, std::string_view text);
// The run goes on from the event's step: what earlier events hold from there on is void.
std::string restart_event();

// A setting of a run, for TensorBoard's table of runs. A name has one type in all runs.
struct HParam {
  std::string name;
  std::variant<double, bool, std::string> value;
  bool leading = false;  // among the few that are shown at first
};
// What the table shows: TensorBoard takes one such event for all the runs below its folder, and shows no setting that
// it does not name. `metrics` are tags of scalars, the most telling first.
std::string experiment_event(std::span<const HParam> hparams, std::span<const std::string> metrics);
// The settings of this run; times are seconds since 1970.
std::string session_start_event(std::span<const HParam> hparams, double seconds);
// How it ended. TensorBoard takes the first of these, so there is none for an end that a resumed run takes back.
std::string session_end_event(bool success, double seconds);

}  // namespace lockring::app
