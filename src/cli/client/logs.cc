// SPDX-License-Identifier: Apache-2.0
// The output of a rank: bytes, as they were written.
#include <algorithm>
#include <ostream>

#include "base/strings.h"
#include "cli/client/fields.h"
#include "cli/client/jobs.h"

namespace muster::cli {
namespace {

using base::ErrorCode;
using base::Format;
using format::Value;

/// Most that one answer holds, and most that is looked through for the last lines.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
/// Less than a rank has written before its oldest output is rotated away.
constexpr std::size_t kNeverRotated = std::size_t{32} << 10;

Query BaseQuery(const LogChoice& choice) {
  Query query;
  if (choice.rank) query.emplace_back("rank", Format("{}", *choice.rank));
  if (choice.attempt) query.emplace_back("attempt", Format("{}", *choice.attempt));
  return query;
}

std::string LogPath(const LogChoice& choice, std::string_view more, Query query) {
  for (auto& [name, value] : BaseQuery(choice)) query.emplace_back(name, std::move(value));
  return Path(Format("/v1/jobs/{}/logs{}", choice.job, more), query);
}

std::string FromBase64(std::string_view text) {
  std::string out;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    std::uint32_t digit = 0;
    if (c >= 'A' && c <= 'Z') {
      digit = static_cast<std::uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      digit = static_cast<std::uint32_t>(c - 'a' + 26);
    } else if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint32_t>(c - '0' + 52);
    } else if (c == '+' || c == '/') {
      digit = c == '+' ? 62 : 63;
    } else {
      break;
    }
    group = group << 6 | digit;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(group >> bits & 0xFF);
  }
  return out;
}

/// How many bytes at the end the last lines take.
std::size_t SizeOfLines(std::string_view text, std::int64_t lines) {
  std::size_t begin = text.size();
  if (text.ends_with('\n')) --begin;
  for (; begin > 0; --begin) {
    if (text[begin - 1] == '\n' && --lines == 0) break;
  }
  return text.size() - begin;
}

base::Checked<std::string> Tail(Connection& server, const LogChoice& choice) {
  if (*choice.last_lines == 0) return std::string();
  auto answer = server.GetRaw(LogPath(
      choice, "", {{"tail", Format("{}", kMostBytes)}, {"limit", Format("{}", kMostBytes)}}));
  if (!answer) return answer.error();
  const std::size_t size = SizeOfLines(answer->body, *choice.last_lines);
  return answer->body.substr(answer->body.size() - size);
}

/// Where the oldest kept byte is: more than 0 where old output was rotated away.
base::Checked<std::uint64_t> FirstOffset(Connection& server, const LogChoice& choice) {
  std::uint64_t offset = 0;
  const base::Status status =
      server.Stream(LogPath(choice, "/stream", {}),
                    [&](std::string_view, std::string_view event, const Value& data) {
                      if (event == "log")
                        offset = static_cast<std::uint64_t>(NumberAt(data, "offset"));
                      return false;
                    });
  if (!status) return status.error();
  return offset;
}

}  // namespace

base::Errors CopyLog(Connection& server, const LogChoice& choice, Streams& streams) {
  if (choice.last_lines) {
    const auto tail = Tail(server, choice);
    if (!tail) return tail.error();
    streams.out << *tail;
    return {};
  }
  std::uint64_t offset = 0;
  while (true) {
    const auto answer = server.GetRaw(LogPath(
        choice, "", {{"offset", Format("{}", offset)}, {"limit", Format("{}", kMostBytes)}}));
    if (!answer) return answer.error();
    streams.out << answer->body;
    if (answer->body.empty() || !streams.out) return {};
    if (offset == 0 && answer->body.size() > kNeverRotated) {
      const auto first = FirstOffset(server, choice);
      if (!first) return first.error();
      offset = *first;
    }
    offset += answer->body.size();
  }
}

base::Errors FollowLog(Connection& server, const LogChoice& choice, Streams& streams) {
  Query query;
  if (choice.last_lines) {
    const auto tail = Tail(server, choice);
    // A job that has not started has no output yet: the stream waits for it.
    if (!tail && tail.error().front().code != ErrorCode::kNotFound) return tail.error();
    query.emplace_back("tail", Format("{}", tail ? tail->size() : 0));
  }
  base::Errors errors;
  const base::Status status = server.Stream(
      LogPath(choice, "/stream", query),
      [&](std::string_view, std::string_view event, const Value& data) {
        if (event == "problem") {
          errors.push_back({ErrorCode::kInvalid, TextAt(data, "detail"), ""});
        } else if (event == "log") {
          const Value* const text = data.Find("text");
          streams.out << (text != nullptr ? text->text : FromBase64(TextAt(data, "base64")))
                      << std::flush;
        }
        return event == "log" && static_cast<bool>(streams.out);
      });
  if (!errors.empty()) return errors;
  return status ? base::Errors{} : base::Errors{status.error()};
}

}  // namespace muster::cli
