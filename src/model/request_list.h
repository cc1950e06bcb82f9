// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/archive.h"
#include "model/job.h"

namespace muster::model {

/// Requests of a table of jobs for a snapshot, each distinct one once. A table is a
/// `base::CowTable` whose rows have a `request`.
struct RequestList {
  std::vector<GangRequestPtr> distinct;  ///< in order of first use
  std::vector<std::uint32_t> of_job;     ///< by row: place in `distinct` plus one; 0 = none

  template <class Table>
  static RequestList Of(const Table& jobs);
  /// Gives every row its request. False: the numbers do not fit the table.
  template <class Table>
  bool GiveTo(Table& jobs) const;
};

template <class A>
void Archive(A& a, RequestList& v) {
  a(v.distinct, v.of_job);
}

template <class Table>
RequestList RequestList::Of(const Table& jobs) {
  RequestList list;
  // Look-ups only, never iterated. The second saves encoding a shared one again.
  std::unordered_map<std::string, std::uint32_t> known;
  std::unordered_map<const GangRequest*, std::uint32_t> seen;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const GangRequestPtr& request = jobs[i].request;
    std::uint32_t number = 0;
    if (request != nullptr) {
      const auto [at, fresh] = seen.try_emplace(request.get(), 0);
      if (fresh) {
        base::Writer writer;
        writer(*request);
        const auto next = static_cast<std::uint32_t>(list.distinct.size() + 1);
        const auto [known_at, is_new] =
            known.try_emplace(std::string(writer.bytes().begin(), writer.bytes().end()), next);
        if (is_new) list.distinct.push_back(request);
        at->second = known_at->second;
      }
      number = at->second;
    }
    list.of_job.push_back(number);
  }
  return list;
}

template <class Table>
bool RequestList::GiveTo(Table& jobs) const {
  if (of_job.size() != jobs.size()) return false;
  for (std::size_t i = 0; i < of_job.size(); ++i) {
    const std::uint32_t number = of_job[i];
    if (number == 0) continue;
    if (number > distinct.size() || jobs.IsDropped(i)) return false;
    jobs.Mutable(i).request = distinct[number - 1];
  }
  return true;
}

}  // namespace muster::model
