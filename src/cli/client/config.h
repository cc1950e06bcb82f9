// SPDX-License-Identifier: Apache-2.0
// ~/.config/muster/config.yaml: which servers there are, and which one is meant.
//
//   current: lab
//   contexts:
//     - name: lab
//       server: https://muster.example:7070
//       token: mst1_...
//       caCertificate: /etc/ssl/lab.pem
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::cli {

struct ServerContext {
  std::string name;
  std::string server;
  std::string token;           ///< empty: none
  std::string ca_certificate;  ///< empty: the system's
  friend bool operator==(const ServerContext&, const ServerContext&) = default;
};

struct ClientConfig {
  std::string current;  ///< name of a context; empty: none is chosen
  std::vector<ServerContext> contexts;
  friend bool operator==(const ClientConfig&, const ClientConfig&) = default;

  /// Null: there is none of that name.
  const ServerContext* Find(std::string_view name) const;
};

/// Every fault with line and column; `file` is its name in messages.
base::Checked<ClientConfig> ParseClientConfig(std::string_view text, const std::string& file);
/// An empty one where there is no such file. A file with tokens that others can read is a fault.
base::Checked<ClientConfig> ReadClientConfig(const std::string& file);

}  // namespace muster::cli
