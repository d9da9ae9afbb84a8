// lockring bench loader: how fast bytes become batches, without a model.
#include "apps/bench_support.h"
#include "apps/command.h"
#include "apps/option_values.h"
#include "core/error.h"
#include "data/loader.h"
#include "data/transform.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace lockring::app {
namespace {

struct LoaderBench {
  std::string augment = "crop:2,flip";
  std::int64_t batch_size = 128;
  int loader_threads = 0;
  double seconds = 2;
  bool json = false;

  int run() const;
};

int LoaderBench::run() const {
  constexpr std::int64_t kSamples = 60000;
  check(batch_size > 0 && batch_size <= kSamples, "--batch-size {} is not within 1 and {}", batch_size, kSamples);
  const models::ImageSpec images;
  const data::Split split = random_split(kSamples, images);
  const data::Transform transform =
      data::Transform::parse(augment.empty() ? "normalize:0.286:0.353" : "normalize:0.286:0.353," + augment);
  check(transform.front().empty(), "--augment '{}': resize and grayscale are no work of the loader", augment);
  transform.check_fits(images.height, images.width, images.channels);
  data::Loader loader(split, transform, {.seed = 1, .threads = loader_threads});
  std::vector<std::uint32_t> order;
  std::int64_t epoch = 0;
  std::int64_t position = kSamples;
  // Whole batches, in the order of one epoch after the other.
  const auto one_batch = [&] {
    if (position + batch_size > kSamples) {
      order = data::epoch_order(data::all_samples(kSamples), 1, ++epoch);
      loader.expect(order, batch_size, epoch);
      position = 0;
    }
    loader.begin_step(std::span(order).subspan(position, batch_size), epoch);
    loader.read({0, batch_size});
    position += batch_size;
  };
  time_calls(seconds / 4, 5, one_batch);
  const std::vector<double> times = time_calls(seconds, 10, one_batch);
  const auto count = static_cast<double>(std::ssize(times) * batch_size);
  print_figures({{"augment", augment},
                 {"batch_size", batch_size},
                 {"threads", loader_threads + 1},
                 {"loader_threads", loader_threads},
                 {"images_per_second", count / sum(times)},
                 {"ns_per_image", sum(times) / count * 1e9},
                 {"batch_us_p50", quantile(times, 0.5) * 1e6}},
                json);
  return 0;
}

}  // namespace

Action bench_loader(CLI::App& app) {
  auto bench = std::make_shared<LoaderBench>();
  app.add_option("--augment", bench->augment, "random changes to images, as for lockring train");
  app.add_option("--batch-size", bench->batch_size, "images at once");
  app.add_option("--loader-threads", bench->loader_threads, "threads that fill batches beside the one that takes them")
      ->check(within(0, 1024));
  app.add_option("--seconds", bench->seconds, "time to measure for")->check(above(0));
  app.add_flag("--json", bench->json, "print one JSON object");
  app.footer("Example:\n  lockring bench loader --augment crop:2,flip --json");
  return [bench] { return bench->run(); };
}

}  // namespace lockring::app
