// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "journal/sqlite/store.h"

namespace muster::journal {

/// Reads all of an open journal: SQLite's own check of the file, every record's number and
/// checksum, every snapshot's. A line a fault, at most 100 of each kind; none: all is well.
base::Result<std::vector<std::string>> CheckStore(Store& store);

}  // namespace muster::journal
