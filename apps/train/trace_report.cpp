#include "apps/terminal.h"
#include "apps/train/trace.h"
#include "core/text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace lockring::app {
namespace {

std::string title(StepPart part, const std::string& layer) {
  return layer.empty() ? std::string(name_of(part)) : fmt::format("{} {}", name_of(part), layer);
}

// A complete event ("X"): one line.
std::string event(const std::string& name, std::string_view category, double begin, double end, int replica) {
  return fmt::format(R"({{"name":{},"cat":"{}","ph":"X","ts":{:.3f},"dur":{:.3f},"pid":1,"tid":{}}})",
                     nlohmann::json(name).dump(), category, begin, end - begin, replica);
}

// Metadata ("M"): what a row is called.
std::string row_name(std::string_view kind, const std::string& name, int replica) {
  return fmt::format(R"({{"name":"{}","ph":"M","pid":1,"tid":{},"args":{{"name":"{}"}}}})", kind, replica, name);
}

std::string row(std::string_view name, double microseconds, double fraction) {
  const auto whole = static_cast<std::int64_t>(std::llround(microseconds));
  return fmt::format("  {:<32}{:>12}{:>8.1f} %\n", name, with_thousands(whole), 100 * fraction);
}

}  // namespace

std::string chrome_trace(const Trace& trace) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + row_name("process_name", "lockring train", 0);
  for (int replica = 0; replica < trace.replicas(); ++replica) {
    text += ",\n" + row_name("thread_name", fmt::format("replica {}", replica), replica);
    for (const Trace::Step& step : trace.steps())
      text += ",\n" + event(fmt::format("step {}", step.number), "step", step.begin, step.end, replica);
    for (const Trace::Span& span : trace.spans(replica))
      text += ",\n" + event(title(span.part, span.layer), name_of(span.part), span.begin, span.end, replica);
  }
  return text + "\n]}\n";
}

std::string trace_table(const Trace& trace) {
  std::string text = fmt::format("where the time of a step goes (mean of {} of {})\n  {:<32}{:>12}{:>10}\n",
                                 counted(std::ssize(trace.steps()), "step"), counted(trace.replicas(), "replica"),
                                 "part", "µs a step", "share");
  double sum = 0;
  for (const Trace::Share& share : trace.shares()) {
    text += row(share.layer.empty() ? std::string(name_of(share.part)) : "  " + share.layer, share.microseconds,
                share.fraction);
    if (share.layer.empty()) sum += share.microseconds;
  }
  return text + row("step", trace.step_microseconds(), sum / trace.step_microseconds());
}

}  // namespace lockring::app
