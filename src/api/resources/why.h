// SPDX-License-Identifier: Apache-2.0
// From a picture to the words of why_text.h and the JSON around them.
#pragma once

#include "api/resources/job_card.h"
#include "api/resources/why_text.h"
#include "engine/engine.h"
#include "format/document.h"
#include "server/picture.h"

namespace muster::api {

/// A search runs on the transport's thread: at most some tens of milliseconds.
inline constexpr engine::WorkBudget kExplainBudget{.units = 1'000'000};

Story MakeStory(const server::Picture& picture, const JobCard& card, engine::Explanation why);

/// JobWhy.
format::Value WhyValue(const server::Picture& picture, const JobCard& card);

}  // namespace muster::api
