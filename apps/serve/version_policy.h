// Which versions of a model are served at once, in the words of Triton and TensorFlow Serving: the latest N, all, or
// those of a list.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockring::app::serve {

struct VersionPolicy {
  std::int64_t most = 1;             // of the highest that can be served
  std::vector<std::int64_t> only{};  // none but these; empty: any

  // What to try, of what is there: the order stays.
  std::vector<std::int64_t> candidates(const std::vector<std::int64_t>& there) const;
};

// "latest", "latest:N", "all" or "1,3". Throws Error{usage} on anything else.
VersionPolicy parse_version_policy(const std::string& text);

// One for all models, and those of some.
class VersionPolicies {
 public:
  // Each is "POLICY", for all models that have none of their own, or "MODEL=POLICY". Throws Error{usage}.
  explicit VersionPolicies(const std::vector<std::string>& texts = {});
  const VersionPolicy& of(const std::string& model) const;

 private:
  VersionPolicy usual_;
  std::map<std::string, VersionPolicy> own_;
};

}  // namespace lockring::app::serve
