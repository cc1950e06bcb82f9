// SPDX-License-Identifier: Apache-2.0
// TLS contexts of both sides: 1.2 and newer, HTTP/1.1 only.
#pragma once

#include <memory>
#include <string>

#include "api/net.h"
#include "base/result.h"

namespace muster::api {

using TlsContext = std::unique_ptr<asio::ssl::context>;

/// PEM files.
struct CertificateFiles {
  std::string certificate;  ///< the server's, then those up to the authority's
  std::string key;
};
base::Result<TlsContext> MakeServerTls(const CertificateFiles& files);

/// `authorities`: a PEM file of whom to trust; empty: whom the system trusts.
base::Result<TlsContext> MakeClientTls(const std::string& authorities);

}  // namespace muster::api
