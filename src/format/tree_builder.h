// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/document.h"

namespace muster::format {

/// Grows a `Value` from the events of a parser, within the bounds of document.h. The adapters of
/// YAML and JSON share it, so that both treat depth, size and duplicate keys alike.
class TreeBuilder {
 public:
  /// The next value of the open map belongs to this key.
  void Key(std::string key, Position at);
  void Scalar(Value scalar, Position at) { Place(std::move(scalar), at); }
  void OpenList(Position at);
  void OpenMap(Position at);
  void Close();

  /// In a map, before the next key.
  bool ExpectsKey() const;
  /// Set once a bound is exceeded; events after that are ignored.
  const std::optional<Fault>& overrun() const { return overrun_; }

  /// Ends the document.
  void FinishDocument();
  Parsed Take() && { return std::move(parsed_); }

 private:
  /// Where the value came to stand, or null after an overrun.
  Value* Place(Value value, Position at);
  void Open(Value container, Position at);
  void ReportDuplicates(const Value& map);

  Parsed parsed_;
  Value root_;
  std::vector<Value*> open_;  // outermost first; stable, for only the innermost one grows
  std::optional<Entry> key_;
  std::size_t nodes_ = 0;
  std::optional<Fault> overrun_;
};

}  // namespace muster::format
