// SPDX-License-Identifier: Apache-2.0
#include "api/resources/bodies.h"

#include <utility>

#include "server/names.h"

namespace muster::api {
namespace {

using format::Codec;
using format::Key;
using format::Struct;

/// Names of an enumeration that ends in `kLast`.
template <class E>
Codec<E> NamesOf() {
  std::vector<format::EnumName<E>> names;
  for (int i = 0; i <= static_cast<int>(E::kLast); ++i) {
    const auto value = static_cast<E>(i);
    names.push_back({.name = server::Name(value), .value = value});
  }
  return format::OneOf<E>(std::move(names));
}

}  // namespace

const Codec<JobUpdate>& JobUpdateCodec() {
  static const Codec<JobUpdate> codec = Struct<JobUpdate>({
      Key("priorityClass", &JobUpdate::priority_class, format::Name(), "the new priority class")
          .Required(),
  });
  return codec;
}

const Codec<CheckpointReport>& CheckpointReportCodec() {
  static const Codec<CheckpointReport> codec = Struct<CheckpointReport>({
      Key("attempt", &CheckpointReport::attempt, format::Maybe(format::Count({.min = 1})),
          "the attempt that saved it; left out: that of the token, or the present one"),
      Key("step", &CheckpointReport::step, format::LongCount({.max = INT64_MAX}),
          "the training step that was saved")
          .Required(),
      Key("path", &CheckpointReport::path, format::FreeText(),
          "where it is; left out: the attempt's checkpoint directory"),
  });
  return codec;
}

const Codec<NodeStateWish>& NodeStateWishCodec() {
  static const Codec<NodeStateWish> codec = Struct<NodeStateWish>({
      Key("state", &NodeStateWish::state, NamesOf<model::NodeState>(), "the state to be in")
          .Required(),
      Key("reason", &NodeStateWish::reason, format::FreeText(), "why; shown with the node"),
  });
  return codec;
}

const Codec<PauseWish>& PauseWishCodec() {
  static const Codec<PauseWish> codec = Struct<PauseWish>({
      Key("paused", &PauseWish::paused, format::Flag(),
          "true: nothing that waits is started; false: starts go on")
          .Required(),
      Key("reason", &PauseWish::reason, format::FreeText(), "why; shown wherever jobs wait for it"),
  });
  return codec;
}

const Codec<TokenWish>& TokenWishCodec() {
  static const Codec<TokenWish> codec = Struct<TokenWish>({
      Key("name", &TokenWish::name, format::Name(), "its name, unlike that of any live token")
          .Required(),
      Key("role", &TokenWish::role, NamesOf<server::Role>(), "what its bearer may do").Required(),
      Key("user", &TokenWish::user, format::Name(),
          "the account that its jobs belong to and run as; left out: the caller's own"),
      Key("uid", &TokenWish::uid, format::Maybe(format::LongCount({.max = UINT32_MAX - 1LL})),
          "the account's number; needed with `user`"),
      Key("gid", &TokenWish::gid, format::Maybe(format::LongCount({.max = UINT32_MAX - 1LL})),
          "the number of its group; needed with `user`"),
      Key("lifetime", &TokenWish::lifetime, format::DurationOf({.max = format::kLongest}),
          "how long it is good for; left out or 0: until it is revoked"),
  });
  return codec;
}

const Codec<HealthFact>& HealthFactCodec() {
  static const Codec<HealthFact> codec = Struct<HealthFact>({
      Key("node", &HealthFact::node, format::Name(), "the node").Required(),
      Key("faulty", &HealthFact::faulty,
          format::ListOf(format::Count({.max = model::kMaxDevicesPerNode - 1})),
          "indexes of all of its devices that are faulty now; empty: all are well")
          .Required(),
      Key("text", &HealthFact::text, format::FreeText(), "what was seen"),
  });
  return codec;
}

std::vector<BodyShape> BodyShapes() {
  return {{"JobUpdate", JobUpdateCodec().shape},
          {"CheckpointReport", CheckpointReportCodec().shape},
          {"NodeStateWish", NodeStateWishCodec().shape},
          {"PauseWish", PauseWishCodec().shape},
          {"TokenWish", TokenWishCodec().shape},
          {"HealthFact", HealthFactCodec().shape}};
}

}  // namespace muster::api
