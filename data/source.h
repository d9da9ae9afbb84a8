// Where ingestion takes a data set from.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lockring::data {

struct Source {
  std::string name;  // an absolute path, or a URL
  bool remote = false;

  std::filesystem::path path() const { return name; }
};

// `text` is a folder, a folder and the beginning of the names of IDX files in it, or a URL (http, https). Empty means
// the first folder datasets/NAME of XDG_DATA_DIRS that holds IDX files (distributions install there; /usr/local/share
// and /usr/share unless set), else the URL known for `dataset`. Throws Error{data} when there is no such folder,
// Error{usage} on another kind of URL.
Source find_source(const std::string& text, std::string_view dataset);

}  // namespace lockring::data
