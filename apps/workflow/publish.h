// The chosen models of a selection, put where a running server finds them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockring::app::workflow {

struct PublishOptions {
  std::filesystem::path selection;  // selection.json
  std::filesystem::path folder;
  std::vector<std::string> names;  // by rank, the best first
  std::string server;              // "http://HOST:PORT"; empty: none runs yet
};

struct Published {
  std::string name;
  std::string model;  // as the selection calls it
  bool is_new = false;
};

// Puts the best model's bundle at FOLDER/NAME.safetensors for the first name, the next for the second, and so on; where
// the selection has fewer, the last of them once more. A file changes by renaming, so the server never sees half of
// one; then the server is asked to load those that are new, one after another: each goes on with the old one until the
// new one is ready. Throws Error{data} for a selection or bundle that is damaged, Error{device} if the server refuses.
std::vector<Published> publish(const PublishOptions& options);

}  // namespace lockring::app::workflow
