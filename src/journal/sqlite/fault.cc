// SPDX-License-Identifier: Apache-2.0
#include "journal/sqlite/fault.h"

#include <sqlite3.h>

#include <cerrno>
#include <system_error>

#include "base/strings.h"

namespace muster::journal {
namespace {

using base::Error;
using base::ErrorCode;
using base::Format;

bool IsNoSpace(int system_error) {
  // EFBIG: the file-size limit of the process or the file system, which is space too.
  return system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG;
}

bool IsNotAllowed(int system_error) {
  return system_error == EACCES || system_error == EPERM || system_error == EROFS;
}

Error NoSpace(std::string_view path) {
  return {ErrorCode::kExhausted,
          Format("no space left on the disk that holds {}: free some and try again; nothing that "
                 "was acknowledged is lost",
                 path)};
}

}  // namespace

Error ExplainSystem(int system_error, std::string_view doing, std::string_view path) {
  if (IsNoSpace(system_error)) return NoSpace(path);
  ErrorCode code = ErrorCode::kIo;
  if (IsNotAllowed(system_error)) code = ErrorCode::kNotAllowed;
  if (system_error == ENOENT || system_error == ENOTDIR) code = ErrorCode::kNotFound;
  if (system_error == EMFILE || system_error == ENFILE || system_error == ENOMEM) {
    code = ErrorCode::kExhausted;
  }
  return {code,
          Format("cannot {} {}: {}", doing, path, std::generic_category().message(system_error))};
}

Error Damaged(std::string_view path, std::string_view what, std::string_view how) {
  return {ErrorCode::kIo, Format("{} of {} is damaged ({}): restore a backup; `muster journal "
                                 "verify {}` lists all that is wrong",
                                 what, path, how, path)};
}

Error Explain(const SqliteFault& fault, std::string_view path) {
  switch (fault.code & 0xff) {
    case SQLITE_FULL:
      return NoSpace(path);
    case SQLITE_NOMEM:
      return {ErrorCode::kExhausted, Format("no memory left to work on {}", path)};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {ErrorCode::kUnavailable,
              Format("{} is in use by another program: end it and try again", path)};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorCode::kNotAllowed,
              Format("{} cannot be written ({}): check the rights of the file and of its folder, "
                     "and whether the disk is mounted read-only",
                     path, fault.text)};
    case SQLITE_TOOBIG:
      return {ErrorCode::kInvalid, Format("too large to store in {}", path)};
    case SQLITE_NOTADB:
      return {ErrorCode::kInvalid,
              Format("{} is no Muster journal (no file of SQLite), or its first page is damaged: "
                     "give the path of one, or restore a backup",
                     path)};
    case SQLITE_CORRUPT:
    // Our statements are fixed: where one does not compile or breaks a rule, the schema or an index
    // has lost something.
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
      return Damaged(path, "the file", fault.text);
    default:
      break;
  }
  if (fault.system_error != 0) {
    return ExplainSystem(fault.system_error, "read or write", path);
  }
  return {ErrorCode::kIo, Format("cannot read or write {}: {}", path, fault.text)};
}

}  // namespace muster::journal
