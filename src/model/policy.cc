// SPDX-License-Identifier: Apache-2.0
#include "model/policy.h"

namespace muster::model {

Policy WithDefaults(Policy policy) {
  if (policy.priority_classes.empty()) policy.priority_classes = {{.name = "normal", .value = 100}};
  if (policy.queues.empty()) policy.queues = {{.name = "default"}};
  return policy;
}

}  // namespace muster::model
