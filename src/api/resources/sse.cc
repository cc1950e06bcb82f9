// SPDX-License-Identifier: Apache-2.0
#include "api/resources/sse.h"

#include <utility>

#include "api/resources/answers.h"
#include "base/strings.h"
#include "format/json.h"

namespace muster::api {

std::string EventText(std::string_view id, std::string_view kind, const format::Value& data) {
  std::string text;
  if (!id.empty()) text += base::Format("id: {}\n", id);
  // JSON in one line: a line end inside a text is written as \n.
  text += base::Format("event: {}\ndata: {}\n\n", kind,
                       format::WriteJson(data, format::JsonStyle::kCompact));
  return text;
}

std::string_view StartOf(const HttpRequest& request, std::string_view cursor) {
  if (!cursor.empty()) return cursor;
  if (!request.last_event_id.empty()) return request.last_event_id;
  return QueryText(request, "after");
}

StreamPart ProblemPart(const base::Error& error, const std::string& cursor) {
  format::Value data = format::Map();
  data.Add("detail", format::Text(error.ToString()));
  return {.text = EventText("", "problem", data),
          .cursor = cursor,
          .end = true,
          .instead = Problem(error)};
}

}  // namespace muster::api
