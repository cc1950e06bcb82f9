// SPDX-License-Identifier: Apache-2.0
#include "api/resources/why_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/resources/shapes.h"
#include "base/strings.h"
#include "base/units.h"
#include "server/tables.h"

namespace muster::api {
namespace {

using base::Format;
using model::Outcome;
using model::ReasonCode;

std::string Count(std::int64_t count, std::string_view noun) {
  return Format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// "a", "a and b", "a, b and c".
std::string Listed(std::vector<std::string> parts) {
  if (parts.empty()) return "";
  const std::string last = std::move(parts.back());
  parts.pop_back();
  return parts.empty() ? last : base::Join(parts, ", ") + " and " + last;
}

/// "gpu-1, gpu-2 and 6 more".
std::string NodeList(const NodeNames& nodes) {
  std::vector<std::string> parts = nodes.names;
  if (nodes.count > parts.size()) parts.push_back(Format("{} more", nodes.count - parts.size()));
  return Listed(std::move(parts));
}

/// What one replica needs: "8 GPUs", "8 H100 GPUs", "1 GPU (H100 or H200)", "4 CPUs".
std::string NeedText(const model::ReplicaShape& shape) {
  if (!shape.gpu.IsZero()) {
    const std::string amount = base::FormatGpu(shape.gpu);
    const std::string_view noun = shape.gpu > base::MilliGpu::Of(1000) ? "GPUs" : "GPU";
    if (shape.models.size() == 1) return Format("{} {} {}", amount, shape.models.front(), noun);
    if (shape.models.empty()) return Format("{} {}", amount, noun);
    return Format("{} {} ({})", amount, noun, base::Join(shape.models, " or "));
  }
  if (shape.cpu && !shape.cpu->IsZero())
    return Format("{} {}", base::FormatCpu(*shape.cpu),
                  *shape.cpu == base::MilliCpu::Of(1000) ? "CPU" : "CPUs");
  return shape.memory ? base::FormatBytes(*shape.memory) + " of memory" : "no GPU";
}

bool IsAny(std::string_view level) { return level.empty() || level == "any"; }

/// " on one node", " inside one leaf", "" for anywhere.
std::string InsideText(std::string_view level) {
  if (IsAny(level)) return "";
  return level == "node" ? " on one node" : Format(" inside one {}", level);
}

std::string WantedInside(const Story& story) {
  return WantedText(*story.request, story.why.group) + " wanted" + InsideText(story.why.level);
}

/// "the best, leaf-1, has room for 1", "there is room for 5".
std::string RoomText(const engine::Explanation& why) {
  if (IsAny(why.level) || why.best_domain.empty())
    return why.have == 0 ? "there is room for none" : Format("there is room for {}", why.have);
  if (why.have == 0) return Format("no {} has room for even one", why.level);
  return Format("the best, {}, has room for {}", why.best_domain, why.have);
}

/// "in segments of 2 inside one nvlink".
std::string SegmentText(const model::GangRequest& request) {
  std::vector<std::string> parts;
  for (const model::Segment& segment : request.topology.segments)
    parts.push_back(Format("segments of {}{}", segment.size, InsideText(segment.level)));
  return Listed(std::move(parts));
}

/// Why there is no room now; without the full stop.
std::string NotNowText(const Story& story) {
  const engine::Explanation& why = story.why;
  switch (why.binding.code) {
    case ReasonCode::kFabric:
      return Format("{}, the widest that one job may span here; {}", WantedInside(story),
                    RoomText(why));
    case ReasonCode::kSegment:
      return Format("{} in {}; {} in whole segments", WantedInside(story),
                    SegmentText(*story.request), RoomText(why));
    case ReasonCode::kAntiAffinity:
      return Format("{}, each in a {} of its own; {}", WantedInside(story),
                    story.request->topology.anti_affinity, RoomText(why));
    case ReasonCode::kSpread: {
      const auto& spread = story.request->topology.spread;
      return Format(
          "{}, spread over every {} with a difference of at most {}; the free places do not "
          "allow it",
          WantedInside(story), spread ? spread->level : "domain", spread ? spread->max_skew : 1);
    }
    case ReasonCode::kTogether:
      return Format("each task group has room by itself, but not all of them at once{}",
                    InsideText(why.level));
    default:
      return Format("{}; {}", WantedInside(story), RoomText(why));
  }
}

/// The levels that the job names and the cluster lacks.
std::string UnknownLevels(const Story& story) {
  const model::TopologyRequest& topology = story.request->topology;
  std::vector<std::string> named = {topology.required, topology.preferred, topology.anti_affinity};
  for (const model::Segment& segment : topology.segments) named.push_back(segment.level);
  if (topology.spread) named.push_back(topology.spread->level);
  for (const model::RelaxStep& step : story.request->relax) named.push_back(step.topology);
  std::vector<std::string> unknown;
  for (std::string& name : named) {
    const bool known = name.empty() || std::ranges::find(story.levels, name) != story.levels.end();
    if (!known && std::ranges::find(unknown, name) == unknown.end())
      unknown.push_back(std::move(name));
  }
  return Listed(std::move(unknown));
}

std::string NeverText(const Story& story) {
  const engine::Explanation& why = story.why;
  if (why.binding.code == ReasonCode::kUnknownLevel) {
    const std::string unknown = UnknownLevels(story);
    return Format("it names the topology level {}, which this cluster does not have; it has {}",
                  unknown.empty() ? "of the policy's fabric" : unknown, Listed(story.levels));
  }
  // What is missing was counted under the weakest rule that its relax steps lead to.
  const bool relaxed = !story.request->relax.empty();
  const std::string wanted =
      relaxed ? WantedText(*story.request, why.group) + " wanted" : WantedInside(story);
  const std::int64_t most = why.wanted - why.binding.count;
  if (most <= 0)
    return Format("{}; not one replica fits this cluster, even when it is empty", wanted);
  const std::string how = why.binding.code == ReasonCode::kSegment ? " in whole segments"
                          : why.binding.code == ReasonCode::kAntiAffinity
                              ? " that keep apart as it asks"
                              : "";
  if (relaxed || IsAny(why.level))
    return Format("{}; this cluster has room for at most {}{}, even when it is empty", wanted, most,
                  how);
  return Format("{}; no {} has room for more than {}{}, even when it is empty", wanted, why.level,
                most, how);
}

std::string SearchEndedText(const Story& story) {
  if (story.why.binding.code == ReasonCode::kTogether)
    return Format("{}; no way to place them was found, and none was ruled out", NotNowText(story));
  return Format(
      "{} places were tried for {}{}, none fits, and the search ended: whether there is one is "
      "not proved",
      story.why.binding.count, WantedText(*story.request, story.why.group),
      InsideText(story.why.level));
}

/// Whether and why there is no room, or that there is.
std::string RoomSentence(const Story& story) {
  std::string text;
  switch (story.why.outcome) {
    case Outcome::kPlaced:
      return "There is room for it now.";
    case Outcome::kNotNow:
      text = NotNowText(story);
      break;
    case Outcome::kNever:
      text = NeverText(story);
      break;
    case Outcome::kSearchEnded:
      text = SearchEndedText(story);
      break;
  }
  if (text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text + ".";
}

std::string PauseText(const server::PauseRecord& pause) {
  if (!pause.paused) return "Starts are paused: nothing that waits is started.";
  const std::string reason = pause.reason.empty() ? "" : Format(" ({})", pause.reason);
  return Format("Starts are paused since {}{}: nothing that waits is started.",
                TimeText(pause.since), reason);
}

std::string WaitingSummary(const Story& story) {
  switch (story.why.binding.code) {
    case ReasonCode::kStartsPaused:
      return PauseText(story.pause);
    case ReasonCode::kStartAfter:
      return Format("It is not to start before {}, which is in {}.", TimeText(story.not_before),
                    SpanText(story.not_before - story.now));
    case ReasonCode::kUnknownQueue:
      return Format("The policy has no queue {}: the job waits until there is one again.",
                    base::Quote(story.queue));
    case ReasonCode::kBehindHead:
      return Format("There is room for it, but queue {} is strict and {} in it {} first.",
                    story.queue, Count(story.why.binding.count, "earlier job"),
                    story.why.binding.count == 1 ? "goes" : "go");
    case ReasonCode::kPlaced:
      return "There is room for it: it is started in the next pass.";
    default:
      return RoomSentence(story);
  }
}

void AddCauses(const Story& story, std::vector<std::string>& details) {
  if (story.why.nodes.empty()) return;
  std::vector<std::string> parts;
  for (const model::Reason& cause : story.why.nodes)
    parts.push_back(Format("{} ({})", cause.count, model::Text(cause.code)));
  details.push_back(Format("Nodes without room for one replica: {}.", base::Join(parts, ", ")));
}

void AddNextRelax(const Story& story, std::vector<std::string>& details) {
  if (!story.why.next_relax) return;
  const base::Instant at = *story.why.next_relax;
  const auto& relax = story.request->relax;
  const auto step = std::ranges::find_if(
      relax, [&](const model::RelaxStep& each) { return story.submitted + each.after == at; });
  const std::string where =
      step == relax.end() || IsAny(step->topology) ? " anywhere" : InsideText(step->topology);
  details.push_back(Format("From {} on, in {}, it may be placed{}.", TimeText(at),
                           SpanText(at - story.now), where));
}

void AddOrder(const Story& story, std::vector<std::string>& details) {
  const engine::Explanation& why = story.why;
  if (why.position <= 0) return;
  const std::string own =
      why.position == 1 ? Format("It is the first in queue {}", story.queue)
                        : Format("{} {} before it in queue {}", Count(why.position - 1, "job"),
                                 why.position == 2 ? "is" : "are", story.queue);
  const std::string others = why.ahead == 0
                                 ? ""
                                 : Format("; {} of other queues {} tried before it",
                                          Count(why.ahead, "job"), why.ahead == 1 ? "is" : "are");
  details.push_back(own + others + ".");
}

/// How an attempt ended, or why it is being stopped: "rank 3 exited with 1", "a node was lost".
std::string CauseText(const Story& story, ReasonCode why) {
  const server::AttemptRecord* const last = story.last;
  const std::string rank =
      last == nullptr || last->bad_rank < 0
          ? ""
          : Format("rank {} {}", last->bad_rank, server::Describe(last->bad_exit));
  switch (why) {
    case ReasonCode::kTaskFailed:
      return rank.empty() ? "a task failed" : rank;
    case ReasonCode::kRestartLimit:
      return Format("{}; it was restarted {} before, as often as it may",
                    rank.empty() ? "a task failed" : rank,
                    Count(story.request->restart.limit, "time"));
    case ReasonCode::kNodeLost:
      return rank.empty() ? "a node that it ran on was lost"
                          : "a node that it ran on was lost; " + rank;
    case ReasonCode::kTimeLimit:
      return Format("its time limit of {} is over",
                    base::FormatDuration(story.request->time_limit));
    case ReasonCode::kCancelled:
      return "it was cancelled";
    case ReasonCode::kRequeued:
      return "it is to go back to its queue";
    case ReasonCode::kCompleted:
      return "all that has to end well has ended well";
    default:
      return std::string(model::Text(why));
  }
}

void AddLastAttempt(const Story& story, std::vector<std::string>& details) {
  if (story.last == nullptr || story.last->ended.us == 0) return;
  details.push_back(Format("Attempt {} ended at {}: {}.", story.last->number.value,
                           TimeText(story.last->ended), CauseText(story, story.last->why)));
}

void AddLogHint(const Story& story, std::vector<std::string>& details) {
  if (story.last == nullptr) return;
  const std::int32_t rank = std::max(0, story.last->bad_rank);
  details.push_back(Format("Its output: muster logs {} --rank {}.", story.id.value, rank));
}

WhyText TellWaiting(const Story& story) {
  WhyText text{.summary = WaitingSummary(story)};
  const engine::Explanation& why = story.why;
  if (why.binding.code == ReasonCode::kStartsPaused) {
    text.details.push_back("Without the pause: " + RoomSentence(story));
  } else if (why.outcome == Outcome::kNever) {
    text.details.push_back("It will never start unless the job is changed or the cluster grows.");
  }
  AddCauses(story, text.details);
  AddNextRelax(story, text.details);
  if (why.outcome != Outcome::kNever) AddOrder(story, text.details);
  AddLastAttempt(story, text.details);
  return text;
}

WhyText TellPlaced(const Story& story) {
  const std::string since = story.last == nullptr ? "" : TimeText(story.last->placed);
  const std::string where = NodeList(story.nodes);
  WhyText text;
  if (story.state == JobState::kStarting) {
    text.summary =
        Format("It is being started on {} since {}; no task has reported yet.", where, since);
  } else if (story.state == JobState::kRunning) {
    const bool reported = story.last != nullptr && story.last->running.us != 0;
    text.summary =
        Format("It runs on {} since {}.", where, reported ? TimeText(story.last->running) : since);
  } else {
    text.summary =
        Format("It is being stopped on {}: {}.", where, CauseText(story, story.why.binding.code));
  }
  if (!story.level.empty() && story.level != "any")
    text.details.push_back(Format("All of it is{}.", InsideText(story.level)));
  if (story.last != nullptr && story.last->number.value > 1)
    text.details.push_back(Format("This is attempt {}.", story.last->number.value));
  return text;
}

/// How long the last attempt took: " after 1h30m".
std::string AfterText(const Story& story) {
  if (story.last == nullptr || story.last->ended.us == 0) return "";
  return " after " + SpanText(story.last->ended - story.last->placed);
}

WhyText TellEnded(const Story& story) {
  const std::string at = TimeText(story.ended);
  WhyText text;
  switch (story.state) {
    case JobState::kCompleted:
      text.summary = Format("It completed at {}{}.", at, AfterText(story));
      return text;
    case JobState::kCancelled:
      text.summary = Format("It was cancelled at {}{}.", at,
                            story.last == nullptr ? ", before it was started" : "");
      return text;
    case JobState::kTimedOut:
      text.summary = Format("It was stopped at {}: its time limit of {} was over.", at,
                            base::FormatDuration(story.request->time_limit));
      break;
    default:
      text.summary = Format("It failed at {}{}: {}.", at, AfterText(story),
                            CauseText(story, story.why.binding.code));
  }
  AddLogHint(story, text.details);
  return text;
}

}  // namespace

std::string WantedText(const model::GangRequest& request, std::int32_t group) {
  const auto one = [&request](std::size_t index) {
    const model::TaskGroup& each = request.groups[index];
    const bool elastic = each.min_replicas < each.replicas;
    return Format("{}{} of {}", elastic ? "at least " : "", Count(each.min_replicas, "replica"),
                  NeedText(each.shape));
  };
  const std::size_t count = request.groups.size();
  if (group >= 0 && static_cast<std::size_t>(group) < count) {
    const auto index = static_cast<std::size_t>(group);
    return count == 1 ? one(index)
                      : Format("{} (group {})", one(index), request.groups[index].name);
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back(one(i));
  return Listed(std::move(parts));
}

std::string SpanText(base::Duration span) {
  constexpr std::int64_t kSecond = 1'000'000;
  const std::int64_t unit = span.value() < kSecond ? 1000 : kSecond;
  return base::FormatDuration(
      base::Duration::Of(std::max<std::int64_t>(0, span.value()) / unit * unit));
}

WhyText TellWhy(const Story& story) {
  switch (story.state) {
    case JobState::kHeld: {
      WhyText text{.summary = Format("It is held until someone releases it: muster release {}.",
                                     story.id.value)};
      AddLastAttempt(story, text.details);
      return text;
    }
    case JobState::kWaiting:
      return TellWaiting(story);
    case JobState::kStarting:
    case JobState::kRunning:
    case JobState::kStopping:
      return TellPlaced(story);
    default:
      return TellEnded(story);
  }
}

}  // namespace muster::api
