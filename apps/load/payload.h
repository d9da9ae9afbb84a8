// What load is made of: valid requests for a served model.
#pragma once

#include "apps/http/url.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockring::app {

// Requests that differ in their bodies only.
struct Payload {
  std::string method = "POST";
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> bodies;  // one at least
};

// Of a model as GET /v2/models/MODEL describes it (Open Inference Protocol 2): random numbers, in [0, 1] for floating
// point and 0 to 255 for integers, for every input.
struct PayloadOptions {
  std::string metadata;  // that JSON text
  std::string datatype;  // instead of the one that is described; "": that one
  bool binary = false;   // tensors behind the JSON text as they lie in memory, both ways
  std::int64_t batch = 1;
  std::size_t bodies = 64;
  std::uint64_t seed = 1;
};
// Throws Error{data} for a description that is none, Error{usage} for a datatype that numbers cannot be made of.
Payload inference_payload(const PayloadOptions& options);

// The requests as they go to the server of `url`.
std::vector<std::string> request_texts(const Payload& payload, const http::Url& url);

}  // namespace lockring::app
