// lockring bench loader: how fast bytes become batches, without a model.
#include "apps/bench_support.h"
#include "apps/command.h"
#include "apps/option_values.h"
#include "core/error.h"
#include "data/loader.h"
#include "data/transform.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

namespace lockring::app {
namespace {

constexpr std::int64_t kMostSide = 4096;
constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;  // of all images

struct LoaderBench {
  std::string augment = "crop:2,flip";
  std::string image = "28x28x1";
  std::int64_t batch_size = 128;
  int loader_threads = 0;
  double seconds = 2;
  bool json = false;

  int run() const;
};

// "28x28x1"
models::ImageSpec parse_image(const std::string& text) {
  models::ImageSpec images;
  std::array<std::int64_t*, 3> sizes = {&images.height, &images.width, &images.channels};
  const char* at = text.data();
  const char* end = text.data() + text.size();
  for (std::int64_t* size : sizes) {
    if (size != sizes[0]) at += at < end && *at == 'x' ? 1 : 0;
    at = std::from_chars(at, end, *size).ptr;
  }
  check(at == end && text == fmt::format("{}x{}x{}", images.height, images.width, images.channels) &&
            std::min({images.height, images.width, images.channels}) > 0 && images.channels <= 4 &&
            std::max(images.height, images.width) <= kMostSide,
        "--image: expected HEIGHTxWIDTHxCHANNELS such as 32x32x3, found '{}'", text);
  return images;
}

int LoaderBench::run() const {
  const models::ImageSpec images = parse_image(image);
  const std::int64_t pixels = images.height * images.width * images.channels;
  const std::int64_t samples = std::clamp<std::int64_t>(kMostBytes / pixels, 1, 60000);
  check(batch_size > 0 && batch_size <= samples, "--batch-size {} is not within 1 and {}", batch_size, samples);
  const data::Split split = random_split(samples, images);
  data::ChannelStatistics statistics;  // one number a channel, as data sets have them
  statistics.mean.assign(images.channels, 0.286F);
  statistics.deviation.assign(images.channels, 0.353F);
  const data::Transform transform =
      data::Transform::parse(augment.empty() ? "normalize" : "normalize," + augment, statistics);
  check(transform.front().empty(), "--augment '{}': resize and grayscale are no work of the loader", augment);
  transform.check_fits(images.height, images.width, images.channels);
  data::Loader loader(split, transform, {.seed = 1, .threads = loader_threads});
  std::vector<std::uint32_t> order;
  std::int64_t epoch = 0;
  std::int64_t position = samples;
  // Whole batches, in the order of one epoch after the other.
  const auto one_batch = [&] {
    if (position + batch_size > samples) {
      order = data::epoch_order(data::all_samples(samples), 1, ++epoch);
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
                 {"image", image},
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
  app.add_option("--image", bench->image, "size of an image: height, width, channels")->type_name("HxWxC");
  app.add_option("--batch-size", bench->batch_size, "images at once");
  app.add_option("--loader-threads", bench->loader_threads, "threads that fill batches beside the one that takes them")
      ->check(within(0, 1024));
  app.add_option("--seconds", bench->seconds, "time to measure for")->check(above(0));
  app.add_flag("--json", bench->json, "print one JSON object");
  app.footer("Example:\n  lockring bench loader --augment crop:2,flip --json");
  return [bench] { return bench->run(); };
}

}  // namespace lockring::app
