// SPDX-License-Identifier: Apache-2.0
// From the journal to the state.
#include "base/strings.h"
#include "server/server.h"

namespace muster::server {

base::Result<std::optional<State>> RestoreState(journal::Journal& journal) {
  auto snapshot = journal.GetSnapshot(journal::kNewest);
  if (!snapshot) return snapshot.error();
  if (!*snapshot) return std::optional<State>{};
  auto state = State::Restore((*snapshot)->bytes);
  if (!state) {
    return base::Error{
        state.error().code,
        base::Format("the snapshot at record {}, written by build {}: {}", (*snapshot)->sequence,
                     (*snapshot)->build, state.error().message),
        ""};
  }
  constexpr std::size_t kReadBytes = std::size_t{16} << 20;
  for (;;) {
    auto records = journal.Read(state->sequence() + 1, kReadBytes);
    if (!records) return records.error();
    if (records->empty()) return std::optional<State>(std::move(*state));
    for (const journal::Record& record : *records) {
      auto batch = DecodeBatch(record.bytes);
      if (!batch) {
        return base::Error{batch.error().code,
                           base::Format("record {}: {}", record.sequence, batch.error().message),
                           ""};
      }
      state->Replay(*batch);
    }
  }
}

}  // namespace muster::server
