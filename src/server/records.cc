// SPDX-License-Identifier: Apache-2.0
#include "server/records.h"

#include "base/strings.h"
#include "server/records_archive.h"

namespace muster::server {
namespace {

constexpr std::uint32_t kFormatVersion = 1;

template <class A>
void Fields(A& a, Batch& v) {
  a(v.at, v.notes, v.facts, v.decisions);
}

}  // namespace

std::vector<std::uint8_t> EncodeBatch(const Batch& batch) {
  base::Writer writer;
  writer(kFormatVersion);
  Fields(writer,
         const_cast<Batch&>(batch));  // one function for both ways; a Writer changes nothing
  return std::move(writer).Take();
}

base::Result<Batch> DecodeBatch(std::span<const std::uint8_t> bytes) {
  base::Reader reader(bytes);
  std::uint32_t version = 0;
  reader(version);
  if (!reader.ok() || version != kFormatVersion) {
    return base::Error{base::ErrorCode::kInvalid,
                       base::Format("record format {} is not the one this build reads ({})",
                                    version, kFormatVersion),
                       ""};
  }
  Batch batch;
  Fields(reader, batch);
  if (!reader.ok() || !reader.AtEnd()) {
    return base::Error{base::ErrorCode::kInvalid, "the record is damaged or cut short", ""};
  }
  return batch;
}

}  // namespace muster::server
