// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sqlite3_stmt;

namespace muster::journal {

class Database;

/// The rows of a running query. Ends the query, and with it SQLite's read transaction, at the end
/// of its scope; its statement must outlive it.
class Rows {
 public:
  Rows(Database& database, sqlite3_stmt* statement, int fault)
      : database_(database), statement_(statement), fault_(fault) {}
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// Goes to the next row: false at the end. An error ends the query.
  base::Result<bool> Next();

  // Values of the row that `Next` went to, by column from 0.
  std::uint64_t Integer(int column) const;
  std::string Text(int column) const;
  std::vector<std::uint8_t> Blob(int column) const;

 private:
  Database& database_;
  sqlite3_stmt* statement_;
  int fault_;  ///< of binding the values, kept for the first `Next`
};

/// A prepared statement: one at a time runs. Its database must outlive it. An empty one may only be
/// assigned to.
class Statement {
 public:
  Statement() = default;
  Statement(Database& database, sqlite3_stmt* statement)
      : database_(&database), statement_(statement) {}

  /// Runs with these values (`std::uint64_t`, text or bytes) for ?1, ?2... to the end.
  template <class... T>
  base::Status Run(const T&... values) {
    Rows rows = Query(values...);
    const base::Result<bool> row = rows.Next();
    if (!row.has_value()) return row.error();
    return {};
  }
  /// Runs row by row. Text and bytes must live as long as the rows.
  template <class... T>
  Rows Query(const T&... values) {
    int index = 0;
    int fault = 0;
    ((fault = fault != 0 ? fault : Bind(++index, values)), ...);
    return Rows(*database_, statement_.get(), fault);
  }

 private:
  int Bind(int index, std::uint64_t value);
  int Bind(int index, std::string_view text);
  int Bind(int index, std::span<const std::uint8_t> bytes);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Database* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace muster::journal
