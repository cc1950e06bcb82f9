// SPDX-License-Identifier: Apache-2.0
// A whole server in one thread: journal in memory, a driver that runs nothing, a clock turned by
// hand.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "server/server.h"
#include "test/support/memory_journal.h"

namespace muster::server {

class HandClock : public Clock {
 public:
  base::Instant Now() override { return now; }
  base::Duration Steady() override { return base::Microseconds(now.us); }
  base::Instant now{1'700'000'000'000'000};
};

/// Notes orders; what happens to gangs is told by the test.
class PaperDriver : public driver::Driver {
 public:
  base::Status Open(driver::Sink to) override {
    sink = std::move(to);
    for (const model::NodeSpec& node : nodes) sink(driver::NodeFound{node, "made of paper"});
    return {};
  }
  std::vector<driver::GangId> Adopt(const std::vector<driver::Expected>& all) override {
    expected = all;
    std::vector<driver::GangId> unknown;
    for (const driver::Expected& each : all) {
      const auto gang = gangs.find(each.gang);
      if (gang == gangs.end()) {
        unknown.push_back(each.gang);
        continue;
      }
      const auto ranks = static_cast<std::int32_t>(gang->second.replicas.size());
      sink(driver::RanksStarted{each.gang, {0, ranks}});
    }
    return unknown;
  }
  void Give(const driver::Order& order) override {
    orders.push_back(order);
    if (const auto* launch = std::get_if<driver::Launch>(&order)) {
      ++launches[launch->gang];
      gangs.emplace(launch->gang, *launch);
    } else if (const auto* forget = std::get_if<driver::Forget>(&order)) {
      gangs.erase(forget->gang);
    }
  }
  base::Result<driver::LogChunk> ReadLog(const driver::LogRequest&) const override {
    return driver::LogChunk{.offset = 0, .bytes = "hello\n", .end = 6};
  }
  void Close() override { sink = nullptr; }

  void Started(driver::GangId gang) {
    sink(
        driver::RanksStarted{gang, {0, static_cast<std::int32_t>(gangs.at(gang).replicas.size())}});
  }
  void Ended(driver::GangId gang, driver::RankExit exit = {}) {
    const std::size_t ranks = gangs.at(gang).replicas.size();
    for (std::size_t rank = 0; rank < ranks; ++rank)
      sink(driver::RankEnded{gang, static_cast<std::int32_t>(rank), exit});
  }
  template <class Kind>
  std::vector<Kind> Given() const {
    std::vector<Kind> out;
    for (const driver::Order& order : orders) {
      if (const auto* one = std::get_if<Kind>(&order)) out.push_back(*one);
    }
    return out;
  }

  std::vector<model::NodeSpec> nodes;
  driver::Sink sink;
  std::vector<driver::Expected> expected;
  std::vector<driver::Order> orders;
  std::map<driver::GangId, driver::Launch> gangs;
  std::map<driver::GangId, int> launches;
};

inline model::NodeSpec Node(const std::string& name, int gpus) {
  model::NodeSpec spec{.name = name,
                       .cpu = base::MilliCpu::Of(64'000),
                       .memory = base::Bytes::Of(std::int64_t{512} << 30)};
  spec.devices.resize(static_cast<std::size_t>(gpus),
                      {.model = "H100", .memory = base::Bytes::Of(std::int64_t{80} << 30)});
  return spec;
}

/// A job of `replicas` with `gpus` each.
inline model::JobSpec Job(int replicas, int gpus, const std::string& name = "job") {
  model::JobSpec spec{.name = name};
  model::TaskGroup group{.name = "worker", .replicas = replicas, .min_replicas = replicas};
  group.shape.gpu = base::MilliGpu::Of(gpus * 1000);
  spec.request.groups = {group};
  spec.commands = {{.command = {"train"}}};
  return spec;
}

inline Caller User(const std::string& name, Role role = Role::kUser) {
  return {.account = {.uid = 1000, .gid = 1000, .user = name}, .role = role, .from = "test"};
}

struct Site {
  Site() { driver.nodes = {Node("gpu-1", 8), Node("gpu-2", 8)}; }

  void Start() {
    options.rules.is_root = true;
    options.initial.policy = model::WithDefaults({});
    options.build = "test";
    auto opened = Server::Open({journal, driver, clock}, options);
    ASSERT_TRUE(opened) << opened.error().ToString();
    server = std::move(*opened);
    Run();
  }
  /// As after kill -9: nothing is closed.
  void Crash() { server.reset(); }
  void Restart() {
    Crash();
    Start();
  }
  /// Steps until there is nothing to do.
  void Run() {
    clock.now = clock.now + base::Microseconds(1);
    while (server->Step().more) {
    }
  }
  /// The outcome of a request; steps the server.
  base::Result<Reply> Ask(Caller caller, Command command) {
    std::optional<base::Result<Reply>> out;
    server->Post({std::move(caller), std::move(command)},
                 [&out](base::Result<Reply> reply) { out = std::move(reply); });
    Run();
    EXPECT_TRUE(out.has_value()) << "no answer";
    return out ? std::move(*out)
               : base::Result<Reply>(base::Error{base::ErrorCode::kIo, "no answer", ""});
  }
  model::JobId Submit(const model::JobSpec& spec, const std::string& user = "ana") {
    const auto reply = Ask(User(user), SubmitJobs{{spec}, ""});
    EXPECT_TRUE(reply) << reply.error().ToString();
    return reply ? reply->jobs.front() : model::JobId{0};
  }
  engine::JobView View(model::JobId job) const { return server->Look()->view.Job(job); }
  const JobRecord Record(model::JobId job) const { return server->Look()->tables.jobs[job.value]; }
  driver::GangId Gang(model::JobId job) const { return {job, View(job).attempt}; }

  std::shared_ptr<test::MemoryDisk> disk = std::make_shared<test::MemoryDisk>();
  test::MemoryJournal journal{disk};
  PaperDriver driver;
  HandClock clock;
  ServerOptions options;
  std::unique_ptr<Server> server;
};

}  // namespace muster::server
