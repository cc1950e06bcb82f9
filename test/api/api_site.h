// SPDX-License-Identifier: Apache-2.0
// The API on a whole server in one thread, without sockets. Every answer is held against the schema
// that the OpenAPI document gives for it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/route.h"
#include "format/document.h"
#include "test/server/site.h"

namespace muster::api {

/// What is wrong with `value` by a schema of the document, each with its path; none: it fits.
std::vector<std::string> SchemaFaults(const format::Value& value, const format::Value& schema);
/// The OpenAPI document, parsed.
const format::Value& OpenApi();

/// The value at a path of keys and indexes: "jobs.0.name"; null where there is none.
const format::Value* Find(const format::Value& value, std::string_view path);
/// Its text; "(none)" where there is none.
std::string Get(const format::Value& value, std::string_view path);

/// One server-sent event.
struct SentEvent {
  std::string id;
  std::string kind;
  format::Value data;
};

server::Caller Admin();

class ApiSite : public server::Front {
 public:
  /// Four nodes with 8 GPUs in two leaves, or what `change` makes of the site before it starts.
  explicit ApiSite(const std::function<void(server::Site&)>& change = {});

  struct Ask {
    std::string method = "GET";
    std::string target;  ///< with the query
    std::string body;
    server::Caller caller = server::User("ana");
    std::string key;      ///< Idempotency-Key
    std::string last_id;  ///< Last-Event-ID
  };
  /// The response, as the transport would get it; its body was held against its schema.
  HttpResponse Call(const Ask& ask);
  /// The JSON of an answer that must have this status.
  format::Value Json(const Ask& ask, int status = 200);
  format::Value Get(const std::string& target) { return Json({.target = target}); }
  /// The detail of the problem that must come with this status.
  std::string Refusal(const Ask& ask, int status);

  /// One call of a stream. `events` are those in `part.text`.
  struct Streamed {
    StreamPart part;
    std::vector<SentEvent> events;
  };
  Streamed Stream(const Ask& ask, const std::string& cursor = "");

  model::JobId Submit(const model::JobSpec& spec, const std::string& user = "ana") {
    return site.Submit(spec, user);
  }
  void Run(model::JobId job) {
    site.driver.Started(site.Gang(job));
    site.Run();
  }
  void End(model::JobId job, driver::RankExit exit = {}) {
    site.driver.Ended(site.Gang(job), std::move(exit));
    site.Run();
  }

  // Front: the server, but with logs that the test writes.
  void Post(server::Request request, server::Answer answer) override;
  server::PicturePtr Look() const override;
  void OnPublish(std::function<void()>) override {}
  base::Result<driver::LogChunk> ReadLog(const driver::LogRequest& request) const override;

  server::Site site;
  /// What each rank of an attempt has written; the first bytes may have been rotated away.
  struct Log {
    std::string bytes;
    std::uint64_t from = 0;
  };
  std::map<std::pair<driver::GangId, std::int32_t>, Log> logs;
  server::PicturePtr picture;  ///< shown instead of the server's, if set

 private:
  HttpRequest ToRequest(const Ask& ask, const Route*& route) const;
};

}  // namespace muster::api
