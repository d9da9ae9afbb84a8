// selection.json: the models chosen to be served, each a bundle named by path and content.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app {

struct SelectedModel {
  std::string name;              // of the endpoint it is to be served as
  std::filesystem::path bundle;  // as this process can open it
  std::string digest;            // SHA-256 of the file
  std::string architecture;
  std::string run;
  std::map<std::string, double> metrics;  // of the run, as recorded: what came out, not how fast
  bool reproduced = false;                // the recorded measure was computed again and found the same
  std::string why;                        // a sentence
};

struct Selection {
  std::string metric;
  std::vector<SelectedModel> models;  // best first
};

// Letters, digits, '.', '_' and '-', at most 128 and no '.' in front: what models may be called, in addresses and in
// file names alike.
bool is_model_name(std::string_view name);
// The nearest such name that is none of `taken`.
std::string model_name_for(std::string_view text, const std::vector<std::string>& taken);

// Bundles are written relative to the folder of the file, so that both can move together. Throws Error{data}.
void write_selection(const std::filesystem::path& path, const Selection& selection);
// Throws Error{data} on a file that is not a selection, and on models without name, bundle or digest. Whether the
// bundles are there is not looked at.
Selection read_selection(const std::filesystem::path& path);

}  // namespace lockring::app
