// SPDX-License-Identifier: Apache-2.0
#include "format/fields.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace muster::format {
namespace {

constexpr std::size_t kMostLevels = 16;

struct LevelRow {
  std::string name;
  std::optional<std::string> label;
  base::Permille bandwidth = base::Permille::Of(1000);
};

Codec<model::Level> LevelCodec() {
  const Codec<LevelRow> map = Struct<LevelRow>({
      Key("name", &LevelRow::name, Name(), "name of the level").Required(),
      Key("label", &LevelRow::label, Maybe(Name()),
          "node label that names its domain; default: the level's name"),
      Key("bandwidth", &LevelRow::bandwidth, Fraction(),
          "part of its bandwidth that a GPU keeps when a gang spans several domains of this level"),
  });
  const Codec<std::string> name = Name();
  Codec<model::Level> codec;
  codec.shape = {
      .form = Shape::Form::kChoice, .type = "name or map", .parts = {name.shape, map.shape}};
  codec.decode = [=](const Value& value, Decoder& decoder) {
    LevelRow row;
    if (value.kind == Value::Kind::kMap) {
      row = map.decode(value, decoder);
    } else {
      row.name = name.decode(value, decoder);
    }
    return model::Level{.name = row.name,
                        .label = row.label.value_or(row.name),
                        .bandwidth_permille = row.bandwidth.value()};
  };
  codec.encode = [=](const model::Level& level) {
    LevelRow row{.name = level.name, .bandwidth = base::Permille::Of(level.bandwidth_permille)};
    if (level.label != level.name) row.label = level.label;
    const Value encoded = map.encode(row);
    return encoded.entries.size() == 1 ? name.encode(level.name) : encoded;
  };
  return codec;
}

Codec<std::int64_t> ExtendedCodec() { return LongCount({.min = 1, .max = kMostExtended}); }

/// The known name that `name` is most likely a slip for: "GPUs" for gpu, "memori" for memory; or
/// empty. Short names count only with the same letters: npu is no slip for gpu.
std::string_view SlipFor(std::string_view name, std::span<const std::string_view> known) {
  std::string stem(name);
  std::ranges::transform(stem, stem.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  if (stem.ends_with('s')) stem.pop_back();
  const auto sorted = [](std::string letters) {
    std::ranges::sort(letters);
    return letters;
  };
  std::vector<std::string_view> long_names;
  for (const std::string_view each : known) {
    if (each == stem) return each;
    if (each == "devices" && stem == "gpu") return each;  // a node's GPUs are its devices
    if (each.size() > 3 && sorted(stem) == sorted(std::string(each))) return each;
    if (each.size() > 3) long_names.push_back(each);
  }
  return base::Nearest(name, long_names);
}

}  // namespace

Codec<model::Labels> LabelsCodec() {
  const auto sorted = [](model::Labels labels) {
    std::ranges::stable_sort(labels, {},
                             [](const auto& label) { return std::string_view(label.first); });
    return labels;
  };
  return Converted<model::Labels>(MapOf(FreeText()), sorted, std::identity{});
}

Codec<std::vector<model::Level>> LevelsCodec() {
  Codec<std::vector<model::Level>> codec = ListOf(LevelCodec());
  codec.decode = [decode = codec.decode](const Value& value, Decoder& decoder) {
    if (value.items.size() > kMostLevels) {
      decoder.Report(value, base::Format("{} levels; at most {}", value.items.size(), kMostLevels));
    }
    return decode(value, decoder);
  };
  return codec;
}

void DecodeExtended(const Entry& entry, std::span<const std::string_view> known, Decoder& decoder,
                    std::vector<model::NamedAmount>& out) {
  const std::string_view slip = SlipFor(entry.key, known);
  if (!slip.empty()) {
    return decoder.ReportAt(entry.at,
                            base::Format("unknown key; did you mean {}?", base::Quote(slip)));
  }
  if (entry.key.empty()) return decoder.ReportAt(entry.at, "an empty name");
  const std::int64_t amount = ExtendedCodec().decode(entry.value, decoder);
  const auto place = std::ranges::lower_bound(out, entry.key, {}, &model::NamedAmount::name);
  out.insert(place, model::NamedAmount{entry.key, amount});
}

Shape ExtendedShape() { return ExtendedCodec().shape; }

void EncodeExtended(const std::vector<model::NamedAmount>& amounts, Value& map) {
  for (const model::NamedAmount& each : amounts)
    map.Add(each.name, Plain(base::Format("{}", each.amount)));
}

}  // namespace muster::format
