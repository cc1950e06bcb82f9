// SPDX-License-Identifier: Apache-2.0
// A server as the verbs see it: requests in, documents out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/client.h"
#include "base/result.h"
#include "cli/client/find.h"
#include "format/document.h"

namespace muster::cli {

/// "/v1/jobs" and {{"state", "active"}, {"user", ""}} -> "/v1/jobs?state=active": what is empty is
/// left out, and what needs it is escaped.
using Query = std::vector<std::pair<std::string_view, std::string>>;
std::string Path(std::string_view path, const Query& query = {});
/// A piece of a path that a person gave: a node's name.
std::string Escaped(std::string_view text);

class Connection {
 public:
  /// The first candidate that answers. None does: `kUnavailable`, with what was tried.
  static base::Checked<std::unique_ptr<Connection>> Open(const std::vector<Candidate>& candidates);
  /// For tests.
  Connection(std::unique_ptr<api::Client> client, std::string address)
      : client_(std::move(client)), address_(std::move(address)) {}

  /// The document of an answer, or every fault that it tells.
  base::Checked<format::Value> Get(const std::string& path);
  base::Checked<format::Value> Post(const std::string& path, std::string_view body = "",
                                    const api::Client::Headers& headers = {});
  base::Checked<format::Value> Call(std::string_view method, const std::string& path,
                                    std::string_view body = "",
                                    const api::Client::Headers& headers = {});
  /// Every page of a list: one document with all items of `list`. At most `limit` items.
  base::Checked<format::Value> GetAll(std::string_view path, Query query, std::string_view list,
                                      std::size_t limit = SIZE_MAX);
  /// The answer itself, where it is a good one.
  base::Checked<api::ClientResponse> GetRaw(const std::string& path);
  /// Server-sent events; a document each. Ends when `take` returns false or the stream ends.
  using Take =
      std::function<bool(std::string_view id, std::string_view event, const format::Value& data)>;
  base::Status Stream(const std::string& path, const Take& take);

  const std::string& address() const { return address_; }

 private:
  std::unique_ptr<api::Client> client_;
  std::string address_;
};

/// The faults that an answer tells: each of its `errors`, or the one that it is.
base::Errors FaultsOf(const api::ClientResponse& response);

}  // namespace muster::cli
