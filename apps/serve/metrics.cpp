#include "apps/serve/metrics.h"

#include "apps/memory.h"
#include "apps/program.h"
#include "apps/serve/split.h"

#include <fmt/core.h>

#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

namespace lockring::app::serve {
namespace {

std::uint64_t value_of(const Counter& counter) { return counter.load(std::memory_order_relaxed); }

// Families are written one after the other, each with the rows of all models.
class Page {
 public:
  explicit Page(std::vector<std::shared_ptr<Servable>> servables) : servables_(std::move(servables)) {}

  void head(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void row(std::string_view name, std::string_view labels, auto value) {
    text_ += name;
    if (!labels.empty()) text_ += fmt::format("{{{}}}", labels);
    text_ += fmt::format(" {}\n", value);
  }
  void single(std::string_view name, std::string_view type, std::string_view help, auto value) {
    head(name, type, help);
    row(name, "", value);
  }

  static std::string labels_of(const Servable& servable) {
    // Names are letters, digits, '.', '_' and '-': nothing to escape.
    return fmt::format("model=\"{}\",version=\"{}\"", servable.description().name, servable.description().version);
  }
  void each(std::string_view name, std::string_view type, std::string_view help,
            const std::function<double(const Servable&)>& value) {
    head(name, type, help);
    for (const auto& servable : servables_) row(name, labels_of(*servable), value(*servable));
  }
  template <class Histogram>
  void histogram(std::string_view name, std::string_view help, const Histogram& (*of)(const Counters&)) {
    head(name, "histogram", help);
    for (const auto& servable : servables_) buckets(name, labels_of(*servable), of(servable->counters()));
  }
  template <std::size_t kBounds>
  void buckets(std::string_view name, const std::string& labels, const Buckets<kBounds>& buckets) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i <= kBounds; ++i) {
      total += buckets.count(i);
      const std::string bound = i < kBounds ? fmt::format("{}", buckets.bounds()[i]) : "+Inf";
      row(fmt::format("{}_bucket", name), fmt::format("{},le=\"{}\"", labels, bound), total);
    }
    row(fmt::format("{}_sum", name), labels, buckets.sum());
    row(fmt::format("{}_count", name), labels, total);
  }

  const std::vector<std::shared_ptr<Servable>>& servables() const { return servables_; }
  std::string take() { return std::move(text_); }

 private:
  std::vector<std::shared_ptr<Servable>> servables_;
  std::string text_;
};

struct Outcomes {
  const char* name;
  const char* triton;  // its reason
  const Counter& (*of)(const Counters&);
};
constexpr Outcomes kFailures[] = {
    {"full", "REJECTED", [](const Counters& c) -> const Counter& { return c.refused; }},
    {"late", "OTHER", [](const Counters& c) -> const Counter& { return c.late; }},
    {"cancelled", "CANCELED", [](const Counters& c) -> const Counter& { return c.cancelled; }},
    {"failed", "BACKEND", [](const Counters& c) -> const Counter& { return c.failed; }},
};

void write_outcomes(Page& page) {
  page.head("lockring_requests_total", "counter", "requests that have come to an end");
  for (const auto& servable : page.servables()) {
    const std::string labels = Page::labels_of(*servable);
    page.row("lockring_requests_total", labels + ",outcome=\"ok\"", value_of(servable->counters().success));
    for (const Outcomes& outcome : kFailures)
      page.row("lockring_requests_total", fmt::format("{},outcome=\"{}\"", labels, outcome.name),
               value_of(outcome.of(servable->counters())));
  }
}

void write_engine(Page& page) {
  page.histogram<Durations>("lockring_request_seconds", "time from a request's arrival to its answer",
                            [](const Counters& c) -> const Durations& { return c.request_seconds; });
  page.histogram<Durations>("lockring_queue_seconds", "time that answered requests waited",
                            [](const Counters& c) -> const Durations& { return c.queue_seconds; });
  page.histogram<Durations>("lockring_compute_seconds", "time that the model took, the batch's other rows included",
                            [](const Counters& c) -> const Durations& { return c.compute_seconds; });
  page.histogram<BatchSizes>("lockring_batch_rows", "images computed together",
                             [](const Counters& c) -> const BatchSizes& { return c.batch_rows; });
  page.head("lockring_batches_total", "counter", "batches by what released them");
  for (const auto& servable : page.servables()) {
    for (std::size_t i = 0; i < kReleaseNames.size(); ++i)
      page.row("lockring_batches_total", fmt::format("{},release=\"{}\"", Page::labels_of(*servable), kReleaseNames[i]),
               value_of(servable->counters().released[i]));
  }
  const auto load = [](auto of) {
    return [of](const Servable& servable) { return static_cast<double>(of(servable.load())); };
  };
  page.each("lockring_queued", "gauge", "parts of requests that wait now",
            load([](const Load& l) { return l.queued; }));
  page.each("lockring_running", "gauge", "batches that are computed now",
            load([](const Load& l) { return l.running; }));
  page.each("lockring_replicas", "gauge", "replicas that may compute at once",
            load([](const Load& l) { return l.replicas; }));
}

// So that dashboards made for Triton show something.
void write_triton(Page& page) {
  const auto of = [](const Counter Counters::*member, double unit) {
    return [member, unit](const Servable& s) { return static_cast<double>(value_of(s.counters().*member)) / unit; };
  };
  page.each("nv_inference_request_success", "counter", "requests answered", of(&Counters::success, 1));
  page.head("nv_inference_request_failure", "counter", "requests not answered");
  for (const auto& servable : page.servables()) {
    for (const char* reason : {"REJECTED", "CANCELED", "BACKEND", "OTHER"}) {
      std::uint64_t sum = 0;
      for (const Outcomes& outcome : kFailures)
        if (std::string_view(outcome.triton) == reason) sum += value_of(outcome.of(servable->counters()));
      page.row("nv_inference_request_failure", fmt::format("{},reason=\"{}\"", Page::labels_of(*servable), reason),
               sum);
    }
  }
  page.each("nv_inference_count", "counter", "images answered", of(&Counters::rows, 1));
  page.each("nv_inference_exec_count", "counter", "times a model ran", of(&Counters::batches, 1));
  page.each("nv_inference_pending_request_count", "gauge", "requests that wait",
            [](const Servable& s) { return static_cast<double>(s.load().queued); });
  page.each("nv_inference_request_duration_us", "counter", "sum over requests", of(&Counters::success_ns, 1e3));
  page.each("nv_inference_queue_duration_us", "counter", "sum over requests", of(&Counters::queue_ns, 1e3));
  page.each("nv_inference_compute_infer_duration_us", "counter", "sum over requests", of(&Counters::compute_ns, 1e3));
}

void write_arms(Page& page) {
  page.head("lockring_arm_requests_total", "counter", "requests of a split by the arm that answered");
  const auto for_arms = [&](const auto& write) {
    for (const auto& servable : page.servables()) {
      const auto* split = dynamic_cast<const Split*>(servable.get());
      for (std::size_t arm = 0; split != nullptr && arm < split->options().arms.size(); ++arm)
        write(*split, arm, fmt::format("{},arm=\"{}\"", Page::labels_of(*split), split->options().arms[arm].name));
    }
  };
  for_arms([&](const Split& split, std::size_t arm, const std::string& labels) {
    const std::uint64_t failures = value_of(split.arm(arm).failures);
    page.row("lockring_arm_requests_total", labels + ",outcome=\"ok\"", value_of(split.arm(arm).requests) - failures);
    page.row("lockring_arm_requests_total", labels + ",outcome=\"failed\"", failures);
  });
  page.head("lockring_arm_request_seconds", "histogram", "time to the answer by arm");
  for_arms([&](const Split& split, std::size_t arm, const std::string& labels) {
    page.buckets("lockring_arm_request_seconds", labels, split.arm(arm).request_seconds);
  });
  page.head("lockring_shadow_total", "counter",
            "images that a shadow answered with the same class or another, and failures");
  for (const auto& servable : page.servables()) {
    const auto* split = dynamic_cast<const Split*>(servable.get());
    if (split == nullptr || split->options().shadow.empty()) continue;
    const std::string labels = fmt::format("{},shadow=\"{}\"", Page::labels_of(*split), split->options().shadow);
    page.row("lockring_shadow_total", labels + ",answer=\"same\"", value_of(split->shadow().same));
    page.row("lockring_shadow_total", labels + ",answer=\"different\"", value_of(split->shadow().different));
    page.row("lockring_shadow_total", labels + ",answer=\"failed\"", value_of(split->shadow().failures));
  }
}

void write_jobs(Page& page, const JobStore::Counts& counts) {
  page.head("lockring_jobs_total", "counter", "jobs by what became of them");
  const std::pair<const char*, std::uint64_t> all[] = {{"begun", counts.begun},     {"done", counts.done},
                                                       {"failed", counts.failed},   {"cancelled", counts.cancelled},
                                                       {"expired", counts.expired}, {"refused", counts.refused}};
  for (const auto& [name, count] : all) page.row("lockring_jobs_total", fmt::format("event=\"{}\"", name), count);
  page.single("lockring_jobs_kept", "gauge", "jobs in the store", counts.kept);
  page.single("lockring_jobs_running", "gauge", "jobs that are not done", counts.running);
}

}  // namespace

std::string metrics_text(const Repository& repository, const JobStore& jobs) {
  Page page(repository.all_versions());
  page.head("lockring_build_info", "gauge", "the program");
  page.row("lockring_build_info", fmt::format("version=\"{}\"", version()), 1);
  page.single("lockring_resident_bytes", "gauge", "memory of the process", resident_bytes());
  write_outcomes(page);
  write_engine(page);
  write_triton(page);
  write_arms(page);
  write_jobs(page, jobs.counts());
  return page.take();
}

}  // namespace lockring::app::serve
