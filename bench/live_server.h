// SPDX-License-Identifier: Apache-2.0
// A real server on a real disk for benchmarks: SQLite journal, loop thread, HTTP on a Unix socket.
// The driver runs nothing and has no nodes, so that what is measured is the way from a request to
// its durable answer.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/client.h"
#include "api/http_server.h"
#include "base/check.h"
#include "journal/sqlite/sqlite_journal.h"
#include "server/loop.h"
#include "server/server.h"

namespace muster::bench {

class NoDriver : public driver::Driver {
 public:
  base::Status Open(driver::Sink) override { return {}; }
  std::vector<driver::GangId> Adopt(const std::vector<driver::Expected>&) override { return {}; }
  void Give(const driver::Order&) override {}
  base::Result<driver::LogChunk> ReadLog(const driver::LogRequest&) const override {
    return base::Error{base::ErrorCode::kNotFound, "no log", ""};
  }
  void Close() override {}
};

/// A folder on the disk that the benchmark runs on (not in memory), removed at the end.
class DiskFolder {
 public:
  DiskFolder() {
    std::string pattern = (std::filesystem::current_path() / "bench-XXXXXX").string();
    MUSTER_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~DiskFolder() { std::filesystem::remove_all(path_); }
  DiskFolder(const DiskFolder&) = delete;
  DiskFolder& operator=(const DiskFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class LiveServer {
 public:
  explicit LiveServer(const DiskFolder& folder) : socket_(folder.path() + "/s") {
    journal_ = *journal::SqliteJournal::Open({.path = folder.path() + "/journal.db"});
    server::ServerOptions options;
    options.initial.policy = model::WithDefaults({});
    options.rules = {.is_root = true, .allow_root = true};
    options.build = "bench";
    server_ = *server::Server::Open({*journal_, driver_, clock_}, std::move(options));
    loop_ = std::make_unique<server::Loop>(*server_, clock_);
    thread_ = std::thread([this] { loop_->Run(); });
    api::HttpOptions http;
    http.socket_path = socket_;
    http.identify_peer = [](const api::Peer& peer) {
      return server::Caller{
          .account = {peer.uid, peer.gid, "bench"}, .role = server::Role::kAdmin, .from = "bench"};
    };
    http_ = *api::HttpServer::Start(*server_, std::move(http));
  }
  ~LiveServer() {
    http_->Stop();
    loop_->Stop();
    thread_.join();
    (void)server_->Close();
  }
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  std::unique_ptr<api::Client> Connect() const {
    return *api::Client::Make({.address = "unix:" + socket_});
  }
  server::Server& server() { return *server_; }

 private:
  std::string socket_;
  NoDriver driver_;
  server::SystemClock clock_;
  std::unique_ptr<journal::SqliteJournal> journal_;
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<server::Loop> loop_;
  std::thread thread_;
  std::unique_ptr<api::HttpServer> http_;
};

/// One job document, as a program sends it.
inline std::string JobBody() {
  return R"({"apiVersion":"muster/v1","kind":"Job","metadata":{"name":"bench"},"spec":{"tasks":[)"
         R"({"name":"worker","replicas":8,"resources":{"gpu":8},)"
         R"("command":["python3","train.py","--config","configs/large.yaml"],)"
         R"("env":{"NCCL_DEBUG":"WARN","OMP_NUM_THREADS":"8"}}]}})";
}

}  // namespace muster::bench
