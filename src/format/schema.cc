// SPDX-License-Identifier: Apache-2.0
#include "format/schema.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace muster::format {
namespace {

using base::Format;

/// Planned rows below one point of the tree, with what is left of their paths.
struct PlannedTail {
  std::string_view path;
  const PlannedKey* row;
};
using PlannedTails = std::vector<PlannedTail>;

/// The rows that go on below the step `name` (a key, "*", or "[]").
PlannedTails Below(const PlannedTails& tails, std::string_view name) {
  PlannedTails out;
  for (PlannedTail tail : tails) {
    if (!tail.path.starts_with(name)) continue;
    tail.path.remove_prefix(name.size());
    if (!tail.path.empty() && tail.path.front() != '.' && tail.path.front() != '[') continue;
    if (tail.path.starts_with('.')) tail.path.remove_prefix(1);
    if (!tail.path.empty()) out.push_back(tail);
  }
  return out;
}

std::string_view FirstName(std::string_view path) {
  return path.substr(0, path.find_first_of(".["));
}

std::string PlannedDoc(const PlannedKey& row) {
  std::string text = Format("Planned, not supported yet: {} ({}", row.doc, row.type);
  if (!row.range.empty()) text += Format(", {}", row.range);
  if (!row.default_value.empty()) text += Format(", default {}", row.default_value);
  return text + ")";
}

void AddPlannedParts(const PlannedTails& tails, Value& schema);

/// Adds the planned names at this point to the properties of a map that describes it. Nothing
/// satisfies `not: {}`, so an editor marks a use and shows the text.
void AddPlanned(const PlannedTails& tails, Value& properties) {
  for (const PlannedTail& tail : tails) {
    const std::string_view name = FirstName(tail.path);
    if (name.empty() || name == "*" || properties.Find(name) != nullptr) continue;
    Value schema = Map();
    schema.Add("description",
               Text(name == tail.path ? PlannedDoc(*tail.row) : "Planned, not supported yet."));
    schema.Add("not", Map());
    AddPlannedParts(Below(tails, name), schema);
    properties.Add(std::string(name), std::move(schema));
  }
}

/// Adds what lies below a planned section: names, items of a list, values of a map.
void AddPlannedParts(const PlannedTails& tails, Value& schema) {
  Value properties = Map();
  AddPlanned(tails, properties);
  if (!properties.entries.empty()) schema.Add("properties", std::move(properties));
  for (const auto& [step, key] :
       {std::pair{"[]", "items"}, std::pair{"*", "additionalProperties"}}) {
    const PlannedTails below = Below(tails, step);
    if (below.empty()) continue;
    Value part = Map();
    AddPlannedParts(below, part);
    schema.Add(key, std::move(part));
  }
}

Value SchemaOf(const Shape& shape, const PlannedTails& planned);

Value StructSchema(const Shape& shape, const PlannedTails& planned) {
  Value schema = Map();
  schema.Add("type", Text("object"));
  Value properties = Map();
  Value required = List();
  for (const KeyShape& key : shape.keys) {
    Value property = SchemaOf(key.shape, Below(planned, key.key));
    property.Add("description", Text(key.doc));
    const bool has_default = !key.required && key.default_value.kind == Value::Kind::kScalar;
    if (has_default && !key.default_value.text.empty()) property.Add("default", key.default_value);
    properties.Add(key.key, std::move(property));
    if (key.required) required.items.push_back(Text(key.key));
  }
  AddPlanned(planned, properties);
  schema.Add("properties", std::move(properties));
  if (!required.items.empty()) schema.Add("required", std::move(required));
  Value others = shape.parts.empty() ? Plain("false") : SchemaOf(shape.parts.front(), {});
  schema.Add("additionalProperties", std::move(others));
  return schema;
}

Value SchemaOf(const Shape& shape, const PlannedTails& planned) {
  Value schema = Map();
  switch (shape.form) {
    case Shape::Form::kLeaf:
      return shape.schema;
    case Shape::Form::kStruct:
      return StructSchema(shape, planned);
    case Shape::Form::kList:
      schema.Add("type", Text("array"));
      schema.Add("items", SchemaOf(shape.parts.front(), Below(planned, "[]")));
      break;
    case Shape::Form::kMap:
      schema.Add("type", Text("object"));
      schema.Add("additionalProperties", SchemaOf(shape.parts.front(), Below(planned, "*")));
      break;
    case Shape::Form::kChoice: {
      Value any = List();
      for (const Shape& part : shape.parts) any.items.push_back(SchemaOf(part, planned));
      schema.Add("anyOf", std::move(any));
      break;
    }
  }
  return schema;
}

PlannedTails AllOf(std::span<const PlannedKey> planned) {
  PlannedTails tails;
  for (const PlannedKey& row : planned) tails.push_back({row.path, &row});
  return tails;
}

std::string DefaultText(const KeyShape& key) {
  if (key.required) return "**required**";
  const Value& value = key.default_value;
  const bool shown = value.kind == Value::Kind::kScalar && !value.text.empty();
  return shown ? Format("`{}`", value.text) : "";
}

/// Rows of the keys at and below `path`.
void AddRows(const Shape& shape, const std::string& path, std::string& out) {
  for (const KeyShape& key : shape.keys) {
    const std::string below = path.empty() ? key.key : Format("{}.{}", path, key.key);
    out += Format("| `{}` | {} | {} | {} |\n", below, MarkdownCell(key.shape.type),
                  DefaultText(key), MarkdownCell(key.doc));
    AddRows(key.shape, below, out);
  }
  if (shape.form == Shape::Form::kStruct || shape.parts.empty()) return;
  if (shape.form ==
      Shape::Form::kChoice) {  // of several spellings, the first that has keys shows them
    std::string rows;
    for (const Shape& part : shape.parts) {
      if (rows.empty()) AddRows(part, path, rows);
    }
    out += rows;
    return;
  }
  AddRows(shape.parts.front(), path + (shape.form == Shape::Form::kList ? "[]" : ".*"), out);
}

/// Of several spellings, the one that `value` is in.
const Shape& SpellingOf(const Value& value, const Shape& shape) {
  using Form = Shape::Form;
  for (const Shape& part : shape.parts) {
    const bool map = part.form == Form::kStruct || part.form == Form::kMap;
    if (value.kind == Value::Kind::kMap && map) return part;
    if (value.kind == Value::Kind::kList && part.form == Form::kList) return part;
    if (value.kind == Value::Kind::kScalar && part.form == Form::kLeaf) return part;
  }
  return shape.parts.front();
}

/// Nothing, or an empty text: not a value that a document could hold.
bool IsAbsent(const Value& value) {
  return value.kind == Value::Kind::kNull ||
         (value.kind == Value::Kind::kScalar && value.text.empty());
}

/// The shape of the items of a list or map that are maps of known keys, or null.
const Shape* ItemShape(const Shape& shape) {
  if (shape.form == Shape::Form::kLeaf || shape.form == Shape::Form::kStruct) return nullptr;
  for (const Shape& part : shape.parts) {
    if (part.form == Shape::Form::kStruct) return &part;
    if (const Shape* const inner = ItemShape(part)) return inner;
  }
  return nullptr;
}

/// The keys at `path`, where `given` is what a document has there, that it does not show.
void AddOtherKeys(const Shape& shape, const Value* given, const std::string& path,
                  std::vector<std::string>& out) {
  for (const KeyShape& key : shape.keys) {
    const std::string below = path.empty() ? key.key : Format("{}.{}", path, key.key);
    const Value* const value = given != nullptr ? given->Find(key.key) : nullptr;
    if (value == nullptr) {
      const bool absent = IsAbsent(key.default_value);
      const std::string standard = absent ? "  (none unless given)" : key.default_value.text;
      out.push_back(Format("{}: {}", below, key.required ? "  (needed)" : standard));
    }
    if (key.shape.form == Shape::Form::kStruct) AddOtherKeys(key.shape, value, below, out);
    const Shape* const item = ItemShape(key.shape);
    const bool shown = value != nullptr && (!value->items.empty() || !value->entries.empty());
    if (item == nullptr || shown) continue;
    AddOtherKeys(*item, nullptr, below + (key.shape.form == Shape::Form::kMap ? ".*" : "[]"), out);
  }
}

}  // namespace

std::string MarkdownCell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

Value WithDefaultKeys(Value document, const Shape& shape) {
  switch (shape.form) {
    case Shape::Form::kLeaf:
      break;
    case Shape::Form::kChoice: {
      const Shape& spelling = SpellingOf(document, shape);
      return WithDefaultKeys(std::move(document), spelling);
    }
    case Shape::Form::kList:
      for (Value& item : document.items)
        item = WithDefaultKeys(std::move(item), shape.parts.front());
      break;
    case Shape::Form::kMap:
      for (Entry& entry : document.entries)
        entry.value = WithDefaultKeys(std::move(entry.value), shape.parts.front());
      break;
    case Shape::Form::kStruct: {
      Value out = Map();
      for (const KeyShape& key : shape.keys) {
        const Value* const given = document.Find(key.key);
        const Value& value = given != nullptr ? *given : key.default_value;
        if (!IsAbsent(value)) out.Add(key.key, WithDefaultKeys(value, key.shape));
      }
      return out;
    }
  }
  return document;
}

std::vector<std::string> OtherKeys(const Value& document, const Shape& shape,
                                   std::span<const PlannedKey> planned) {
  std::vector<std::string> out;
  AddOtherKeys(shape, &document, "", out);
  for (const PlannedKey& row : planned) {
    const std::string value = row.default_value.empty() ? "" : Format(" {}", row.default_value);
    out.push_back(Format("{}:{}   (planned)", row.path, value));
  }
  return out;
}

Value JsonSchema(std::string_view title, const Shape& shape, std::span<const PlannedKey> planned) {
  Value schema = Map();
  schema.Add("$schema", Text("https://json-schema.org/draft/2020-12/schema"));
  schema.Add("title", Text(std::string(title)));
  for (Entry& entry : SchemaOf(shape, AllOf(planned)).entries) {
    schema.Add(std::move(entry.key), std::move(entry.value));
  }
  return schema;
}

std::string Reference(std::string_view title, const Shape& shape,
                      std::span<const PlannedKey> planned) {
  std::string out =
      Format("# {}\n\n| Key | Type | Default | Meaning |\n| --- | --- | --- | --- |\n", title);
  AddRows(shape, "", out);
  if (planned.empty()) return out;
  out +=
      "\n## Planned\n\nNot supported by this version yet; using one is an error that names it.\n\n"
      "| Key | Type | Range | Default | Meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const PlannedKey& row : planned) {
    const std::string standard = row.default_value.empty() ? "" : Format("`{}`", row.default_value);
    out += Format("| `{}` | {} | {} | {} | {} |\n", row.path, MarkdownCell(row.type),
                  MarkdownCell(row.range), standard, MarkdownCell(row.doc));
  }
  return out;
}

}  // namespace muster::format
