// SPDX-License-Identifier: Apache-2.0
// The bodies that requests have besides documents: one table of keys each, from which decoder,
// faults and the schema in the OpenAPI document come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "format/codec.h"
#include "model/cluster.h"
#include "server/caller.h"

namespace muster::api {

/// PATCH /v1/jobs/{id}.
struct JobUpdate {
  std::string priority_class;
};
/// POST /v1/jobs/{id}/checkpoints.
struct CheckpointReport {
  std::optional<std::int32_t> attempt;  ///< absent: the one of the caller's token, or the present
  std::int64_t step = 0;
  std::string path;
};
/// POST /v1/nodes/{name}/state.
struct NodeStateWish {
  model::NodeState state = model::NodeState::kReady;
  std::string reason;
};
/// POST /v1/pause.
struct PauseWish {
  bool paused = false;
  std::string reason;
};
/// POST /v1/tokens.
struct TokenWish {
  std::string name;
  server::Role role = server::Role::kViewer;
  std::string user;
  std::optional<std::int64_t> uid;
  std::optional<std::int64_t> gid;
  base::Duration lifetime;
};
/// POST /v1/health-facts.
struct HealthFact {
  std::string node;
  std::vector<std::int32_t> faulty;
  std::string text;
};

const format::Codec<JobUpdate>& JobUpdateCodec();
const format::Codec<CheckpointReport>& CheckpointReportCodec();
const format::Codec<NodeStateWish>& NodeStateWishCodec();
const format::Codec<PauseWish>& PauseWishCodec();
const format::Codec<TokenWish>& TokenWishCodec();
const format::Codec<HealthFact>& HealthFactCodec();

/// A body by its name in the OpenAPI document ("JobUpdate").
struct BodyShape {
  std::string_view name;
  format::Shape shape;
};
std::vector<BodyShape> BodyShapes();

}  // namespace muster::api
