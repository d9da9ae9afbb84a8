// The names of the classes of a data set.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace lockring::data {

// Labels are bytes.
inline constexpr std::size_t kMostClasses = 256;

// The file beside IDX files, in a source and in the store, that names the classes by label: one name a line.
inline constexpr const char* kClassFile = "classes.txt";

// The lines of a text file that names classes, without empty ones at the end. Throws Error{data} naming the file on
// what check_class_names rejects.
std::vector<std::string> read_class_names(const std::filesystem::path& path);
// As read_class_names reads it.
std::string class_file_text(const std::vector<std::string>& names);

// Throws Error{data} that starts with `where` unless there are 1 to 256 different names of printable UTF-8.
void check_class_names(const std::vector<std::string>& names, const std::string& where);

// "0", "1", ...
std::vector<std::string> numbered_classes(std::size_t count);

}  // namespace lockring::data
