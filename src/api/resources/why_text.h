// SPDX-License-Identifier: Apache-2.0
// Why a job is where it is, in words: the answer to the question asked most. All wording is here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/resources/job_card.h"
#include "base/time.h"
#include "engine/explain/explanation.h"
#include "model/job.h"
#include "server/picture.h"

namespace muster::api {

/// All that the words are made of.
struct Story {
  JobState state = JobState::kWaiting;
  model::JobId id;
  const model::GangRequest* request = nullptr;  ///< never null
  engine::Explanation why;
  base::Instant now;
  base::Instant submitted;
  base::Instant not_before;  ///< if it is not before its time
  std::string queue;
  std::vector<std::string> levels;  ///< of the cluster, innermost first, `any` last
  server::PauseRecord pause;
  const server::AttemptRecord* last = nullptr;  ///< null: it was never started
  /// Of its place.
  NodeNames nodes;
  std::string level;
  base::Instant ended;  ///< if it has
};

struct WhyText {
  std::string summary;               ///< one sentence
  std::vector<std::string> details;  ///< more of them, in the order to be read
};

WhyText TellWhy(const Story& story);

/// "2 replicas of 8 GPUs" of the task group at `group`; of the only one, or of all, for -1.
std::string WantedText(const model::GangRequest& request, std::int32_t group);
/// A span for people: whole seconds, or milliseconds below one.
std::string SpanText(base::Duration span);

}  // namespace muster::api
