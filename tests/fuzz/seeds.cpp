// fuzz_seeds FOLDER: writes good files of each format, from which fuzzing starts, to FOLDER/TARGET/.
#include "nn/bundle_info.h"
#include "nn/safetensors_header.h"
#include "tests/data/small_files.h"
#include "tests/data/small_images.h"

#include <png.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace lockring::fuzz {
namespace {

using Seeds = std::vector<std::string>;

Seeds idx_seeds() {
  const std::string small = data::idx_file({2, 3, 4});
  return {small, data::label_file(5), data::gzip(small), data::gzip(small.substr(0, 9)) + data::gzip(small.substr(9)),
          data::idx_file({1, 1, 1, 1, 1, 7})};
}

// A header behind the byte that says so and how many bytes of data follow it (safetensors_fuzz.cpp).
std::string header_seed(const nn::SafetensorsHeader& header, int data_bytes) {
  return static_cast<char>(1 + 2 * data_bytes) + nn::format_safetensors_header(header);
}

Seeds safetensors_seeds() {
  const nn::BundleInfo info{.program_version = "0.1.0",
                            .architecture = "mlp",
                            .input_shape = {2, 2, 1},
                            .transform = "normalize:0.5:0.25,flip",
                            .mean = {0.5F},
                            .deviation = {0.25F},
                            .classes = {"a", "b"},
                            .metrics = {{"val_loss", 0.5}},
                            .data_digest = "abc",
                            .seed = 3};
  const std::vector<nn::TensorEntry> tensors = {
      {"w", DType::f32, {2, 2}, 0, 16}, {"b", DType::bf16, {1}, 16, 18}, {"e", DType::i64, {0, 3}, 18, 18}};
  const std::string file = "{\"w\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}  ";
  return {header_seed({nn::to_metadata(info), tensors}, 18), header_seed({{{"a", "b"}}, {}}, 0), "\1{}",
          std::string{0, static_cast<char>(file.size()), 0, 0, 0, 0, 0, 0, 0} + file + "xy"};
}

std::string bytes(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>(i * i * 7);
  return text;
}

Seeds image_seeds() {
  using data::jpeg_file;
  using data::png_file;
  const std::vector<std::array<std::uint8_t, 4>> palette = {{1, 2, 3, 255}, {200, 100, 50, 128}, {9, 9, 9, 0}};
  return {png_file({.width = 5, .height = 3}, bytes(15)),
          png_file({.width = 3, .height = 2, .bit_depth = 16, .colour_type = PNG_COLOR_TYPE_RGB_ALPHA}, bytes(48)),
          png_file({.width = 9, .height = 9, .colour_type = PNG_COLOR_TYPE_RGB, .interlaced = true}, bytes(243)),
          png_file({.width = 4, .height = 1, .bit_depth = 2, .colour_type = PNG_COLOR_TYPE_PALETTE, .palette = palette},
                   bytes(1)),
          jpeg_file({.width = 9, .height = 7, .components = 1}, bytes(63)),
          jpeg_file({.width = 17, .height = 5}, bytes(255)),
          jpeg_file({.width = 16, .height = 16, .progressive = true}, bytes(768)),
          jpeg_file({.width = 4, .height = 4, .components = 4}, bytes(64))};
}

// Behind two bytes that say what the body is (infer_fuzz.cpp).
Seeds infer_seeds() {
  const std::string json(1, '\0');
  const std::string all_json = json + '\xff';
  return {
      all_json + R"({"id":"i","inputs":[{"name":"image","datatype":"FP32","shape":[1,2,2,1],"data":[0,0.5,1,1e-2]}]})",
      all_json +
          R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[2,2,2,1],"data":[[[[1],[2]],[[3],[4]]],[[[5],[6]],)"
          R"([[7],[8]]]]}],"outputs":[{"name":"probabilities","parameters":{"classification":2}}],"parameters":{"timeout":9}})",
      json + '\xfa' +
          R"({"inputs":[{"name":"image","datatype":"UINT8","shape":[1,2,2,1],"parameters":{"binary_data_size":4}}]})" +
          "\1\2\3\4",
      std::string("\1\xff") + "abcd",
      std::string("\1\xff") + data::png_file({2, 2, 8, PNG_COLOR_TYPE_GRAY, false, {}}, "abcd"),
      std::string("\2\xff") +
          "--x\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a\"\r\n\r\nabc\r\n--x--\r\n",
      std::string("\3\xff") + R"({"signature_name":"s","instances":[[[[0],[1]],[[0.5],[1]]]]})",
      std::string("\3\xff") + R"({"inputs":{"image":[[1,2,3,4]]}})",
  };
}

Seeds toml_seeds() {
  return {"# a comment\nepochs = 10\nlr = 1_000.5e-3\nname = \"a\\u00e9\\n\\\"b\\\"\"\n",
          "[data.ingest]\ndataset = 'literal \\'\n\"quoted key\".part = true\n",
          "list = [ 1, -2.5, 0xff, inf,\n  'a', # comment\n]\r\n"};
}

// Behind what http_fuzz.cpp takes two bytes for.
Seeds http_seeds() {
  const std::string request = "0\3";
  const std::string response = std::string("1\0", 2);
  const std::string url = std::string("2\0", 2);
  return {request + "POST /v2/models/a%20b/infer?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
          request +
              "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0\r\nT: u\r\n\r\n",
          request + "GET http://a/b HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
          response + "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nA:  b \r\n\r\nab",
          response + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
          url + "https://example.org:8443/a%20b?a=b&c=%20+d#e",
          url + "[::1]:80/x"};
}

Seeds transform_seeds() {
  return {"",
          "resize:6x7,grayscale,normalize",
          "normalize:0.5/0.4/0.3:0.25/0.25/0.25,crop:2,flip",
          "rotate:15,flip:alternate,erase:0.5:0.02:0.33",
          "erase:1,cutout:3,mixup:0.2,tta:shift",
          "normalize:1e3:1e-3,tta:flip,resize:28"};
}

Seeds workflow_seeds() {
  return {"steps:\n  a: {run: \"true\"}\n",
          R"(name: w
seed: 2
parameters: {epochs: 5, mode: "quick"}
keep_going: true
steps:
  a: &base
    uses: train
    with: {model: cnn, epochs: "${epochs}", nesterov: true}
    inputs: {data: data}
    memoize: {max_age: 14d, ignore: [data]}
    retries: {limit: 2, backoff: 5s, factor: 2, max: 1m}
    outputs: {run: {kind: dir, name: cnn, identity: ["*.x", "!y"]}}
  b: {<<: *base, timeout: 90m, resources: {ranks: 2, replicas: 1, slots: 3}}
  c:
    run: echo '${inputs.all}' > ${outputs.v} # ${steps.a.run}
    async: true
    inputs: {all: ["${steps.a.run}", "${steps.b.run}"]}
    outputs: {v: value, f: {path: "out/f"}}
    when: "(${epochs} >= 3 && ${mode} != 'x y') || !${mode}"
    env: {A: "$${b}"}
  d: {run: [serve, "${step.port}"], server: {ready: "tcp:127.0.0.1:${step.port}", update: [sh, -c, "${steps.c.v}"]}, async: true}
on_exit: {run: "echo ${run.status}"}
)",
          "? - 1\n: !!str\n--- # c\n\"k\\u00e9\": [~, 'it''s', >-\n  folded\n  text\n, *x]\n"};
}

void write(const std::filesystem::path& folder, const Seeds& seeds) {
  std::filesystem::create_directories(folder);
  for (std::size_t i = 0; i < seeds.size(); ++i) data::write(folder / std::to_string(i), seeds[i]);
}

}  // namespace
}  // namespace lockring::fuzz

int main(int count, char** arguments) {
  using namespace lockring::fuzz;
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  write(folder / "http", http_seeds());
  write(folder / "idx", idx_seeds());
  write(folder / "image", image_seeds());
  write(folder / "infer", infer_seeds());
  write(folder / "safetensors", safetensors_seeds());
  write(folder / "toml", toml_seeds());
  write(folder / "transform", transform_seeds());
  write(folder / "workflow", workflow_seeds());
  return 0;
}
