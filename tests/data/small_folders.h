// Small folders of images, a folder a class.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace lockring::data {

// A PNG file of one colour; grey where `channels` is 1.
std::string plain_png(std::uint32_t width, std::uint32_t height, std::uint8_t value, int channels = 3);

// Makes `folder` with PNG files 0.png, 1.png, ... of one size; the value of a pixel is `first` in the first image and
// 10 more in each one after it.
void write_images(const std::filesystem::path& folder, int count, std::uint8_t first, std::uint32_t width = 4,
                  std::uint32_t height = 3);

}  // namespace lockring::data
