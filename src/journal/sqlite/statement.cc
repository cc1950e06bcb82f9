// SPDX-License-Identifier: Apache-2.0
#include "journal/sqlite/statement.h"

#include <sqlite3.h>

#include <bit>

#include "journal/sqlite/database.h"

namespace muster::journal {

Rows::~Rows() {
  sqlite3_reset(statement_);  // repeats the fault of the last step, which `Next` has reported
  sqlite3_clear_bindings(statement_);
}

base::Result<bool> Rows::Next() {
  if (fault_ != SQLITE_OK) return database_.Fault(fault_);
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_.Fault(code);
}

std::uint64_t Rows::Integer(int column) const {
  return std::bit_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
}

std::string Rows::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::vector<std::uint8_t> Rows::Blob(int column) const {
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, bytes + sqlite3_column_bytes(statement_, column)};
}

int Statement::Bind(int index, std::uint64_t value) {
  return sqlite3_bind_int64(statement_.get(), index, std::bit_cast<std::int64_t>(value));
}

// SQLite takes a null pointer for NULL, however long the value: empty ones need a pointer.
int Statement::Bind(int index, std::string_view text) {
  return sqlite3_bind_text64(statement_.get(), index, text.empty() ? "" : text.data(), text.size(),
                             SQLITE_STATIC, SQLITE_UTF8);
}

int Statement::Bind(int index, std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return sqlite3_bind_zeroblob(statement_.get(), index, 0);
  return sqlite3_bind_blob64(statement_.get(), index, bytes.data(), bytes.size(), SQLITE_STATIC);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

}  // namespace muster::journal
