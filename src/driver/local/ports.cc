// SPDX-License-Identifier: Apache-2.0
#include "driver/local/ports.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "posix/descriptor.h"

namespace muster::driver {
namespace {

/// Without SO_REUSEADDR, so that a port with connections that still end counts as taken. An address
/// family that this machine lacks takes none.
template <class Address>
bool CanBind(int family, const Address& address) {
  const posix::Descriptor socket_number(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_number.IsOpen()) return true;
  const int on = 1;
  if (family == AF_INET6) {
    setsockopt(socket_number.number(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  }
  return bind(socket_number.number(), reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) == 0 ||
         errno == EADDRNOTAVAIL;
}

}  // namespace

bool IsPortFree(std::uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  return CanBind(AF_INET, v4) && CanBind(AF_INET6, v6);
}

PortLeases::PortLeases(PortRange range, std::uint32_t start, Probe is_free)
    : range_(range), is_free_(std::move(is_free)) {
  MUSTER_CHECK(range.first <= range.last);
  next_ = start % (static_cast<std::uint32_t>(range.last) - range.first + 1);
}

base::Result<std::uint16_t> PortLeases::Lease() {
  const std::uint32_t size = static_cast<std::uint32_t>(range_.last) - range_.first + 1;
  for (std::uint32_t tried = 0; tried < size; ++tried) {
    const auto port = static_cast<std::uint16_t>(range_.first + next_);
    next_ = (next_ + 1) % size;
    if (leased_.contains(port) || !is_free_(port)) continue;
    leased_.insert(port);
    return port;
  }
  return base::Error{base::ErrorCode::kExhausted,
                     base::Format("no port is free between {} and {}; widen the range of ports",
                                  range_.first, range_.last)};
}

void PortLeases::Restore(std::uint16_t port) { leased_.insert(port); }

void PortLeases::Release(std::uint16_t port) { leased_.erase(port); }

}  // namespace muster::driver
