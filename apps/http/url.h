// Paths, queries and URLs (RFC 3986).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockring::app::http {

// "a%20b" as "a b". Throws Error{usage} for a '%' without two hex digits.
std::string percent_decode(std::string_view text);
// For one segment of a path: all but letters, digits and "-._~" as %XX.
std::string percent_encode(std::string_view text);

// The decoded path of a request's target without its query. Throws Error{usage} if it does not begin with '/', is not
// validly encoded, or has what could lead elsewhere: NUL or another control character, an encoded '/', a backslash, a
// segment "." or "..".
std::string decode_path(std::string_view path);

// The decoded value of the first "name=value" in a query "a=1&b=2", in which '+' is a space; "" for a name without
// '='; nullopt if the name is not there.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

// Where a server is: "http://host:port/path?query".
struct Url {
  bool tls = false;
  std::string host;    // without the brackets of an IPv6 address
  std::string port;    // "80", "443" or what was given: 1 to 65535
  std::string target;  // path and query, as given; at least "/"

  // The value of a Host field: the port is left out where it is the scheme's own.
  std::string authority() const;
};

// Scheme http or https; "host:port" alone is http. Throws Error{usage} that says what is wrong with it.
Url parse_url(std::string_view text);

}  // namespace lockring::app::http
