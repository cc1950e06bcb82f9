// SPDX-License-Identifier: Apache-2.0
// Slurm's topology.conf: switch trees (topology/tree) and blocks (topology/block).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"

namespace muster::format {

/// A cluster and what the reader left out or assumed, for the report.
struct SlurmTopology {
  model::Cluster cluster;
  std::vector<std::string> notes;
};

/// Reads topology.conf. Each node is `template_node` with its name and one label for each level;
/// the label's key is the level's name. Nodes come in tree order.
///
/// *Switch trees*: a switch over nodes is of level `leaf`, the ones above `spine`, `core`,
/// `level4`, ... by the longest way down to a node. Where a node has no switch of some level, the
/// next one below stands in. Trees without a common root share no fabric: `Cluster::fabric` is then
/// the outermost level.
///
/// *Blocks*: level `block`, and for each larger size in BlockSizes a level `blockSIZE` of
/// consecutive blocks. Nothing else about sizes is enforced here.
///
/// Faults (a node under two switches, a switch with two parents or below itself, an unknown or
/// empty switch, an unknown key, one given twice on a line, more of something than a cluster file
/// may have...) name the line and the switch.
base::Checked<SlurmTopology> ParseSlurmTopology(std::string_view text, std::string_view file,
                                                const model::NodeSpec& template_node);

/// `ParseSlurmTopology` without the notes.
base::Checked<model::Cluster> ReadSlurmTopology(std::string_view text, std::string_view file,
                                                const model::NodeSpec& template_node);

}  // namespace muster::format
