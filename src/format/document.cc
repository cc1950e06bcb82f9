// SPDX-License-Identifier: Apache-2.0
#include "format/document.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace muster::format {

const Value* Value::Find(std::string_view key) const {
  const auto entry = std::ranges::find(entries, key, &Entry::key);
  return entry == entries.end() ? nullptr : &entry->value;
}

void Value::Add(std::string key, Value value) {
  entries.push_back(Entry{.key = std::move(key), .value = std::move(value)});
}

Value Plain(std::string text) {
  Value value;
  value.kind = Value::Kind::kScalar;
  value.text = std::move(text);
  return value;
}

Value Text(std::string text) {
  Value value = Plain(std::move(text));
  value.quoted = true;
  return value;
}

Value List(std::vector<Value> items) {
  Value value;
  value.kind = Value::Kind::kList;
  value.items = std::move(items);
  return value;
}

Value Map(std::vector<Entry> entries) {
  Value value;
  value.kind = Value::Kind::kMap;
  value.entries = std::move(entries);
  return value;
}

bool SameContent(const Value& a, const Value& b) {
  const auto same_entry = [](const Entry& x, const Entry& y) {
    return x.key == y.key && SameContent(x.value, y.value);
  };
  return a.kind == b.kind && a.text == b.text &&
         std::ranges::equal(a.items, b.items, SameContent) &&
         std::ranges::equal(a.entries, b.entries, same_entry);
}

std::string Describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "nothing";
    case Value::Kind::kScalar:
      return base::Quote(value.text);
    case Value::Kind::kList:
      return "a list";
    case Value::Kind::kMap:
      return "a map";
  }
  return {};
}

std::string Where(std::string_view file, Position at) {
  if (at.line == 0) return std::string(file);
  return base::Format("{}:{}:{}", file, at.line, at.column);
}

base::Errors ToErrors(std::string_view file, std::vector<Fault> faults) {
  std::ranges::stable_sort(faults, {}, &Fault::at);
  base::Errors errors;
  for (Fault& fault : faults) {
    errors.push_back({base::ErrorCode::kInvalid, std::move(fault.message), Where(file, fault.at)});
  }
  return errors;
}

}  // namespace muster::format
