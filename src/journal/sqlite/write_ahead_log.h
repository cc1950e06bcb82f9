// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "journal/sqlite/database.h"

namespace muster::journal {

/// Settles what the write-ahead log beside a database holds, where a crash or a fault has left one.
/// Call it before SQLite opens the file. Two things that SQLite leaves open:
///
/// - It reads the log up to the first frame whose checksum fails and silently drops the rest: right
///   for the transaction that a power cut tore, which nobody was told of, and wrong for those that
///   were synced, acknowledged and damaged since. As each is synced before the next begins, at most
///   one can be torn. More behind the break are a loss: an error (`kIo`), and nothing is changed. A
///   damaged last transaction looks as a torn one; nothing in the file can tell.
/// - What it reads may be in the system's memory only, for ever: where a sync failed, Linux takes
///   the pages for written, and the next sync works. So all that is whole is written once more and
///   synced, and the rest cut off. From then on no power cut takes back what was read.
///
/// A read-only database is only judged.
base::Status SettleLog(const DatabaseOptions& options);

}  // namespace muster::journal
