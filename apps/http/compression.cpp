#include "apps/http/compression.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace lockring::app::http {
namespace {

constexpr int kGzip = 16 + MAX_WBITS;
constexpr int kZlib = MAX_WBITS;
constexpr int kAny = 32 + MAX_WBITS;  // by its first bytes
constexpr std::size_t kWorthIt = 1024;

class Inflater {
 public:
  explicit Inflater(std::string_view input) {
    if (inflateInit2(&stream_, kAny) != Z_OK) throw std::bad_alloc();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Body all(std::size_t most) {
    Body body;
    char block[16 * 1024];
    for (int result = Z_OK; result != Z_STREAM_END;) {
      stream_.next_out = reinterpret_cast<Bytef*>(block);
      stream_.avail_out = sizeof block;
      result = inflate(&stream_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END) throw StatusError(400, "the compressed body is damaged");
      const std::size_t bytes = sizeof block - stream_.avail_out;
      if (bytes > most - body.size())
        throw StatusError(413, fmt::format("the uncompressed body is larger than {} bytes", most));
      body.append({block, bytes});
    }
    if (stream_.avail_in > 0) throw StatusError(400, "bytes behind the end of the compressed body");
    return body;
  }

 private:
  z_stream stream_{};
};

// Whether a list "gzip;q=1.0, deflate" allows `coding`.
bool allows(std::string_view list, std::string_view coding) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    item.remove_prefix(std::min(item.find_first_not_of(" \t"), item.size()));
    const std::string_view name = item.substr(0, item.find_first_of("; \t"));
    const std::size_t weight = item.find("q=0");
    const bool refused =
        weight != std::string_view::npos && item.find_first_not_of("0.", weight + 2) == std::string_view::npos;
    if (same_name(name, coding)) return !refused;
  }
  return false;
}

std::string deflated(const Response& response, int format) {
  z_stream stream{};
  if (deflateInit2(&stream, 1, Z_DEFLATED, format, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string output(deflateBound(&stream, response.body_size()), '\0');
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
  for (std::size_t i = 0; i < response.body.size(); ++i) {
    const std::string_view part = response.body[i].view();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream.avail_in = static_cast<uInt>(part.size());
    deflate(&stream, i + 1 == response.body.size() ? Z_FINISH : Z_NO_FLUSH);
  }
  output.resize(stream.total_out);
  deflateEnd(&stream);
  return output;
}

}  // namespace

void decode_body(Request& request, std::size_t most) {
  const std::string_view coding = request.header("Content-Encoding");
  if (coding.empty() || same_name(coding, "identity")) return;
  if (!same_name(coding, "gzip") && !same_name(coding, "x-gzip") && !same_name(coding, "deflate"))
    throw StatusError(415, "the only Content-Encodings known are gzip and deflate",
                      {{"Accept-Encoding", "gzip, deflate"}});
  if (request.body.size() > std::numeric_limits<uInt>::max())
    throw StatusError(413, "the compressed body is too large");
  request.body = Inflater(request.body.text()).all(most);
  std::erase_if(request.fields, [](const Field& field) { return same_name(field.name, "Content-Encoding"); });
}

void encode_body(Response& response, std::string_view accept_encoding) {
  const std::size_t size = response.body_size();
  if (size < kWorthIt || size > std::numeric_limits<uInt>::max() / 2) return;
  const bool gzip = allows(accept_encoding, "gzip");
  if (!gzip && !allows(accept_encoding, "deflate")) return;
  std::string output = deflated(response, gzip ? kGzip : kZlib);
  response.body.clear();
  response.body.emplace_back(std::move(output));
  response.headers.push_back({"Content-Encoding", gzip ? "gzip" : "deflate"});
  response.headers.push_back({"Vary", "Accept-Encoding"});
}

}  // namespace lockring::app::http
