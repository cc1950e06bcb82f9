// SPDX-License-Identifier: Apache-2.0
// The HTTP API as a table. A route is one row: dispatch, rights, the OpenAPI document and the
// reference come from it. Handlers know nothing of sockets; the transport knows nothing of jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "server/caller.h"
#include "server/front.h"

namespace muster::api {

struct HttpRequest {
  std::string method;                                          ///< "GET"
  std::string path;                                            ///< decoded, without the query
  std::map<std::string, std::string, std::less<>> parameters;  ///< of the path: {id}
  std::map<std::string, std::string, std::less<>> query;       ///< decoded
  std::string body;
  std::string content_type;
  std::string idempotency_key;  ///< header `Idempotency-Key`
  std::string last_event_id;    ///< header `Last-Event-ID`
  server::Caller caller;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// Takes the response, once, from any thread.
using Respond = std::function<void(HttpResponse)>;

/// What a stream has to send since `cursor`: whole server-sent events as text, and the cursor after
/// them. Nothing new: an empty text.
struct StreamPart {
  std::string text;
  std::string cursor;
  bool end = false;  ///< nothing will follow: the transport closes after sending
  /// Only at the first call: this is the answer, there is no stream (404 for an unknown job).
  std::optional<HttpResponse> instead;
};

/// A parameter of the query, for checking and for the OpenAPI document.
struct QueryParameter {
  std::string_view name;
  std::string_view type;  ///< "string", "integer", "boolean"
  std::string_view doc;
};

struct Route {
  std::string_view method;
  std::string_view pattern;  ///< "/v1/jobs/{id}/why"
  std::string_view id;       ///< operationId: "explainJob"
  std::string_view summary;
  server::Role role = server::Role::kViewer;  ///< the least that may call it
  bool open = false;                          ///< no identity needed: health checks, the document
  std::vector<QueryParameter> query;
  std::string_view request;   ///< name of a schema of the OpenAPI document; "" = no body
  std::string_view response;  ///< likewise
  /// One of the two. `handle` answers through `respond`, now or later.
  void (*handle)(server::Front& front, const HttpRequest& request, Respond respond) = nullptr;
  /// Server-sent events: called again after each publish and now and then; from the transport's
  /// thread, must not block.
  StreamPart (*stream)(server::Front& front, const HttpRequest& request,
                       const std::string& cursor) = nullptr;
};

/// Every route, in the order of the document.
std::span<const Route> Routes();

/// The outcome of looking for a route: the row and the parameters of its path, or the problem (404,
/// or 405 with `Allow`).
struct Match {
  const Route* route = nullptr;
  std::map<std::string, std::string, std::less<>> parameters;
  HttpResponse problem;
};
Match FindRoute(std::string_view method, std::string_view path);

/// Checks the caller's role, unknown and malformed query parameters, whether a body is there where
/// one is due (JSON or YAML), then calls `handle`.
void Dispatch(const Route& route, server::Front& front, const HttpRequest& request,
              Respond respond);

/// An error as problem details (RFC 9457): `application/problem+json` with type, title, status,
/// detail, and `errors: [{where, message}]` when there are several.
HttpResponse Problem(int status, std::string_view title, std::string_view detail);
HttpResponse Problem(const base::Error& error);
HttpResponse Problem(const base::Errors& errors);

/// The OpenAPI 3.1 document, as JSON.
std::string OpenApiDocument(std::string_view version);

}  // namespace muster::api
