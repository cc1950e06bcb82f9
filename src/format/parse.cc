// SPDX-License-Identifier: Apache-2.0
#include "format/parse.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "format/json.h"
#include "format/yaml.h"

namespace muster::format {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using base::Result;

constexpr std::array<std::string_view, 3> kNames = {"Job", "Policy", "Cluster"};

Error Invalid(std::string_view file, Position at, std::string message) {
  return Error{ErrorCode::kInvalid, std::move(message), Where(file, at)};
}

using HeadText = tl::expected<std::string_view, Fault>;

/// The text of a key in the head of a document.
HeadText Head(const Value& document, std::string_view key) {
  const auto fault = [](Position at, std::string message) {
    return tl::unexpected(Fault{at, std::move(message)});
  };
  if (document.kind != Value::Kind::kMap) {
    return fault(document.at, Format("expected a map, found {}", Describe(document)));
  }
  const Value* const value = document.Find(key);
  if (value == nullptr) return fault(document.at, Format("key {} is missing", base::Quote(key)));
  if (value->kind != Value::Kind::kScalar) {
    return fault(value->at, Format("{}: expected a name, found {}", key, Describe(*value)));
  }
  return value->text;
}

std::optional<Fault> VersionFault(const Value& document) {
  const HeadText version = Head(document, "apiVersion");
  if (!version) return version.error();
  if (*version == kApiVersion) return std::nullopt;
  return Fault{document.Find("apiVersion")->at,
               Format("apiVersion: {} is not supported; this version reads {}",
                      base::Quote(*version), kApiVersion)};
}

tl::expected<DocumentKind, Fault> KindOf(const Value& document) {
  const HeadText kind = Head(document, "kind");
  if (!kind) return tl::unexpected(kind.error());
  const auto name = std::ranges::find(kNames, *kind);
  if (name != kNames.end()) return static_cast<DocumentKind>(name - kNames.begin());
  return tl::unexpected(
      Fault{document.Find("kind")->at, Format("kind: {}", NoSuchName(*kind, kNames))});
}

bool BeginsAsJson(std::string_view text) { return base::Trim(text).starts_with('{'); }

}  // namespace

std::string_view Name(DocumentKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

Result<Parsed> ParseText(std::string_view text, std::string_view file) {
  Result<Parsed> parsed = BeginsAsJson(text) ? ParseJson(text, file) : ParseYaml(text, file);
  if (!parsed) return parsed;
  std::erase_if(parsed->documents,
                [](const Value& each) { return each.kind == Value::Kind::kNull; });
  if (parsed->documents.empty()) return Invalid(file, {}, "holds no document");
  return parsed;
}

Result<DocumentKind> DetectKind(std::string_view text, std::string_view file) {
  const Result<Parsed> parsed = ParseText(text, file);
  if (!parsed) return parsed.error();
  const Value& first = parsed->documents.front();
  const tl::expected<DocumentKind, Fault> kind = KindOf(first);
  if (!kind) return Invalid(file, kind.error().at, kind.error().message);
  return *kind;  // a wrong version is found with the other faults, by the parser of that kind
}

Result<Parsed> ParseDocuments(std::string_view text, std::string_view file, DocumentKind kind) {
  Result<Parsed> parsed = ParseText(text, file);
  if (!parsed) return parsed;
  for (const Value& document : parsed->documents) {
    if (document.kind != Value::Kind::kMap) {
      return Invalid(file, document.at, Format("expected a map, found {}", Describe(document)));
    }
    const tl::expected<DocumentKind, Fault> found = KindOf(document);
    if (found && *found != kind) {
      return Invalid(file, document.Find("kind")->at,
                     Format("kind: expected {}, found {}", Name(kind), Name(*found)));
    }
    // Where one of the two is missing, the decoder says so as of any required key.
    if (!found && document.Find("kind") != nullptr) parsed->faults.push_back(found.error());
    if (document.Find("apiVersion") == nullptr) continue;
    if (std::optional<Fault> fault = VersionFault(document))
      parsed->faults.push_back(*std::move(fault));
  }
  return parsed;
}

Result<Parsed> ParseOneDocument(std::string_view text, std::string_view file, DocumentKind kind) {
  Result<Parsed> parsed = ParseDocuments(text, file, kind);
  if (parsed && parsed->documents.size() > 1) {
    return Invalid(file, parsed->documents[1].at,
                   Format("a second document; a file holds one {}", Name(kind)));
  }
  return parsed;
}

}  // namespace muster::format
