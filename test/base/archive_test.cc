// SPDX-License-Identifier: Apache-2.0
#include "base/archive.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"

namespace muster::base {
namespace {

enum class Colour : std::uint8_t { kRed, kGreen, kBlue, kLast = kBlue };
enum class Side : std::int16_t { kLeft, kRight, kLast = kRight };

struct Point {
  std::int32_t x = 0;
  std::int64_t y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};
template <class A>
void Archive(A& a, Point& v) {
  a(v.x, v.y);
}

/// One of everything that can be archived.
struct Everything {
  bool flag = false;
  std::uint8_t small = 0;
  std::uint64_t big = 0;
  std::int64_t negative = 0;
  Colour colour = Colour::kRed;
  Side side = Side::kLeft;
  std::string text;
  Id<struct ThingTag> id;
  MilliCpu cpu;
  Instant at;
  std::optional<Point> maybe;
  std::vector<Point> points;
  std::array<std::int32_t, 3> triple{};
  std::pair<std::string, std::int32_t> pair;
  std::variant<Point, std::string> either;
  friend bool operator==(const Everything&, const Everything&) = default;
};
template <class A>
void Archive(A& a, Everything& v) {
  a(v.flag, v.small, v.big, v.negative, v.colour, v.side, v.text, v.id, v.cpu, v.at, v.maybe,
    v.points, v.triple, v.pair, v.either);
}

Everything Sample() {
  return {.flag = true,
          .small = 255,
          .big = UINT64_MAX,
          .negative = INT64_MIN,
          .colour = Colour::kBlue,
          .side = Side::kRight,
          .text = std::string("a\0b", 3),
          .id = Id<struct ThingTag>::None(),
          .cpu = MilliCpu::Of(500),
          .at = {-7},
          .maybe = Point{1, -1},
          .points = {{1, 2}, {INT32_MIN, INT64_MAX}},
          .triple = {1, -2, 3},
          .pair = {"key", 9},
          .either = std::string("right")};
}

template <class T>
std::vector<std::uint8_t> ToBytes(const T& value) {
  Writer writer;
  writer(value);
  return std::move(writer).Take();
}

template <class T>
bool Refused(const std::vector<std::uint8_t>& bytes) {
  T value{};
  Reader reader(bytes);
  reader(value);
  return !reader.ok();
}

TEST(Archive, EverythingComesBack) {
  const Everything in = Sample();
  const std::vector<std::uint8_t> bytes = ToBytes(in);
  Everything out;
  Reader reader(bytes);
  reader(out);
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(in, out);
}

TEST(Archive, ReadingReplacesWhatWasThere) {
  const std::vector<std::uint8_t> bytes = ToBytes(Everything{});
  Everything out = Sample();
  Reader reader(bytes);
  reader(out);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(out, Everything{});
}

TEST(Archive, SharedPointersComeBackByValue) {
  using Pointer = std::shared_ptr<const Point>;
  const std::vector<Pointer> in = {std::make_shared<Point>(Point{3, 4}), nullptr};
  const std::vector<std::uint8_t> bytes = ToBytes(in);
  std::vector<Pointer> out;
  Reader reader(bytes);
  reader(out);
  ASSERT_TRUE(reader.ok());
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(*out[0], (Point{3, 4}));
  EXPECT_EQ(out[1], nullptr);
}

TEST(Archive, BytesAreFixed) {
  // The format of stored snapshots and of decision hashes: a change here needs a new version number
  // there.
  EXPECT_EQ(ToBytes(std::uint64_t{300}), (std::vector<std::uint8_t>{0xAC, 0x02}));
  EXPECT_EQ(ToBytes(std::int32_t{-1}), (std::vector<std::uint8_t>{0x01}));
  EXPECT_EQ(ToBytes(std::int32_t{64}), (std::vector<std::uint8_t>{0x80, 0x01}));
  EXPECT_EQ(ToBytes(std::string("ab")), (std::vector<std::uint8_t>{0x02, 'a', 'b'}));
  EXPECT_EQ(ToBytes(std::optional<Point>{}), (std::vector<std::uint8_t>{0x00}));
  EXPECT_EQ(ToBytes(std::variant<Point, std::string>{std::string{}}),
            (std::vector<std::uint8_t>{0x01, 0x00}));
  EXPECT_EQ(ToBytes(Colour::kBlue), (std::vector<std::uint8_t>{0x02}));
}

TEST(Archive, EveryTruncationIsRefused) {
  const std::vector<std::uint8_t> bytes = ToBytes(Sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Everything out;
    Reader reader{std::span(bytes).first(size)};
    reader(out);
    EXPECT_FALSE(reader.ok()) << "the first " << size << " of " << bytes.size() << " bytes";
  }
}

TEST(Archive, EveryChangedByteIsReadOrRefused) {
  const std::vector<std::uint8_t> whole = ToBytes(Sample());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::uint8_t> bytes = whole;
      bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1U << bit));
      Everything out;
      Reader reader(bytes);
      reader(out);
      EXPECT_LE(out.colour, Colour::kLast);  // whatever happened, no value outside its type
      EXPECT_LE(out.side, Side::kLast);
      if (reader.ok() && reader.AtEnd()) {
        EXPECT_NE(out, Sample()) << "byte " << at << " bit " << bit;
      }
    }
  }
}

TEST(Archive, ValuesOutOfRangeAreRefused) {
  EXPECT_TRUE(Refused<bool>({2}));
  EXPECT_TRUE(Refused<std::uint8_t>(ToBytes(std::uint64_t{256})));
  EXPECT_TRUE(Refused<std::int32_t>(ToBytes(std::int64_t{INT32_MAX} + 1)));
  EXPECT_TRUE(Refused<Colour>({3}));
  EXPECT_TRUE(Refused<Side>(ToBytes(std::int16_t{2})));
  EXPECT_FALSE(Refused<Colour>({2}));
  EXPECT_TRUE((Refused<std::variant<Point, std::string>>({2})));
}

TEST(Archive, RefusedValuesAreLeftAtTheirDefault) {
  Colour colour = Colour::kGreen;
  const std::vector<std::uint8_t> bytes = {9};
  Reader reader(bytes);
  reader(colour);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(colour, Colour::kRed);
}

TEST(Archive, IntegersHaveAtMostTenBytes) {
  std::vector<std::uint8_t> bytes(9, 0xFF);
  bytes.push_back(0x01);
  EXPECT_FALSE(Refused<std::uint64_t>(bytes));
  bytes.back() = 0x02;  // bit 64
  EXPECT_TRUE(Refused<std::uint64_t>(bytes));
  bytes.back() = 0x80;
  bytes.push_back(0x00);
  EXPECT_TRUE(Refused<std::uint64_t>(bytes));
}

TEST(Archive, SizesAreCheckedBeforeAnythingIsAllocated) {
  Writer writer;
  writer(std::uint64_t{1} << 60);
  const std::vector<std::uint8_t> bytes(writer.bytes().begin(), writer.bytes().end());
  EXPECT_TRUE(Refused<std::string>(bytes));
  EXPECT_TRUE(Refused<std::vector<Everything>>(bytes));
}

TEST(Archive, AFailedReaderReadsNothingMore) {
  const std::vector<std::uint8_t> bytes = {2, 7};
  Reader reader(bytes);
  bool flag = false;
  std::uint8_t next = 0;
  reader(flag, next);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(next, 0);
}

}  // namespace
}  // namespace muster::base
