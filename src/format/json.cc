// SPDX-License-Identifier: Apache-2.0
#include "format/json.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "base/utf8.h"
#include "format/tree_builder.h"

namespace muster::format {
namespace {

namespace json = boost::json;
using base::Error;
using base::ErrorCode;
using base::Result;

/// Feeds Boost.JSON's events to a tree. Numbers stay text: the parser's own conversion is not
/// looked at.
class Handler {
 public:
  static constexpr std::size_t max_object_size = kMaxNodes;
  static constexpr std::size_t max_array_size = kMaxNodes;
  static constexpr std::size_t max_key_size = std::size_t{1} << 20;
  static constexpr std::size_t max_string_size = std::size_t{1} << 30;

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) {
    tree.FinishDocument();
    return true;
  }
  bool on_object_begin(json::error_code& code) {
    tree.OpenMap(BeginContainer());
    return WithinBounds(code);
  }
  bool on_object_end(std::size_t, json::error_code&) {
    tree.Close();
    return true;
  }
  bool on_array_begin(json::error_code& code) {
    tree.OpenList(BeginContainer());
    return WithinBounds(code);
  }
  bool on_array_end(std::size_t, json::error_code&) {
    tree.Close();
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, json::error_code&) { return Gather(part); }
  bool on_key(json::string_view part, std::size_t, json::error_code&) {
    Gather(part);
    tree.Key(std::exchange(token, {}), start);
    in_token = false;
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
    return Gather(part);
  }
  bool on_string(json::string_view part, std::size_t, json::error_code& code) {
    Gather(part);
    return Finish(Text(std::exchange(token, {})), code);
  }
  bool on_number_part(json::string_view part, json::error_code&) { return Gather(part); }
  bool on_int64(std::int64_t, json::string_view part, json::error_code& code) {
    return Number(part, code);
  }
  bool on_uint64(std::uint64_t, json::string_view part, json::error_code& code) {
    return Number(part, code);
  }
  bool on_double(double, json::string_view part, json::error_code& code) {
    return Number(part, code);
  }
  bool on_bool(bool value, json::error_code& code) {
    return Finish(Plain(value ? "true" : "false"), code);
  }
  bool on_null(json::error_code& code) { return Finish(Value{}, code); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

  TreeBuilder tree;
  std::string token;  ///< of the string or number being read
  Position start;     ///< where it began
  bool in_token = false;

 private:
  bool Gather(json::string_view part) {
    token.append(part.data(), part.size());
    return true;
  }
  bool Number(json::string_view part, json::error_code& code) {
    Gather(part);
    return Finish(Plain(std::exchange(token, {})), code);
  }
  bool Finish(Value scalar, json::error_code& code) {
    tree.Scalar(std::move(scalar), start);
    in_token = false;
    return WithinBounds(code);
  }
  bool WithinBounds(json::error_code& code) const {
    if (tree.overrun()) code = json::error::too_deep;  // its text is replaced by the tree's
    return !tree.overrun();
  }
  Position BeginContainer() {
    in_token = false;
    return start;
  }
};

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool BeginsToken(char c) { return !IsBlank(c) && c != ',' && c != ':' && c != ']' && c != '}'; }

/// Boost.JSON tells no positions. Fed one byte at a time, whatever it reports belongs to this byte.
class PositionedParser {
 public:
  PositionedParser() : parser_(Options()) {}

  /// False after an error; `at` then names its place.
  bool Feed(char c) {
    Handler& handler = parser_.handler();
    if (parser_.done()) {  // fed on, it would begin a second value
      if (!IsBlank(c)) code_ = json::error::extra_data;
      return !code_ && Advance(c);
    }
    if (!handler.in_token && BeginsToken(c)) {
      handler.in_token = true;
      handler.start = at;
    }
    parser_.write_some(true, &c, 1, code_);
    return !code_ && Advance(c);
  }
  bool Finish() {
    if (!parser_.done()) parser_.write_some(false, nullptr, 0, code_);
    return !code_;
  }
  std::string Message() const {
    const std::optional<Fault>& overrun = parser_.handler().tree.overrun();
    return overrun ? overrun->message : code_.message();
  }
  Parsed Take() && { return std::move(parser_.handler().tree).Take(); }

  Position at{1, 1};

 private:
  static json::parse_options Options() {
    json::parse_options options;
    options.max_depth = kMaxDepth + 1;  // the tree's own bound speaks first
    return options;
  }

  bool Advance(char c) {
    if (c == '\n') {
      at = {at.line + 1, 1};
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {  // not inside a UTF-8 sequence
      ++at.column;
    }
    return true;
  }

  json::basic_parser<Handler> parser_;
  json::error_code code_;
};

// Writing.

bool IsJsonNumber(std::string_view text) {
  std::size_t i = text.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t first = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i - first;
  };
  const bool leading_zero = i < text.size() && text[i] == '0';
  const std::size_t whole = digits();
  if (whole == 0 || (leading_zero && whole > 1)) return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

std::string QuoteJson(std::string_view text) {
  return json::serialize(json::string(base::ValidUtf8(text)));
}

std::string Scalar(const Value& value) {
  const bool bare =
      !value.quoted && (IsJsonNumber(value.text) || value.text == "true" || value.text == "false");
  return bare ? value.text : QuoteJson(value.text);
}

class JsonWriter {
 public:
  explicit JsonWriter(JsonStyle style) : pretty_(style == JsonStyle::kPretty) {}

  void Write(const Value& value, std::size_t depth) {
    switch (value.kind) {
      case Value::Kind::kNull:
        out_ += "null";
        return;
      case Value::Kind::kScalar:
        out_ += Scalar(value);
        return;
      case Value::Kind::kList:
        return WriteContainer(value.items, depth, '[', ']',
                              [&](const Value& item) { Write(item, depth + 1); });
      case Value::Kind::kMap:
        return WriteContainer(value.entries, depth, '{', '}', [&](const Entry& entry) {
          out_ += QuoteJson(entry.key) + (pretty_ ? ": " : ":");
          Write(entry.value, depth + 1);
        });
    }
  }
  std::string Take() && {
    if (pretty_) out_ += '\n';
    return std::move(out_);
  }

 private:
  template <class Items, class WriteItem>
  void WriteContainer(const Items& items, std::size_t depth, char open, char close,
                      WriteItem write_item) {
    out_ += open;
    bool first = true;
    for (const auto& item : items) {
      if (!std::exchange(first, false)) out_ += ',';
      NewLine(depth + 1);
      write_item(item);
    }
    if (!items.empty()) NewLine(depth);
    out_ += close;
  }
  void NewLine(std::size_t depth) {
    if (!pretty_) return;
    out_ += '\n';
    out_.append(depth * 2, ' ');
  }

  bool pretty_;
  std::string out_;
};

}  // namespace

Result<Parsed> ParseJson(std::string_view text, std::string_view file) {
  PositionedParser parser;
  const auto fail = [&] {
    return Error{ErrorCode::kInvalid, parser.Message(), Where(file, parser.at)};
  };
  try {
    for (const char c : text) {
      if (!parser.Feed(c)) return fail();
    }
    if (!parser.Finish()) return fail();
    return std::move(parser).Take();
  } catch (const std::exception& fault) {
    return Error{ErrorCode::kInvalid, base::Format("cannot be read as JSON: {}", fault.what()),
                 Where(file, parser.at)};
  }
}

std::string WriteJson(const Value& value, JsonStyle style) {
  JsonWriter writer(style);
  writer.Write(value, 0);
  return std::move(writer).Take();
}

}  // namespace muster::format
