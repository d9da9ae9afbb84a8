#include "apps/device_option.h"

#include "apps/option_values.h"
#include "core/devices.h"
#include "core/error.h"

#include <CLI/CLI.hpp>

#include <charconv>

namespace lockring::app {
namespace {

// The number behind "cuda:"; -1 for no such number.
int gpu_number(const std::string& text) {
  constexpr std::string_view kPrefix = "cuda:";
  if (!text.starts_with(kPrefix)) return -1;
  int number = -1;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + kPrefix.size(), end, number);
  return error == std::errc() && rest == end ? number : -1;
}

bool names_device(const std::string& text) {
  return text == "auto" || text == "cpu" || text == "cuda" || gpu_number(text) >= 0;
}

Device gpu(int index) { return {DeviceKind::cuda, index}; }

DeviceChoice the_cpu(std::string note = "") { return {{Device{}}, std::move(note)}; }

DeviceChoice without_gpus(const std::string& text) {
  const GpuReport report = describe_gpus();
  check(text == "auto", ErrorCode::device, "--device {}: there is no GPU: {}", text, report.missing);
  const bool built_for_gpus = !report.runtime.empty();
  return the_cpu(built_for_gpus ? fmt::format("no GPU ({}); computing on the CPU", report.missing) : "");
}

}  // namespace

DeviceChoice choose_devices(const std::string& text, int place, int places) {
  check(names_device(text), "--device: expected auto, cpu, cuda or cuda:N, found '{}'", text);
  if (text == "cpu") return the_cpu();
  const int count = gpu_count();
  if (count == 0) return without_gpus(text);
  if (const int number = gpu_number(text); number >= 0) {
    check(number < count, ErrorCode::device, "--device {}: there {} only cuda:0{}", text, count == 1 ? "is" : "are",
          count == 1 ? "" : fmt::format(" to cuda:{}", count - 1));
    return {{gpu(number)}, ""};
  }
  if (places > 1) return {{gpu(place % count)}, ""};
  DeviceChoice choice;
  for (int index = 0; index < count; ++index) choice.devices.push_back(gpu(index));
  return choice;
}

DeviceChoice choose_devices_and_say(const std::string& text) {
  DeviceChoice choice = choose_devices(text);
  if (!choice.note.empty()) fmt::print(stderr, "note: {}\n", choice.note);
  return choice;
}

void add_device_option(CLI::App& app, std::string& device) {
  const auto check_text = [](const std::string& text) {
    return names_device(text) ? std::string() : fmt::format("expected auto, cpu, cuda or cuda:N, found '{}'", text);
  };
  app.add_option("--device", device, "where to compute; auto is a GPU if there is one, else the CPU")
      ->check(CLI::Validator(check_text, "auto|cpu|cuda|cuda:N"));
}

void add_precision_option(CLI::App& app, std::string& precision) {
  app.add_option("--precision", precision,
                 "what layers compute with: float32, or on GPUs bf16; parameters, loss and optimizer stay in float32")
      ->check(one_of({"float32", "bf16"}));
}

DType parse_precision(const std::string& precision, const DeviceChoice& choice) {
  check(precision == "float32" || choice.on_gpu(), "--precision {} is for GPUs, and this computes on the CPU{}{}",
        precision, choice.note.empty() ? "" : ": ", choice.note);
  return precision == "bf16" ? DType::bf16 : DType::f32;
}

}  // namespace lockring::app
