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
#include "base/utf8.h"
#include "format/tree_builder.h"

namespace muster::format {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

Position ToPosition(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

/// yaml-cpp lets broken UTF-8 through, and nothing that holds it could be written as JSON.
std::optional<Position> BrokenUtf8(std::string_view text) {
  Position at{1, 1};
  while (!text.empty()) {
    const std::size_t size = base::Utf8Size(text);
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

/// Whether YAML takes the character at the start of `text` for a line end or not at all, though it
/// is no control character: U+2028, U+2029, the byte order mark, U+FFFE and U+FFFF.
bool NeedsEscape(std::string_view text) {
  constexpr std::string_view kCharacters[] = {"\xE2\x80\xA8", "\xE2\x80\xA9", "\xEF\xBB\xBF",
                                              "\xEF\xBF\xBE", "\xEF\xBF\xBF"};
  return std::ranges::any_of(kCharacters, [&](auto each) { return text.starts_with(each); });
}

/// Number of a character of up to three bytes.
unsigned CodePoint(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  if (character.size() == 2) return (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU);
  return (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
}

std::string QuoteYaml(std::string_view text) {
  const std::string valid = base::ValidUtf8(text);
  std::string out = "\"";
  for (std::string_view rest = valid; !rest.empty();) {
    const std::string_view character = rest.substr(0, base::Utf8Size(rest));
    if (character == "\"" || character == "\\") {
      out += '\\';
      out += character;
    } else if (character == "\n") {
      out += "\\n";
    } else if (base::ControlSize(rest) != 0) {
      out += base::Format("\\x{:02x}", CodePoint(character));
    } else if (NeedsEscape(rest)) {
      out += base::Format("\\u{:04x}", CodePoint(character));
    } else {
      out += character;
    }
    rest.remove_prefix(character.size());
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

/// The first tab among the blanks that begin a line.
std::optional<Position> IndentingTab(std::string_view text) {
  int line = 0;
  for (const std::string_view each : base::Split(text, '\n')) {
    ++line;
    const std::string_view indent = each.substr(0, each.find_first_not_of(" \t"));
    const std::size_t tab = indent.find('\t');
    if (tab != std::string_view::npos) return Position{line, static_cast<int>(tab) + 1};
  }
  return std::nullopt;
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
    if (const std::optional<Position> tab = IndentingTab(text)) {
      return Error{ErrorCode::kInvalid, "a tab indents this line; YAML takes blanks only",
                   Where(file, *tab)};
    }
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
