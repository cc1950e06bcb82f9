// SPDX-License-Identifier: Apache-2.0
// Text from outside: whether it is UTF-8, and how it is shown where it may be anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::base {

/// Bytes of the UTF-8 character at the start of `text`, which is not empty; 0 if there is none.
std::size_t Utf8Size(std::string_view text);

bool IsUtf8(std::string_view text);

/// Bytes of the control character at the start of `text` (below blank, delete, or one of U+0080 to
/// U+009F, which terminals obey too); 0 if there is none.
std::size_t ControlSize(std::string_view text);

/// `text` with U+FFFD for every byte that is no part of a UTF-8 character.
std::string ValidUtf8(std::string_view text);

/// `text` for a terminal: every byte of a control character, and every one that is no UTF-8, as
/// `\xNN`. A line end is one too.
std::string Printable(std::string_view text);

}  // namespace muster::base
