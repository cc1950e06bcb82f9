// SPDX-License-Identifier: Apache-2.0
// Jobs for people. The documents are those of `api/resources/shapes.h`.
#pragma once

#include <string>

#include "cli/client/present.h"
#include "format/document.h"

namespace muster::cli {

/// JobList as a table. Its rows stand in the order given.
std::string RenderJobs(const format::Value& list, const Look& look);
/// The state of a job in its colour.
std::string RenderState(const std::string& state, const Look& look);
/// Job: all of it, with its attempts and its document.
std::string RenderJob(const format::Value& job, const Look& look);
/// JobWhy: the answer in a sentence, what else there is to say, and the causes.
std::string RenderWhy(const format::Value& why, const Look& look);
/// Trial: what would become of each job.
std::string RenderTrial(const format::Value& trial, const Look& look);

/// "starts are paused since ...: reason"; empty where they are not. `pause` as in Status.
std::string RenderPause(const format::Value& pause, const Look& look);

}  // namespace muster::cli
