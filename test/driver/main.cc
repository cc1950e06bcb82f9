// SPDX-License-Identifier: Apache-2.0
// The test program is also its own supervisor, as `muster` is.
#include <span>
#include <string_view>

#include <gtest/gtest.h>

#include "driver/local/local_driver.h"

int main(int argc, char** argv) {
  const std::span<const char* const> arguments(argv, static_cast<std::size_t>(argc));
  if (argc > 1 && std::string_view(argv[1]) == "supervise") {
    return muster::driver::RunSupervisor(arguments.subspan(2));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
