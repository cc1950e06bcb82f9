// SPDX-License-Identifier: Apache-2.0
#include "format/codec.h"

#include <limits>

namespace muster::format {
namespace {

using base::Format;
using base::Quote;
using base::Result;

constexpr std::size_t kLongestName = 253;  // that of a DNS name

/// "a.b[2]" -> "a.b" -> "a" -> "".
std::string_view Parent(std::string_view path) {
  const std::size_t end = path.find_last_of(".[");
  return end == std::string_view::npos ? std::string_view{} : path.substr(0, end);
}

/// Whether `path` is `root` or lies below it.
bool Inside(std::string_view path, std::string_view root) {
  if (!path.starts_with(root)) return false;
  return path.size() == root.size() || path[root.size()] == '.' || path[root.size()] == '[';
}

bool BesideInItem(std::string_view a, std::string_view b) {
  return Parent(a) == Parent(b) && Parent(a).ends_with(']');
}

bool IsBlankOrControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x20 || byte == 0x7f || c == '"' || c == '\'';
}

Value Typed(std::string type) { return Map({{.key = "type", .value = Text(std::move(type))}}); }

/// A number or a text with a unit, as JSON Schema has it.
Value AmountSchema(std::string_view pattern) {
  Value types = List({Text("string"), Text("number")});
  Value schema = Map({{.key = "type", .value = std::move(types)}});
  schema.Add("pattern", Text(std::string(pattern)));
  return schema;
}

std::string RangeText(const std::string& type, const std::string& min, const std::string& max) {
  if (!min.empty() && !max.empty()) return Format("{}, {} to {}", type, min, max);
  if (!min.empty()) return Format("{}, {} or more", type, min);
  return max.empty() ? type : Format("{}, at most {}", type, max);
}

/// What an amount is called, and how its text is read and written.
template <class Amount>
struct AmountKind {
  std::string type;
  std::string expected;
  std::string pattern;
  Result<Amount> (*parse)(std::string_view);
  std::string (*format)(Amount);
};

template <class Amount>
Codec<Amount> AmountCodec(AmountKind<Amount> kind, AmountRange<Amount> range) {
  const std::string min = range.min > Amount::Of(0) ? kind.format(range.min) : "";
  const std::string max = range.max < Amount::Max() ? kind.format(range.max) : "";
  Codec<Amount> codec;
  codec.shape = {.type = RangeText(kind.type, min, max), .schema = AmountSchema(kind.pattern)};
  codec.decode = [=](const Value& value, Decoder& decoder) {
    if (value.kind != Value::Kind::kScalar) {
      decoder.ReportKind(value, kind.expected);
      return Amount{};
    }
    const Result<Amount> amount = kind.parse(value.text);
    if (!amount) {
      decoder.Report(value, amount.error().message);
    } else if (*amount < range.min) {
      decoder.Report(value, Format("{} is too little; at least {}", Quote(value.text),
                                   kind.format(range.min)));
    } else if (*amount > range.max) {
      decoder.Report(
          value, Format("{} is too much; at most {}", Quote(value.text), kind.format(range.max)));
    } else {
      return *amount;
    }
    return Amount{};
  };
  codec.encode = [kind](const Amount& amount) { return Plain(kind.format(amount)); };
  return codec;
}

template <class Integer>
Codec<Integer> CountCodec(CountRange range) {
  Codec<Integer> codec;
  const bool open = range.max >= std::numeric_limits<std::int32_t>::max();
  const std::string min = range.min > 0 || !open ? Format("{}", range.min) : "";
  codec.shape.type = RangeText("count", min, open ? "" : Format("{}", range.max));
  codec.shape.schema = Typed("integer");
  codec.shape.schema.Add("minimum", Plain(Format("{}", range.min)));
  codec.shape.schema.Add("maximum", Plain(Format("{}", range.max)));
  codec.decode = [range](const Value& value, Decoder& decoder) {
    if (value.kind != Value::Kind::kScalar) {
      decoder.ReportKind(value, "a whole number");
      return Integer{};
    }
    const Result<std::int64_t> count = base::ParseCount(value.text);
    if (!count) {
      decoder.Report(value, count.error().message);
    } else if (value.quoted) {
      decoder.Report(value,
                     Format("{} is a text; write the number without quotes", Quote(value.text)));
    } else if (*count < range.min || *count > range.max) {
      decoder.Report(value, Format("{} is out of range; {} to {}", *count, range.min, range.max));
    } else {
      return static_cast<Integer>(*count);
    }
    return Integer{};
  };
  codec.encode = [](const Integer& count) { return Plain(Format("{}", count)); };
  return codec;
}

// Planned keys.

bool SamePattern(std::string_view planned, std::string_view actual) {
  const std::vector<std::string_view> left = base::Split(planned, '.');
  const std::vector<std::string_view> right = base::Split(actual, '.');
  return std::ranges::equal(
      left, right, [](std::string_view a, std::string_view b) { return a == b || a == "*"; });
}

/// The first segments of `planned`, as many as `pattern` has; empty when it has fewer. A last `[]`
/// is dropped.
std::string_view Head(std::string_view planned, std::string_view pattern) {
  std::size_t segments = base::Split(pattern, '.').size();
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (planned[i] == '.' && --segments == 0) return planned.substr(0, i);
  }
  return segments == 1 ? planned : std::string_view{};
}

/// Whether planned rows lie below `pattern`.
bool IsSection(std::span<const PlannedKey> planned, std::string_view pattern) {
  return std::ranges::any_of(planned, [&](const PlannedKey& row) {
    std::string_view head = Head(row.path, pattern);
    if (head.size() < row.path.size() && SamePattern(head, pattern)) return true;
    return head.ends_with("[]") && SamePattern(head.substr(0, head.size() - 2), pattern);
  });
}

bool IsRow(std::span<const PlannedKey> planned, std::string_view pattern) {
  return std::ranges::any_of(planned,
                             [&](const PlannedKey& row) { return SamePattern(row.path, pattern); });
}

/// Names that planned rows give directly below `pattern`.
std::vector<std::string_view> PlannedBelow(std::span<const PlannedKey> planned,
                                           std::string_view pattern) {
  std::vector<std::string_view> names;
  const std::string probe = pattern.empty() ? "x" : Format("{}.x", pattern);
  for (const PlannedKey& row : planned) {
    std::string_view head = Head(row.path, probe);
    if (head.empty()) continue;
    const std::size_t dot = head.rfind('.');
    const std::string_view above =
        dot == std::string_view::npos ? std::string_view{} : head.substr(0, dot);
    std::string_view name = dot == std::string_view::npos ? head : head.substr(dot + 1);
    if (!SamePattern(above, pattern) || name == "*") continue;
    if (name.ends_with("[]")) name.remove_suffix(2);
    names.push_back(name);
  }
  return names;
}

}  // namespace

Decoder::Step::Step(Decoder& decoder, std::string_view path, std::string_view pattern, Position at)
    : decoder_(decoder), path_size_(decoder.path_.size()), pattern_size_(decoder.pattern_.size()) {
  decoder.path_ += path_size_ == 0 && path.starts_with('.') ? path.substr(1) : path;
  decoder.pattern_ += pattern_size_ == 0 && pattern.starts_with('.') ? pattern.substr(1) : pattern;
  decoder.places_.emplace(decoder.path_, at);
}

Decoder::Step::~Step() {
  decoder_.path_.resize(path_size_);
  decoder_.pattern_.resize(pattern_size_);
}

Decoder::Step Decoder::IntoKey(const Entry& entry) {
  const std::string step = "." + entry.key;
  return Step(*this, step, step, entry.value.at);
}

Decoder::Step Decoder::IntoName(const Entry& entry) {
  return Step(*this, "." + entry.key, ".*", entry.value.at);
}

Decoder::Step Decoder::IntoItem(const Value& list, std::size_t index) {
  return Step(*this, Format("[{}]", index), "[]", list.items[index].at);
}

void Decoder::Add(Position at, std::string_view fault) {
  faults_.push_back({at, path_.empty() ? std::string(fault) : Format("{}: {}", path_, fault)});
}

void Decoder::ReportAt(Position at, std::string_view fault) {
  wrong_.push_back(path_);
  Add(at, fault);
}

void Decoder::ReportKind(const Value& value, std::string_view expected) {
  Report(value, Format("expected {}, found {}", expected, Describe(value)));
}

void Decoder::ReportMissing(const Value& map, std::string_view key) {
  missing_.push_back(path_.empty() ? std::string(key) : Format("{}.{}", path_, key));
  Add(map.at, Format("key {} is missing", Quote(key)));
}

void Decoder::ReportKey(const Entry& entry, std::span<const std::string_view> known) {
  const bool section = IsSection(planned_, pattern_);
  if (section && entry.value.kind == Value::Kind::kMap && !entry.value.entries.empty()) {
    for (const Entry& below : entry.value.entries) {
      const Step step = IntoKey(below);
      ReportKey(below, {});
    }
  } else if (section && entry.value.kind == Value::Kind::kList && !entry.value.items.empty()) {
    for (std::size_t i = 0; i < entry.value.items.size(); ++i) {
      const Step step = IntoItem(entry.value, i);
      ReportKey({entry.key, entry.value.items[i], entry.value.items[i].at}, {});
    }
  } else if (section || IsRow(planned_, pattern_)) {
    Add(entry.at, "not supported by this version yet");
  } else {
    std::vector<std::string_view> names = PlannedBelow(planned_, Parent(pattern_));
    names.insert(names.begin(), known.begin(), known.end());
    const std::string_view meant = base::Nearest(entry.key, names);
    Add(entry.at,
        meant.empty() ? "unknown key" : Format("unknown key; did you mean {}?", Quote(meant)));
  }
}

void Decoder::ReportRule(const base::Error& rule) {
  const auto near = [&](std::string_view path) {
    return Inside(path, rule.where) || Inside(rule.where, path);
  };
  const auto beside = [&](std::string_view path) { return BesideInItem(path, rule.where); };
  const bool doubtful = std::ranges::any_of(wrong_, near) || std::ranges::any_of(wrong_, beside) ||
                        std::ranges::any_of(missing_, near);
  if (doubtful) return;
  faults_.push_back({PlaceOf(rule.where), Format("{}: {}", rule.where, rule.message)});
}

Position Decoder::PlaceOf(std::string_view path) const {
  for (; !path.empty(); path = Parent(path)) {
    const auto place = places_.find(path);
    if (place != places_.end()) return place->second;
  }
  return {};
}

std::string NoSuchName(std::string_view name, std::span<const std::string_view> names) {
  const std::string_view meant = base::Nearest(name, names);
  if (!meant.empty()) return Format("{} is unknown; did you mean {}?", Quote(name), Quote(meant));
  return Format("{} is unknown; known are {}", Quote(name), fmt::join(names, ", "));
}

Shape NamesShape(std::span<const std::string_view> names) {
  Value list = List();
  for (const std::string_view name : names) list.items.push_back(Text(std::string(name)));
  return {.type = Format("{}", fmt::join(names, " | ")),
          .schema = Map({{.key = "enum", .value = std::move(list)}})};
}

Codec<std::string> Name() {
  Codec<std::string> codec = FreeText();
  codec.shape = {.type = "name", .schema = Typed("string")};
  codec.shape.schema.Add("minLength", Plain("1"));
  codec.decode = [](const Value& value, Decoder& decoder) {
    if (value.kind != Value::Kind::kScalar) {
      decoder.ReportKind(value, "a name");
    } else if (value.text.empty() || value.text.size() > kLongestName) {
      decoder.Report(value,
                     Format("{} is no name: 1 to {} characters", Quote(value.text), kLongestName));
    } else if (std::ranges::any_of(value.text, IsBlankOrControl)) {
      decoder.Report(value,
                     Format("{} is no name: it holds a blank, a quote or a control character",
                            Quote(value.text)));
    } else {
      return value.text;
    }
    return std::string();
  };
  return codec;
}

Codec<std::string> FreeText() {
  Codec<std::string> codec;
  codec.shape = {.type = "text", .schema = Typed("string")};
  codec.decode = [](const Value& value, Decoder& decoder) {
    if (value.kind != Value::Kind::kScalar) {
      decoder.ReportKind(value, "a text");
    } else if (value.text.find('\0') != std::string::npos) {
      decoder.Report(value, "a text must not hold a zero byte");
    } else {
      return value.text;
    }
    return std::string();
  };
  codec.encode = [](const std::string& text) { return Text(text); };
  return codec;
}

Codec<bool> Flag() {
  Codec<bool> codec;
  codec.shape = {.type = "true | false", .schema = Typed("boolean")};
  codec.decode = [](const Value& value, Decoder& decoder) {
    const bool plain = value.kind == Value::Kind::kScalar && !value.quoted;
    if (plain && value.text == "true") return true;
    if (!plain || value.text != "false") decoder.ReportKind(value, "true or false");
    return false;
  };
  codec.encode = [](const bool& flag) { return Plain(flag ? "true" : "false"); };
  return codec;
}

Codec<std::int32_t> Count(CountRange range) { return CountCodec<std::int32_t>(range); }
Codec<std::int64_t> LongCount(CountRange range) { return CountCodec<std::int64_t>(range); }

Codec<base::MilliCpu> CpuOf(AmountRange<base::MilliCpu> range) {
  return AmountCodec<base::MilliCpu>({.type = "CPUs",
                                      .expected = "CPUs (like 96, 0.5 or 500m)",
                                      .pattern = "^[0-9]+(\\.[0-9]+)?m?$",
                                      .parse = base::ParseCpu,
                                      .format = base::FormatCpu},
                                     range);
}

Codec<base::MilliGpu> GpuOf(AmountRange<base::MilliGpu> range) {
  return AmountCodec<base::MilliGpu>({.type = "GPUs",
                                      .expected = "GPUs (like 8)",
                                      .pattern = "^[0-9]+(\\.[0-9]+)?$",
                                      .parse = base::ParseGpu,
                                      .format = base::FormatGpu},
                                     range);
}

Codec<base::Bytes> BytesOf(AmountRange<base::Bytes> range) {
  return AmountCodec<base::Bytes>({.type = "bytes",
                                   .expected = "bytes (like 900Gi, 1.5Ti or 512M)",
                                   .pattern = "^[0-9]+(\\.[0-9]+)?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?$",
                                   .parse = base::ParseBytes,
                                   .format = base::FormatBytes},
                                  range);
}

Codec<base::Duration> DurationOf(AmountRange<base::Duration> range) {
  return AmountCodec<base::Duration>({.type = "duration",
                                      .expected = "a duration (like 90s, 10m, 1h30m or 2d)",
                                      .pattern = "^(0|([0-9]+(\\.[0-9]+)?(d|h|m|s|ms|us))+)$",
                                      .parse = base::ParseDuration,
                                      .format = base::FormatDuration},
                                     range);
}

Codec<base::Permille> Fraction() {
  return AmountCodec<base::Permille>({.type = "fraction",
                                      .expected = "a fraction (like 0.2 or 20%)",
                                      .pattern = "^([0-9]+(\\.[0-9]+)?%?)$",
                                      .parse = base::ParseFraction,
                                      .format = base::FormatFraction},
                                     {});
}

}  // namespace muster::format
