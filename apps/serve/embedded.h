// The files of apps/web, which the program carries in itself (cmake/EmbedFiles.cmake).
#pragma once

#include <span>
#include <string_view>

namespace lockring::app::serve {

struct EmbeddedFile {
  std::string_view name;
  std::string_view content;
};

std::span<const EmbeddedFile> embedded_files();

}  // namespace lockring::app::serve
