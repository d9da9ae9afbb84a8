#include "apps/serve/infer_json.h"

#include "core/error.h"
#include "core/text.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockring::app::serve {
namespace {

namespace od = simdjson::ondemand;

constexpr std::size_t kDeepest = 6;  // arrays in arrays
constexpr std::size_t kMostTensors = 64;
constexpr std::size_t kLongestId = 1024;

// Keys of one object, none twice.
class Keys {
 public:
  explicit Keys(std::string where) : where_(std::move(where)) {}

  std::string add(od::field& field) {
    std::string key(std::string_view(field.unescaped_key()));
    check(std::ranges::count(seen_, key) == 0, "{}'{}' is there twice", where_, key);
    check(seen_.size() < kMostTensors, "{}has too many keys", where_);
    seen_.push_back(key);
    return key;
  }

 private:
  std::string where_;
  std::vector<std::string> seen_;
};

std::string text_of(od::value value, const std::string& what) {
  std::string_view text;
  check(value.get_string().get(text) == simdjson::SUCCESS, "{} is not a string", what);
  return std::string(text);
}

bool bool_of(od::value value, const std::string& what) {
  bool flag = false;
  check(value.get_bool().get(flag) == simdjson::SUCCESS, "{} is neither true nor false", what);
  return flag;
}

std::int64_t whole_of(od::value value, const std::string& what, std::int64_t least) {
  std::int64_t number = 0;
  const bool ok = value.get_int64().get(number) == simdjson::SUCCESS && number >= least;
  check(ok, "{} is not a whole number of at least {}", what, least);
  return number;
}

od::object object_of(od::value value, const std::string& what) {
  od::object object;
  check(value.get_object().get(object) == simdjson::SUCCESS, "{} is not an object", what);
  return object;
}

od::array array_of(od::value value, const std::string& what) {
  od::array array;
  check(value.get_array().get(array) == simdjson::SUCCESS, "{} is not a list", what);
  return array;
}

// Reads lists in lists whose lengths are alike on each level.
class NumberReader {
 public:
  NumberReader(JsonNumbers& numbers, const std::string& what) : numbers_(numbers), what_(what) {}

  void read(od::array array, std::size_t depth) {
    check(depth < kDeepest, "{} is nested more than {} deep", what_, kDeepest);
    std::int64_t count = 0;
    for (auto element : array) {
      od::value value = element.value();
      if (value.type() == od::json_type::array) {
        check(!leaf_depth_ || depth < *leaf_depth_, "{} mixes numbers and lists", what_);
        read(value.get_array(), depth + 1);
      } else {
        check(leaf_depth_.value_or(depth) == depth, "{} is ragged: numbers lie at different depths", what_);
        leaf_depth_ = depth;
        add(value);
      }
      ++count;
    }
    note_length(depth, count);
  }

 private:
  void add(od::value value) {
    double number = 0;
    const auto error = value.get_double().get(number);
    check(error == simdjson::SUCCESS, "{}[{}] is not a number that a float32 can hold", what_, numbers_.values.size());
    const auto as_float = static_cast<float>(number);
    check(std::isfinite(as_float), "{}[{}] is not a number that a float32 can hold", what_, numbers_.values.size());
    numbers_.whole_bytes = numbers_.whole_bytes && number >= 0 && number <= 255 && number == static_cast<int>(number);
    numbers_.values.push_back(as_float);
  }

  void note_length(std::size_t depth, std::int64_t count) {
    if (numbers_.sizes.size() <= depth) numbers_.sizes.resize(depth + 1, -1);
    std::int64_t& known = numbers_.sizes[depth];
    check(known == -1 || known == count, "{} is ragged: lists of {} and of {} lie side by side", what_, known, count);
    known = count;
  }

  JsonNumbers& numbers_;
  const std::string& what_;
  std::optional<std::size_t> leaf_depth_;
};

JsonNumbers numbers_of(od::value value, const std::string& what) {
  constexpr std::size_t kUsual = 1024;
  JsonNumbers numbers;
  numbers.values.reserve(kUsual);
  NumberReader(numbers, what).read(array_of(value, what), 0);
  return numbers;
}

void read_input_parameters(od::value value, JsonInput& input, const std::string& what) {
  Keys keys(what + ".parameters: ");
  for (auto member : object_of(value, what + ".parameters")) {
    od::field field = std::move(member).take_value();
    const std::string key = keys.add(field);
    if (key == "binary_data_size")
      input.binary_size = static_cast<std::uint64_t>(whole_of(field.value(), what + ".parameters.binary_data_size", 0));
    if (key.starts_with("shared_memory")) input.shared_memory = true;
  }
}

std::vector<std::int64_t> shape_of(od::value value, const std::string& what) {
  std::vector<std::int64_t> shape;
  for (auto size : array_of(value, what)) {
    check(shape.size() < kDeepest, "{} has more than {} sizes", what, kDeepest);
    shape.push_back(whole_of(size.value(), fmt::format("{}[{}]", what, shape.size()), 0));
  }
  return shape;
}

JsonInput read_input(od::value value, std::size_t number) {
  const std::string what = fmt::format("inputs[{}]", number);
  JsonInput input;
  Keys keys(what + ": ");
  for (auto member : object_of(value, what)) {
    od::field field = std::move(member).take_value();
    const std::string key = keys.add(field);
    if (key == "name") input.name = text_of(field.value(), what + ".name");
    if (key == "datatype") input.datatype = text_of(field.value(), what + ".datatype");
    if (key == "shape") input.shape = shape_of(field.value(), what + ".shape");
    if (key == "data") input.data = numbers_of(field.value(), what + ".data");
    if (key == "parameters") read_input_parameters(field.value(), input, what);
  }
  check(!input.name.empty(), "{} has no name", what);
  check(!input.datatype.empty(), "{} has no datatype", what);
  check(input.shape.has_value(), "{} has no shape", what);
  return input;
}

JsonOutput read_output(od::value value, std::size_t number) {
  const std::string what = fmt::format("outputs[{}]", number);
  JsonOutput output;
  Keys keys(what + ": ");
  for (auto member : object_of(value, what)) {
    od::field field = std::move(member).take_value();
    const std::string key = keys.add(field);
    if (key == "name") output.name = text_of(field.value(), what + ".name");
    if (key != "parameters") continue;
    Keys of_parameters(what + ".parameters: ");
    for (auto parameter : object_of(field.value(), what + ".parameters")) {
      od::field inner = std::move(parameter).take_value();
      const std::string name = of_parameters.add(inner);
      const std::string where = what + ".parameters." + name;
      if (name == "binary_data") output.binary = bool_of(inner.value(), where);
      if (name == "classification") output.classification = whole_of(inner.value(), where, 0);
      check(!name.starts_with("shared_memory"), "{}: shared memory is not offered here", where);
    }
  }
  check(!output.name.empty(), "{} has no name", what);
  return output;
}

void read_parameters(od::value value, JsonRequest& request) {
  Keys keys("parameters: ");
  for (auto member : object_of(value, "parameters")) {
    od::field field = std::move(member).take_value();
    const std::string key = keys.add(field);
    check(!key.starts_with("triton_"), "parameters.{}: keys that begin with triton_ are reserved", key);
    if (key == "timeout") request.timeout = whole_of(field.value(), "parameters.timeout", 0);
    if (key == "binary_data_output") request.binary_output = bool_of(field.value(), "parameters.binary_data_output");
  }
}

template <class T, class Read>
std::vector<T> list_of(od::value value, const char* what, Read read) {
  std::vector<T> list;
  for (auto element : array_of(value, what)) {
    check(list.size() < kMostTensors, "{} has more than {} entries", what, kMostTensors);
    list.push_back(read(element.value(), list.size()));
  }
  return list;
}

void read_request(od::field& field, const std::string& key, JsonRequest& request) {
  if (key == "id") {
    request.id = text_of(field.value(), "id");
    check(request.id.size() <= kLongestId, "id is longer than {} bytes", kLongestId);
  }
  if (key == "parameters") read_parameters(field.value(), request);
  if (key == "inputs") request.inputs = list_of<JsonInput>(field.value(), "inputs", read_input);
  if (key == "outputs") request.outputs = list_of<JsonOutput>(field.value(), "outputs", read_output);
}

// Calls read(field, key) for each field of the object that the text must be.
template <class Read>
void read_document(std::string_view text, Read read) {
  // Kept from request to request, but not as large as the largest body ever read.
  constexpr std::size_t kLarge = 1 << 20;
  static thread_local od::parser kept;
  od::parser for_large;
  od::parser& parser = text.size() > kLarge ? for_large : kept;
  try {
    od::document document = parser.iterate(
        simdjson::padded_string_view(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING));
    od::object object;
    check(document.get_object().get(object) == simdjson::SUCCESS, "the body is not one whole JSON object");
    Keys keys("");
    for (auto member : object) {
      od::field field = std::move(member).take_value();
      const std::string key = keys.add(field);
      read(field, key);
    }
    const char* rest = nullptr;
    check(document.current_location().get(rest) != simdjson::SUCCESS, "there is more behind the JSON object");
  } catch (const simdjson::simdjson_error& error) {
    fail(ErrorCode::usage, "the body is not the JSON of a request: {}", printable(error.what()));
  }
}

}  // namespace

JsonRequest parse_infer_json(std::string_view text) {
  JsonRequest request;
  bool have_inputs = false;
  read_document(text, [&](od::field& field, const std::string& key) {
    have_inputs = have_inputs || key == "inputs";
    read_request(field, key, request);
  });
  check(have_inputs, "the request has no inputs");
  return request;
}

// A column of an only input may also be {"NAME": [...]}, a row {"NAME": [...]}; the name is not looked at.
PredictRequest parse_predict_json(std::string_view text) {
  PredictRequest request;
  bool found = false;
  const auto take = [&](od::value value, const std::string& what) {
    check(!found, "the request has both instances and inputs");
    found = true;
    if (value.type() == od::json_type::object) {
      od::object named = value.get_object();
      std::size_t count = 0;
      for (auto member : named) {
        check(count++ == 0, "{} names more than one input", what);
        od::field field = std::move(member).take_value();
        request.data = numbers_of(field.value(), what);
      }
      check(count == 1, "{} is empty", what);
    } else {
      request.data = numbers_of(value, what);
    }
  };
  read_document(text, [&](od::field& field, const std::string& key) {
    if (key != "instances" && key != "inputs") return;
    request.columns = key == "inputs";
    take(field.value(), key);
  });
  check(found, "the request has neither instances nor inputs");
  return request;
}

JobRequest parse_job_json(std::string_view text) {
  JobRequest job;
  read_document(text, [&](od::field& field, const std::string& key) {
    if (key == "model") job.model = text_of(field.value(), "model");
    if (key == "request") job.request = std::string_view(object_of(field.value(), "request").raw_json());
  });
  check(!job.model.empty(), "the job names no model");
  check(!job.request.empty(), "the job has no request, an object as /infer takes it");
  return job;
}

}  // namespace lockring::app::serve
