// SPDX-License-Identifier: Apache-2.0
#include "cli/render/jobs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "base/utf8.h"
#include "cli/client/fields.h"
#include "cli/text.h"
#include "format/yaml.h"

namespace muster::cli {
namespace {

using base::Format;
using format::Value;

constexpr std::size_t kNameColumns = 28;
/// What a table's last column has at least, however narrow the terminal is.
constexpr std::size_t kLeastColumns = 20;

/// "gpu-1, gpu-2 and 6 more".
std::string NodesText(const Value& row) {
  const std::vector<std::string> first = ShownTextsAt(row, "nodes.first");
  const std::int64_t more = NumberAt(row, "nodes.count") - std::ssize(first);
  return base::Join(first, ", ") + (more > 0 ? Format(" and {} more", WithCommas(more)) : "");
}

/// How long it has waited, runs, or ran.
std::string TimeText(const Value& row, const Look& look) {
  const std::string state = TextAt(row, "state");
  if (state == "waiting" || state == "held") return Between(MomentAt(row, "submitted"), look.now);
  const auto ended = MomentAt(row, "ended");
  return Between(MomentAt(row, "started"), ended ? ended : look.now);
}

/// "name: value" lines, aligned; those without a value are left out.
class Facts {
 public:
  void Add(std::string name, std::string value) {
    if (!value.empty()) rows_.push_back({std::move(name), std::move(value)});
  }
  std::string Text() const {
    std::size_t width = 0;
    for (const auto& [name, value] : rows_) width = std::max(width, DisplayWidth(name));
    std::string out;
    for (const auto& [name, value] : rows_) {
      out += Format("  {}{}  {}\n", name, std::string(width - DisplayWidth(name), ' '), value);
    }
    return out;
  }

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

std::string Indented(const std::string& text) {
  std::string out;
  for (const std::string_view line : base::Split(text, '\n')) {
    if (!line.empty()) out += Format("  {}\n", base::Printable(line));
  }
  return out;
}

std::string Ago(const Value& document, std::string_view path, const Look& look) {
  const auto at = MomentAt(document, path);
  return at ? Format("{} ({} ago)", LocalTime(*at), Between(at, look.now)) : "";
}

std::string RenderAttempts(const Value& job, const Look& look) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& attempt : ItemsAt(job, "attempts")) {
    const auto ended = MomentAt(attempt, "ended");
    const std::string failure = ShownAt(attempt, "failure.text");
    const std::string reason = ShownAt(attempt, "reason.text");
    const std::vector<std::string> nodes = ShownTextsAt(attempt, "nodes");
    rows.push_back({ShownAt(attempt, "number"), LocalTimeAt(attempt, "placed"),
                    Between(MomentAt(attempt, "placed"), ended ? ended : look.now),
                    ShownAt(attempt, "replicas"), ShownAt(attempt, "level"),
                    Format("{}", nodes.size()),
                    failure.empty() || !ended ? reason : Format("{}: {}", reason, failure)});
  }
  if (rows.empty()) return "";
  return "\n" + Bold("Attempts", look.colour) + "\n" +
         AlignedTable({{"NO", true},
                       {"PLACED"},
                       {"TOOK", true},
                       {"REPLICAS", true},
                       {"LEVEL"},
                       {"NODES", true},
                       {"ENDED"}},
                      rows, 2);
}

std::string LabelsText(const Value& job) {
  const Value* const labels = ValueAt(job, "document.metadata.labels");
  if (labels == nullptr) return "";
  std::vector<std::string> parts;
  for (const format::Entry& entry : labels->entries)
    parts.push_back(base::Printable(entry.key + "=" + entry.value.text));
  return base::Join(parts, ", ");
}

}  // namespace

std::string RenderState(const std::string& state, const Look& look) {
  constexpr std::pair<std::string_view, Colour> kColours[] = {
      {"running", Colour::kGreen},  {"starting", Colour::kGreen}, {"stopping", Colour::kYellow},
      {"waiting", Colour::kYellow}, {"held", Colour::kYellow},    {"failed", Colour::kRed},
      {"timed-out", Colour::kRed},  {"completed", Colour::kGrey}, {"cancelled", Colour::kGrey},
  };
  const auto* const row =
      std::ranges::find(kColours, state, &std::pair<std::string_view, Colour>::first);
  return Coloured(state, row == std::end(kColours) ? Colour::kNone : row->second, look.colour);
}

std::string RenderJobs(const Value& list, const Look& look) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& job : ItemsAt(list, "jobs")) {
    std::string where = NodesText(job);
    // That a completed job completed is said already.
    if (where.empty() && TextAt(job, "reason.text") != TextAt(job, "state"))
      where = ShownAt(job, "reason.text");
    rows.push_back({ShownAt(job, "id"), Shortened(ShownAt(job, "name"), kNameColumns),
                    Shortened(ShownAt(job, "user"), kNameColumns),
                    Shortened(ShownAt(job, "queue"), kNameColumns),
                    RenderState(ShownAt(job, "state"), look), ShownAt(job, "gpus"),
                    TimeText(job, look), std::move(where)});
  }
  const std::vector<Column> columns = {{"ID", true},   {"NAME"},           {"USER"},
                                       {"QUEUE"},      {"STATE"},          {"GPUS", true},
                                       {"TIME", true}, {"NODES OR REASON"}};
  if (look.columns > 0) {
    std::size_t used = 2 * (columns.size() - 1);
    for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
      std::size_t width = columns[i].header.size();
      for (const auto& row : rows) width = std::max(width, DisplayWidth(row[i]));
      used += width;
    }
    const std::size_t left = std::max(kLeastColumns, look.columns - std::min(look.columns, used));
    for (auto& row : rows) row.back() = Shortened(row.back(), left);
  }
  return AlignedTable(columns, rows);
}

std::string RenderJob(const Value& job, const Look& look) {
  std::string out = Format(
      "{}: {}\n", Bold(Format("Job {} {}", ShownAt(job, "id"), ShownAt(job, "name")), look.colour),
      RenderState(ShownAt(job, "state"), look));
  Facts facts;
  facts.Add("reason", ShownAt(job, "reason.text"));
  facts.Add("user", ShownAt(job, "user"));
  facts.Add("queue", Format("{}, class {}", ShownAt(job, "queue"), ShownAt(job, "priorityClass")));
  facts.Add("labels", LabelsText(job));
  facts.Add("size", Format("{} GPUs, {} replica{}", ShownAt(job, "gpus"), ShownAt(job, "replicas"),
                           TextAt(job, "replicas") == "1" ? "" : "s"));
  facts.Add("submitted", Ago(job, "submitted", look));
  facts.Add("not before", LocalTimeAt(job, "notBefore"));
  facts.Add("started", Ago(job, "started", look));
  facts.Add("ended", Ago(job, "ended", look));
  facts.Add("level", ShownAt(job, "level"));
  facts.Add("nodes", NodesText(job));
  if (ValueAt(job, "checkpoint") != nullptr) {
    facts.Add("checkpoint",
              Format("step {} at {}, attempt {}: {}", ShownAt(job, "checkpoint.step"),
                     LocalTimeAt(job, "checkpoint.at"), ShownAt(job, "checkpoint.attempt"),
                     ShownAt(job, "checkpoint.path")));
  }
  out += facts.Text() + RenderAttempts(job, look);
  if (const Value* const document = ValueAt(job, "document")) {
    out += "\n" + Bold("Document", look.colour) + "\n" + Indented(format::WriteYaml(*document));
  }
  if (FlagAt(job, "envHidden"))
    out += "  # the environment is shown to the owner and to admins only\n";
  return out;
}

std::string RenderWhy(const Value& why, const Look& look) {
  std::string out = ShownAt(why, "summary") + "\n";
  for (const std::string& line : ShownTextsAt(why, "details")) out += line + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const Value& cause : ItemsAt(why, "causes"))
    rows.push_back({ShownAt(cause, "nodes"), ShownAt(cause, "text")});
  if (!rows.empty()) out += "\n" + AlignedTable({{"NODES", true}, {"WITHOUT ROOM, SINCE"}}, rows);
  if (const auto relax = MomentAt(why, "nextRelax")) {
    out += Format("\nIts topology is relaxed next at {} (in {}).\n", LocalTime(*relax),
                  Between(look.now, relax));
  }
  return out;
}

std::string RenderTrial(const Value& trial, const Look& /*look*/) {
  std::string out;
  for (const Value& job : ItemsAt(trial, "jobs")) {
    out += Format("{}: {}\n", ShownAt(job, "name"), ShownAt(job, "summary"));
    for (const std::string& line : ShownTextsAt(job, "details")) out += "  " + line + "\n";
  }
  return out;
}

std::string RenderPause(const Value& pause, const Look& look) {
  if (!FlagAt(pause, "paused")) return "";
  const std::string reason = ShownAt(pause, "reason");
  const auto since = MomentAt(pause, "since");
  return Coloured(Format("Starts are paused{}{}", since ? " since " + LocalTime(*since) : "",
                         reason.empty() ? "" : ": " + reason),
                  Colour::kYellow, look.colour) +
         "\n";
}

}  // namespace muster::cli
