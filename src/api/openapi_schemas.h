// SPDX-License-Identifier: Apache-2.0
// The shape of every body that goes in or out, as a table. The OpenAPI document and the reference
// come from it; a test holds the handlers to it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/document.h"

namespace muster::api {

/// A key of a schema. `key` ends in `?` where it may be missing.
///
/// `type`: "integer", "number", "boolean", "string", "time", "a|b|c" (one of these texts), "map"
/// (texts by name), "object" (any map), "text?": or the name of another schema; "[...]" is a list
/// of it. The key "..." takes in all keys of the schema that `type` names.
struct SchemaRow {
  std::string_view schema;
  std::string_view key;
  std::string_view type;
  std::string_view doc;
};
std::span<const SchemaRow> SchemaRows();

/// What goes over the wire under a name that `Route::request` or `Route::response` gives.
struct Content {
  std::vector<std::string_view> types;  ///< media types; the first is the usual one
  format::Value schema;                 ///< a `$ref` or a schema of its own
};
Content ContentOf(std::string_view name);

/// All schemas of the document, by name: `components.schemas`.
format::Value ComponentSchemas();

/// Names of the schemas in the order of the table, without those of request bodies.
std::vector<std::string_view> SchemaNames();

}  // namespace muster::api
