// SPDX-License-Identifier: Apache-2.0
#include "api/client_events.h"

#include <algorithm>

#include "base/strings.h"

namespace muster::api {

base::Result<bool> EventReader::Feed(std::string_view text, const Take& take) {
  while (!text.empty()) {
    // "\r\n" is one line end, also when it is cut in two.
    if (after_return_ && text.front() == '\n') text.remove_prefix(1);
    after_return_ = false;
    const std::size_t end = text.find_first_of("\r\n");
    line_ += text.substr(0, end);
    if (line_.size() + data_.size() > kMaxEvent) {
      return base::Error{base::ErrorCode::kInvalid,
                         base::Format("the server sent an event of more than {} bytes", kMaxEvent)};
    }
    if (end == std::string_view::npos) return true;
    after_return_ = text[end] == '\r';
    text.remove_prefix(end + 1);
    const std::string line = std::move(line_);
    line_.clear();
    if (!TakeLine(line, take)) return false;
  }
  return true;
}

bool EventReader::TakeLine(std::string_view line, const Take& take) {
  if (line.empty()) {
    bool go_on = true;
    if (has_data_) go_on = take(id_, event_.empty() ? "message" : event_, data_);
    event_.clear();
    data_.clear();
    has_data_ = false;
    return go_on;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  } else if (field == "event") {
    event_ = value;
  } else if (field == "id" && value.find('\0') == std::string_view::npos) {
    id_ = value;
  }
  return true;
}

}  // namespace muster::api
