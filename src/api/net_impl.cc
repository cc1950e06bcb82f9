// SPDX-License-Identifier: Apache-2.0
// The bodies of Asio and Beast, compiled here and nowhere else (see net.h).
#include "api/net.h"

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
