// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"

#if defined(__SANITIZE_THREAD__)
#define MUSTER_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MUSTER_TSAN
#endif
#endif

namespace muster::base {

/// A growing table of rows whose copies are O(1): rows live in chunks, chunks hang on a directory,
/// and both are shared between copies until one of them writes (copy-on-write). A copy is a
/// consistent snapshot that another thread may read while the owner goes on writing; only the owner
/// writes.
///
/// The first write after a copy clones the directory (one pointer per chunk), and each first write
/// to a chunk clones its `kChunkRows` rows: keep rows small and put large parts behind
/// `shared_ptr<const T>`.
///
/// Chunks of rows that nobody needs any more can be dropped; their rows read as default-made from
/// then on.
template <class Row, std::size_t kChunkRows = 256>
class CowTable {
 public:
  std::size_t size() const { return size_; }

  const Row& operator[](std::size_t index) const {
    MUSTER_DCHECK(index < size_);
    static const Row kDropped{};
    const std::shared_ptr<Chunk>& chunk = (*directory_)[index / kChunkRows];
    return chunk != nullptr ? (*chunk)[index % kChunkRows] : kDropped;
  }
  bool IsDropped(std::size_t index) const { return (*directory_)[index / kChunkRows] == nullptr; }

  /// The row for writing; must not be dropped. The reference holds until the table is copied.
  Row& Mutable(std::size_t index) {
    MUSTER_DCHECK(index < size_ && !IsDropped(index));
    return (*OwnChunk(index / kChunkRows))[index % kChunkRows];
  }

  void PushBack(Row row) {
    if (size_ % kChunkRows == 0) OwnDirectory().push_back(std::make_shared<Chunk>());
    ++size_;
    Mutable(size_ - 1) = std::move(row);
  }

  /// Rows in a chunk; chunk c holds rows [c x kRowsPerChunk, (c + 1) x kRowsPerChunk).
  static constexpr std::size_t kRowsPerChunk = kChunkRows;
  /// Frees a full chunk as soon as no copy needs it.
  void DropChunk(std::size_t chunk) {
    MUSTER_DCHECK((chunk + 1) * kChunkRows <= size_);
    OwnDirectory()[chunk] = nullptr;
  }

 private:
  using Chunk = std::array<Row, kChunkRows>;
  using Directory = std::vector<std::shared_ptr<Chunk>>;

  // A use count of 1 can only be read by the sole owner, so no other thread can raise it meanwhile;
  // the fence orders our writes after the last reads of a snapshot that another thread has just
  // dropped. The thread sanitizer does not know fences: there, a copy (which orders the same)
  // stands in for it.
  template <class T>
  static bool IsShared(const std::shared_ptr<T>& pointer) {
    if (pointer.use_count() > 1) return true;
#ifdef MUSTER_TSAN
    const std::shared_ptr<T> order = pointer;
#else
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
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
