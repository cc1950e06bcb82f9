// SPDX-License-Identifier: Apache-2.0
#include "test/journal/simulated_disk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "base/strings.h"

namespace muster::test {
namespace {

constexpr std::size_t kSector = 512;

sqlite3_vfs& Real() { return *sqlite3_vfs_find(nullptr); }

}  // namespace

/// The functions that SQLite calls.
struct SimulatedDisk::Vfs {
  static SimulatedDisk& Disk(sqlite3_vfs* vfs) {
    return *static_cast<SimulatedDisk*>(vfs->pAppData);
  }
  static OpenFile& Of(sqlite3_file* file) { return *static_cast<OpenFile*>(file); }

  static int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags,
                  int* out_flags) {
    SimulatedDisk& disk = Disk(vfs);
    Of(file).pMethods = nullptr;
    const bool there = name != nullptr && disk.files_.contains(name);
    if (name == nullptr || disk.off_ || (!there && (flags & SQLITE_OPEN_CREATE) == 0)) {
      return SQLITE_CANTOPEN;
    }
    Of(file).disk = &disk;
    // As SQLite's own VFS: the first sync of a log that may be new makes its name last too.
    constexpr int kLogs = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
    Of(file).syncs_folder = (flags & SQLITE_OPEN_CREATE) != 0 && (flags & kLogs) != 0;
    Of(file).content = &disk.files_[name];
    Of(file).pMethods = Methods();
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }
  static int Delete(sqlite3_vfs* vfs, const char* name, int sync) {
    SimulatedDisk& disk = Disk(vfs);
    if (disk.Strikes(false)) return SQLITE_IOERR_DELETE;
    if (sync == 0 && disk.files_.contains(name)) disk.removed_[name] = disk.files_[name].synced;
    disk.files_.erase(name);
    return SQLITE_OK;
  }
  static int Access(sqlite3_vfs* vfs, const char* name, int /*flags*/, int* result) {
    *result = Disk(vfs).files_.contains(name) ? 1 : 0;
    return Disk(vfs).off_ ? SQLITE_IOERR_ACCESS : SQLITE_OK;
  }
  static int FullPathname(sqlite3_vfs* /*vfs*/, const char* name, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
  }
  static int Randomness(sqlite3_vfs* vfs, int size, char* out) {
    // The log's salts come from here: were they always the same, old frames would pass for new.
    for (int i = 0; i < size; ++i) out[i] = static_cast<char>(Disk(vfs).random_.Next());
    return size;
  }
  static int Sleep(sqlite3_vfs* /*vfs*/, int microseconds) { return microseconds; }
  static int CurrentTime(sqlite3_vfs* /*vfs*/, double* days) {
    *days = 2460000.5;
    return SQLITE_OK;
  }

  static int Close(sqlite3_file* /*file*/) { return SQLITE_OK; }
  static int Read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
    if (Of(file).disk->off_) return SQLITE_IOERR_READ;
    const Bytes& bytes = Of(file).content->now;
    const auto wanted = static_cast<std::size_t>(size);
    const std::size_t from = std::min(static_cast<std::size_t>(offset), bytes.size());
    const std::size_t there = std::min(wanted, bytes.size() - from);
    std::memset(out, 0, wanted);
    if (there > 0) std::memcpy(out, bytes.data() + from, there);
    return there == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
  }
  static int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    return Of(file).disk->Write(*Of(file).content, {.offset = static_cast<std::size_t>(offset),
                                                    .bytes = {bytes, bytes + size}});
  }
  static int Truncate(sqlite3_file* file, sqlite3_int64 size) {
    if (Of(file).disk->Strikes(false)) return SQLITE_IOERR_TRUNCATE;
    const Change change{.offset = static_cast<std::size_t>(size), .truncates = true};
    ApplyChange(Of(file).content->now, change);
    Of(file).content->pending.push_back(change);
    return SQLITE_OK;
  }
  static int Sync(sqlite3_file* file, int /*flags*/) {
    const int code = Of(file).disk->Sync(*Of(file).content);
    if (code == SQLITE_OK && std::exchange(Of(file).syncs_folder, false)) {
      Of(file).disk->removed_.clear();
    }
    return code;
  }
  static int FileSize(sqlite3_file* file, sqlite3_int64* size) {
    *size = static_cast<sqlite3_int64>(Of(file).content->now.size());
    return SQLITE_OK;
  }
  static int Lock(sqlite3_file* /*file*/, int /*level*/) { return SQLITE_OK; }
  static int CheckReservedLock(sqlite3_file* /*file*/, int* result) {
    *result = 0;
    return SQLITE_OK;
  }
  static int FileControl(sqlite3_file* /*file*/, int /*op*/, void* /*argument*/) {
    return SQLITE_NOTFOUND;
  }
  static int SectorSize(sqlite3_file* /*file*/) { return static_cast<int>(kSector); }
  static int DeviceCharacteristics(sqlite3_file* /*file*/) {
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;  // as the default VFS says of real disks
  }

  static const sqlite3_io_methods* Methods() {
    static const sqlite3_io_methods kMethods = {
        .iVersion = 1,
        .xClose = Close,
        .xRead = Read,
        .xWrite = Write,
        .xTruncate = Truncate,
        .xSync = Sync,
        .xFileSize = FileSize,
        .xLock = Lock,
        .xUnlock = Lock,
        .xCheckReservedLock = CheckReservedLock,
        .xFileControl = FileControl,
        .xSectorSize = SectorSize,
        .xDeviceCharacteristics = DeviceCharacteristics,
    };
    return &kMethods;
  }
};

SimulatedDisk::SimulatedDisk() {
  static int number = 0;
  name_ = base::Format("simulated-{}", ++number);
  vfs_ = std::make_unique<sqlite3_vfs>(sqlite3_vfs{
      .iVersion = 1,
      .szOsFile = sizeof(OpenFile),
      .mxPathname = 512,
      .zName = name_.c_str(),
      .pAppData = this,
      .xOpen = Vfs::Open,
      .xDelete = Vfs::Delete,
      .xAccess = Vfs::Access,
      .xFullPathname = Vfs::FullPathname,
      .xDlOpen = Real().xDlOpen,
      .xDlError = Real().xDlError,
      .xDlSym = Real().xDlSym,
      .xDlClose = Real().xDlClose,
      .xRandomness = Vfs::Randomness,
      .xSleep = Vfs::Sleep,
      .xCurrentTime = Vfs::CurrentTime,
  });
  EXPECT_EQ(sqlite3_vfs_register(vfs_.get(), 0), SQLITE_OK);
}

SimulatedDisk::~SimulatedDisk() { sqlite3_vfs_unregister(vfs_.get()); }

void SimulatedDisk::Plan(int n, Fault fault, bool persistent) {
  countdown_ = n;
  fault_ = fault;
  persistent_ = persistent;
  struck_ = false;
}

bool SimulatedDisk::Strikes(bool is_write) {
  if (off_) return true;
  if (countdown_ == 0 || (fault_ == Fault::kFull && !is_write)) return false;
  if (countdown_ > 1) {
    --countdown_;
    return false;
  }
  struck_ = true;
  if (!persistent_) countdown_ = 0;
  off_ = fault_ == Fault::kPowerCut;
  return true;
}

void SimulatedDisk::ApplyChange(Bytes& bytes, const Change& change) {
  if (change.truncates) {
    bytes.resize(std::min(bytes.size(), change.offset));
    return;
  }
  bytes.resize(std::max(bytes.size(), change.offset + change.bytes.size()));
  if (change.bytes.empty()) return;
  std::memcpy(bytes.data() + change.offset, change.bytes.data(), change.bytes.size());
}

int SimulatedDisk::Write(Content& content, const Change& change) {
  const std::size_t end = change.offset + change.bytes.size();
  const std::size_t growth = end - std::min(end, content.now.size());
  if (growth > capacity_ - std::min(capacity_, Used())) return SQLITE_FULL;
  const bool strikes = Strikes(true);
  Change done = change;
  if (strikes) done.bytes.resize(change.bytes.size() / 2 / kSector * kSector);
  ApplyChange(content.now, done);
  content.pending.push_back(std::move(done));
  if (!strikes) return SQLITE_OK;
  return fault_ == Fault::kFull ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

int SimulatedDisk::Sync(Content& content) {
  const bool was_off = off_;
  const bool strikes = Strikes(false);
  if (strikes && (was_off || off_)) return SQLITE_IOERR_FSYNC;  // `Restart` decides
  if (!strikes) {
    for (const Change& change : content.pending) ApplyChange(content.synced, change);
  }
  content.pending.clear();
  return strikes ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

void SimulatedDisk::Restart(base::Rng& rng) {
  off_ = false;
  countdown_ = 0;
  for (auto& [path, synced] : removed_) {
    if (rng.Below(2) == 0) files_[path] = {.synced = std::move(synced)};
  }
  removed_.clear();
  for (auto& [path, content] : files_) {
    for (const Change& change : content.pending) {
      if (change.truncates) {
        if (rng.Below(2) == 0) ApplyChange(content.synced, change);
        continue;
      }
      for (std::size_t at = 0; at < change.bytes.size();) {
        const std::size_t size =
            std::min(kSector - (change.offset + at) % kSector, change.bytes.size() - at);
        const auto first = change.bytes.begin() + static_cast<std::ptrdiff_t>(at);
        const Change sector{.offset = change.offset + at,
                            .bytes = {first, first + static_cast<std::ptrdiff_t>(size)}};
        if (rng.Below(2) == 0) ApplyChange(content.synced, sector);
        at += size;
      }
    }
    content.now = content.synced;
    content.pending.clear();
  }
}

std::size_t SimulatedDisk::Used() const {
  std::size_t used = 0;
  for (const auto& [path, content] : files_) used += content.now.size();
  return used;
}

Bytes SimulatedDisk::Get(const std::string& path) const {
  const auto file = files_.find(path);
  return file == files_.end() ? Bytes() : file->second.now;
}

void SimulatedDisk::Set(const std::string& path, const Bytes& bytes) {
  files_[path] = {.now = bytes, .synced = bytes};
}

}  // namespace muster::test
