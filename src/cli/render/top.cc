// SPDX-License-Identifier: Apache-2.0
#include "cli/render/top.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "cli/client/fields.h"
#include "cli/render/cluster.h"
#include "cli/render/jobs.h"
#include "cli/text.h"

namespace muster::cli {
namespace {

using base::Format;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : base::Split(text, '\n')) lines.emplace_back(line);
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// At most `most` of the lines, the last one saying how many are not there.
std::vector<std::string> Cut(std::vector<std::string> lines, std::size_t most) {
  if (lines.size() <= most) return lines;
  const std::size_t shown = most < 2 ? 0 : most - 1;
  const std::size_t hidden = lines.size() - shown;
  lines.resize(shown);
  lines.push_back(Format("  and {} more", hidden));
  return lines;
}

/// Cut to the terminal's width, so that a frame has the lines it was counted to have. A coloured
/// line is left whole: cutting could lose the end of its colour.
std::string Fit(const std::string& line, const Look& look) {
  if (look.columns == 0 || line.find('\x1b') != std::string::npos) return line;
  return Shortened(line, look.columns);
}

}  // namespace

std::string RenderTop(const TopData& data, const Look& look, std::size_t lines) {
  std::vector<std::string> head = Lines(RenderStatus(data.status, look));
  std::vector<std::string> nodes = Lines(RenderNodes(data.nodes, look));
  std::vector<std::string> jobs = Lines(RenderJobs(data.jobs, look));
  if (lines > 0) {
    const std::size_t room = lines - std::min(lines, head.size() + 2);
    nodes = Cut(std::move(nodes), std::max<std::size_t>(3, room / 3));
    jobs = Cut(std::move(jobs), room - std::min(room, nodes.size()));
  }
  std::string out;
  for (const std::string& line : head) out += Fit(line, look) + '\n';
  for (const auto* part : {&nodes, &jobs}) {
    out += '\n';
    for (const std::string& line : *part) out += Fit(line, look) + '\n';
  }
  return out;
}

}  // namespace muster::cli
