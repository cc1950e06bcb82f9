// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "base/result.h"

namespace muster::driver {

/// Both ends included.
struct PortRange {
  std::uint16_t first = 20000;
  std::uint16_t last = 29999;
  friend bool operator==(const PortRange&, const PortRange&) = default;
};

/// Whether a program could listen on the port now, on every address of this machine.
bool IsPortFree(std::uint16_t port);

/// Which ports are given to which gangs: none to two at once. A lease lives in the gang's plan, not
/// here; whoever owns the plans tells of the old ones (`Restore`).
class PortLeases {
 public:
  using Probe = std::function<bool(std::uint16_t)>;

  /// Leases begin at `start` of the range, modulo its size, and go round, so that a port that was
  /// given back rests for as long as may be.
  PortLeases(PortRange range, std::uint32_t start, Probe is_free = IsPortFree);

  /// A port that is leased to nobody and free. `kExhausted`: there is none.
  base::Result<std::uint16_t> Lease();
  /// An earlier lease that goes on, also out of a former range.
  void Restore(std::uint16_t port);
  void Release(std::uint16_t port);

 private:
  PortRange range_;
  std::uint32_t next_ = 0;  ///< offset in the range
  Probe is_free_;
  std::set<std::uint16_t> leased_;
};

}  // namespace muster::driver
