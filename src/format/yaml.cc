// SPDX-License-Identifier: Apache-2.0
#include "format/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <sstream>
#include <utility>

#include "base/strings.h"
#include "format/tree_builder.h"

namespace muster::format {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

Position ToPosition(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

/// Bytes of the UTF-8 character at the start of `text`; 0 if there is none.
std::size_t CharacterSize(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  if (byte(0) < 0x80) return 1;
  const std::size_t size = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xED && byte(1) > 0x9F;
  const bool beyond = byte(0) == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || beyond ? 0 : size;
}

/// yaml-cpp lets broken UTF-8 through, and nothing that holds it could be written as JSON.
std::optional<Position> BrokenUtf8(std::string_view text) {
  Position at{1, 1};
  while (!text.empty()) {
    const std::size_t size = CharacterSize(text);
    if (size == 0) return at;
    at = text.front() == '\n' ? Position{at.line + 1, 1} : Position{at.line, at.column + 1};
    text.remove_prefix(size);
  }
  return std::nullopt;
}

/// Feeds yaml-cpp's events to a tree. Refusals leave by yaml-cpp's own exception, which ends its
/// parse.
class Events : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override { tree_.FinishDocument(); }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    RefuseAsKey(mark);
    tree_.Scalar(Value{}, ToPosition(mark));
    StopAtBound(mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw YAML::ParserException(mark, "aliases (*name) are not supported; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    RefuseAnchor(mark, anchor);
    const bool quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!quoted) RefuseTag(mark, tag);
    if (tree_.ExpectsKey()) return tree_.Key(text, ToPosition(mark));
    tree_.Scalar(quoted ? Text(text) : Plain(text), ToPosition(mark));
    StopAtBound(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    CheckContainer(mark, tag, anchor);
    tree_.OpenList(ToPosition(mark));
    StopAtBound(mark);
  }
  void OnSequenceEnd() override { tree_.Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    CheckContainer(mark, tag, anchor);
    tree_.OpenMap(ToPosition(mark));
    StopAtBound(mark);
  }
  void OnMapEnd() override { tree_.Close(); }

  Parsed Take() && { return std::move(tree_).Take(); }

 private:
  static void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor == YAML::NullAnchor) return;
    throw YAML::ParserException(mark, "anchors (&name) are not supported; write the value out");
  }
  static void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw YAML::ParserException(mark, "tags (" + base::Quote(tag) + ") are not supported");
  }
  void RefuseAsKey(const YAML::Mark& mark) const {
    if (tree_.ExpectsKey()) throw YAML::ParserException(mark, "a key must be a text");
  }
  void CheckContainer(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    RefuseAsKey(mark);
  }
  void StopAtBound(const YAML::Mark& mark) const {
    if (tree_.overrun()) throw YAML::ParserException(mark, tree_.overrun()->message);
  }

  TreeBuilder tree_;
};

// Writing.

constexpr std::size_t kIndent = 2;
constexpr std::size_t kFlowWidth = 80;  // a list longer than this is written one item a line

/// Whether `text` without quotes is read back as this text by any YAML reader.
bool SafeUnquoted(std::string_view text) {
  if (text.empty() || text.size() > 200) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto plain = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '/';
  };
  if (!letter(text.front()) && text.front() != '/') return false;
  if (!std::ranges::all_of(text, plain)) return false;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  constexpr std::string_view kWords[] = {"true", "false", "yes", "no",  "on",
                                         "off",  "y",     "n",   "null"};
  return std::ranges::find(kWords, lower) == std::end(kWords);
}

std::string QuoteYaml(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += base::Format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string Scalar(const Value& value) {
  if (value.kind == Value::Kind::kNull) return "null";
  if (!value.quoted || SafeUnquoted(value.text)) return value.text;
  return QuoteYaml(value.text);
}

std::string KeyText(std::string_view key) {
  return SafeUnquoted(key) ? std::string(key) : QuoteYaml(key);
}

bool IsScalar(const Value& value) {
  return value.kind == Value::Kind::kScalar || value.kind == Value::Kind::kNull;
}

/// The value in one line, or empty when it is to be written as a block.
std::string InOneLine(const Value& value) {
  if (IsScalar(value)) return Scalar(value);
  if (value.kind == Value::Kind::kMap) return value.entries.empty() ? "{}" : "";
  if (!std::ranges::all_of(value.items, IsScalar)) return "";
  std::vector<std::string> items;
  for (const Value& item : value.items) items.push_back(Scalar(item));
  std::string line = "[" + base::Join(items, ", ") + "]";
  return line.size() <= kFlowWidth || items.empty() ? line : "";
}

void WriteBlock(const Value& value, std::size_t indent, std::string& out);

/// What follows `key:` or `-`, up to and with the line end.
void WriteAfter(const Value& value, std::size_t indent, std::string& out) {
  const std::string line = InOneLine(value);
  if (!line.empty()) {
    out += " " + line + "\n";
    return;
  }
  out += "\n";
  WriteBlock(value, indent, out);
}

void WriteBlock(const Value& value, std::size_t indent, std::string& out) {
  const std::string blanks(indent, ' ');
  for (const Value& item : value.items) {
    out += blanks + "-";
    const bool map = item.kind == Value::Kind::kMap && !item.entries.empty();
    const std::size_t start = out.size();
    if (map) {
      // The first key stands on the line of the dash: drop the blanks that would precede it.
      WriteBlock(item, indent + kIndent, out);
      out.erase(start, indent + 1);
    } else {
      WriteAfter(item, indent + kIndent, out);
    }
  }
  for (const Entry& entry : value.entries) {
    out += blanks + KeyText(entry.key) + ":";
    WriteAfter(entry.value, indent + kIndent, out);
  }
}

}  // namespace

Result<Parsed> ParseYaml(std::string_view text, std::string_view file) {
  if (const std::optional<Position> at = BrokenUtf8(text)) {
    return Error{ErrorCode::kInvalid, "not UTF-8 text", Where(file, *at)};
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Events events;
    while (parser.HandleNextDocument(events)) {
    }
    return std::move(events).Take();
  } catch (const YAML::Exception& fault) {
    const bool placed = !fault.mark.is_null();
    return Error{ErrorCode::kInvalid, fault.msg,
                 Where(file, placed ? ToPosition(fault.mark) : Position{})};
  } catch (const std::exception& fault) {
    return Error{ErrorCode::kInvalid, base::Format("cannot be read as YAML: {}", fault.what()),
                 std::string(file)};
  }
}

std::string WriteYaml(const Value& value) {
  const std::string line = InOneLine(value);
  if (!line.empty()) return line + "\n";
  std::string out;
  WriteBlock(value, 0, out);
  return out;
}

}  // namespace muster::format
