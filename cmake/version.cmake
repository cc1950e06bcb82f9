# SPDX-License-Identifier: Apache-2.0
# MUSTER_VERSION: the project's version, and the commit that was there at configure time ("0.1.0+74030e0b1").

set(MUSTER_VERSION ${PROJECT_VERSION})
find_program(GIT git)
if(GIT AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT} describe --always --abbrev=9 --dirty
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE description OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  # A tag that is the version, and nothing after it, says nothing new.
  if(NOT failed AND NOT description STREQUAL "v${PROJECT_VERSION}")
    string(APPEND MUSTER_VERSION "+${description}")
  endif()
endif()
