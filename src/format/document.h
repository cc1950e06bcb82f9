// SPDX-License-Identifier: Apache-2.0
// The tree that YAML and JSON text become, and that documents are written from. It knows no schema;
// it remembers where in the text everything stood, so that a fault can name its line and column.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::format {

/// Deepest nesting of a document, and most nodes in a text: bounds for recursion and memory.
inline constexpr std::size_t kMaxDepth = 64;
inline constexpr std::size_t kMaxNodes = std::size_t{1} << 22;

/// Line and column from 1; 0 for what was not read from text.
struct Position {
  int line = 0;
  int column = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

struct Entry;

/// A node: nothing, a text, a list, or a map in the order of the document.
struct Value {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  bool quoted = false;  ///< a scalar that is text whatever it looks like: "8", 'no'
  std::string text;
  std::vector<Value> items;
  std::vector<Entry> entries;
  Position at;

  /// The value of `key`, or null when this is no map or has no such key.
  const Value* Find(std::string_view key) const;
  /// Appends to a map.
  void Add(std::string key, Value value);
};

struct Entry {
  std::string key;
  Value value;
  Position at;  ///< of the key
};

/// A scalar that needs no quotes: a number, an amount, true or false.
Value Plain(std::string text);
/// A scalar that is text: quoted wherever it could be read as something else.
Value Text(std::string text);
Value List(std::vector<Value> items = {});
Value Map(std::vector<Entry> entries = {});

/// The same tree, wherever it stood and however its texts were quoted.
bool SameContent(const Value& a, const Value& b);

/// "a map", "a list", "nothing", or the scalar in quotes: for messages.
std::string Describe(const Value& value);

/// Something wrong in a text that was read.
struct Fault {
  Position at;
  std::string message;
};

/// "job.yaml:12:7".
std::string Where(std::string_view file, Position at);
/// The faults of `file` in order of appearance.
base::Errors ToErrors(std::string_view file, std::vector<Fault> faults);

/// What an adapter made of a text: its documents, and faults that still leave a tree to look at
/// (a key given twice: both entries are kept).
struct Parsed {
  std::vector<Value> documents;
  std::vector<Fault> faults;
};

}  // namespace muster::format
