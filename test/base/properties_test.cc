// SPDX-License-Identifier: Apache-2.0
// Laws that hold for every value. A failure prints its seed and a smallest example;
// RC_PARAMS="seed=..." reruns it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/archive.h"
#include "base/cow_table.h"
#include "base/rng.h"
#include "base/strings.h"
#include "base/units.h"

namespace muster::base {
namespace {

std::int64_t AnyAmount() { return *rc::gen::inRange<std::int64_t>(0, INT64_MAX); }

RC_GTEST_PROP(UnitsLaw, PrintedTextParsesBack, ()) {
  const std::int64_t amount = AnyAmount();
  RC_ASSERT(ParseCpu(FormatCpu(MilliCpu::Of(amount))).value().value() == amount);
  RC_ASSERT(ParseGpu(FormatGpu(MilliGpu::Of(amount))).value().value() == amount);
  RC_ASSERT(ParseBytes(FormatBytes(Bytes::Of(amount))).value().value() == amount);
  RC_ASSERT(ParseDuration(FormatDuration(Microseconds(amount))).value().value() == amount);
}

RC_GTEST_PROP(UnitsLaw, RoundAmountsParseBack, ()) {
  const std::int64_t factor =
      *rc::gen::element<std::int64_t>(1000, 1024, 1 << 20, 1 << 30, 60'000'000);
  const std::int64_t amount = *rc::gen::inRange<std::int64_t>(0, 100'000) * factor;
  RC_ASSERT(ParseBytes(FormatBytes(Bytes::Of(amount))).value().value() == amount);
  RC_ASSERT(ParseDuration(FormatDuration(Microseconds(amount))).value().value() == amount);
}

RC_GTEST_PROP(UnitsLaw, AnyTextIsAnAmountOrAFault, (const std::string& text)) {
  for (const auto& fault :
       {ParseCpu(text).map([](auto) { return 0; }), ParseBytes(text).map([](auto) { return 0; }),
        ParseDuration(text).map([](auto) { return 0; })}) {
    if (!fault.has_value()) RC_ASSERT(!fault.error().message.empty());
  }
}

RC_GTEST_PROP(StringsLaw, SplitAndJoinAreInverse, (const std::string& text)) {
  std::vector<std::string> parts;
  for (const std::string_view part : Split(text, ',')) parts.emplace_back(part);
  RC_ASSERT(Join(parts, ",") == text);
}

RC_GTEST_PROP(RngLaw, BelowStaysBelow, (std::uint64_t seed)) {
  const std::uint64_t bound = *rc::gen::nonZero<std::uint64_t>();
  Rng rng(seed);
  for (int i = 0; i < 20; ++i) RC_ASSERT(rng.Below(bound) < bound);
}

RC_GTEST_PROP(ArchiveLaw, IntegersAndStringsComeBack,
              (std::uint64_t a, std::int64_t b, std::int32_t c, const std::string& d,
               const std::vector<std::int64_t>& e)) {
  Writer writer;
  writer(a, b, c, d, e);
  std::uint64_t a2 = 0;
  std::int64_t b2 = 0;
  std::int32_t c2 = 0;
  std::string d2;
  std::vector<std::int64_t> e2;
  Reader reader(writer.bytes());
  reader(a2, b2, c2, d2, e2);
  RC_ASSERT(reader.ok() && reader.AtEnd());
  RC_ASSERT(std::tie(a, b, c, d, e) == std::tie(a2, b2, c2, d2, e2));
}

RC_GTEST_PROP(ArchiveLaw, AnyBytesAreReadOrRefused, (const std::vector<std::uint8_t>& bytes)) {
  std::vector<std::pair<std::string, std::optional<std::int32_t>>> values;
  Reader reader(bytes);
  reader(values);
  RC_ASSERT(values.size() <= bytes.size());
}

/// The table against plain vectors: any mix of appends, writes and copies.
RC_GTEST_PROP(CowTableLaw, BehavesLikeAVectorAndCopiesNeverChange, ()) {
  constexpr std::size_t kChunkRows = 4;
  CowTable<int, kChunkRows> table;
  std::vector<int> model;
  std::vector<std::pair<CowTable<int, kChunkRows>, std::vector<int>>> copies;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
  for (const int step : steps) {
    if (step % 10 == 0) {
      copies.emplace_back(table, model);
    } else if (step % 10 < 5 || model.empty()) {
      table.PushBack(step);
      model.push_back(step);
    } else {
      const std::size_t at = static_cast<std::size_t>(step) % model.size();
      table.Mutable(at) = -step;
      model[at] = -step;
    }
  }
  copies.emplace_back(table, model);
  for (const auto& [copy, expected] : copies) {
    RC_ASSERT(copy.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) RC_ASSERT(copy[i] == expected[i]);
  }
}

}  // namespace
}  // namespace muster::base
