// SPDX-License-Identifier: Apache-2.0
#include "server/verify.h"

#include <algorithm>

#include "base/archive.h"
#include "base/strings.h"
#include "server/records.h"
#include "server/state.h"

namespace muster::server {
namespace {

using Outcome = SegmentCheck::Outcome;

std::vector<std::uint8_t> Bytes(const std::vector<model::Decision>& decisions) {
  base::Writer writer;
  writer(decisions);
  return std::move(writer).Take();
}

/// Takes in one record, deciding anew where `decide`; what differs, or nothing.
std::string TakeRecord(State& state, const journal::Record& record, bool decide,
                       SegmentCheck& check) {
  auto batch = DecodeBatch(record.bytes);
  if (!batch) return base::Format("record {}: {}", record.sequence, batch.error().message);
  ++check.records;
  check.decisions += batch->decisions.size();
  if (!decide) {
    state.Replay(*batch);
    return "";
  }
  const std::vector<model::Decision> recorded = std::move(batch->decisions);
  batch->decisions.clear();
  state.Decide(*batch);
  if (Bytes(batch->decisions) == Bytes(recorded)) return "";
  return base::Format("record {}: {} decisions were recorded, deciding anew gives {}{}",
                      record.sequence, recorded.size(), batch->decisions.size(),
                      recorded.size() == batch->decisions.size() ? " others" : "");
}

base::Result<SegmentCheck> CheckSegment(journal::Journal& journal, const journal::Segment& segment,
                                        const journal::Segment* next, const std::string& build) {
  SegmentCheck check{.segment = segment};
  const bool own = segment.build == build;
  if (!own) check.outcome = Outcome::kNotComparable;
  const auto differs = [&check](std::string detail) {
    check.outcome = Outcome::kDiffers;
    check.detail = std::move(detail);
    return check;
  };
  auto snapshot = journal.GetSnapshot(segment.snapshot_sequence);
  if (!snapshot) return snapshot.error();
  if (!*snapshot) return differs("its snapshot is missing");
  auto state = State::Restore((*snapshot)->bytes);
  if (!state) {
    check.detail = state.error().message;
    if (own) check.outcome = Outcome::kDiffers;
    return check;
  }
  constexpr std::size_t kReadBytes = std::size_t{16} << 20;
  while (state->sequence() < segment.last_sequence) {
    auto records = journal.Read(state->sequence() + 1, kReadBytes);
    if (!records) return records.error();
    if (records->empty()) return differs("records are missing at its end");
    for (const journal::Record& record : *records) {
      if (record.sequence > segment.last_sequence) break;
      const std::string fault = TakeRecord(*state, record, own, check);
      if (!fault.empty()) return differs(fault);
    }
  }
  if (next == nullptr || !own) return check;
  auto after = journal.GetSnapshot(next->snapshot_sequence);
  if (!after) return after.error();
  // Another build writes its own format; only our own can be compared byte for byte.
  if (*after && next->build == build && (*after)->bytes != state->Snapshot())
    return differs("the state at its end is not the next snapshot");
  return check;
}

}  // namespace

bool JournalCheck::clean() const {
  return store_faults.empty() && std::ranges::none_of(segments, [](const SegmentCheck& each) {
           return each.outcome == Outcome::kDiffers;
         });
}

base::Result<JournalCheck> VerifyJournal(journal::Journal& journal, const std::string& build) {
  JournalCheck out;
  auto faults = journal.Check();
  if (!faults) return faults.error();
  out.store_faults = std::move(*faults);
  if (!out.store_faults.empty()) return out;
  const auto segments = journal.Segments();
  if (!segments) return segments.error();
  for (std::size_t i = 0; i < segments->size(); ++i) {
    const journal::Segment* next = i + 1 < segments->size() ? &(*segments)[i + 1] : nullptr;
    auto check = CheckSegment(journal, (*segments)[i], next, build);
    if (!check) return check.error();
    out.segments.push_back(std::move(*check));
  }
  return out;
}

}  // namespace muster::server
