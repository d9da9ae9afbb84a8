// Where ingestion takes the four files from.
#pragma once

#include "data/content.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace lockring::data {

struct Source {
  std::string name;  // an absolute folder, or a URL
  bool remote = false;
  FilePaths files;  // of a folder; filled by downloading for a URL
};

// `text` is a folder or a URL (http, https). Empty means the first folder datasets/NAME of XDG_DATA_DIRS that holds the
// files (distributions install there; /usr/local/share and /usr/share unless set), else the URL known for `dataset`.
// Throws Error{data} when the folder is not there or lacks a file, Error{usage} on another kind of URL.
Source find_source(const std::string& text, std::string_view dataset);

}  // namespace lockring::data
