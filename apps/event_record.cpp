#include "apps/event_record.h"

#include "apps/protobuf.h"

namespace lockring::app {
namespace {

using namespace proto;

// Event: file_version = 3, summary = 5 { value = 1 }, session_log = 7.
std::string summary_value(std::string_view tag, const std::string& fields) {
  return bytes_field(5, bytes_field(1, bytes_field(1, tag) + fields));
}

// Value: metadata = 9. SummaryMetadata: plugin_data = 1 { plugin_name = 1, content = 2 }.
std::string plugin_field(std::string_view plugin, const std::string& content) {
  return bytes_field(9, bytes_field(1, bytes_field(1, plugin) + content));
}

// HParamsPluginData, whose version = 1 is 0: the default, which is left out.
std::string hparams_event(std::string_view tag, const std::string& data) {
  return summary_value(tag, plugin_field("hparams", bytes_field(2, data)));
}

// google.protobuf.Value: number_value = 2, string_value = 3, bool_value = 4.
std::string value_of(const HParam& hparam) {
  if (const auto* number = std::get_if<double>(&hparam.value)) return double_field(2, *number);
  if (const auto* truth = std::get_if<bool>(&hparam.value)) return integer_field(4, *truth ? 1 : 0);
  return bytes_field(3, std::get<std::string>(hparam.value));
}

// DataType: 1 string, 2 bool, 3 double.
std::int64_t type_of(const HParam& hparam) {
  if (std::holds_alternative<double>(hparam.value)) return 3;
  return std::holds_alternative<bool>(hparam.value) ? 2 : 1;
}

// TensorBoard offers these for filtering, and nothing without them.
std::string domain_of(const HParam& hparam) {
  if (!std::holds_alternative<bool>(hparam.value)) return "";
  // HParamInfo: domain_discrete = 5, a ListValue { values = 1 } of the two.
  return bytes_field(5, bytes_field(1, integer_field(4, 0)) + bytes_field(1, integer_field(4, 1)));
}

// HParamInfo: name = 1, type = 4, differs = 7: TensorBoard begins with those that differ among runs.
std::string info_of(const HParam& hparam) {
  return bytes_field(1, hparam.name) + integer_field(4, type_of(hparam)) + domain_of(hparam) +
         (hparam.leading ? integer_field(7, 1) : "");
}

}  // namespace

std::string version_event() { return bytes_field(3, "brain.Event:2"); }

// Value: simple_value = 2.
std::string scalar_event(std::string_view tag, double value) {
  return summary_value(tag, float_field(2, static_cast<float>(value)));
}

// Value: histo = 5. HistogramProto: min = 1, max = 2, num = 3, sum = 4, sum_squares = 5, bucket_limit = 6, bucket = 7.
std::string histogram_event(std::string_view tag, const Histogram& histogram) {
  return summary_value(
      tag, bytes_field(5, double_field(1, histogram.min) + double_field(2, histogram.max) +
                              double_field(3, static_cast<double>(histogram.count)) + double_field(4, histogram.sum) +
                              double_field(5, histogram.sum_of_squares) + doubles_field(6, histogram.limits) +
                              doubles_field(7, histogram.counts)));
}

// Value: image = 4. Image: height = 1, width = 2, colorspace = 3 (the number of channels), encoded_image_string = 4.
std::string image_event(std::string_view tag, const PngImage& image) {
  return summary_value(tag, bytes_field(4, integer_field(1, image.height) + integer_field(2, image.width) +
                                               integer_field(3, image.channels) + bytes_field(4, image.bytes)));
}

// Value: tensor = 8. TensorProto: dtype = 1 (7 is string), tensor_shape = 2 { dim = 2 { size = 1 } }, string_val = 8.
std::string text_event(std::string_view tag, std::string_view text) {
  const std::string shape = bytes_field(2, bytes_field(2, integer_field(1, 1)));
  return summary_value(tag,
                       bytes_field(8, integer_field(1, 7) + shape + bytes_field(8, text)) + plugin_field("text", ""));
}

// SessionLog: status = 1, of which 1 is START.
std::string restart_event() { return bytes_field(7, integer_field(1, 1)); }

// HParamsPluginData: experiment = 2. Experiment: hparam_infos = 4, metric_infos = 5 { name = 1 { tag = 2 } }.
std::string experiment_event(std::span<const HParam> hparams, std::span<const std::string> metrics) {
  std::string experiment;
  for (const HParam& hparam : hparams) experiment += bytes_field(4, info_of(hparam));
  for (const std::string& metric : metrics) experiment += bytes_field(5, bytes_field(1, bytes_field(2, metric)));
  return hparams_event("_hparams_/experiment", bytes_field(2, experiment));
}

// HParamsPluginData: session_start_info = 3. SessionStartInfo: hparams = 1 (a map: key = 1, value = 2),
// start_time_secs = 5.
std::string session_start_event(std::span<const HParam> hparams, double seconds) {
  std::string start;
  for (const HParam& hparam : hparams)
    start += bytes_field(1, bytes_field(1, hparam.name) + bytes_field(2, value_of(hparam)));
  return hparams_event("_hparams_/session_start_info", bytes_field(3, start + double_field(5, seconds)));
}

// HParamsPluginData: session_end_info = 4. SessionEndInfo: status = 1 (1 success, 2 failure), end_time_secs = 2.
std::string session_end_event(bool success, double seconds) {
  return hparams_event("_hparams_/session_end_info",
                       bytes_field(4, integer_field(1, success ? 1 : 2) + double_field(2, seconds)));
}

}  // namespace lockring::app
