// Where data sets lie on disk:
//
//   DATA_DIR/NAME/current           names the version in use
//   DATA_DIR/NAME/DIGEST-PREFIX/    one version, never changed: manifest.json and
//     train-images-idx3-ubyte       the images, uncompressed; idx4 if they have colours; or train-images.tar, their PNG
//                                   and JPEG files, if they differ in size
//     train-labels-idx1-ubyte       the labels
//     t10k-...                      the same for the test set
//     classes.txt                   the names of the classes, if the source gave them
//
// A version can itself be ingested again, by us (unpack the archives) or by any reader of IDX files and archives.
//
// The digest is the SHA-256 of the images and labels, file after file, or, if there is classes.txt, that of the line of
// this digest followed by classes.txt.
#pragma once

#include "core/files.h"
#include "data/manifest.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::data {

// How many digits of the digest name a version.
inline constexpr std::size_t kVersionDigits = 16;

// $XDG_DATA_HOME/lockring/data, else ~/.local/share/lockring/data. Throws Error{usage} if neither is set.
std::filesystem::path default_data_dir();

// DATA_DIR/NAME. Throws Error{usage} on a name that is not of lower-case letters, digits, '.', '_' and '-'.
std::filesystem::path dataset_folder(const std::filesystem::path& data_dir, std::string_view name);
// The folder of the version in use; of another one for NAME@VERSION, of which the first digits are enough. Throws
// Error{data} that says how to ingest if there is none, and lists the versions if there is not that one.
std::filesystem::path find_version(const std::filesystem::path& data_dir, std::string_view name);
void set_current_version(const std::filesystem::path& folder, std::string_view version);

// The digest of a data set whose images and labels have the digest `content`, with names of classes or without.
std::string dataset_digest(const std::string& content, const std::vector<std::string>& classes);

// Compares a file of a version with its checksum, a part at a time. Gives its bytes also to `digest`. Throws
// Error{data}.
void check_stored_file(const std::filesystem::path& directory, const StoredFile& stored, Sha256* digest = nullptr);
// Reads every byte of a version and compares it with its checksums. Returns what is wrong, a line for each file.
std::vector<std::string> find_damage(const std::filesystem::path& directory, const Manifest& manifest);

struct StoredVersion {
  std::string name;
  bool current = false;
  Manifest manifest;  // empty if it is damaged
};

struct DatasetInfo {
  std::filesystem::path directory;
  Manifest manifest;
  std::vector<StoredVersion> versions;  // all that are stored, the oldest first
};
// Reads manifests only.
DatasetInfo dataset_info(const std::filesystem::path& data_dir, std::string_view name = "fashion-mnist");

// Checks the manifest and every byte of a version; throws Error{data} that names all that is damaged.
DatasetInfo verify_dataset(const std::filesystem::path& data_dir, std::string_view name = "fashion-mnist");

}  // namespace lockring::data
