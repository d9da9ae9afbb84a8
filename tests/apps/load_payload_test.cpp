#include "apps/load/payload.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <set>

namespace lockring::app {
namespace {

using nlohmann::json;

constexpr const char* kModel = R"({"name":"a b","inputs":[
  {"name":"image","datatype":"FP32","shape":[-1,1,2,3]},{"name":"flag","datatype":"BOOL","shape":[-1]}]})";

PayloadOptions options_for(const std::string& metadata) {
  PayloadOptions options;
  options.metadata = metadata;
  options.bodies = 5;
  return options;
}

TEST(InferencePayload, IsValidJson) {
  PayloadOptions options = options_for(kModel);
  options.batch = 2;
  const Payload payload = inference_payload(options);
  EXPECT_EQ(payload.method, "POST");
  EXPECT_EQ(payload.target, "/v2/models/a%20b/infer");
  ASSERT_EQ(payload.bodies.size(), 5u);
  EXPECT_EQ(std::set<std::string>(payload.bodies.begin(), payload.bodies.end()).size(), 5u);
  const json body = json::parse(payload.bodies[0]);
  EXPECT_EQ(body["inputs"][0]["shape"], json({2, 1, 2, 3}));
  ASSERT_EQ(body["inputs"][0]["data"].size(), 12u);
  for (const json& value : body["inputs"][0]["data"]) EXPECT_TRUE(value >= 0 && value <= 1);
  EXPECT_EQ(body["inputs"][1]["shape"], json({2}));
  for (const json& value : body["inputs"][1]["data"]) EXPECT_TRUE(value == 0 || value == 1);
}

TEST(InferencePayload, PutsTensorsBehindTheJson) {
  PayloadOptions options = options_for(kModel);
  options.binary = true;
  const Payload payload = inference_payload(options);
  const auto length = static_cast<std::size_t>(std::stoi(payload.headers.at(1).second));
  EXPECT_EQ(payload.headers.at(1).first, "Inference-Header-Content-Length");
  for (const std::string& text : payload.bodies) {
    const json body = json::parse(text.substr(0, length));
    EXPECT_EQ(body["inputs"][0]["parameters"]["binary_data_size"], 24);
    EXPECT_EQ(body["inputs"][1]["parameters"]["binary_data_size"], 1);
    EXPECT_TRUE(body["parameters"]["binary_data_output"]);
    ASSERT_EQ(text.size(), length + 25);
    float first = -1;
    std::memcpy(&first, text.data() + length, sizeof first);
    EXPECT_TRUE(first >= 0 && first <= 1);
  }
}

TEST(InferencePayload, MakesEveryKindOfNumber) {
  const std::pair<const char*, std::size_t> sizes[] = {{"FP32", 4},  {"FP64", 8},  {"UINT8", 1},  {"INT8", 1},
                                                       {"INT16", 2}, {"INT32", 4}, {"UINT16", 2}, {"UINT32", 4},
                                                       {"INT64", 8}, {"BOOL", 1},  {"UINT64", 8}};
  for (const auto& [datatype, size] : sizes) {
    PayloadOptions options = options_for(kModel);
    options.binary = true;
    options.datatype = datatype;
    const Payload payload = inference_payload(options);
    const auto length = static_cast<std::size_t>(std::stoi(payload.headers.at(1).second));
    EXPECT_EQ(payload.bodies[0].size() - length, 7 * size) << datatype;
  }
}

TEST(InferencePayload, SaysWhatItCannotUse) {
  const auto make = [](const std::string& metadata) { inference_payload(options_for(metadata)); };
  expect_error(ErrorCode::data, "description of the model", [&] { make("{"); });
  expect_error(ErrorCode::data, "description of the model", [&] { make("[]"); });
  expect_error(ErrorCode::data, "no inputs", [&] { make(R"({"name":"a","inputs":[]})"); });
  expect_error(ErrorCode::usage, "BYTES",
               [&] { make(R"({"name":"a","inputs":[{"name":"x","datatype":"BYTES","shape":[-1]}]})"); });
  expect_error(ErrorCode::data, "too large", [&] {
    make(R"({"name":"a","inputs":[{"name":"x","datatype":"FP32","shape":[-1,100000,100000,100000]}]})");
  });
}

TEST(RequestTexts, AreWholeRequests) {
  Payload payload;
  payload.target = "/p";
  payload.headers = {{"A", "b"}};
  payload.bodies = {"hello", ""};
  const http::Url url = http::parse_url("http://x:1");
  EXPECT_EQ(request_texts(payload, url)[0], "POST /p HTTP/1.1\r\nHost: x:1\r\nA: b\r\nContent-Length: 5\r\n\r\nhello");
  payload.method = "GET";
  EXPECT_EQ(request_texts(payload, url)[1], "GET /p HTTP/1.1\r\nHost: x:1\r\nA: b\r\n\r\n");
}

}  // namespace
}  // namespace lockring::app
