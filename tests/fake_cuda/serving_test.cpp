// What the fake shows of served models: a GPU looks for its algorithms before requests come.
#include "apps/serve/endpoint.h"
#include "tests/apps/small_training.h"
#include "tests/fake_cuda/machine.h"
#include "tests/support/tensors.h"

#include <future>
#include <vector>

namespace lockring::app::serve {
namespace {

const std::vector<Device> kGpus = {{DeviceKind::cuda, 0}, {DeviceKind::cuda, 1}};

class FakeServing : public TrainCommandTest {
 protected:
  FakeServing() { train_well("a", {"--model", "cnn", "--device", "cpu", "--max-steps", "2"}); }
  std::filesystem::path bundle() const { return folder("a") / "best.safetensors"; }
};

Answer answer_of(Endpoint& endpoint, const Tensor& images) {
  std::promise<Answer> promise;
  Request request;
  request.images = images;
  request.deadline = Clock::now() + std::chrono::minutes(10);
  endpoint.submit(std::move(request), [&](Answer answer) { promise.set_value(std::move(answer)); });
  return promise.get_future().get();
}

TEST_F(FakeServing, NothingIsMeasuredOnceAnEndpointHasStarted) {
  const auto endpoint = Endpoint::start(
      "a", "1", Model::load(bundle(), "", kGpus),
      {.least_replicas = 2, .most_replicas = 2, .batch = {.max_rows = 6}, .max_queue_time = std::chrono::minutes(10)});
  const fake_cuda::Counters started = fake_cuda::counters();
  const Tensor images = dataset().test.images->copy(0, 20);
  for (std::int64_t rows = 1; rows <= 20; ++rows)
    EXPECT_EQ(answer_of(*endpoint, images.slice(0, rows)).outcome, Outcome::ok);
  EXPECT_EQ(fake_cuda::counters().measurements, started.measurements);
  endpoint->stop();
}

TEST_F(FakeServing, AnswersDoNotDependOnTheBatch) {
  const auto model = Model::load(bundle(), "", kGpus);
  const Tensor images = dataset().test.images->copy(0, 7);
  Tensor whole = Tensor::empty({7, 10});
  model->compute({&images, 1}, {&whole, 1});
  for (std::int64_t i = 0; i < 7; ++i) {
    const Tensor image = images.slice(i, i + 1);
    Tensor alone = Tensor::empty({1, 10});
    model->compute({&image, 1}, {&alone, 1});
    expect_same_bits(alone, whole.slice(i, i + 1));
  }
}

}  // namespace
}  // namespace lockring::app::serve
