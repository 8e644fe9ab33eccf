// SPDX-License-Identifier: Apache-2.0
// process.cpp: running a program by posix_spawn.
#include "csrc/runtime/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"

extern char** environ;

namespace wt::rt {
namespace {

std::string temporary_root() {
  const char* dir = std::getenv("TMPDIR");
  return dir != nullptr && *dir != '\0' ? dir : "/tmp";
}

std::vector<std::string> english_environment() {
  std::vector<std::string> env;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    const std::string_view text(*e);
    if (text.starts_with("LC_ALL=") || text.starts_with("LANGUAGE=")) continue;
    env.emplace_back(text);
  }
  env.emplace_back("LC_ALL=C");
  return env;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    // With SIGCHLD ignored the kernel keeps no status: the caller judges by what was written.
    if (errno != EINTR) return 0;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

bool write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

std::optional<std::string> read_all(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return std::nullopt;
  std::string out(static_cast<size_t>(info.st_size), '\0');
  size_t at = 0;
  while (at < out.size()) {
    const ssize_t n = pread(fd, out.data() + at, out.size() - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    at += static_cast<size_t>(n);
  }
  out.resize(at);
  return out;
}

MemoryFile::MemoryFile(const char* name, std::string_view content) {
  fd_ = memfd_create(name, MFD_CLOEXEC);
  if (fd_ < 0) fd_ = open(temporary_root().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0 || !write_all(fd_, content) || lseek(fd_, 0, SEEK_SET) != 0) {
    const int code = errno;
    if (fd_ >= 0) close(fd_);
    throw DeviceError(
        coded("WT715"),
        cat("could not write ", content.size(), " bytes to a temporary file (", name,
            "): ", std::strerror(code), ". Free some memory or set TMPDIR to a folder with room."),
        code);
  }
}

MemoryFile::~MemoryFile() { close(fd_); }

std::string MemoryFile::read_all() const { return rt::read_all(fd_).value_or(std::string()); }

TemporaryFolder::TemporaryFolder() {
  path_ = temporary_root() + "/warp_torch-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    const int code = errno;
    throw DeviceError(coded("WT715"),
                      cat("could not make a temporary folder in ", temporary_root(), ": ",
                          std::strerror(code), ". Set TMPDIR to a folder that can be written."),
                      code);
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // What cannot be removed stays; nothing depends on it.
  std::filesystem::remove_all(path_, ignored);
}

ProcessResult run_process(const std::vector<std::string>& argv, std::string_view input) {
  ProcessResult result;
  const MemoryFile in("wt-input", input);
  const MemoryFile out("wt-output", "");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.fd(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.fd(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.fd(), STDERR_FILENO);
  // The child must not inherit the signal mask of a thread of the host program.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

  std::vector<std::string> args = argv;
  std::vector<std::string> env = english_environment();
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, args[0].c_str(), &actions, &attributes,
                                  pointers(args).data(), pointers(env).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    result.error = std::strerror(failed);
    return result;
  }
  result.exit_code = wait_for(pid);
  result.output = out.read_all();
  return result;
}

}  // namespace wt::rt
