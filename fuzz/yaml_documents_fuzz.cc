// SPDX-License-Identifier: Apache-2.0
// Any bytes, as a document of each kind: a value or faults, never a crash; and what was accepted
// survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "format/cluster_document.h"
#include "format/job_document.h"
#include "format/json.h"
#include "format/parse.h"
#include "format/policy_document.h"
#include "format/yaml.h"

namespace {

using namespace muster;  // the whole file is one use of it

template <class T>
void CheckRoundTrip(base::Checked<T> (*parse)(std::string_view, std::string_view),
                    format::Value (*encode)(const T&), std::string_view text) {
  const base::Checked<T> first = parse(text, "fuzz");
  if (!first) {
    MUSTER_CHECK(!first.error().empty());
    return;
  }
  const format::Value tree = encode(*first);
  const base::Checked<T> from_yaml = parse(format::WriteYaml(tree), "yaml");
  MUSTER_CHECK(from_yaml && *from_yaml == *first);
  const base::Checked<T> from_json = parse(format::WriteJson(tree), "json");
  MUSTER_CHECK(from_json && *from_json == *first);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const base::Result<format::DocumentKind> kind = format::DetectKind(text, "fuzz");
  if (!kind) return 0;
  switch (*kind) {
    case format::DocumentKind::kJob:
      CheckRoundTrip(format::ParseJob, format::EncodeJob, text);
      break;
    case format::DocumentKind::kPolicy:
      CheckRoundTrip(format::ParsePolicy, format::EncodePolicy, text);
      break;
    case format::DocumentKind::kCluster:
      CheckRoundTrip(format::ParseCluster, format::EncodeCluster, text);
      break;
  }
  return 0;
}
