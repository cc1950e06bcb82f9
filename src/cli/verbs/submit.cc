// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <ostream>

#include "base/strings.h"
#include "cli/client/fields.h"
#include "cli/client/job_draft.h"
#include "cli/client/jobs.h"
#include "cli/client/present.h"
#include "cli/inputs.h"
#include "cli/render/jobs.h"
#include "cli/verbs/all.h"
#include "format/file.h"

namespace muster::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;

/// What the server takes in one request.
constexpr std::size_t kMostBytes = std::size_t{16} << 20;

struct Options {
  ClientOptions client;
  JobDraft draft;
  std::string file;
  std::string idempotency_key;
  bool dry_run = false;
  bool wait = false;
  bool follow = false;
};

base::Checked<std::string> ReadInput(const std::string& file) {
  if (file != "-") {
    auto text = format::ReadFile(file, kMostBytes);
    if (!text) return text.error();
    return *std::move(text);
  }
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  if (!text.empty()) return text;
  return Error{ErrorCode::kInvalid, "nothing to submit", "standard input"};
}

/// The documents to submit: of the command after `--`, or of the file.
base::Checked<std::string> MakeDocuments(const Options& options, const Context& context) {
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  if (error) return Error{ErrorCode::kNotFound, "the current folder is gone", ""};
  if (context.command.has_value() == !options.file.empty()) {
    return Error{ErrorCode::kInvalid,
                 context.command ? "give a file or a command after --, not both"
                                 : "give a file, - for standard input, or a command after --",
                 "--"};
  }
  if (!context.command) {
    const auto text = ReadInput(options.file);
    if (!text) return text.error();
    return DraftFile(options.draft, *text, options.file == "-" ? "standard input" : options.file,
                     here);
  }
  if (context.command->empty() || context.command->front().empty())
    return Error{ErrorCode::kInvalid, "the command is empty", "--"};
  return DraftCommand(options.draft, *context.command, here);
}

std::string RenderSubmitted(const format::Value& submitted, const Look& /*look*/) {
  const char* const done = FlagAt(submitted, "repeated") ? "was submitted before" : "submitted";
  std::string out;
  for (const format::Value& job : ItemsAt(submitted, "jobs"))
    out += Format("job {} {}\n", ShownAt(job, "id"), done);
  return out;
}

/// Output of rank 0 as it is written, over all attempts.
base::Errors FollowJob(Connection& server, const std::string& job, Streams& streams) {
  while (true) {
    if (auto errors = FollowLog(server, {.job = job}, streams); !errors.empty()) return errors;
    const auto document = server.Get("/v1/jobs/" + job);
    if (!document) return document.error();
    const std::string state = TextAt(*document, "state");
    if (HasEnded(state) || !streams.out) return {};
    usleep(200'000);  // its last attempt has ended, and what follows is not decided yet
  }
}

ExitCode WaitForAll(Connection& server, const Options& options, const format::Value& submitted,
                    Streams& streams) {
  ExitCode code = ExitCode::kDone;
  for (const format::Value& each : ItemsAt(submitted, "jobs")) {
    const std::string id = TextAt(each, "id");
    if (options.follow) {
      const base::Errors errors = FollowJob(server, id, streams);
      if (!errors.empty()) return Fail(errors, streams);
    }
    const auto job = WaitForEnd(server, id);
    if (!job) return Fail(job.error(), streams);
    const ExitCode one = ReportEnd(*job, streams);
    if (code == ExitCode::kDone) code = one;
  }
  return code;
}

ExitCode Run(const Options& options, const Context& context, Streams& streams) {
  const auto documents = MakeDocuments(options, context);
  if (!documents) return Fail(documents.error(), streams);
  return WithServer(options.client, streams, [&](Connection& server) {
    api::Client::Headers headers;
    if (!options.idempotency_key.empty())
      headers.emplace_back("Idempotency-Key", options.idempotency_key);
    const auto answer = server.Post(Path("/v1/jobs", {{"dryRun", options.dry_run ? "true" : ""}}),
                                    *documents, headers);
    if (!answer) return Fail(answer.error(), streams);
    const std::size_t jobs = ItemsAt(*answer, "jobs").size();
    if (options.follow && jobs > 1) {
      streams.err << "muster: --follow shows the output of one job; wait for several with --wait\n";
    }
    Print(*answer, options.client, "jobs", options.dry_run ? &RenderTrial : &RenderSubmitted,
          streams);
    for (const std::string& note : ShownTextsAt(*answer, "notes")) streams.err << note << '\n';
    if (options.dry_run || !(options.wait || options.follow)) return ExitCode::kDone;
    streams.out << std::flush;
    Options waiting = options;
    waiting.follow = options.follow && jobs == 1;
    return WaitForAll(server, waiting, *answer, streams);
  });
}

}  // namespace

void AddSubmit(CLI::App& app, Context& context) {
  Arguments arguments(app, context);
  const auto options = std::make_shared<Options>();
  JobDraft& draft = options->draft;
  arguments.Word("file", options->file, Arguments::Need::kOptional,
                 "job documents, or - for standard input; or a command of your own after --");
  arguments.Text("--name", draft.name, "NAME", "of the job; default: the file's, or the program's");
  arguments.Text("--queue,-q", draft.queue, "NAME", "default: the policy's");
  arguments.Text("--class", draft.priority_class, "NAME", "priority class; default: the policy's");
  arguments.Text("--time-limit", draft.time_limit, "DURATION", "after it the job is ended: 2h30m");
  arguments.Text("--workdir", draft.workdir, "DIR", "where it runs; default: the current folder");
  arguments.Texts("--label", draft.labels, "KEY=VALUE", "a label of the job; several times");
  arguments.SetGroup("For a command after --");
  arguments.Text("--gpus", draft.gpus, "N", "GPUs of each replica; nothing asked for: 1 CPU");
  arguments.Text("--cpus", draft.cpus, "N", "CPUs of each; default: the share of its GPUs");
  arguments.Text("--memory", draft.memory, "BYTES", "memory of each: 64Gi; default: likewise");
  arguments.Number("--replicas", draft.replicas, {.min = 1, .max = INT32_MAX},
                   "how many run it; all of them start together");
  arguments.Texts("--env", draft.env, "NAME=VALUE",
                  "a variable; NAME alone takes your own value; several times");
  arguments.SetGroup("Then");
  arguments.Flag("--dry-run", options->dry_run, "say what would become of it, and submit nothing");
  arguments.Flag("--wait,-w", options->wait, "until it has ended; 1 if it did not end well");
  arguments.Flag("--follow,-f", options->follow, "likewise, with the output of rank 0");
  arguments.Text("--idempotency-key", options->idempotency_key, "KEY",
                 "the same key again submits nothing and tells the same jobs");
  AddClientOptions(arguments, options->client, kListFormats);
  arguments.OnRun(
      [options, &context](Streams& streams) { return Run(*options, context, streams); });
}

}  // namespace muster::cli
