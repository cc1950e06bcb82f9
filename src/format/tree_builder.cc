// SPDX-License-Identifier: Apache-2.0
#include "format/tree_builder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/strings.h"

namespace muster::format {

void TreeBuilder::Key(std::string key, Position at) {
  key_ = Entry{.key = std::move(key), .at = at};
}

void TreeBuilder::OpenList(Position at) { Open(List(), at); }
void TreeBuilder::OpenMap(Position at) { Open(Map(), at); }

void TreeBuilder::Close() {
  if (overrun_ || open_.empty()) return;
  if (open_.back()->kind == Value::Kind::kMap) ReportDuplicates(*open_.back());
  open_.pop_back();
}

bool TreeBuilder::ExpectsKey() const {
  return !open_.empty() && open_.back()->kind == Value::Kind::kMap && !key_;
}

void TreeBuilder::FinishDocument() {
  parsed_.documents.push_back(std::exchange(root_, Value{}));
  open_.clear();
  key_.reset();
}

Value* TreeBuilder::Place(Value value, Position at) {
  if (overrun_) return nullptr;
  if (++nodes_ > kMaxNodes) {
    overrun_ = Fault{at, base::Format("more than {} values", kMaxNodes)};
    return nullptr;
  }
  value.at = at;
  if (open_.empty()) return &(root_ = std::move(value));
  Value& parent = *open_.back();
  if (parent.kind == Value::Kind::kList) return &parent.items.emplace_back(std::move(value));
  Entry entry = std::exchange(key_, std::nullopt).value_or(Entry{});
  if (value.kind == Value::Kind::kNull)
    value.at = entry.at;  // nothing written: the parser is past it
  entry.value = std::move(value);
  return &parent.entries.emplace_back(std::move(entry)).value;
}

void TreeBuilder::Open(Value container, Position at) {
  if (!overrun_ && open_.size() >= kMaxDepth) {
    overrun_ = Fault{at, base::Format("nested more than {} deep", kMaxDepth)};
  }
  Value* const placed = Place(std::move(container), at);
  if (placed != nullptr) open_.push_back(placed);
}

void TreeBuilder::ReportDuplicates(const Value& map) {
  std::vector<std::size_t> order(map.entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return std::string_view(map.entries[i].key); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Entry& first = map.entries[order[i - 1]];
    const Entry& second = map.entries[order[i]];
    if (first.key != second.key) continue;
    parsed_.faults.push_back({second.at, base::Format("key {} is given twice; first at line {}",
                                                      base::Quote(second.key), first.at.line)});
  }
}

}  // namespace muster::format
