// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/report.h"

#include <cstdint>
#include <map>

#include "base/strings.h"
#include "base/utf8.h"
#include "cli/text.h"

namespace muster::cli {
namespace {

using base::Format;

/// Nodes that are told one by one; a few virtual ones, or the machine.
constexpr std::size_t kNodesShown = 8;

std::string DeviceText(const model::NodeSpec& node) {
  std::map<std::string, std::int64_t> models;
  for (const model::Device& device : node.devices) ++models[device.model];
  std::vector<std::string> parts;
  for (const auto& [model, count] : models) parts.push_back(Format("{} x {}", count, model));
  return parts.empty() ? "no GPUs" : base::Join(parts, ", ");
}

/// "nodes: 4, with 32 GPUs", then each with its devices, then each note once.
void AddNodes(const server::Picture& picture, std::vector<std::string>& lines) {
  std::int64_t nodes = 0;
  std::int64_t devices = 0;
  std::vector<std::string> each;
  for (std::uint32_t id = 0; id < picture.view.node_count(); ++id) {
    const engine::NodeView node = picture.view.Node(model::NodeId{id});
    if (node.spec == nullptr || node.gone) continue;
    ++nodes;
    devices += static_cast<std::int64_t>(node.spec->devices.size());
    each.push_back(Format("  {}: {}, {} CPUs, {} of memory", node.spec->name,
                          DeviceText(*node.spec), base::FormatCpu(node.spec->cpu),
                          HumanBytes(node.spec->memory.value())));
  }
  lines.push_back(Format("nodes: {}, with {} GPU{}", WithCommas(nodes), WithCommas(devices),
                         devices == 1 ? "" : "s"));
  if (each.size() > kNodesShown) {
    const std::size_t more = each.size() - kNodesShown;
    each.resize(kNodesShown);
    each.push_back(Format("  and {} more", more));
  }
  lines.insert(lines.end(), each.begin(), each.end());
  if (picture.tables.nodes == nullptr) return;
  std::map<std::string_view, std::int64_t> notes;
  for (const auto& [name, record] : *picture.tables.nodes) {
    if (!record.note.empty()) ++notes[record.note];
  }
  for (const auto& [note, count] : notes) lines.push_back("  " + base::Printable(note));
}

}  // namespace

std::size_t CountRunning(const server::Picture& picture) {
  std::size_t running = 0;
  for (std::uint32_t id = 0; id < picture.view.job_count(); ++id) {
    if (picture.view.Job(model::JobId{id}).placement != nullptr) ++running;
  }
  return running;
}

std::vector<std::string> StartLines(const server::Picture& picture) {
  std::int64_t jobs = 0;
  for (std::uint32_t id = 0; id < picture.view.job_count(); ++id) {
    const engine::JobPhase phase = picture.view.Job(model::JobId{id}).phase;
    if (phase != engine::JobPhase::kUnknown && phase != engine::JobPhase::kEnded) ++jobs;
  }
  std::vector<std::string> lines;
  const std::size_t running = CountRunning(picture);
  lines.push_back(
      Format("journal: {} record{}; {}{}", WithCommas(static_cast<std::int64_t>(picture.sequence)),
             picture.sequence == 1 ? "" : "s",
             jobs == 0   ? "no jobs"
             : jobs == 1 ? "1 job that has not ended"
                         : WithCommas(jobs) + " jobs that have not ended",
             running == 0 ? "" : Format(", {} of them running and taken over", running)));
  AddNodes(picture, lines);
  if (picture.view.starts_paused()) lines.emplace_back("starts are paused; `muster resume starts`");
  return lines;
}

}  // namespace muster::cli
