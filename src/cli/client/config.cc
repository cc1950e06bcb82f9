// SPDX-License-Identifier: Apache-2.0
#include "cli/client/config.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "base/utf8.h"
#include "format/codec.h"
#include "format/file.h"
#include "format/yaml.h"

namespace muster::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

const format::Codec<ClientConfig>& ConfigCodec() {
  using format::FreeText;
  using format::Key;
  static const auto codec = format::Struct<ClientConfig>({
      Key("current", &ClientConfig::current, format::Name(), "name of the context that is meant"),
      Key("contexts", &ClientConfig::contexts,
          format::ListOf(format::Struct<ServerContext>({
              Key("name", &ServerContext::name, format::Name(), "what it is called").Required(),
              Key("server", &ServerContext::server, FreeText(), "where it is").Required(),
              Key("token", &ServerContext::token, FreeText(), "a token of that server"),
              Key("caCertificate", &ServerContext::ca_certificate, FreeText(),
                  "PEM file that vouches for it"),
          })),
          "the servers"),
  });
  return codec;
}

void CheckNames(const ClientConfig& config, format::Decoder& decoder) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < config.contexts.size(); ++i) {
    const std::string& name = config.contexts[i].name;
    if (!name.empty() && std::ranges::find(names, name) != names.end()) {
      decoder.ReportRule({ErrorCode::kInvalid, Format("{} is given twice", base::Quote(name)),
                          Format("contexts[{}].name", i)});
    }
    names.push_back(name);
  }
  if (!config.current.empty() && config.Find(config.current) == nullptr) {
    decoder.ReportRule({ErrorCode::kInvalid, format::NoSuchName(config.current, names), "current"});
  }
}

bool HasTokens(const ClientConfig& config) {
  return std::ranges::any_of(config.contexts,
                             [](const ServerContext& each) { return !each.token.empty(); });
}

}  // namespace

const ServerContext* ClientConfig::Find(std::string_view name) const {
  const auto found = std::ranges::find(contexts, name, &ServerContext::name);
  return found == contexts.end() ? nullptr : &*found;
}

base::Checked<ClientConfig> ParseClientConfig(std::string_view text, const std::string& file) {
  auto parsed = format::ParseYaml(text, file);
  if (!parsed) return parsed.error();
  if (parsed->documents.empty() || parsed->documents.front().kind == format::Value::Kind::kNull)
    return ClientConfig{};
  format::Decoder decoder({});
  ClientConfig config = ConfigCodec().decode(parsed->documents.front(), decoder);
  CheckNames(config, decoder);
  std::vector<format::Fault> faults = std::move(parsed->faults);
  faults.insert(faults.end(), decoder.faults().begin(), decoder.faults().end());
  if (parsed->documents.size() > 1)
    faults.push_back({parsed->documents[1].at, "a second document; this file has one"});
  if (!faults.empty()) return format::ToErrors(file, std::move(faults));
  return config;
}

base::Checked<ClientConfig> ReadClientConfig(const std::string& file) {
  struct stat there {};
  if (stat(file.c_str(), &there) != 0 && (errno == ENOENT || errno == ENOTDIR))
    return ClientConfig{};
  const auto text = format::ReadFile(file, kMostBytes);
  if (!text) return text.error();
  auto config = ParseClientConfig(*text, file);
  if (config && HasTokens(*config) && (there.st_mode & 0077) != 0) {
    return Error{ErrorCode::kInvalid,
                 "it holds tokens, and others may read it; run chmod 600 on it",
                 base::Printable(file)};
  }
  return config;
}

}  // namespace muster::cli
