# SPDX-License-Identifier: Apache-2.0
# Build tools that are used where present, and the warnings every target is built with.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Any x86 server of the last fifteen years has these instructions; the index counts bits and compares many numbers.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(MUSTER_ARCH "x86-64-v2" CACHE STRING "processor to build for (-march)")
  add_compile_options(-march=${MUSTER_ARCH})
endif()

add_library(muster_warnings INTERFACE)
target_compile_options(muster_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  # GCC 12 warns falsely inside inlined library code with these two.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict>
  # Designated initialisers that leave the rest to the defaults are our style.
  -Wno-missing-field-initializers)

# muster_library(NAME DEPS...): every .cc below src/NAME, one static library a room.
function(muster_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  add_library(muster_${name} STATIC ${sources})
  target_include_directories(muster_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(muster_${name} PUBLIC ${ARGN} PRIVATE muster_warnings)
endfunction()
