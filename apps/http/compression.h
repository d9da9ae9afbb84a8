// Content codings gzip and deflate (RFC 9110, section 8.4.1), with zlib.
#pragma once

#include "apps/http/message.h"

namespace lockring::app::http {

// Undoes the request's Content-Encoding in place and takes the field away. Throws StatusError: 415 for a coding that is
// not known, 400 for bytes that are not what it says, 413 for more than `most` bytes.
void decode_body(Request& request, std::size_t most);

// Compresses the response's body by gzip or deflate if the request's `accept_encoding` allows it and the body has
// at least a kilobyte.
void encode_body(Response& response, std::string_view accept_encoding);

}  // namespace lockring::app::http
