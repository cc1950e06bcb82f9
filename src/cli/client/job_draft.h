// SPDX-License-Identifier: Apache-2.0
// From what was typed to job documents: a command with options, or a file to which options add.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::cli {

struct JobDraft {
  // Of a command alone; a file says these itself.
  std::string gpus;  ///< of each replica, like the two below
  std::string cpus;
  std::string memory;
  std::optional<std::int64_t> replicas;
  std::vector<std::string> env;  ///< "NAME=VALUE", or "NAME" for the submitter's own
  // Of a file too, where they win over what it says.
  std::string name;
  std::string queue;
  std::string priority_class;
  std::string time_limit;
  std::string workdir;
  std::vector<std::string> labels;  ///< "KEY=VALUE"
};

/// The document of a job that runs `command`; `here` is where it was typed. Faults name the option.
base::Checked<std::string> DraftCommand(const JobDraft& draft,
                                        const std::vector<std::string>& command,
                                        const std::string& here);
/// The documents of `text`, with what the draft says; relative work folders, and those that are not
/// given, are taken from `here`. Faults have their line and column in `file`.
base::Checked<std::string> DraftFile(const JobDraft& draft, std::string_view text,
                                     const std::string& file, const std::string& here);

}  // namespace muster::cli
