// SPDX-License-Identifier: Apache-2.0
#include "cli/tar.h"

#include "base/check.h"
#include "base/strings.h"

namespace muster::cli {
namespace {

constexpr std::size_t kBlock = 512;

/// Offsets of the fields of a header block that are not zero here.
enum Field : std::size_t {
  kName = 0,
  kMode = 100,
  kOwner = 108,
  kGroup = 116,
  kSize = 124,
  kModified = 136,
  kChecksum = 148,
  kType = 156,
  kMagic = 257,
};

std::string Header(const TarFile& file, std::int64_t modified_seconds) {
  MUSTER_CHECK(file.name.size() < 100);
  std::string block(kBlock, '\0');
  const auto put = [&block](Field field, std::string_view text) {
    block.replace(field, text.size(), text);
  };
  put(kName, file.name);
  put(kMode, "0000600");
  put(kOwner, "0000000");
  put(kGroup, "0000000");
  put(kSize, base::Format("{:011o}", file.text.size()));
  put(kModified, base::Format("{:011o}", modified_seconds));
  put(kType, "0");
  put(kMagic, std::string_view("ustar\00000", 8));
  // The sum of all bytes, those of its own field taken as blanks.
  put(kChecksum, "        ");
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(kChecksum, base::Format("{:06o}", sum) + std::string("\0 ", 2));
  return block;
}

}  // namespace

std::string MakeTar(const std::vector<TarFile>& files, std::int64_t modified_seconds) {
  std::string out;
  for (const TarFile& file : files) {
    out += Header(file, modified_seconds) + file.text;
    out.resize((out.size() + kBlock - 1) / kBlock * kBlock, '\0');
  }
  return out + std::string(2 * kBlock, '\0');
}

}  // namespace muster::cli
