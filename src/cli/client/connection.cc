// SPDX-License-Identifier: Apache-2.0
#include "cli/client/connection.h"

#include <algorithm>

#include "base/strings.h"
#include "base/utf8.h"
#include "cli/client/fields.h"
#include "format/json.h"

namespace muster::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;
using format::Value;

constexpr std::string_view kPageSize = "500";

base::Result<Value> ParseAnswer(std::string_view text) {
  auto parsed = format::ParseJson(text, "the server's answer");
  if (!parsed) return parsed.error();
  if (parsed->documents.empty()) return format::Map();
  return std::move(parsed->documents.front());
}

bool IsGood(const api::ClientResponse& response) {
  return response.status >= 200 && response.status < 300;
}

}  // namespace

std::string Escaped(std::string_view text) {
  constexpr std::string_view kPlain = "-._~";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : Format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string Path(std::string_view path, const Query& query) {
  std::string out(path);
  char separator = '?';
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    out += Format("{}{}={}", separator, name, Escaped(value));
    separator = '&';
  }
  return out;
}

base::Errors FaultsOf(const api::ClientResponse& response) {
  const Error whole = api::ErrorOf(response);
  base::Errors errors;
  if (const auto document = ParseAnswer(response.body)) {
    if (const Value* list = document->Find("errors")) {
      for (const Value& each : list->items) {
        errors.push_back({whole.code, TextAt(each, "message"), TextAt(each, "where")});
      }
    }
  }
  if (errors.empty()) errors.push_back(whole);
  constexpr int kUnauthorized = 401;
  if (response.status == kUnauthorized)
    errors.back().message += "; here: by MUSTER_TOKEN, or `token` of a context";
  return errors;
}

base::Checked<std::unique_ptr<Connection>> Connection::Open(
    const std::vector<Candidate>& candidates) {
  std::string tried;
  for (const Candidate& candidate : candidates) {
    auto client = api::Client::Make(candidate.target);
    if (!client) {
      return Error{client.error().code, client.error().message,
                   candidate.from.starts_with('-') ? candidate.from : client.error().where};
    }
    const auto answer = (*client)->Call("GET", "/healthz");
    if (answer || answer.error().code != ErrorCode::kUnavailable) {
      if (!answer) return answer.error();
      return std::make_unique<Connection>(*std::move(client), candidate.target.address);
    }
    // The message begins with the address.
    tried += Format("\n  {} ({})", base::Printable(answer.error().message), candidate.from);
  }
  return Error{ErrorCode::kUnavailable, tried, ""};
}

base::Checked<Value> Connection::Get(const std::string& path) { return Call("GET", path); }

base::Checked<Value> Connection::Post(const std::string& path, std::string_view body,
                                      const api::Client::Headers& headers) {
  return Call("POST", path, body, headers);
}

base::Checked<Value> Connection::Call(std::string_view method, const std::string& path,
                                      std::string_view body, const api::Client::Headers& headers) {
  auto all = headers;
  // As the format room tells them apart.
  if (!body.empty())
    all.emplace_back("Content-Type", body.front() == '{' ? "application/json" : "application/yaml");
  const auto response = client_->Call(method, path, body, all);
  if (!response) return response.error();
  if (!IsGood(*response)) return FaultsOf(*response);
  auto document = ParseAnswer(response->body);
  if (!document) return document.error();
  return *std::move(document);
}

base::Checked<Value> Connection::GetAll(std::string_view path, Query query, std::string_view list,
                                        std::size_t limit) {
  query.emplace_back("limit", kPageSize);
  query.emplace_back("cursor", "");
  Value all = format::List();
  Value document;
  while (true) {
    auto page = Get(Path(path, query));
    if (!page) return page;
    const Value* items = page->Find(list);
    if (items != nullptr) {
      for (const Value& item : items->items) {
        if (all.items.size() == limit) break;
        all.items.push_back(item);
      }
    }
    const std::string next = TextAt(*page, "next");
    if (next.empty() || all.items.size() == limit) break;
    query.back().second = next;
  }
  document = format::Map();
  document.Add(std::string(list), std::move(all));
  return document;
}

base::Checked<api::ClientResponse> Connection::GetRaw(const std::string& path) {
  auto response = client_->Call("GET", path);
  if (!response) return response.error();
  if (!IsGood(*response)) return FaultsOf(*response);
  return *std::move(response);
}

base::Status Connection::Stream(const std::string& path, const Take& take) {
  base::Status status;
  const base::Status streamed = client_->Stream(
      path, {}, [&](std::string_view id, std::string_view event, std::string_view data) {
        const auto document = ParseAnswer(data);
        if (document) return take(id, event, *document);
        status = document.error();
        return false;
      });
  return status ? streamed : status;
}

}  // namespace muster::cli
