// What is served, by name: models from bundles, in versions that can be replaced while requests run, and what combines
// them.
//
// A new version is checked (digest, golden sample, a first inference) before it takes requests. If it fails, the old
// one stays. Requests that the old one has are answered by it; then it goes. All functions may be called by any thread;
// load and unload take long, and one waits for another.
#pragma once

#include "apps/serve/endpoint.h"
#include "apps/serve/servable.h"
#include "apps/serve/version_folder.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lockring::app::serve {

// A row of the repository's index; state is READY or UNAVAILABLE.
struct IndexRow {
  std::string name;
  std::string version;
  std::string state;
  std::string reason;
};

class Repository {
 public:
  // `folder` holds models in versions; empty: there is none.
  Repository(const EndpointOptions& options, std::filesystem::path folder);
  ~Repository();

  // A model from a file, which `locate` names anew for every load. Loads it. Throws Error{data}.
  void add_bundle(const std::string& name, std::function<BundleFile()> locate);
  // All models of the folder, each in its highest version that can be served. Throws Error{data} if one has none.
  void add_folder();
  // An ensemble or a split; as ready as those it asks.
  void add(std::shared_ptr<Servable> servable);

  // The current version, or null if there is none or it is not `version`, unless that is empty.
  std::shared_ptr<Servable> find(const std::string& name, const std::string& version = "") const;
  // All that is served, in the order it was added.
  std::vector<std::shared_ptr<Servable>> all() const;

  // Whether a model of that name is known, served or not. Says nothing of files outside.
  bool knows(const std::string& name) const;
  // Loads the highest version of the folder, or the bundle anew. Throws Error{data}, and the old one stays, if it
  // cannot be served; Error{usage} for a name that is not known.
  void load(const std::string& name);
  // Throws Error{usage} for a name that is not known, and for one that is no model.
  void unload(const std::string& name);
  std::vector<IndexRow> index() const;
  // Answers what was asked, and ends all threads; requests that come later are `unavailable`.
  void stop();

 private:
  struct Entry {
    std::string name;
    std::function<BundleFile()> locate;  // empty: from the folder, or no model at all
    std::int64_t loads = 0;              // of a bundle: its version
    std::shared_ptr<Servable> servable;  // null: not served
    std::shared_ptr<Endpoint> endpoint;  // the same, if it is a model
    std::vector<IndexRow> failed;        // versions that could not be loaded last
    std::string reason;                  // why it is not served
  };

  Entry* find_entry(const std::string& name);
  const Entry* find_entry(const std::string& name) const;
  Entry& entry_of(const std::string& name);
  void publish(const std::string& name, std::shared_ptr<Endpoint> endpoint, std::vector<IndexRow> failed);
  void note_failure(const std::string& name, std::vector<IndexRow> failed);
  void load_bundle(const std::string& name, const std::function<BundleFile()>& locate, std::int64_t version);
  void load_from_folder(const std::string& name);
  static void retire(std::shared_ptr<Endpoint> endpoint);

  const EndpointOptions options_;
  const std::filesystem::path folder_;
  std::mutex changes_;        // held while something is loaded or unloaded
  mutable std::mutex mutex_;  // guards what follows; held briefly
  std::vector<Entry> entries_;
};

}  // namespace lockring::app::serve
