// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "cli/client/present.h"
#include "format/document.h"

namespace muster::cli {

/// What one frame of `top` shows.
struct TopData {
  format::Value status;
  format::Value nodes;  ///< NodeList
  format::Value jobs;   ///< JobList
};

/// One frame, of at most `lines` lines (0: as many as there are). Nodes come first, up to a third
/// of the room; jobs take the rest.
std::string RenderTop(const TopData& data, const Look& look, std::size_t lines);

}  // namespace muster::cli
