// Where workflows keep what they know:
//
//   STATE/runs/ID/      a run: run.json, workflow.yaml (as it was run), journal.jsonl, logs/STEP.ATTEMPT.log
//   STATE/cache/KEY.json    what a memoized step has made
//   STATE/outputs/...   outputs that have no fixed place
//   STATE/tmp/...       outputs that are being made; renamed when they are whole
//   STATE/locks/KEY     held by who makes what the key is of
#pragma once

#include <filesystem>

namespace lockring::app::workflow {

struct StateFolder {
  std::filesystem::path path = ".lockring";

  std::filesystem::path runs() const { return path / "runs"; }
  std::filesystem::path cache() const { return path / "cache"; }
  std::filesystem::path outputs() const { return path / "outputs"; }
  std::filesystem::path temporary() const { return path / "tmp"; }
  std::filesystem::path locks() const { return path / "locks"; }

  // Makes all of them. Throws Error{data}.
  void make() const;
};

}  // namespace lockring::app::workflow
