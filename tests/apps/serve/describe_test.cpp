#include "apps/serve/describe.h"

#include "apps/serve/access_log.h"
#include "apps/serve/api_key.h"
#include "apps/serve/json_text.h"
#include "apps/serve/metrics.h"
#include "apps/serve/pages.h"
#include "apps/serve/split.h"
#include "apps/serve/traffic.h"
#include "tests/apps/serve/fake_servable.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <regex>
#include <set>

namespace lockring::app::serve {
namespace {

using Json = nlohmann::json;

Description ensemble_description() {
  Description description = small_description("both");
  description.platform = "ensemble";
  description.members = {{"a", 1}, {"b", 1}};
  return description;
}

TEST(Describe, MetadataHasOpenBatchAndAllOutputs) {
  const Json json = Json::parse(metadata_json(ensemble_description(), {}));
  EXPECT_EQ(json["inputs"], Json::parse(R"([{"name":"image","datatype":"FP32","shape":[-1,2,2,1]}])"));
  std::vector<std::string> names;
  for (const Json& output : json["outputs"]) names.push_back(output["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"probabilities", "agreement", "a.probabilities", "b.probabilities"}));
  const Json config = Json::parse(config_json(ensemble_description()));
  EXPECT_EQ(config["input"][0]["dims"], Json::parse("[2,2,1]"));
  EXPECT_EQ(config["ensemble_scheduling"]["step"][1]["model_name"], "b");
}

// What perf_analyzer reads, and stops without.
TEST(Describe, StatisticsHaveEveryFieldThatToolsNeed) {
  const auto servable = std::make_shared<FakeServable>(small_description("m"));
  const Json stats = Json::parse(stats_json({servable}))["model_stats"][0];
  for (const char* field : {"name", "version", "inference_count", "execution_count"})
    EXPECT_TRUE(stats.contains(field));
  for (const char* part :
       {"success", "fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit", "cache_miss"})
    for (const char* field : {"count", "ns"})
      EXPECT_TRUE(stats["inference_stats"][part][field].is_number_unsigned()) << part;
}

TEST(Describe, IndexTellsWhatIsReady) {
  const std::vector<IndexRow> rows = {{"a", "1", "READY", ""}, {"a", "2", "UNAVAILABLE", "damaged"}};
  EXPECT_EQ(Json::parse(index_json(rows, "")).size(), 2u);
  EXPECT_EQ(Json::parse(index_json(rows, R"({"ready":true})")).size(), 1u);
  for (const char* bad : {"[]", "{", R"({"ready":1})"})
    expect_error(ErrorCode::usage, "", [&] { index_json(rows, bad); });
  expect_error(ErrorCode::usage, "parameters.config",
               [] { check_parameters_json(R"({"parameters":{"config":"{}"}})"); });
  expect_error(ErrorCode::usage, "parameters is not", [] { check_parameters_json(R"({"parameters":[]})"); });
  check_parameters_json(R"({"parameters":{"unload_dependents":true}})");
}

// Every path, with each reference to a schema that is there.
TEST(Describe, OpenApiIsWhole) {
  const Repository repository({}, "");
  const std::string text = openapi_json(repository);
  const Json api = Json::parse(text);
  const std::regex reference(R"(#/components/schemas/(\w+))");
  for (std::sregex_iterator at(text.begin(), text.end(), reference), end; at != end; ++at)
    EXPECT_TRUE(api["components"]["schemas"].contains((*at)[1].str())) << (*at)[1];
  for (const auto& [path, verbs] : api["paths"].items())
    for (const auto& [verb, operation] : verbs.items()) {
      EXPECT_FALSE(operation["responses"].empty()) << path;
      ASSERT_TRUE(operation["parameters"].is_array()) << path;
      std::set<std::string> in_path;
      for (const Json& parameter : operation["parameters"])
        if (parameter["in"] == "path") in_path.insert(fmt::format("{{{}}}", parameter["name"].get<std::string>()));
      EXPECT_EQ(static_cast<std::ptrdiff_t>(in_path.size()), std::ranges::count(path, '{')) << path;
      for (const std::string& name : in_path) EXPECT_NE(path.find(name), std::string::npos) << path;
    }
}

// Prometheus text format 0.0.4: each row of a family follows its TYPE, and no family comes twice.
TEST(Metrics, AreAPageThatPrometheusReads) {
  const Served served = fakes({"a", "b"});
  for (const auto& [name, fake] : served)
    fake->answer_at_once = std::make_unique<Answer>(answer_of({0.6F, 0.3F, 0.1F}));
  Repository repository({}, "");
  for (const auto& [name, fake] : served) repository.add(fake);
  std::vector<SplitOptions> splits = {parse_split("s=a:1,b:1")};
  add_shadow("s=b:1", splits);
  const auto split = std::make_shared<Split>(splits[0], lookup_in(served));
  repository.add(split);
  Kept kept;
  for (int i = 0; i < 10; ++i) split->submit({.images = small_images(1)}, kept.keep());
  const JobStore jobs({});
  const std::string page = metrics_text(repository, jobs);
  const std::regex row(R"(([a-z_0-9]+)(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? -?[0-9.e+-]+)");
  std::set<std::string> families;
  std::string family;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) continue;
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << family;
      continue;
    }
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, row)) << line;
    EXPECT_TRUE(match[1].str().starts_with(family)) << line;
  }
  EXPECT_NE(page.find("lockring_requests_total{model=\"s\",version=\"1\",outcome=\"ok\"} 10"), std::string::npos)
      << page;
  EXPECT_NE(page.find("answer=\"same\"} 10"), std::string::npos);
}

TEST(Metrics, QuantilesComeFromTheBuckets) {
  Durations durations;
  EXPECT_EQ(quantile(durations, 0.5), 0);
  for (int i = 0; i < 90; ++i) durations.add(std::chrono::microseconds(150));
  for (int i = 0; i < 10; ++i) durations.add(std::chrono::milliseconds(30));
  EXPECT_GT(quantile(durations, 0.5), 1e-4);
  EXPECT_LT(quantile(durations, 0.5), 2e-4);
  EXPECT_GT(quantile(durations, 0.99), 2.5e-2);
  EXPECT_LT(quantile(durations, 0.99), 5e-2);
  durations.add(std::chrono::hours(1));
  EXPECT_EQ(durations.count(durations.bounds().size()), 1u);
  EXPECT_NEAR(durations.sum(), 90 * 150e-6 + 10 * 30e-3 + 3600, 1e-3);
}

TEST(JsonText, IsValidWhateverItIsMadeOf) {
  for (const std::string& text :
       {std::string("a\"b\\c\n\t\x01"), std::string("\0x", 2), std::string("gr\xc3\xbc\xc3\x9f"),
        std::string("\xff\xfe"), std::string("\xed\xa0\x80"), std::string("\xc0\xaf"),
        std::string("\xf0\x9f\x98\x80")}) {
    std::string json;
    append_text(json, text);
    EXPECT_NO_THROW(Json::parse(json)) << json;
  }
  std::string same;
  append_text(same, "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(same, "\"gr\xc3\xbc\xc3\x9f\"");
}

TEST(AccessLog, ALineStaysALine) {
  const std::string line =
      access_line({.method = "GET", .target = "/\r\n{\"status\":200}", .peer = "::1", .id = "a\"b\n", .status = 404});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(Json::parse(line)["id"], "a\"b\n");
  EXPECT_EQ(Json::parse(line)["status"], 404);
  http::Completed long_one;
  long_one.method = "GET";
  long_one.target = std::string(100000, 'x');
  const std::string most = access_line(long_one);
  EXPECT_LT(most.size(), 2000u);
}

TEST(ApiKey, OpensAllButHealthAndPages) {
  const TemporaryDirectory directory;
  data::write(directory / "key", "secret \n");
  const auto check_key = key_check((directory / "key").string());
  const auto status = [&](const char* path, std::vector<http::Field> fields) {
    http::Request request;
    request.path = path;
    request.fields = std::move(fields);
    const auto refused = check_key(request);
    return refused ? refused->status : 200;
  };
  EXPECT_EQ(status("/v2/models", {}), 401u);
  EXPECT_EQ(status("/v2/models", {{"X-API-Key", "secrex"}}), 403u);
  EXPECT_EQ(status("/v2/models", {{"X-API-Key", "secret"}}), 200u);
  EXPECT_EQ(status("/metrics", {{"Authorization", "Bearer secret"}}), 200u);
  EXPECT_EQ(status("/metrics", {{"Authorization", "Basic secret"}}), 401u);
  EXPECT_EQ(status("/v2/health/ready", {}), 200u);
  EXPECT_EQ(status("/", {}), 200u);
  data::write(directory / "empty", "\n");
  expect_error(ErrorCode::data, "holds no key", [&] { key_check((directory / "empty").string()); });
  expect_error(ErrorCode::data, "none", [&] { key_check((directory / "none").string()); });
}

TEST(Pages, AreCarriedInTheProgram) {
  for (const char* path : {"/", "/docs", "/app.js", "/docs.js", "/style.css", "/icon.svg"}) {
    const auto page = page_at(path);
    ASSERT_TRUE(page.has_value()) << path;
    EXPECT_GT(page->body_size(), 100u);
  }
  for (const char* path : {"", "/nothing", "/../app.js", "app.js/"})
    EXPECT_FALSE(page_at(path) && *path == '/') << path;
}

}  // namespace
}  // namespace lockring::app::serve
