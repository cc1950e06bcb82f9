// SPDX-License-Identifier: Apache-2.0
#include "sim/main_reason.h"

namespace muster::sim {

model::ReasonCode MainReason(const engine::Explanation& why) {
  using enum model::ReasonCode;
  const model::ReasonCode binding = why.binding.code;
  if (!why.waiting || binding != kCapacity || why.nodes.empty()) return binding;
  const model::ReasonCode most = why.nodes.front().code;
  // What can never run is not kept by what happens to be in use.
  const bool lasting = most >= kLabelMismatch && most <= kFractionAnonymous;
  return why.outcome != model::Outcome::kNever || lasting ? most : binding;
}

}  // namespace muster::sim
