// SPDX-License-Identifier: Apache-2.0
#include "driver/local/ports.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "posix/descriptor.h"

namespace muster::driver {
namespace {

TEST(Ports, GoRoundAndRestAfterUse) {
  PortLeases leases({.first = 100, .last = 102}, 1, [](std::uint16_t) { return true; });
  EXPECT_EQ(leases.Lease().value(), 101);
  leases.Release(101);
  EXPECT_EQ(leases.Lease().value(), 102);
  EXPECT_EQ(leases.Lease().value(), 100);
  EXPECT_EQ(leases.Lease().value(), 101);
  const auto none = leases.Lease();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, base::ErrorCode::kExhausted);
  EXPECT_EQ(none.error().message, "no port is free between 100 and 102; widen the range of ports");
}

TEST(Ports, OnesInUseAndRestoredOnesArePassedOver) {
  PortLeases leases({.first = 100, .last = 103}, 0, [](std::uint16_t port) { return port != 101; });
  leases.Restore(100);
  EXPECT_EQ(leases.Lease().value(), 102);
}

TEST(Ports, AListenerIsSeen) {
  const posix::Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener.number(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener.number(), 1), 0);
  socklen_t size = sizeof(address);
  ASSERT_EQ(getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_FALSE(IsPortFree(ntohs(address.sin_port)));
}

}  // namespace
}  // namespace muster::driver
