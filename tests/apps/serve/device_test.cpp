// A served model on GPUs.
#include "apps/serve/endpoint.h"
#include "core/devices.h"
#include "tests/apps/small_bundle.h"
#include "tests/support/tensors.h"

#include <future>
#include <vector>

namespace lockring::app::serve {
namespace {

class ServeDeviceTest : public SmallBundleTest {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }
  static std::vector<Device> all_gpus() {
    std::vector<Device> devices;
    for (int i = 0; i < gpu_count(); ++i) devices.push_back({DeviceKind::cuda, i});
    return devices;
  }
  Tensor probabilities(const Model& model, const Tensor& images) const {
    Tensor answer = Tensor::empty({images.size(0), std::ssize(model.info().classes)});
    model.compute({&images, 1}, {&answer, 1});
    return answer;
  }
};

TEST_F(ServeDeviceTest, EveryGpuAnswersAsTheCpuDoes) {
  const auto on_cpu = Model::load(bundle_);
  const auto on_gpus = Model::load(bundle_, "", all_gpus());
  const Tensor images = dataset().test.images->copy(0, 5);
  const Tensor expected = probabilities(*on_cpu, images);
  for (int call = 0; call < 2 * gpu_count(); ++call) expect_near(probabilities(*on_gpus, images), expected, 1e-5);
}

TEST_F(ServeDeviceTest, AnEndpointAnswersFromManyThreads) {
  const auto endpoint = Endpoint::start(
      "small", "1", Model::load(bundle_, "", all_gpus()),
      {.least_replicas = 3, .most_replicas = 3, .batch = {.max_rows = 4}, .max_queue_time = std::chrono::minutes(10)});
  const Tensor images = dataset().test.images->copy(0, 20);
  const Tensor expected = probabilities(*Model::load(bundle_), images);
  std::vector<std::future<Answer>> answers;
  for (std::int64_t i = 0; i < 20; ++i) {
    auto promise = std::make_shared<std::promise<Answer>>();
    answers.push_back(promise->get_future());
    Request request;
    request.images = images.slice(i, i + 1);
    request.deadline = Clock::now() + std::chrono::minutes(10);
    endpoint->submit(std::move(request), [promise](Answer answer) { promise->set_value(std::move(answer)); });
  }
  for (std::int64_t i = 0; i < 20; ++i) {
    const Answer answer = answers[static_cast<std::size_t>(i)].get();
    ASSERT_EQ(answer.outcome, Outcome::ok) << answer.message;
    expect_near(answer.probabilities, expected.slice(i, i + 1), 1e-5);
  }
  endpoint->stop();
}

}  // namespace
}  // namespace lockring::app::serve
