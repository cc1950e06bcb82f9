// SPDX-License-Identifier: Apache-2.0
// One description of a document, from which its decoder, encoder, JSON Schema and reference all
// come.
//
// A `Codec<T>` knows how a T is written. Simple ones are named after what they read (`Count`,
// `DurationOf`...); `ListOf`, `MapOf` and `Struct` build larger ones. A struct is a table of keys,
// one row each:
//
//   Struct<RelaxStep>({
//       Key("after", &RelaxStep::after, DurationOf({.max = kLongest}), "waiting time").Required(),
//       Key("topology", &RelaxStep::topology, Name(), "the weaker level").Required(),
//   })
//
// Decoding never stops at a fault: it notes it and goes on with the default, so that one run shows
// all. Encoding leaves out what equals the default.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/strings.h"
#include "base/units.h"
#include "format/document.h"
#include "format/planned_keys.h"

namespace muster::format {

struct KeyShape;

/// How a value is written, for schema and reference.
struct Shape {
  enum class Form : std::uint8_t {
    kLeaf,
    kStruct,  ///< a map of `keys`, and with a part any other key of that shape
    kList,    ///< of parts[0]
    kMap,     ///< any name to parts[0]
    kChoice,  ///< any of the parts
  };
  Form form = Form::kLeaf;
  std::string type;  ///< for people: "duration"
  Value schema;      ///< of a leaf
  std::vector<KeyShape> keys;
  std::vector<Shape> parts;
};

struct KeyShape {
  std::string key;
  std::string doc;
  bool required = false;
  Value default_value;
  Shape shape;
};

/// Where a decoder stands in the document, and what it found wrong so far.
class Decoder {
 public:
  explicit Decoder(std::span<const PlannedKey> planned) : planned_(planned) {}

  /// Going into a part of the document, until the end of the scope.
  class [[nodiscard]] Step {
   public:
    Step(Decoder& decoder, std::string_view path, std::string_view pattern, Position at);
    ~Step();
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Decoder& decoder_;
    std::size_t path_size_;
    std::size_t pattern_size_;
  };
  Step IntoKey(const Entry& entry);   ///< of a map with known keys
  Step IntoName(const Entry& entry);  ///< of a map whose keys are names
  Step IntoItem(const Value& list, std::size_t index);

  /// The value at hand is wrong.
  void Report(const Value& value, std::string_view fault) { ReportAt(value.at, fault); }
  void ReportAt(Position at, std::string_view fault);
  /// The value at hand is not of its kind: "expected a list, found 8".
  void ReportKind(const Value& value, std::string_view expected);
  /// A key that is in no table, or in the table of planned ones.
  void ReportKey(const Entry& entry, std::span<const std::string_view> known);
  /// A required key that the map at hand lacks.
  void ReportMissing(const Value& map, std::string_view key);
  /// A rule between keys, `where` being the path of one. Left out when that key's value, one around
  /// or inside it, or one beside it in the same list item was wrong itself: the default in its
  /// place proves nothing.
  void ReportRule(const base::Error& rule);

  bool Has(std::string_view path) const { return places_.contains(path); }
  std::vector<Fault>& faults() { return faults_; }

 private:
  void Add(Position at, std::string_view fault);
  Position PlaceOf(std::string_view path) const;

  std::span<const PlannedKey> planned_;
  std::string path_;     ///< "spec.tasks[0].replicas"
  std::string pattern_;  ///< "spec.tasks[].replicas"
  std::map<std::string, Position, std::less<>> places_;
  std::vector<std::string> wrong_;    ///< paths of values that were wrong
  std::vector<std::string> missing_;  ///< paths of required keys that were missing
  std::vector<Fault> faults_;
};

template <class T>
struct Codec {
  Shape shape;
  std::function<T(const Value&, Decoder&)> decode;  ///< a default T where the value is wrong
  std::function<Value(const T&)> encode;
};

// Simple codecs.

struct CountRange {
  std::int64_t min = 0;
  std::int64_t max = INT32_MAX;
};
template <class Amount>
struct AmountRange {
  Amount min = Amount::Of(0);
  Amount max = Amount::Max();
};

/// A name: 1 to 253 characters, none of them blank, a quote or a control character.
Codec<std::string> Name();
/// Any text without zero bytes. Numbers and booleans count as what they look like.
Codec<std::string> FreeText();
/// true or false, and nothing that merely looks like it.
Codec<bool> Flag();
Codec<std::int32_t> Count(CountRange range);
Codec<std::int64_t> LongCount(CountRange range);
Codec<base::MilliCpu> CpuOf(AmountRange<base::MilliCpu> range);
Codec<base::MilliGpu> GpuOf(AmountRange<base::MilliGpu> range);
Codec<base::Bytes> BytesOf(AmountRange<base::Bytes> range);
Codec<base::Duration> DurationOf(AmountRange<base::Duration> range);
Codec<base::Permille> Fraction();

// The range of a duration in a document: sums of a few stay far from overflow.
inline constexpr base::Duration kLongest = base::Hours(24 * 366 * 10);

template <class E>
struct EnumName {
  std::string_view name;
  E value;
};

/// The text of a fault about a name that is none of `names`, one of which may have been meant.
std::string NoSuchName(std::string_view name, std::span<const std::string_view> names);
Shape NamesShape(std::span<const std::string_view> names);

/// One of a few names. `planned` ones are refused as not supported yet.
template <class E>
Codec<E> OneOf(std::vector<EnumName<E>> names, const std::vector<std::string_view>& planned = {}) {
  std::vector<std::string_view> texts;
  for (const EnumName<E>& name : names) texts.push_back(name.name);
  Codec<E> codec;
  codec.shape = NamesShape(texts);
  codec.decode = [names, texts, planned](const Value& value, Decoder& decoder) {
    for (const EnumName<E>& name : names) {
      if (value.kind == Value::Kind::kScalar && value.text == name.name) return name.value;
    }
    if (value.kind != Value::Kind::kScalar) {
      decoder.ReportKind(value, "a name");
    } else if (std::ranges::find(planned, value.text) != planned.end()) {
      decoder.Report(value, base::Quote(value.text) + " is not supported by this version yet");
    } else {
      decoder.Report(value, NoSuchName(value.text, texts));
    }
    return E{};
  };
  codec.encode = [names](const E& value) {
    for (const EnumName<E>& name : names) {
      if (name.value == value) return Text(std::string(name.name));
    }
    return Value{};
  };
  return codec;
}

// Codecs built of others. A codec holds the ones below it by shared pointers: copied, and it is
// copied at each level above it, it would hold as many of them as there are ways down.

template <class T>
std::shared_ptr<const T> Share(T value) {
  return std::make_shared<const T>(std::move(value));
}

template <class T>
Codec<std::vector<T>> ListOf(Codec<T> item) {
  Codec<std::vector<T>> codec;
  codec.shape = {
      .form = Shape::Form::kList, .type = "list of " + item.shape.type, .parts = {item.shape}};
  const auto shared = Share(std::move(item));
  codec.decode = [shared](const Value& value, Decoder& decoder) {
    std::vector<T> out;
    if (value.kind != Value::Kind::kList) decoder.ReportKind(value, "a list");
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const Decoder::Step step = decoder.IntoItem(value, i);
      out.push_back(shared->decode(value.items[i], decoder));
    }
    return out;
  };
  codec.encode = [shared](const std::vector<T>& list) {
    Value out = List();
    for (const T& each : list) out.items.push_back(shared->encode(each));
    return out;
  };
  return codec;
}

/// A list, or its only item without brackets; written as it is shorter.
template <class T>
Codec<std::vector<T>> OneOrList(Codec<T> item) {
  Codec<std::vector<T>> list = ListOf(item);
  Codec<std::vector<T>> codec = list;
  codec.shape = {.form = Shape::Form::kChoice,
                 .type = item.shape.type + " or a list",
                 .parts = {item.shape, list.shape}};
  const auto one = Share(std::move(item));
  const auto many = Share(std::move(list));
  codec.decode = [one, many](const Value& value, Decoder& decoder) {
    if (value.kind == Value::Kind::kList) return many->decode(value, decoder);
    return std::vector<T>{one->decode(value, decoder)};
  };
  codec.encode = [one, many](const std::vector<T>& values) {
    return values.size() == 1 ? one->encode(values.front()) : many->encode(values);
  };
  return codec;
}

/// A map from names to values, in the order of the document.
template <class T>
Codec<std::vector<std::pair<std::string, T>>> MapOf(Codec<T> item) {
  using Pairs = std::vector<std::pair<std::string, T>>;
  Codec<Pairs> codec;
  codec.shape = {
      .form = Shape::Form::kMap, .type = "map of " + item.shape.type, .parts = {item.shape}};
  const auto shared = Share(std::move(item));
  codec.decode = [shared](const Value& value, Decoder& decoder) {
    Pairs out;
    if (value.kind != Value::Kind::kMap) decoder.ReportKind(value, "a map");
    for (const Entry& entry : value.entries) {
      const Decoder::Step step = decoder.IntoName(entry);
      if (entry.key.empty()) decoder.ReportAt(entry.at, "an empty name");
      out.emplace_back(entry.key, shared->decode(entry.value, decoder));
    }
    return out;
  };
  codec.encode = [shared](const Pairs& pairs) {
    Value out = Map();
    for (const auto& [name, each] : pairs) out.Add(name, shared->encode(each));
    return out;
  };
  return codec;
}

/// `inner`, seen as another type.
template <class To, class From, class Forth, class Back>
Codec<To> Converted(Codec<From> inner, Forth forth, Back back) {
  Codec<To> codec;
  codec.shape = inner.shape;
  const auto shared = Share(std::move(inner));
  codec.decode = [shared, forth](const Value& value, Decoder& decoder) -> To {
    return forth(shared->decode(value, decoder));
  };
  codec.encode = [shared, back](const To& value) { return shared->encode(back(value)); };
  return codec;
}

/// A value that may be left out, which differs from any value given.
template <class T>
Codec<std::optional<T>> Maybe(Codec<T> inner) {
  Codec<std::optional<T>> codec;
  codec.shape = inner.shape;
  const auto shared = Share(std::move(inner));
  codec.decode = [shared](const Value& value, Decoder& decoder) {
    return std::optional<T>(shared->decode(value, decoder));
  };
  codec.encode = [shared](const std::optional<T>& value) {
    return value ? shared->encode(*value) : Value{};
  };
  return codec;
}

/// One row of a struct's table.
template <class T>
struct KeyOf {
  KeyShape shape;
  std::function<void(const Value&, Decoder&, T&)> decode;
  std::function<Value(const T&)> encode;

  KeyOf Required() && {
    shape.required = true;
    return std::move(*this);
  }
};

/// A key of T whose value `access(T&)` gives.
template <class T, class Access, class Member>
KeyOf<T> KeyAt(std::string_view key, Access access, Codec<Member> codec, std::string_view doc) {
  KeyOf<T> row;
  T standard{};
  row.shape = {.key = std::string(key),
               .doc = std::string(doc),
               .default_value = codec.encode(std::invoke(access, standard)),
               .shape = codec.shape};
  const auto shared = Share(std::move(codec));
  row.decode = [access, shared](const Value& value, Decoder& decoder, T& out) {
    const std::size_t faults = decoder.faults().size();
    Member decoded = shared->decode(value, decoder);
    // A leaf that is wrong keeps its default, which the rules between keys can live with.
    const bool wrong =
        shared->shape.form == Shape::Form::kLeaf && decoder.faults().size() != faults;
    if (!wrong) std::invoke(access, out) = std::move(decoded);
  };
  row.encode = [access, shared](const T& value) {
    return shared->encode(std::invoke(access, value));
  };
  return row;
}

/// A key of T whose value is a member of it.
template <class T, class Member>
KeyOf<T> Key(std::string key, Member T::*member, Codec<Member> codec, std::string doc) {
  return KeyAt<T>(std::move(key), member, std::move(codec), std::move(doc));
}

/// Decodes the known keys of a map into `out`; `other` gets the entries that are in no row.
template <class T, class Other>
void DecodeKeys(const std::vector<KeyOf<T>>& rows, const Value& value, Decoder& decoder, T& out,
                Other other) {
  if (value.kind != Value::Kind::kMap) return decoder.ReportKind(value, "a map");
  for (const Entry& entry : value.entries) {
    const auto row =
        std::ranges::find(rows, entry.key, [](const KeyOf<T>& each) { return each.shape.key; });
    const Decoder::Step step = decoder.IntoKey(entry);
    if (row == rows.end()) {
      other(entry, out);
    } else {
      row->decode(entry.value, decoder, out);
    }
  }
  for (const KeyOf<T>& row : rows) {
    if (row.shape.required && value.Find(row.shape.key) == nullptr) {
      decoder.ReportMissing(value, row.shape.key);
    }
  }
}

template <class T>
Value EncodeKeys(const std::vector<KeyOf<T>>& rows, const T& value) {
  Value out = Map();
  for (const KeyOf<T>& row : rows) {
    Value encoded = row.encode(value);
    const bool standard = SameContent(encoded, row.shape.default_value);
    if (row.shape.required || !standard) out.Add(row.shape.key, std::move(encoded));
  }
  return out;
}

template <class T>
std::vector<std::string_view> NamesOf(const std::vector<KeyOf<T>>& rows) {
  std::vector<std::string_view> names;
  for (const KeyOf<T>& row : rows) names.push_back(row.shape.key);
  return names;
}

template <class T>
Shape ShapeOf(const std::vector<KeyOf<T>>& rows) {
  Shape shape{.form = Shape::Form::kStruct, .type = "map"};
  for (const KeyOf<T>& row : rows) shape.keys.push_back(row.shape);
  return shape;
}

/// A map of the keys in `rows` and no others.
template <class T>
Codec<T> Struct(std::vector<KeyOf<T>> rows) {
  Codec<T> codec;
  codec.shape = ShapeOf(rows);
  const auto shared = Share(std::move(rows));
  codec.decode = [shared](const Value& value, Decoder& decoder) {
    T out{};
    DecodeKeys(*shared, value, decoder, out,
               [&](const Entry& entry, T&) { decoder.ReportKey(entry, NamesOf(*shared)); });
    return out;
  };
  codec.encode = [shared](const T& value) { return EncodeKeys(*shared, value); };
  return codec;
}

}  // namespace muster::format
