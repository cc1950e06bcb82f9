// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/state/tables.h"

namespace muster::engine {

/// The tables as bytes; equal states give equal bytes. Requests that jobs share are written once.
std::vector<std::uint8_t> WriteSnapshot(const Tables& tables);
/// Refuses damaged bytes and versions that it does not know; older ones are read.
base::Result<Tables> ReadSnapshot(std::span<const std::uint8_t> bytes);

}  // namespace muster::engine
