// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <algorithm>

#include "base/strings.h"

namespace muster::base {
namespace {

unsigned Byte(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
}

/// No control character, and a character by itself.
bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f;
}

}  // namespace

std::size_t Utf8Size(std::string_view text) {
  const auto byte = [text](std::size_t i) { return Byte(text, i); };
  if (byte(0) < 0x80) return 1;
  const std::size_t size = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xED && byte(1) > 0x9F;
  const bool beyond = byte(0) == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || beyond ? 0 : size;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = Utf8Size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::size_t ControlSize(std::string_view text) {
  if (text.empty()) return 0;
  if (Byte(text, 0) < 0x20 || Byte(text, 0) == 0x7f) return 1;
  return Byte(text, 0) == 0xC2 && Byte(text, 1) >= 0x80 && Byte(text, 1) <= 0x9F ? 2 : 0;
}

std::string ValidUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = Utf8Size(text);
    out += size == 0 ? "\xEF\xBF\xBD" : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return out;
}

std::string Printable(std::string_view text) {
  if (std::ranges::all_of(text, IsPlain)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t size = Utf8Size(text);
    const std::size_t hidden = size == 0 ? 1 : ControlSize(text);
    for (std::size_t i = 0; i < hidden; ++i) out += Format("\\x{:02x}", Byte(text, i));
    if (hidden == 0) out += text.substr(0, size);
    text.remove_prefix(std::max(size, hidden));
  }
  return out;
}

}  // namespace muster::base
