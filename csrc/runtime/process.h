// SPDX-License-Identifier: Apache-2.0
// process.h: running a program, temporary folders, whole-file reads. POSIX.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wt::rt {

struct ProcessResult {
  int exit_code = -1;    ///< Exit status; 128 + number for a signal; -1 if it could not be started.
  std::string output{};  ///< stdout and stderr together.
  std::string error{};   ///< Why it could not be started.
};

/// Runs argv[0] (searched in PATH) without a shell, with `input` as its standard input and messages
/// in English. Returns when it ends.
ProcessResult run_process(const std::vector<std::string>& argv, std::string_view input);

/// A new folder that only this user can enter, removed with its files at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();  ///< DeviceError if none can be made.
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// An open file in memory (or an unlinked temporary file), closed at the end.
class MemoryFile {
 public:
  MemoryFile(const char* name, std::string_view content);  ///< DeviceError if it can't be made.
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int fd() const { return fd_; }
  std::string read_all() const;

 private:
  int fd_ = -1;
};

/// Writes everything; false with errno set on failure.
bool write_all(int fd, std::string_view data);
/// Reads from the start to the end; nullopt with errno set on failure.
std::optional<std::string> read_all(int fd);

}  // namespace wt::rt
