// Inference in all its forms.
#include "apps/balance/policy.h"
#include "apps/serve/describe.h"
#include "apps/serve/image_input.h"
#include "apps/serve/infer.h"
#include "apps/serve/infer_json.h"
#include "apps/serve/predict_render.h"
#include "apps/serve/service.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace lockring::app::serve {
namespace {

// Bodies and pictures that take longer than about a millisecond to read are read on another thread.
constexpr std::size_t kLargeBody = 256 << 10;
constexpr std::int64_t kLargePicture = 512 << 10;
constexpr std::size_t kMostPictures = 256;

bool takes_long(const http::Request& request) {
  if (request.body.size() > kLargeBody) return true;
  return is_picture(request.body.bytes()) && pixels_of(request.body.bytes()) > kLargePicture;
}

// All of `text` as a number, if it is one.
template <class T>
std::optional<T> whole_number(std::string_view text) {
  T number{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

// Where the JSON ends; nothing if the client does not say.
std::optional<std::size_t> json_length(const http::Request& request) {
  constexpr std::string_view kHeader = "inference-header-content-length";
  if (!request.has_header(kHeader)) return std::nullopt;
  const std::string_view text = request.header(kHeader);
  const auto length = whole_number<std::uint64_t>(text);
  check(length.has_value() && *length <= request.body.size(),
        "Inference-Header-Content-Length is '{}'; expected a number up to the body's {} bytes", printable(text),
        request.body.size());
  return static_cast<std::size_t>(*length);
}

InferRequest parse(const http::Request& request, const Description& description) {
  const std::optional<std::size_t> length = json_length(request);
  if (length == std::optional<std::size_t>(0)) return parse_raw(request.body, description);
  check(!request.body.empty(), "the body is empty");
  if (!length && is_picture(request.body.bytes())) {
    InferRequest parsed = parse_raw(request.body, description);
    for (WantedOutput& output : parsed.outputs) output.binary = false;
    return parsed;
  }
  return parse_infer(request.body, length.value_or(request.body.size()), description);
}

std::uint64_t affinity_of(std::string_view value) { return value.empty() ? 0 : balance::hash_key(value); }

// "respond-async" among the preferences (RFC 7240).
bool prefers_async(const http::Request& request) {
  return request.header("prefer").find("respond-async") != std::string_view::npos;
}

}  // namespace

// The earliest of what the client asks for and what the server allows.
Request Service::engine_request(const Call& call, Tensor images, std::chrono::microseconds timeout) const {
  auto patience = std::chrono::microseconds(options_.timeout);
  if (timeout.count() > 0) patience = std::min(patience, timeout);
  if (const auto left = whole_number<std::int64_t>(call.request->header("x-request-timeout-ms")); left && *left >= 0)
    patience = std::min(
        patience, std::chrono::microseconds(std::chrono::milliseconds(std::min<std::int64_t>(*left, 86'400'000))));
  return {.images = std::move(images),
          .deadline = call.arrived + patience,
          .affinity = affinity_of(call.request->header(options_.affinity_header)),
          .cancellation = call.cancellation,
          .inline_allowed = call.on_event_loop};
}

void Service::infer(Call& call, const std::shared_ptr<Servable>& servable) {
  const auto work = prefers_async(*call.request) ? &Service::infer_later : &Service::infer_now;
  if (!takes_long(*call.request)) return (this->*work)(call, servable);
  offload(std::move(call), [this, work, servable](Call& here) { (this->*work)(here, servable); });
}

void Service::infer_now(Call& call, const std::shared_ptr<Servable>& servable) {
  auto parsed = std::make_shared<InferRequest>(parse(*call.request, servable->description()));
  Request request =
      engine_request(call, std::move(parsed->images), parsed->timeout.value_or(std::chrono::microseconds(0)));
  servable->submit(std::move(request), [parsed, servable, respond = call.respond](const Answer& answer) {
    respond(render_infer(*parsed, answer, servable->description()));
  });
}

// What is wrong with the request is said at once, before there is a job.
void Service::infer_later(Call& call, const std::shared_ptr<Servable>& servable) {
  parse(*call.request, servable->description());
  const std::string key(call.request->header("idempotency-key"));
  const std::string content = sha256(call.request->path + "\n" + std::string(call.request->body.text()));
  const JobStore::Begun job = jobs_.begin(key, content);
  http::Response accepted = http::json_response(202, job_json(*jobs_.find(job.id)));
  accepted.headers.push_back({"Location", "/jobs/" + job.id});
  accepted.headers.push_back({"Preference-Applied", "respond-async"});
  call.respond(std::move(accepted));
  if (!job.fresh) return;
  Call later = call;
  later.cancellation = job.cancellation;  // hanging up does not end a job
  later.respond = [this, id = job.id](http::Response response) { jobs_.finish(id, response); };
  offload(std::move(later), [this, servable](Call& here) { infer_now(here, servable); });
}

// {"model": M, "request": {...}}: the same, for clients that would rather post to one place.
void Service::begin_job(Call& call) {
  if (call.on_event_loop && takes_long(*call.request))
    return offload(std::move(call), [this](Call& here) { begin_job(here); });
  const JobRequest job = parse_job_json(call.request->body.text());
  const std::shared_ptr<Servable> servable = served(job.model);
  http::Request& request = *call.request;
  request.body.resize(job.request.size());
  std::memcpy(request.body.data(), job.request.data(), job.request.size());
  request.path = "/v2/models/" + job.model + "/infer";
  infer_later(call, servable);
}

void Service::show_job(Call& call, const std::string& id, bool result) {
  const auto seconds = call.request->query("wait");
  const auto patience = seconds ? whole_number<std::int64_t>(*seconds) : std::optional<std::int64_t>(0);
  check(patience && *patience >= 0 && *patience <= 3600, "wait is '{}'; expected seconds",
        printable(seconds.value_or("")));
  jobs_.wait(id, std::chrono::seconds(*patience), [respond = call.respond, result](const std::optional<JobView>& job) {
    if (!job) return respond(http::error_response(404, "there is no such job"));
    if (!result) return respond(http::json_response(200, job_json(*job)));
    if (job->response != nullptr) return respond(job->response->copy());
    const bool cancelled = job->state == JobState::cancelled;
    http::Response response =
        http::error_response(cancelled ? 410 : 409, cancelled ? "the job was cancelled" : "the job is not done yet");
    if (!cancelled) response.headers.push_back({"Retry-After", "1"});
    respond(std::move(response));
  });
}

void Service::predict(Call& call) {
  const std::optional<std::string> model = call.request->query("model");
  std::shared_ptr<Servable> servable;
  if (model || !options_.default_model.empty()) servable = served(model.value_or(options_.default_model));
  if (servable == nullptr) {
    const auto all = repository_.all();
    if (all.empty()) throw http::StatusError(503, "no model is loaded", {{"Retry-After", "1"}});
    servable = all.front();
  }
  if (!takes_long(*call.request)) return predict_now(call, servable);
  offload(std::move(call), [this, servable](Call& here) { predict_now(here, servable); });
}

// A picture as the body, or pictures as the files of a form, or {"pixels": ...} as nested lists of bytes.
void Service::predict_now(Call& call, const std::shared_ptr<Servable>& servable) {
  const Description& description = servable->description();
  const http::Request& request = *call.request;
  const std::string_view type = request.header("content-type");
  auto wanted = std::make_shared<PredictWish>();
  std::vector<Tensor> images;
  const auto take = [&](std::span<const std::byte> file, std::string_view name) {
    check(images.size() < kMostPictures, "the form has more than {} pictures", kMostPictures);
    try {
      const PictureInput picture = read_picture(file, description);
      images.push_back(picture.images);
      wanted->inverted.push_back(picture.inverted);
      wanted->names.emplace_back(name);
    } catch (const Error& error) {
      fail(ErrorCode::data, "{}: {}", name.empty() ? "image" : printable(name), error.what());
    }
  };
  if (type.starts_with("multipart/form-data")) {
    for (const FormPart& part : parse_form(request.body.text(), type))
      if (part.name == "image" || !part.filename.empty()) take(std::as_bytes(std::span(part.content)), part.filename);
    check(!images.empty(), "the form has no file called 'image'");
    wanted->several = images.size() > 1;
  } else {
    check(!request.body.empty(), "the body is empty; expected a PNG or JPEG picture, or a form with a file 'image'");
    take(request.body.bytes(), "");
  }
  if (const auto top = request.query("top")) {
    const auto count = whole_number<std::int64_t>(*top);
    check(count && *count > 0, "top is '{}'; expected a number above 0", printable(*top));
    wanted->top = *count;
  }
  const std::int64_t rows = std::ssize(images);
  const Shape& image = description.image;
  Tensor batch = Tensor::empty({rows, image[0], image[1], image[2]}, DType::u8);
  for (std::int64_t i = 0; i < rows; ++i)
    std::ranges::copy(std::as_const(images[static_cast<std::size_t>(i)]).values<std::uint8_t>(),
                      batch.data<std::uint8_t>() + i * image.elements());
  servable->submit(engine_request(call, std::move(batch), {}),
                   [wanted, servable, respond = call.respond](const Answer& answer) {
                     respond(render_predict(*wanted, answer, servable->description()));
                   });
}

void Service::predict_tensorflow(Call& call, const std::shared_ptr<Servable>& servable) {
  if (call.on_event_loop && takes_long(*call.request)) {
    return offload(std::move(call), [this, servable](Call& here) { predict_tensorflow(here, servable); });
  }
  const Description& description = servable->description();
  const PredictRequest parsed = parse_predict_json(call.request->body.text());
  const std::vector<std::int64_t>& sizes = parsed.data.sizes;
  const bool nested = sizes.size() == 4 && std::equal(sizes.begin() + 1, sizes.end(), description.image.begin());
  const bool flat = sizes.size() == 2 && sizes[1] == description.image.elements();
  const bool squeezed = sizes.size() == 3 && description.image[2] == 1 && sizes[1] == description.image[0] &&
                        sizes[2] == description.image[1];
  check((nested || flat || squeezed) && sizes[0] > 0, "{} has the shape [{}]; expected [n, {}, {}, {}]",
        parsed.columns ? "inputs" : "instances", fmt::join(sizes, ", "), description.image[0], description.image[1],
        description.image[2]);
  Tensor images = Tensor::empty({sizes[0], description.image[0], description.image[1], description.image[2]});
  std::ranges::copy(parsed.data.values, images.data());
  to_bytes_unit(images.values(), description.input);
  servable->submit(engine_request(call, std::move(images), {}),
                   [columns = parsed.columns, respond = call.respond](const Answer& answer) {
                     respond(render_tensorflow(columns, answer));
                   });
}

}  // namespace lockring::app::serve
