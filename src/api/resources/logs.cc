// SPDX-License-Identifier: Apache-2.0
// The output of a rank: as bytes (GET /v1/jobs/{id}/logs), and as it comes (.../logs/stream).
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "api/resources/answers.h"
#include "api/resources/handlers.h"
#include "api/resources/job_card.h"
#include "api/resources/shapes.h"
#include "api/resources/sse.h"
#include "base/strings.h"
#include "base/units.h"
#include "base/utf8.h"

namespace muster::api {
namespace {

using base::Format;

constexpr std::int64_t kDefaultBytes = 64 * 1024;
constexpr std::int64_t kMostBytes = 1024 * 1024;
/// Of one event of a stream.
constexpr std::size_t kPieceBytes = 32 * 1024;
/// Of one call for a stream: what is left comes with the next.
constexpr int kPiecesPerCall = 8;

struct LogQuery {
  model::JobId job;
  std::int64_t rank = 0;
  std::int64_t attempt = 0;  ///< 0: the latest
  std::int64_t offset = 0;
  std::int64_t limit = kDefaultBytes;
  std::int64_t tail = -1;  ///< -1: not asked for
};

base::Result<LogQuery> ReadQuery(const HttpRequest& request) {
  const base::Result<model::JobId> id = PathJob(request);
  if (!id) return id.error();
  LogQuery query{.job = *id};
  struct Field {
    std::string_view name;
    std::int64_t* into;
    CountRange range;
  };
  const std::array<Field, 5> fields = {{
      {"rank", &query.rank, {.fallback = 0, .max = INT32_MAX}},
      {"attempt", &query.attempt, {.fallback = 0, .max = UINT32_MAX}},
      {"offset", &query.offset, {.fallback = 0}},
      {"limit", &query.limit, {.fallback = kDefaultBytes, .min = 1, .max = kMostBytes}},
      {"tail", &query.tail, {.fallback = -1}},
  }};
  for (const Field& field : fields) {
    const base::Result<std::int64_t> value = QueryCount(request, field.name, field.range);
    if (!value) return value.error();
    *field.into = *value;
  }
  return query;
}

/// The job, if its output may be seen: programs print their environment, and worse.
base::Result<JobCard> FindReadable(const server::Picture& picture, const HttpRequest& request,
                                   model::JobId id) {
  const auto card = FindJob(picture, id);
  if (!card) return NotFound(Format("job {}", id.value));
  if (ActsAsOwner(request.caller, *card)) return *card;
  return base::Error{
      base::ErrorCode::kNotAllowed,
      Format("the output of job {} is for {} and admins only", id.value, card->record->owner.user),
      ""};
}

model::Attempt LatestAttempt(const JobCard& card) {
  return card.last() == nullptr ? model::Attempt{} : card.last()->number;
}

/// Where the last `tail` bytes begin.
base::Result<std::uint64_t> TailOffset(const server::Front& front, driver::LogRequest request,
                                       std::int64_t tail) {
  request.offset = 0;
  request.max_bytes = 1;
  const base::Result<driver::LogChunk> first = front.ReadLog(request);
  if (!first) return first.error();
  return first->end - std::min(first->end, static_cast<std::uint64_t>(tail));
}

base::Result<driver::LogRequest> ToLogRequest(const server::Front& front, const LogQuery& query,
                                              model::Attempt latest) {
  driver::LogRequest log{.job = query.job,
                         .attempt = query.attempt == 0
                                        ? latest
                                        : model::Attempt{static_cast<std::uint32_t>(query.attempt)},
                         .rank = static_cast<std::int32_t>(query.rank),
                         .offset = static_cast<std::uint64_t>(query.offset),
                         .max_bytes = static_cast<std::size_t>(query.limit)};
  if (query.tail < 0) return log;
  const base::Result<std::uint64_t> offset = TailOffset(front, log, query.tail);
  if (!offset) return offset.error();
  log.offset = *offset;
  return log;
}

/// Where a stream stands: "ATTEMPT:OFFSET".
struct LogCursor {
  std::uint32_t attempt = 0;
  std::uint64_t offset = 0;
};

std::string CursorText(const LogCursor& cursor) {
  return Format("{}:{}", cursor.attempt, cursor.offset);
}

std::optional<LogCursor> ParseCursor(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto attempt = base::ParseCount(text.substr(0, colon));
  const auto offset = base::ParseCount(text.substr(colon + 1));
  if (!attempt || !offset || *attempt < 1 || *attempt > UINT32_MAX) return std::nullopt;
  return LogCursor{static_cast<std::uint32_t>(*attempt), static_cast<std::uint64_t>(*offset)};
}

/// Bytes at the end of `bytes` that begin a UTF-8 character whose rest has yet to come.
std::size_t UnfinishedSize(std::string_view bytes) {
  for (std::size_t size = 1; size <= 3 && size <= bytes.size(); ++size) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - size]);
    if ((byte & 0xC0) == 0x80) continue;  // inside a character
    const bool leads = byte >= 0xC2 && byte <= 0xF4;
    const std::size_t whole = !leads ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return whole > size ? size : 0;
  }
  return 0;
}

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

format::Value PieceValue(const LogCursor& at, std::string_view bytes) {
  format::Value value = format::Map();
  value.Add("attempt", Number(at.attempt));
  value.Add("offset", Number(at.offset));
  if (base::IsUtf8(bytes)) {
    value.Add("text", format::Text(std::string(bytes)));
  } else {
    value.Add("base64", format::Text(Base64(bytes)));
  }
  return value;
}

bool IsOver(const JobCard& card, std::uint32_t attempt) {
  if (card.ended()) return true;
  const server::AttemptRecord* const last = card.last();
  return last == nullptr || last->number.value != attempt || last->ended.us != 0;
}

/// Pieces of the log from `cursor` on, and the end where it has been reached.
StreamPart ReadPieces(server::Front& front, const JobCard& card, std::int32_t rank,
                      LogCursor cursor) {
  StreamPart part;
  const bool over = IsOver(card, cursor.attempt);
  bool all = false;
  for (int piece = 0; piece < kPiecesPerCall && !all; ++piece) {
    auto chunk = front.ReadLog({.job = card.id,
                                .attempt = model::Attempt{cursor.attempt},
                                .rank = rank,
                                .offset = cursor.offset,
                                .max_bytes = kPieceBytes});
    // A rank that has not written yet may have no log.
    if (!chunk && (over || chunk.error().code != base::ErrorCode::kNotFound))
      return ProblemPart(chunk.error(), CursorText(cursor));
    if (!chunk) break;
    all = chunk->offset + chunk->bytes.size() >= chunk->end;
    std::string_view bytes = chunk->bytes;
    if (!(all && over)) bytes.remove_suffix(UnfinishedSize(bytes));
    if (bytes.empty()) break;
    const LogCursor at{cursor.attempt, chunk->offset};
    cursor.offset = chunk->offset + bytes.size();
    part.text += EventText(CursorText(cursor), "log", PieceValue(at, bytes));
  }
  part.cursor = CursorText(cursor);
  if (all && over) {
    format::Value end = format::Map();
    end.Add("state", format::Text(std::string(Name(card.state))));
    end.Add("attempt", Number(cursor.attempt));
    part.text += EventText(part.cursor, "end", end);
    part.end = true;
  }
  return part;
}

}  // namespace

HttpResponse ReadLog(server::Front& front, const HttpRequest& request) {
  const base::Result<LogQuery> query = ReadQuery(request);
  if (!query) return Problem(query.error());
  const server::PicturePtr picture = front.Look();
  const base::Result<JobCard> card = FindReadable(*picture, request, query->job);
  if (!card) return Problem(card.error());
  const model::Attempt latest = LatestAttempt(*card);
  if (latest.value == 0)
    return Problem(NotFound(Format("output: job {} was never started", query->job.value)));
  const base::Result<driver::LogRequest> log = ToLogRequest(front, *query, latest);
  if (!log) return Problem(log.error());
  base::Result<driver::LogChunk> chunk = front.ReadLog(*log);
  if (!chunk) return Problem(chunk.error());
  return {.content_type = "application/octet-stream",
          .body = std::move(chunk->bytes),
          .headers = {{"X-Log-Attempt", std::to_string(log->attempt.value)},
                      {"X-Log-Offset", std::to_string(chunk->offset)},
                      {"X-Log-End", std::to_string(chunk->end)}}};
}

StreamPart StreamLog(server::Front& front, const HttpRequest& request, const std::string& cursor) {
  const base::Result<LogQuery> query = ReadQuery(request);
  if (!query) return ProblemPart(query.error(), cursor);
  const server::PicturePtr picture = front.Look();
  const base::Result<JobCard> card = FindReadable(*picture, request, query->job);
  if (!card) return ProblemPart(card.error(), cursor);
  const auto rank = static_cast<std::int32_t>(query->rank);
  const std::string_view from = StartOf(request, cursor);
  if (!from.empty()) {
    const auto at = ParseCursor(from);
    if (!at) {
      return ProblemPart(
          Invalid(Format("{} is no place in a log; it is ATTEMPT:OFFSET", base::Quote(from))),
          cursor);
    }
    return ReadPieces(front, *card, rank, *at);
  }
  const model::Attempt latest = LatestAttempt(*card);
  if (latest.value == 0 && !card->ended()) return {};  // its first bytes are yet to come
  if (latest.value == 0)
    return ProblemPart(NotFound(Format("output: job {} was never started", card->id.value)),
                       cursor);
  const base::Result<driver::LogRequest> log = ToLogRequest(front, *query, latest);
  if (!log) return ProblemPart(log.error(), cursor);
  return ReadPieces(front, *card, rank, {log->attempt.value, log->offset});
}

}  // namespace muster::api
