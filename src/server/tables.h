// SPDX-License-Identifier: Apache-2.0
// How records change the server's tables. Pure: the same records give the same tables, live or
// after a restart.
#pragma once

#include <cstdint>

#include "engine/state/view.h"
#include "server/picture.h"
#include "server/records.h"

namespace muster::server {

/// How much history is kept at hand.
inline constexpr std::size_t kKeptEvents = 65'536;
inline constexpr std::size_t kKeptAudit = 16'384;
inline constexpr std::size_t kKeptUsageDays = 800;

inline constexpr std::size_t kKeptEndedJobs = 100'000;

/// Enters the batch with number `sequence`. `view` is the engine's after it.
void Fold(Tables& tables, const Batch& batch, std::uint64_t sequence, const engine::View& view);

/// Tables of a server that has seen nothing.
Tables EmptyTables();

/// "exited with 1", "killed by signal 9 (SIGKILL)", "out of memory": for people.
std::string Describe(const driver::RankExit& exit);

}  // namespace muster::server
