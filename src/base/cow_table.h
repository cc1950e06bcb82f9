// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/check.h"

namespace muster::base {

/// A growing table of rows whose copies are O(1): rows live in chunks, chunks hang on a directory, and both are
/// shared between copies until one of them writes (copy-on-write). A copy is a consistent snapshot that
/// another thread may read while the owner goes on writing; only the owner writes.
///
/// The first write after a copy clones the directory (one pointer per chunk), and each first write to a chunk
/// clones its `kChunkRows` rows: keep rows small and put large parts behind `shared_ptr<const T>`.
template <class Row, std::size_t kChunkRows = 256>
class CowTable {
 public:
  std::size_t size() const { return size_; }

  const Row& operator[](std::size_t index) const {
    MUSTER_DCHECK(index < size_);
    return (*(*directory_)[index / kChunkRows])[index % kChunkRows];
  }

  /// The row for writing. The reference holds until the table is copied.
  Row& Mutable(std::size_t index) {
    MUSTER_DCHECK(index < size_);
    return (*OwnChunk(index / kChunkRows))[index % kChunkRows];
  }

  void PushBack(Row row) {
    if (size_ % kChunkRows == 0) OwnDirectory().push_back(std::make_shared<Chunk>());
    ++size_;
    Mutable(size_ - 1) = std::move(row);
  }

 private:
  using Chunk = std::array<Row, kChunkRows>;
  using Directory = std::vector<std::shared_ptr<Chunk>>;

  // A use count of 1 can only be read by the sole owner, so no other thread can raise it meanwhile; the fence
  // orders our writes after the last reads of a snapshot that another thread has just dropped.
  template <class T>
  static bool IsShared(const std::shared_ptr<T>& pointer) {
    if (pointer.use_count() > 1) return true;
    std::atomic_thread_fence(std::memory_order_acquire);
    return false;
  }

  Directory& OwnDirectory() {
    if (IsShared(directory_)) directory_ = std::make_shared<Directory>(*directory_);
    return *directory_;
  }
  std::shared_ptr<Chunk>& OwnChunk(std::size_t chunk) {
    std::shared_ptr<Chunk>& own = OwnDirectory()[chunk];
    if (IsShared(own)) own = std::make_shared<Chunk>(*own);
    return own;
  }

  std::shared_ptr<Directory> directory_ = std::make_shared<Directory>();
  std::size_t size_ = 0;
};

}  // namespace muster::base
