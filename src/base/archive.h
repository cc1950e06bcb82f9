// SPDX-License-Identifier: Apache-2.0
// Plain bytes for snapshots, journals and decision hashes. One function per type serves both ways:
//
//   template <class A> void Archive(A& a, Point& p) { a(p.x, p.y); }
//
// and `Writer` or `Reader` walks it. Integers are little-endian varints (zig-zag when signed);
// there is no type information in the stream, so a version number goes first.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/quantity.h"
#include "base/time.h"

namespace muster::base {

/// Appends values to a byte string.
class Writer {
 public:
  static constexpr bool kReading = false;

  template <class... T>
  void operator()(const T&... values) {
    (Put(values), ...);
  }
  std::span<const std::uint8_t> bytes() const { return bytes_; }
  std::vector<std::uint8_t> Take() && { return std::move(bytes_); }
  void Clear() { bytes_.clear(); }

 private:
  void PutVarint(std::uint64_t v) {
    while (v >= 0x80) {
      bytes_.push_back(static_cast<std::uint8_t>(v | 0x80));
      v >>= 7;
    }
    bytes_.push_back(static_cast<std::uint8_t>(v));
  }
  template <std::unsigned_integral T>
  void Put(const T& v) {
    PutVarint(v);
  }
  template <std::signed_integral T>
  void Put(const T& v) {
    const auto wide = static_cast<std::int64_t>(v);
    PutVarint((static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63));
  }
  template <class T>
    requires std::is_enum_v<T>
  void Put(const T& v) {
    Put(static_cast<std::underlying_type_t<T>>(v));
  }
  void Put(const std::string& v) {
    PutVarint(v.size());
    bytes_.insert(bytes_.end(), v.begin(), v.end());
  }
  template <class Tag>
  void Put(const Id<Tag>& v) {
    PutVarint(v.value);
  }
  template <class Tag>
  void Put(const Quantity<Tag>& v) {
    Put(v.value());
  }
  void Put(const Instant& v) { Put(v.us); }
  template <class T>
  void Put(const std::optional<T>& v) {
    Put(v.has_value());
    if (v) Put(*v);
  }
  template <class T>
  void Put(const std::vector<T>& v) {
    PutVarint(v.size());
    for (const T& item : v) Put(item);
  }
  template <class T, std::size_t N>
  void Put(const std::array<T, N>& v) {
    for (const T& item : v) Put(item);
  }
  template <class A, class B>
  void Put(const std::pair<A, B>& v) {
    Put(v.first);
    Put(v.second);
  }
  template <class T>
  void Put(const std::shared_ptr<const T>& v) {
    Put(v != nullptr);
    if (v) Put(*v);
  }
  template <class... T>
  void Put(const std::variant<T...>& v) {
    PutVarint(v.index());
    std::visit([this](const auto& item) { this->Put(item); }, v);
  }
  template <class T>
    requires std::is_class_v<T>
  void Put(const T& v) {
    Archive(*this, const_cast<T&>(v));  // one function for both ways; a Writer never changes `v`
  }

  std::vector<std::uint8_t> bytes_;
};

/// Reads values back. Damaged bytes set `ok()` to false and leave default values; sizes are checked
/// against what is left before anything is allocated.
class Reader {
 public:
  static constexpr bool kReading = true;

  explicit Reader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  template <class... T>
  void operator()(T&... values) {
    (Get(values), ...);
  }
  bool ok() const { return ok_; }
  bool AtEnd() const { return rest_.empty(); }
  /// For `Archive` functions that find a value out of its range.
  void Fail() {
    ok_ = false;
    rest_ = {};
  }

 private:
  std::uint64_t GetVarint() {
    std::uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const std::uint8_t byte = rest_.front();
      rest_ = rest_.subspan(1);
      if (shift == 63 && byte > 1) break;  // more than 64 bits
      v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return v;
    }
    Fail();
    return 0;
  }
  std::size_t GetSize() {
    const std::uint64_t size = GetVarint();
    if (size > rest_.size()) {  // every element takes at least one byte
      Fail();
      return 0;
    }
    return static_cast<std::size_t>(size);
  }
  template <std::unsigned_integral T>
  void Get(T& v) {
    const std::uint64_t wide = GetVarint();
    v = static_cast<T>(wide);
    if (static_cast<std::uint64_t>(v) == wide) return;
    v = T{};
    Fail();
  }
  template <std::signed_integral T>
  void Get(T& v) {
    const std::uint64_t wide = GetVarint();
    const auto plain = static_cast<std::int64_t>((wide >> 1) ^ (0 - (wide & 1)));
    v = static_cast<T>(plain);
    if (static_cast<std::int64_t>(v) == plain) return;
    v = T{};
    Fail();
  }
  template <class T>
    requires std::is_enum_v<T>
  void Get(T& v) {
    std::underlying_type_t<T> raw{};
    Get(raw);
    v = static_cast<T>(raw);
    if (v <= T::kLast) return;  // every archived enum counts from 0 and names its last enumerator
    v = T{};
    Fail();
  }
  void Get(std::string& v) {
    const std::size_t size = GetSize();
    v.assign(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
  }
  template <class Tag>
  void Get(Id<Tag>& v) {
    Get(v.value);
  }
  template <class Tag>
  void Get(Quantity<Tag>& v) {
    std::int64_t amount = 0;
    Get(amount);
    v = Quantity<Tag>::Of(amount);
  }
  void Get(Instant& v) { Get(v.us); }
  template <class T>
  void Get(std::optional<T>& v) {
    bool present = false;
    Get(present);
    v.reset();
    if (present && ok_) Get(v.emplace());
  }
  template <class T>
  void Get(std::vector<T>& v) {
    const std::size_t size = GetSize();
    v.clear();
    for (std::size_t i = 0; i < size && ok_; ++i) Get(v.emplace_back());
  }
  template <class T, std::size_t N>
  void Get(std::array<T, N>& v) {
    for (T& item : v) Get(item);
  }
  template <class A, class B>
  void Get(std::pair<A, B>& v) {
    Get(v.first);
    Get(v.second);
  }
  template <class T>
  void Get(std::shared_ptr<const T>& v) {
    bool present = false;
    Get(present);
    v.reset();
    if (!present || !ok_) return;
    auto value = std::make_shared<T>();
    Get(*value);
    v = std::move(value);
  }
  template <class... T>
  void Get(std::variant<T...>& v) {
    const std::uint64_t index = GetVarint();
    if (index >= sizeof...(T)) return Fail();
    GetAlternative<0>(v, static_cast<std::size_t>(index));
  }
  template <std::size_t I, class... T>
  void GetAlternative(std::variant<T...>& v, std::size_t index) {
    if constexpr (I < sizeof...(T)) {
      if (I == index) {
        Get(v.template emplace<I>());
      } else {
        GetAlternative<I + 1>(v, index);
      }
    }
  }
  template <class T>
    requires std::is_class_v<T>
  void Get(T& v) {
    Archive(*this, v);
  }

  std::span<const std::uint8_t> rest_;
  bool ok_ = true;
};

}  // namespace muster::base
