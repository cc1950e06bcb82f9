// SPDX-License-Identifier: Apache-2.0
// Text <-> tree, YAML and JSON side by side.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "format/json.h"
#include "format/parse.h"
#include "format/yaml.h"

namespace muster::format {
namespace {

using base::Result;

std::string Nested(std::size_t depth, char open, char close) {
  return std::string(depth, open) + std::string(depth, close);
}

TEST(Yaml, KeepsOrderPositionsAndQuotes) {
  const Result<Parsed> parsed = ParseYaml("b: 1\na:\n  - 'x'\n  - {c: ~}\n", "f");
  ASSERT_TRUE(parsed);
  const Value& root = parsed->documents.front();
  ASSERT_EQ(root.entries.size(), 2U);
  EXPECT_EQ(root.entries[0].key, "b");
  EXPECT_EQ(root.entries[1].at, (Position{2, 1}));
  const Value& list = root.entries[1].value;
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_TRUE(list.items[0].quoted);
  EXPECT_EQ(list.items[0].at, (Position{3, 5}));
  EXPECT_EQ(list.items[1].Find("c")->kind, Value::Kind::kNull);
  EXPECT_FALSE(root.Find("b")->quoted);
}

TEST(Yaml, ReadsSeveralDocuments) {
  const Result<Parsed> parsed = ParseYaml("a: 1\n---\nb: 2\n", "f");
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->documents.size(), 2U);
  EXPECT_EQ(parsed->documents[1].at, (Position{3, 1}));
}

TEST(Json, KeepsOrderPositionsAndDigits) {
  const Result<Parsed> parsed =
      ParseJson("{\"b\": 12.50,\n \"\\u00e9\": [\"x\", -1e2, true, null, \"\"]}", "f");
  ASSERT_TRUE(parsed) << parsed.error().ToString();
  const Value& root = parsed->documents.front();
  EXPECT_EQ(root.Find("b")->text, "12.50");
  EXPECT_EQ(root.Find("b")->at, (Position{1, 7}));
  EXPECT_EQ(root.entries[1].key, "é");
  EXPECT_EQ(root.entries[1].at, (Position{2, 2}));
  const Value& list = root.entries[1].value;
  EXPECT_EQ(list.at, (Position{2, 12}));
  ASSERT_EQ(list.items.size(), 5U);
  EXPECT_TRUE(list.items[0].quoted);
  EXPECT_EQ(list.items[1].text, "-1e2");
  EXPECT_EQ(list.items[1].at, (Position{2, 18}));
  EXPECT_EQ(list.items[2].text, "true");
  EXPECT_EQ(list.items[3].kind, Value::Kind::kNull);
  EXPECT_EQ(list.items[4].at, (Position{2, 36}));
}

TEST(Text, RefusesWithPlaceAndReason) {
  const struct {
    const char* name;
    std::string text;
    const char* fault;
  } kCases[] = {
      {"open list", "a: [1", "f:1:1: end of sequence flow not found"},
      {"bad indent", "a: 1\n b: 2", "f:2:3: illegal map value"},
      {"anchor", "a: &x 1", "f:1:4: anchors (&name) are not supported; write the value out"},
      {"alias", "a: *x", "f:1:4: the referenced anchor is not defined"},
      {"tag", "a: !!int 1", "f:1:4: tags (\"tag:yaml.org,2002:int\") are not supported"},
      {"key is a list", "? [a]\n: b", "f:1:3: a key must be a text"},
      {"broken UTF-8", "a: 1\nb: \xe6", "f:2:4: not UTF-8 text"},
      {"deep YAML", "a: " + Nested(65, '[', ']'), "f:1:67: nested more than 64 deep"},
      {"only a comment", "# nothing\n", "f: holds no document"},
      {"trailing comma", "{\"a\": 1,}", "f:1:9: syntax error"},
      {"cut word", "{\"a\": tru}", "f:1:10: syntax error"},
      {"cut document", "{\"a\": 1", "f:1:8: incomplete JSON"},
      {"second value", "{} {}", "f:1:4: extra data"},
      {"second value at once", "{\"a\": 1}5", "f:1:9: extra data"},
      {"deep JSON", "{\"a\": " + Nested(64, '[', ']') + "}", "f:1:70: nested more than 64 deep"},
  };
  for (const auto& test : kCases) {
    const Result<Parsed> parsed = ParseText(test.text, "f");
    ASSERT_FALSE(parsed) << test.name;
    EXPECT_EQ(parsed.error().ToString(), test.fault) << test.name;
  }
}

TEST(Text, NotesDuplicateKeys) {
  for (const std::string text :
       {"a: 1\nb: {c: 1, c: 2}\na: 3\n", "{\"a\": 1,\n\"b\": {\"c\":1, \"c\": 2},\n\"a\": 3}"}) {
    const Result<Parsed> parsed = ParseText(text, "f");
    ASSERT_TRUE(parsed);
    const base::Errors errors = ToErrors("f", parsed->faults);
    ASSERT_EQ(errors.size(), 2U) << text;
    EXPECT_EQ(errors[0].message, "key \"c\" is given twice; first at line 2");
    EXPECT_EQ(errors[1].message, "key \"a\" is given twice; first at line 1");
    EXPECT_TRUE(errors[1].where.starts_with("f:3:")) << errors[1].where;
  }
}

TEST(Text, DetectsTheKind) {
  // A wrong version is found with the other faults, by the parser of the kind.
  EXPECT_EQ(DetectKind("apiVersion: v1\nkind: Job", "f").value(), DocumentKind::kJob);
  EXPECT_EQ(DetectKind("apiVersion: muster/v1\nkind: Policy\n", "f").value(),
            DocumentKind::kPolicy);
  EXPECT_EQ(DetectKind(" {\"apiVersion\": \"muster/v1\", \"kind\": \"Job\"}", "f").value(),
            DocumentKind::kJob);
  const struct {
    const char* text;
    const char* fault;
  } kCases[] = {
      {"5", "f:1:1: expected a map, found \"5\""},
      {"apiVersion: muster/v1", "f:1:1: key \"kind\" is missing"},
      {"apiVersion: muster/v1\nkind: Jobb",
       "f:2:7: kind: \"Jobb\" is unknown; did you mean \"Job\"?"},
      {"apiVersion: muster/v1\nkind: Pod",
       "f:2:7: kind: \"Pod\" is unknown; known are Job, Policy, Cluster"},
      {"apiVersion: muster/v1\nkind: [Job]", "f:2:7: kind: expected a name, found a list"},
  };
  for (const auto& test : kCases) {
    const Result<DocumentKind> kind = DetectKind(test.text, "f");
    ASSERT_FALSE(kind) << test.text;
    EXPECT_EQ(kind.error().ToString(), test.fault);
  }
}

// Invalid bytes went into both raw, and line ends of Unicode into YAML.
TEST(Text, IsAlwaysValidWhenWritten) {
  using namespace std::string_literals;
  const struct {
    std::string text;
    std::string read;
  } kCases[] = {
      {"a\xFFz", "a\xEF\xBF\xBDz"},
      {"\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\x1b[31m\x7f\0"s, "\x1b[31m\x7f\0"s},
      {"\xC2\x85\xC2\x9B", "\xC2\x85\xC2\x9B"},
      {"a\xE2\x80\xA8z\xE2\x80\xA9", "a\xE2\x80\xA8z\xE2\x80\xA9"},
      {"\xEF\xBB\xBFx\xEF\xBF\xBE", "\xEF\xBB\xBFx\xEF\xBF\xBE"},
      {"caf\xC3\xA9 \xF0\x9F\x98\x80\n\t", "caf\xC3\xA9 \xF0\x9F\x98\x80\n\t"},
  };
  for (const auto& test : kCases) {
    const Value map = Map({{test.text, Text(test.text), {}}});
    const auto json = ParseJson(WriteJson(map), "j");
    ASSERT_TRUE(json) << json.error().ToString();
    const auto yaml = ParseYaml(WriteYaml(map), "y");
    ASSERT_TRUE(yaml) << yaml.error().ToString() << WriteYaml(map);
    for (const auto* parsed : {&*json, &*yaml}) {
      const Entry& entry = parsed->documents.front().entries.front();
      EXPECT_EQ(entry.key, test.read);
      EXPECT_EQ(entry.value.text, test.read);
    }
  }
  EXPECT_EQ(WriteYaml(Text("\x1b\xC2\x85\xE2\x80\xA8")), "\"\\x1b\\x85\\u2028\"\n");
}

TEST(Text, WritesBothForms) {
  Value tree = Map();
  tree.Add("text", Text("8"));
  tree.Add("number", Plain("8"));
  tree.Add("amount", Plain("80Gi"));
  tree.Add("list", List({Text("a"), Text("yes")}));
  Value item = Map();
  item.Add("x", Plain("true"));
  item.Add("z", Map());
  tree.Add("maps", List({item, item}));
  tree.Add("none", Value{});
  EXPECT_EQ(WriteYaml(tree),
            "text: \"8\"\nnumber: 8\namount: 80Gi\nlist: [a, \"yes\"]\n"
            "maps:\n  - x: true\n    z: {}\n  - x: true\n    z: {}\nnone: null\n");
  EXPECT_EQ(WriteJson(tree, JsonStyle::kCompact),
            R"({"text":"8","number":8,"amount":"80Gi","list":["a","yes"],)"
            R"("maps":[{"x":true,"z":{}},{"x":true,"z":{}}],"none":null})");
  EXPECT_EQ(WriteJson(List({Plain("1"), List()})), "[\n  1,\n  []\n]\n");
}

rc::Gen<std::string> AnyText() {
  return rc::gen::container<std::string>(rc::gen::element(
      'a', 'Z', '0', '8', ' ', ':', '#', '-', '"', '\'', '\\', '\n', '\t', '[', ']', '{', '}', ',',
      '&', '*', '!', '|', '>', '%', '@', '`', '.', '~', '\x01'));
}

Value AnyTree(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 5 : 3);
  if (kind == 0) return Value{};
  if (kind == 1) return Plain(std::to_string(*rc::gen::inRange(0, 1000)));
  if (kind == 2) return Text(*AnyText());
  Value out = kind == 3 ? List() : Map();
  const int size = *rc::gen::inRange(0, 4);
  for (int i = 0; i < size; ++i) {
    if (kind == 3) {
      out.items.push_back(AnyTree(depth - 1));
    } else {
      out.Add(std::to_string(i) + *AnyText(), AnyTree(depth - 1));
    }
  }
  return out;
}

RC_GTEST_PROP(Text, WhatIsWrittenReadsBackTheSame, ()) {
  const Value tree = AnyTree(3);
  const Result<Parsed> yaml = ParseYaml(WriteYaml(tree), "yaml");
  RC_ASSERT(yaml.has_value());
  RC_ASSERT(SameContent(yaml->documents.front(), tree));
  const Result<Parsed> json = ParseJson(WriteJson(tree), "json");
  RC_ASSERT(json.has_value());
  RC_ASSERT(SameContent(json->documents.front(), tree));
}

}  // namespace
}  // namespace muster::format
