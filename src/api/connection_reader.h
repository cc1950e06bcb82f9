// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 messages from bytes, without a socket: what is strict about the protocol is decided
// here. The only place that includes Beast's parsers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace muster::api {

/// What a reader made of the bytes it was given.
struct Progress {
  enum class Step : std::uint8_t {
    kNeedMore,  ///< all that is of use was taken; the rest, if any, must come again with more
    kHead,      ///< the head is there; go on feeding
    kDone,      ///< the message is whole; what was not taken belongs to the next
    kBad,       ///< no message: see `status` and `fault`
  };
  Step step = Step::kNeedMore;
  std::size_t used = 0;  ///< bytes taken
};

struct RequestHead {
  std::string method;
  bool known_method = false;  ///< one that HTTP defines
  std::string target;
  int minor_version = 1;  ///< HTTP/1.x
  bool keep_alive = false;
  bool has_body = false;
  bool expects_continue = false;
  std::string host;
  std::string content_type;
  std::string authorization;
  std::string idempotency_key;
  std::string last_event_id;
  std::string request_id;  ///< given by the caller and fit to be repeated, else empty
};

/// Reads one request. Refused: both lengths and chunks, any transfer coding but chunks, two of a
/// header that may be there once, HTTP/1.1 without `Host`.
class RequestReader {
 public:
  struct Bounds {
    std::size_t header_bytes = 0;
    std::size_t body_bytes = 0;
  };
  explicit RequestReader(const Bounds& bounds);
  ~RequestReader();

  Progress Feed(std::string_view input);
  const RequestHead& head() const { return head_; }
  std::size_t body_size() const;
  std::string TakeBody();
  /// After `kBad`: the status to answer with, and what was wrong.
  int status() const { return status_; }
  const std::string& fault() const { return fault_; }

 private:
  struct Parser;
  Progress Bad(int status, std::string fault);
  bool ReadHead();

  Bounds bounds_;
  std::unique_ptr<Parser> parser_;
  RequestHead head_;
  std::size_t head_bytes_ = 0;
  int status_ = 0;
  std::string fault_;
};

/// Reads one response.
class ResponseReader {
 public:
  struct Bounds {
    std::size_t body_bytes = 0;  ///< at one time, where the body is taken as it comes
    bool no_body = false;        ///< the answer to HEAD
  };
  explicit ResponseReader(const Bounds& bounds);
  ~ResponseReader();

  Progress Feed(std::string_view input);
  /// The connection ended: `kDone` if that is how the message ends.
  Progress FeedEnd();
  bool started() const;  ///< any byte was taken
  int status() const;
  std::string content_type() const;
  bool keep_alive() const;
  /// What came of the body since the last call.
  std::string TakeBody();
  const std::string& fault() const { return fault_; }

 private:
  struct Parser;
  struct Outcome;
  Progress After(const Outcome& outcome);

  std::unique_ptr<Parser> parser_;
  bool told_head_ = false;
  bool started_ = false;
  std::string fault_;
};

}  // namespace muster::api
