// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "base/archive.h"
#include "base/cow_table.h"

namespace muster::base {

/// A table as bytes and back: its size, then chunk by chunk whether it was dropped, and its rows if
/// not.
template <class Row, std::size_t kRows>
void WriteTable(Writer& writer, const CowTable<Row, kRows>& table) {
  writer(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    const bool dropped = table.IsDropped(i);
    if (i % kRows == 0) writer(dropped);
    if (!dropped) writer(table[i]);
  }
}

/// Appends to `table`, which is empty. Damage fails the reader.
template <class Row, std::size_t kRows>
void ReadTable(Reader& reader, CowTable<Row, kRows>& table) {
  std::size_t size = 0;
  reader(size);
  bool dropped = false;
  for (std::size_t i = 0; i < size && reader.ok(); ++i) {
    if (i % kRows == 0) reader(dropped);
    if (dropped && size - i / kRows * kRows < kRows)
      return reader.Fail();  // only full chunks are dropped
    Row row;
    if (!dropped) reader(row);
    table.PushBack(std::move(row));
    if (dropped && (i + 1) % kRows == 0) table.DropChunk(i / kRows);
  }
}

}  // namespace muster::base
