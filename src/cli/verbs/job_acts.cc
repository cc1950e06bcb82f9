// SPDX-License-Identifier: Apache-2.0
// Acts on jobs that need nothing but their numbers: cancel, hold, release, requeue, checkpoint.
#include <memory>
#include <ostream>
#include <vector>

#include "base/strings.h"
#include "cli/client/fields.h"
#include "cli/client/jobs.h"
#include "cli/client/present.h"
#include "cli/environment.h"
#include "cli/inputs.h"
#include "cli/verbs/all.h"

namespace muster::cli {
namespace {

using base::Format;

struct Act {
  const char* name;        ///< of the route
  const char* done;        ///< "job 12 cancelled"
  bool ends_work = false;  ///< of several jobs it is not done unasked
};

struct Options {
  ClientOptions client;
  std::vector<std::string> jobs;
  bool mine = false;
  bool yes = false;
};

ExitCode ActOn(Connection& server, const Act& act, const std::string& job, Streams& streams) {
  const auto done = server.Post(Format("/v1/jobs/{}/{}", job, act.name));
  if (!done) return Fail(done.error(), streams);
  streams.out << Format("job {} {}\n", job, act.done);
  for (const std::string& note : ShownTextsAt(*done, "notes")) streams.err << note << '\n';
  return ExitCode::kDone;
}

ExitCode Run(const Act& act, const Options& options, Streams& streams) {
  std::vector<std::string> jobs;
  for (const std::string& text : options.jobs) {
    const auto job = ParseJobNumber(text);
    if (!job) return Fail(job.error(), streams);
    jobs.push_back(*job);
  }
  if (jobs.empty() == !options.mine) {
    return Fail(base::Error{base::ErrorCode::kInvalid,
                            options.mine ? "give numbers of jobs or --mine, not both"
                                         : "give numbers of jobs, or --mine for all your own",
                            "--mine"},
                streams);
  }
  return WithServer(options.client, streams, [&](Connection& server) {
    if (options.mine) {
      const auto list = ListJobs(server, {.user = ReadEnvironment().user});
      if (!list) return Fail(list.error(), streams);
      for (const format::Value& job : ItemsAt(*list, "jobs")) jobs.push_back(TextAt(job, "id"));
      if (jobs.empty()) streams.out << "no jobs\n";
    }
    const bool ask = act.ends_work && (jobs.size() > 1 || (options.mine && !jobs.empty()));
    const std::string question =
        Format("{} {} job{}?", act.name, jobs.size(), jobs.size() == 1 ? "" : "s");
    if (ask && !Confirm(question, options.yes, streams)) return ExitCode::kFailed;
    ExitCode code = ExitCode::kDone;
    for (const std::string& job : jobs) {
      const ExitCode one = ActOn(server, act, job, streams);
      if (code == ExitCode::kDone) code = one;
    }
    return code;
  });
}

void AddAct(CLI::App& app, Context& context, Act act) {
  const Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  arguments.Words("job", options->jobs, Arguments::Need::kOptional, "numbers of jobs");
  arguments.Flag("--mine", options->mine, "all of your own that have not ended");
  if (act.ends_work) arguments.Flag("--yes,-y", options->yes, "do not ask");
  AddClientOptions(arguments, options->client);
  arguments.OnRun([options, act](Streams& streams) { return Run(act, *options, streams); });
}

}  // namespace

void AddCancel(CLI::App& app, Context& context) {
  AddAct(app, context, {"cancel", "cancelled", true});
}
void AddHold(CLI::App& app, Context& context) { AddAct(app, context, {"hold", "held"}); }
void AddRelease(CLI::App& app, Context& context) { AddAct(app, context, {"release", "released"}); }
void AddRequeue(CLI::App& app, Context& context) {
  AddAct(app, context, {"requeue", "requeued", true});
}
void AddCheckpoint(CLI::App& app, Context& context) {
  AddAct(app, context, {"checkpoint", "asked for a checkpoint"});
}

}  // namespace muster::cli
