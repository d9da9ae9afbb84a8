// What is served, by name: models from bundles, in versions that can be replaced while requests run, and what combines
// them.
//
// Of a model in a folder, those versions are served at once that its policy names; requests that name none are for the
// highest. A new version is checked (digest, golden sample, a first inference) before it takes requests. If it fails,
// the old ones stay. Requests that an old one has are answered by it; then it goes. All functions may be called by any
// thread; load, unload and poll take long, and one waits for another.
#pragma once

#include "apps/serve/endpoint.h"
#include "apps/serve/retirement.h"
#include "apps/serve/servable.h"
#include "apps/serve/version_folder.h"
#include "apps/serve/version_policy.h"

#include <filesystem>
#include <functional>
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

  bool operator==(const IndexRow&) const = default;
};

class Repository {
 public:
  // `folder` holds models in versions; empty: there is none.
  Repository(const EndpointOptions& options, std::filesystem::path folder,
             VersionPolicies policies = VersionPolicies());
  ~Repository();

  // A model from a file, which `locate` names anew for every load. Loads it. Throws Error{data}.
  void add_bundle(const std::string& name, std::function<BundleFile()> locate);
  // All models of the folder, each in those of its versions that can be served. Throws Error{data} if one has none.
  void add_folder();
  // An ensemble or a split; as ready as those it asks.
  void add(std::shared_ptr<Servable> servable);

  // A version, or the highest if that is empty; null if there is none.
  std::shared_ptr<Servable> find(const std::string& name, const std::string& version = "") const;
  // All that is served, in the order it was added; of each the highest version.
  std::vector<std::shared_ptr<Servable>> all() const;
  // The same with all versions, or those of one model; the highest first.
  std::vector<std::shared_ptr<Servable>> all_versions(const std::string& name = "") const;

  // Whether a model of that name is known, served or not. Says nothing of files outside.
  bool knows(const std::string& name) const;
  // Loads the versions of the folder, or the bundle, anew. Throws Error{data} if one cannot be served, and what was
  // served of it stays; Error{usage} for a name that is not known.
  void load(const std::string& name);
  // Throws Error{usage} for a name that is not known, and for one that is no model.
  void unload(const std::string& name);
  // Loads what has come to the folder or has changed, and unloads what has gone; models that were unloaded stay so.
  // What could not be loaded is tried again when its files change. Throws Error{data} if the folder cannot be read.
  void poll();
  std::vector<IndexRow> index() const;
  // Answers what was asked, and ends all threads; requests that come later are `unavailable`.
  void stop();

 private:
  struct Version {
    std::int64_t number = 0;
    std::string stamp;  // of the folder's files; a bundle has none
    std::shared_ptr<Endpoint> endpoint;
  };
  struct Failure {
    std::int64_t number = 0;
    std::string stamp;
    std::string reason;
  };
  struct Entry {
    std::string name;
    std::function<BundleFile()> locate;  // empty: from the folder, or made of others
    std::int64_t loads = 0;              // of a bundle: its version
    std::shared_ptr<Servable> made;      // of others; then the rest is empty
    std::vector<Version> versions;       // that are served, the highest first
    std::vector<Failure> failures;       // versions that could not be loaded last
    std::string reason;                  // why none is served: "unloaded"

    std::shared_ptr<Servable> current() const;
  };
  using Versions = std::vector<Version>;
  using Failures = std::vector<Failure>;

  Entry* find_entry(const std::string& name);
  const Entry* find_entry(const std::string& name) const;
  Entry& entry_of(const std::string& name);
  Entry copy_of(const std::string& name) const;
  void publish(const std::string& name, Versions versions, Failures failures);
  void load_bundle(const std::string& name, const std::function<BundleFile()>& locate);
  std::shared_ptr<Endpoint> start(const std::string& name, std::int64_t version, const BundleFile& bundle) const;
  Failures load_folder(const std::string& name, bool anew);
  void forget_if_gone(const std::string& name);

  const EndpointOptions options_;
  const std::filesystem::path folder_;
  const VersionPolicies policies_;
  std::mutex changes_;        // held while something is loaded or unloaded
  mutable std::mutex mutex_;  // guards what follows; held briefly
  std::vector<Entry> entries_;
  Retirement retirement_;
};

}  // namespace lockring::app::serve
