// SPDX-License-Identifier: Apache-2.0
// Asio and Beast for this room's own .cc files; never included by a header that others see. Their
// bodies are compiled once, in net_impl.cc: the two definitions below must come before any of their
// headers, so nothing else here includes them directly.
#pragma once

#define BOOST_ASIO_SEPARATE_COMPILATION
#define BOOST_BEAST_SEPARATE_COMPILATION
#define BOOST_ASIO_NO_DEPRECATED

// The thread sanitizer knows no fences, and GCC refuses to compile them with it. Ours guard
// nothing: an event loop has one thread, and what is posted to it goes through its mutex.
#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#endif

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>

namespace muster::api {

namespace asio = boost::asio;
using NetError = boost::system::error_code;
/// Of any family: Unix and TCP sockets are one type here.
using Socket = asio::generic::stream_protocol::socket;

}  // namespace muster::api
