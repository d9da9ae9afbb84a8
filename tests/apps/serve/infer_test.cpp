#include "apps/serve/infer.h"

#include "apps/serve/infer_json.h"
#include "tests/apps/serve/fake_servable.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <limits>

namespace lockring::app::serve {
namespace {

using Json = nlohmann::json;

const Description kModel = small_description("m");

http::Body body_of(std::string_view text) {
  http::Body body;
  body.append(text);
  return body;
}

InferRequest parse(std::string_view json) {
  const http::Body body = body_of(json);
  return parse_infer(body, body.size(), kModel);
}

// A request for one image whose "data" and shape are these.
std::string request(std::string_view data, std::string_view shape = "[1,2,2,1]", std::string_view datatype = "UINT8") {
  return fmt::format(R"({{"inputs":[{{"name":"image","datatype":"{}","shape":{},"data":{}}}]}})", datatype, shape,
                     data);
}

void expect_refused(const std::string& json, std::string_view part) {
  expect_error(ErrorCode::usage, part, [&] { parse(json); });
}

template <class T>
std::vector<T> values(const Tensor& tensor) {
  return {tensor.values<T>().begin(), tensor.values<T>().end()};
}

std::string text_of(const http::Response& response) {
  std::string text;
  for (const http::Buffer& part : response.body) text += part.view();
  return text;
}

TEST(Infer, ReadsNumbersFlatOrNested) {
  const std::vector<std::uint8_t> expected = {0, 128, 255, 7};
  EXPECT_EQ(values<std::uint8_t>(parse(request("[0,128,255,7]")).images), expected);
  EXPECT_EQ(values<std::uint8_t>(parse(request("[[[[0],[128]],[[255],[7]]]]")).images), expected);
  EXPECT_EQ(values<std::uint8_t>(parse(request("[0,128,255.0,7e0]")).images), expected);
  const InferRequest floats = parse(request("[0, 0.5019608, 1, 0.1]", "[1,2,2,1]", "FP32"));
  EXPECT_EQ(floats.images.dtype(), DType::f32);
  EXPECT_EQ(floats.images.data()[1], 128.0F) << "a byte sent as float32 is that byte";
  EXPECT_FLOAT_EQ(floats.images.data()[3], 25.5F);
  EXPECT_EQ(floats.images.shape(), (Shape{1, 2, 2, 1}));
}

TEST(Infer, EveryByteComesBackFromItsFloat) {
  std::vector<float> floats;
  for (int byte = 0; byte < 256; ++byte) floats.push_back(static_cast<float>(byte) / 255.0F);
  to_bytes_unit(floats, "x");
  for (int byte = 0; byte < 256; ++byte) EXPECT_EQ(floats[static_cast<std::size_t>(byte)], static_cast<float>(byte));
}

TEST(Infer, KeysMayComeInAnyOrder) {
  const InferRequest parsed = parse(R"({"outputs":[{"parameters":{"binary_data":true},"name":"probabilities"}],
    "parameters":{"timeout":2500,"anything":[1]},"unknown":{"a":[1,2,{"b":null}]},
    "inputs":[{"data":[1,2,3,4],"shape":[1,2,2,1],"datatype":"UINT8","name":"image"}],"id":"x\"1"})");
  EXPECT_EQ(parsed.id, "x\"1");
  EXPECT_EQ(parsed.timeout, std::chrono::microseconds(2500));
  ASSERT_EQ(parsed.outputs.size(), 1u);
  EXPECT_TRUE(parsed.outputs[0].binary);
}

TEST(Infer, WhatIsWrongWithTheDataIsNamed) {
  expect_refused(request("[0,1,2]"), "has 3 numbers; its shape [1, 2, 2, 1] has 4");
  expect_refused(request("[0,1,2,3,4]"), "has 5 numbers");
  expect_refused(request("[[0,1],[2]]"), "ragged");
  expect_refused(request("[0,[1],2,3]"), "mixes numbers and lists");
  expect_refused(request("[[0],1,2,3]"), "ragged");
  expect_refused(request("{}"), "inputs[0].data is not a list");
  expect_refused(request("null"), "inputs[0].data is not a list");
  expect_refused(request("\"abcd\""), "inputs[0].data is not a list");
  expect_refused(request(R"(["0","1","2","3"])"), "inputs[0].data[0] is not a number");
  expect_refused(request("[0,true,2,3]"), "inputs[0].data[1] is not a number");
  expect_refused(request("[0,1,2,256]"), "numbers other than 0, 1, ..., 255");
  expect_refused(request("[0,1,2,0.5]"), "numbers other than 0, 1, ..., 255");
  expect_refused(request("[0,1,2,-1]"), "numbers other than 0, 1, ..., 255");
  expect_refused(request("[0,1,2,1e999]", "[1,2,2,1]", "FP32"), "not a number that a float32 can hold");
  expect_refused(request("[0,1,2,1e39]", "[1,2,2,1]", "FP32"), "not a number that a float32 can hold");
  expect_refused(request("[0,1,2,3e38]", "[1,2,2,1]", "FP32"), "far too large");
  expect_refused(request("[0,1,2,NaN]", "[1,2,2,1]", "FP32"), "");
  expect_refused(request("[[[[[[[0]]]]]]]"), "nested more than");
  expect_refused(request("[]", "[0,2,2,1]"), "n of at least 1");
}

TEST(Infer, WhatIsWrongWithTheShapeIsNamed) {
  for (const char* shape : {"[1,2,2]", "[1,2,3,1]", "[4]", "[]", "[1,1,2,2,1]"})
    expect_refused(request("[0,1,2,3]", shape), "expected [n, 2, 2, 1]");
  for (const char* shape :
       {"[-1,2,2,1]", "[1.5,2,2,1]", "[\"1\",2,2,1]", "[null,2,2,1]", "[18446744073709551616,2,2,1]"})
    expect_refused(request("[0,1,2,3]", shape), "inputs[0].shape[0] is not a whole number");
  expect_refused(request("[1]", "[1000000000,2,2,1]"), "has 1 numbers");
  expect_refused(request("[1]", "[9223372036854775807,2,2,1]"), "images");
}

TEST(Infer, WhatIsWrongWithTheRequestIsNamed) {
  const std::string input = R"({"name":"image","datatype":"UINT8","shape":[1,2,2,1],"data":[0,1,2,3]})";
  expect_refused("[]", "not one whole JSON object");
  expect_refused("", "");
  expect_refused("{}", "no inputs");
  expect_refused("\xef\xbb\xbf{}", "");
  expect_refused(R"({"inputs":[]})", "has 0 inputs");
  expect_refused(R"({"inputs":[)" + input + "," + input + "]}", "has 2 inputs");
  expect_refused(R"({"inputs":[)" + input + R"(],"inputs":[]})", "'inputs' is there twice");
  expect_refused(R"({"inputs":[)" + input + "]} x", "not one whole JSON object");
  expect_refused(R"({"inputs":[)" + input, "");
  expect_refused(R"({"inputs":[)" + input + R"(],"parameters":[]})", "parameters is not an object");
  expect_refused(R"({"inputs":[)" + input + R"(],"parameters":{"triton_x":1}})", "reserved");
  expect_refused(R"({"inputs":[)" + input + R"(],"id":7})", "id is not a string");
  expect_refused(R"({"inputs":[)" + input + R"(],"outputs":[{"name":"logits"}]})", "no output 'logits'");
  expect_refused(R"({"inputs":[)" + input + R"(],"outputs":[{"name":"probabilities"},{"name":"probabilities"}]})",
                 "asked for twice");
  expect_refused(request("[0,1,2,3]", "[1,2,2,1]", "INT64"), "datatype INT64");
  expect_refused(R"({"inputs":[{"name":"x","datatype":"UINT8","shape":[1,2,2,1],"data":[0,1,2,3]}]})", "no input 'x'");
  expect_refused(R"({"inputs":[{"datatype":"UINT8","shape":[1,2,2,1],"data":[0,1,2,3]}]})", "has no name");
  expect_refused(R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[1,2,2,1]}]})", "either data or");
  expect_refused(
      R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[1,2,2,1],"data":[0,1,2,3],"parameters":{"binary_data_size":4}}]})",
      "either data or");
}

std::string binary_request(int size, const std::string& tail) {
  const std::string json = fmt::format(
      R"({{"inputs":[{{"name":"image","datatype":"UINT8","shape":[1,2,2,1],"parameters":{{"binary_data_size":{}}}}}]}})",
      size);
  return json + tail;
}

TEST(Infer, BinaryTensorsFollowTheJson) {
  const std::string good = binary_request(4, std::string("\x00\x80\xff\x07", 4));
  const auto parse_binary = [](const std::string& text, std::size_t tail) {
    const http::Body body = body_of(text);
    return parse_infer(body, text.size() - tail, kModel);
  };
  EXPECT_EQ(values<std::uint8_t>(parse_binary(good, 4).images), (std::vector<std::uint8_t>{0, 128, 255, 7}));
  expect_error(ErrorCode::usage, "additional input data", [&] { parse_binary(good + "x", 5); });
  expect_error(ErrorCode::usage, "only 3 are there", [&] { parse_binary(good.substr(0, good.size() - 1), 3); });
  expect_error(ErrorCode::usage, "has 3 bytes", [&] { parse_binary(binary_request(3, "abc"), 3); });
  expect_error(ErrorCode::usage, "is 999, but", [&] { parse_infer(body_of("{}"), 999, kModel); });
}

TEST(Infer, ABodyWithoutJsonIsTheOnlyInput) {
  EXPECT_EQ(values<std::uint8_t>(parse_raw(body_of(std::string("\x00\x80\xff\x07", 4)), kModel).images),
            (std::vector<std::uint8_t>{0, 128, 255, 7}));
  const float floats[] = {0, 1, 0.2F, 0.4F};
  std::string bytes(sizeof floats, '\0');
  std::memcpy(bytes.data(), floats, sizeof floats);
  const InferRequest parsed = parse_raw(body_of(bytes), kModel);
  EXPECT_EQ(values<float>(parsed.images), (std::vector<float>{0, 255, 51, 102}));
  EXPECT_TRUE(parsed.outputs.at(0).binary);
  expect_error(ErrorCode::usage, "the body has 5 bytes", [] { parse_raw(body_of("abcde"), kModel); });
}

Answer answered() {
  Answer answer = answer_of({0.5F, 0.25F, 0.25F, 0.125F, 0.75F, 0.125F});
  answer.model = "m";
  answer.version = "3";
  return answer;
}

TEST(Infer, AnswersAreTheProtocols) {
  InferRequest request{
      .id = "i\n", .images = {}, .outputs = default_outputs(kModel, false), .timeout = {}, .inverted = {}};
  const http::Response response = render_infer(request, answered(), kModel);
  EXPECT_EQ(response.status, 200u);
  EXPECT_EQ(Json::parse(text_of(response)), Json::parse(R"({"model_name":"m","model_version":"3","id":"i\n","outputs":[
    {"name":"probabilities","datatype":"FP32","shape":[2,3],"data":[0.5,0.25,0.25,0.125,0.75,0.125]}]})"));
}

TEST(Infer, BinaryAnswersFollowTheirJson) {
  const InferRequest request{
      .id = "", .images = {}, .outputs = default_outputs(kModel, true), .timeout = {}, .inverted = {}};
  const http::Response response = render_infer(request, answered(), kModel);
  const std::string text = text_of(response);
  ASSERT_EQ(response.headers.at(0).name, "Inference-Header-Content-Length");
  const std::size_t length = std::stoul(response.headers[0].value);
  EXPECT_EQ(Json::parse(text.substr(0, length))["outputs"][0]["parameters"]["binary_data_size"], 24);
  float first = 0;
  ASSERT_EQ(text.size(), length + 24);
  std::memcpy(&first, text.data() + length, sizeof first);
  EXPECT_EQ(first, 0.5F);
}

TEST(Infer, ClassificationNamesTheLikeliest) {
  const InferRequest request = parse(R"({"outputs":[{"name":"probabilities","parameters":{"classification":2}}],
    "inputs":[{"name":"image","datatype":"UINT8","shape":[1,2,2,1],"data":[0,1,2,3]}]})");
  const Json json = Json::parse(text_of(render_infer(request, answered(), kModel)));
  EXPECT_EQ(json["outputs"][0]["datatype"], "BYTES");
  EXPECT_EQ(json["outputs"][0]["shape"], Json::parse("[2,2]"));
  EXPECT_EQ(json["outputs"][0]["data"], Json::parse(R"(["0.5:0:a","0.25:1:b","0.75:1:b","0.125:0:a"])"));
}

TEST(Infer, JsonNeverHoldsWhatItCannotSay) {
  Answer answer = answered();
  answer.probabilities = answer.probabilities.clone();
  answer.probabilities.data()[1] = std::numeric_limits<float>::infinity();
  InferRequest request{
      .id = "", .images = {}, .outputs = default_outputs(kModel, false), .timeout = {}, .inverted = {}};
  const http::Response response = render_infer(request, answer, kModel);
  EXPECT_EQ(response.status, 500u);
  EXPECT_NE(Json::parse(text_of(response))["error"].get<std::string>().find("not finite"), std::string::npos);
  request.outputs = default_outputs(kModel, true);
  EXPECT_EQ(render_infer(request, answer, kModel).status, 200u) << "as bytes it can be said";
}

TEST(Infer, FailuresHaveTheirStatus) {
  const auto status = [](Outcome outcome) { return error_of({.outcome = outcome, .message = "x"}).status; };
  EXPECT_EQ(status(Outcome::full), 503u);
  EXPECT_EQ(status(Outcome::unavailable), 503u);
  EXPECT_EQ(status(Outcome::late), 504u);
  EXPECT_EQ(status(Outcome::failed), 500u);
  const http::Response full =
      error_of({.outcome = Outcome::full, .message = "x", .retry_after = std::chrono::milliseconds(1500)});
  ASSERT_EQ(full.headers.size(), 1u);
  EXPECT_EQ(full.headers[0].name, "Retry-After");
  EXPECT_EQ(full.headers[0].value, "2");
  EXPECT_EQ(Json::parse(text_of(full))["error"], "x");
}

TEST(PredictJson, TakesRowsOrColumns) {
  const auto read = [](std::string_view text) {
    const http::Body body = body_of(text);
    return parse_predict_json(body.text());
  };
  EXPECT_EQ(read(R"({"instances":[[1,2],[3,4]]})").data.sizes, (std::vector<std::int64_t>{2, 2}));
  EXPECT_TRUE(read(R"({"signature_name":"s","inputs":{"image":[[1,2]]}})").columns);
  expect_error(ErrorCode::usage, "both instances and inputs", [&] { read(R"({"instances":[1],"inputs":[1]})"); });
  expect_error(ErrorCode::usage, "neither instances nor inputs", [&] { read("{}"); });
  expect_error(ErrorCode::usage, "more than one input", [&] { read(R"({"inputs":{"a":[1],"b":[2]}})"); });
  expect_error(ErrorCode::usage, "ragged", [&] { read(R"({"instances":[[1,2],[3]]})"); });
}

TEST(JobJson, NamesAModelAndHoldsARequest) {
  const auto read = [](std::string_view text) {
    const http::Body body = body_of(text);
    return parse_job_json(body.text());
  };
  const JobRequest job = read(R"({"request":{"inputs":[ 1 ]},"model":"m"})");
  EXPECT_EQ(job.model, "m");
  EXPECT_EQ(job.request, R"({"inputs":[ 1 ]})");
  expect_error(ErrorCode::usage, "names no model", [&] { read(R"({"request":{}})"); });
  expect_error(ErrorCode::usage, "has no request", [&] { read(R"({"model":"m"})"); });
  expect_error(ErrorCode::usage, "request is not an object", [&] { read(R"({"model":"m","request":[]})"); });
  const std::string deep = R"({"model":"m","request":{"a":)" + std::string(100000, '[');
  expect_error(ErrorCode::usage, "", [&] { read(deep); });
}

}  // namespace
}  // namespace lockring::app::serve
