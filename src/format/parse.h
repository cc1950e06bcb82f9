// SPDX-License-Identifier: Apache-2.0
// What all documents have in common: their syntax, and the head that says what they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/codec.h"
#include "format/document.h"

namespace muster::format {

inline constexpr std::string_view kApiVersion = "muster/v1";

enum class DocumentKind { kJob, kPolicy, kCluster };

/// "Job".
std::string_view Name(DocumentKind kind);

/// The trees of a text: JSON when it begins with `{`, else YAML. `file` is its name in messages.
base::Result<Parsed> ParseText(std::string_view text, std::string_view file);

/// What the first document of a text says that it is.
base::Result<DocumentKind> DetectKind(std::string_view text, std::string_view file);

/// The documents of a text, each with the head of `kind`; empty ones are left out.
base::Result<Parsed> ParseDocuments(std::string_view text, std::string_view file,
                                    DocumentKind kind);
/// The only document of a text.
base::Result<Parsed> ParseOneDocument(std::string_view text, std::string_view file,
                                      DocumentKind kind);

/// Keys `apiVersion` and `kind`, which `ParseDocuments` has read already.
template <class T>
std::vector<KeyOf<T>> WithHead(DocumentKind kind, std::vector<KeyOf<T>> rows) {
  const auto constant = [](std::string_view key, std::string_view text, std::string_view doc) {
    const Value value = Text(std::string(text));
    KeyOf<T> row;
    row.shape = {
        .key = std::string(key),
        .doc = std::string(doc),
        .required = true,
        .default_value = value,
        .shape = {.type = std::string(text), .schema = Map({{.key = "const", .value = value}})}};
    row.decode = [](const Value&, Decoder&, T&) {};
    row.encode = [value](const T&) { return value; };
    return row;
  };
  rows.insert(rows.begin(), {constant("apiVersion", kApiVersion, "version of this format"),
                             constant("kind", Name(kind), "what this document is")});
  return rows;
}

}  // namespace muster::format
