// SPDX-License-Identifier: Apache-2.0
// What any journal refuses to store, so that no caller meets a limit of one store only.
#pragma once

#include <cstddef>

namespace muster::journal {

/// One batch of the event loop is far smaller; a larger record is a bug of the caller, and would be
/// held in memory several times over.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{64} << 20;
/// SQLite stores at most 10^9 bytes in a row.
inline constexpr std::size_t kMaxSnapshotBytes = std::size_t{512} << 20;

}  // namespace muster::journal
