// SPDX-License-Identifier: Apache-2.0
// Any bytes as JSON: a tree or a fault; a tree survives being written as JSON and as YAML and read
// again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "format/json.h"
#include "format/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace format = muster::format;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const muster::base::Result<format::Parsed> parsed = format::ParseJson(text, "fuzz");
  if (!parsed) return 0;
  MUSTER_CHECK(parsed->documents.size() == 1);
  const format::Value& tree = parsed->documents.front();
  for (const format::JsonStyle style : {format::JsonStyle::kCompact, format::JsonStyle::kPretty}) {
    const auto again = format::ParseJson(format::WriteJson(tree, style), "again");
    MUSTER_CHECK(again && format::SameContent(again->documents.front(), tree));
  }
  const auto yaml = format::ParseYaml(format::WriteYaml(tree), "yaml");
  MUSTER_CHECK(yaml && yaml->documents.size() == 1 &&
               format::SameContent(yaml->documents.front(), tree));
  return 0;
}
