// SPDX-License-Identifier: Apache-2.0
// host_compiler.cpp: finds a C++ compiler and runs it with argv, never through a shell.
#include "csrc/runtime/host_compiler.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/process.h"

namespace wt::rt {
namespace {

using Command = std::vector<std::string>;

struct Candidate {
  Command command;
  std::string origin;
  bool zig = false;
};

/// $CXX may carry a wrapper or flags ("ccache g++"), separated by spaces.
Command words(std::string_view text) {
  Command out;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) out.emplace_back(word);
  }
  return out;
}

std::vector<Candidate> candidates(const HostCompilerConfig& config) {
  std::vector<Candidate> out;
  if (!config.compiler.empty()) {
    out.push_back({.command = {config.compiler}, .origin = "the configured compiler"});
  }
  if (const char* cxx = std::getenv("CXX"); cxx != nullptr && !words(cxx).empty()) {
    out.push_back({.command = words(cxx), .origin = "$CXX"});
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    out.push_back({.command = {name}, .origin = "PATH"});
  }
  if (!config.zig_python.empty()) {
    out.push_back({.command = {config.zig_python, "-m", "ziglang", "c++"},
                   .origin = "the ziglang package",
                   .zig = true});
  }
  return out;
}

std::string first_line(std::string_view text) {
  return std::string(trim(text.substr(0, text.find('\n'))));
}

HostCompiler search(const HostCompilerConfig& config) {
  std::string tried;
  for (const Candidate& candidate : candidates(config)) {
    Command argv = candidate.command;
    argv.emplace_back("--version");
    const ProcessResult result = run_process(argv, "");
    if (result.exit_code == 0) {
      return {
          .command = candidate.command, .version = first_line(result.output), .zig = candidate.zig};
    }
    append(tried, "\n  ", join(candidate.command, " "), " (", candidate.origin,
           "): ", result.error.empty() ? cat("exit status ", result.exit_code) : result.error);
  }
  throw DeviceError(
      coded("WT709"),
      cat("the CPU target needs a C++ compiler and found none. Looked for:", tried,
          "\nInstall g++ or clang++, or `pip install ziglang`, or set CXX to a C++17 compiler."));
}

Command arch_flags(const HostCompiler& compiler, std::string arch) {
  if (!compiler.zig) return {cat("-march=", arch)};
  std::replace(arch.begin(), arch.end(), '-', '_');  // Zig spells x86-64-v3 as x86_64_v3.
  return {cat("-mcpu=", arch)};
}

Command flags(const HostCompiler& compiler, const HostCompileOptions& options) {
  Command out = {"-std=c++17", "-fPIC", "-shared", "-w"};
  if (options.debug) {
    out.insert(out.end(), {"-O1", "-g"});
  } else {
    out.emplace_back("-O3");
  }
  // What a value is must not depend on the compiler: no contraction. The others change no value:
  // no one reads errno or the exception flags, and both would keep loops from being vectorised.
  out.insert(out.end(), {"-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
                         "-fopenmp-simd", "-fno-exceptions", "-fno-semantic-interposition"});
  if (compiler.zig) {
    out.insert(out.end(), {"-fno-sanitize=undefined", "-nostdlib++"});
  } else {
    out.emplace_back("-pipe");
  }
  const std::string arch = options.arch.empty() ? std::string(host_arch()) : options.arch;
  if (arch != "generic") {
    for (std::string& flag : arch_flags(compiler, arch)) out.push_back(std::move(flag));
  }
  out.insert(out.end(), options.extra_flags.begin(), options.extra_flags.end());
  return out;
}

int number(std::string_view text) {
  int value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() ? value : 0;
}

/// "file:12:5", "file:12" or "file(12)".
bool read_place(std::string_view text, ErrorPlace& place) {
  if (text.ends_with(')')) {
    const size_t open = text.rfind('(');
    if (open == std::string_view::npos) return false;
    place.lineno = number(text.substr(open + 1, text.size() - open - 2));
    place.filename = std::string(text.substr(0, open));
    return place.lineno > 0;
  }
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  place.lineno = number(text.substr(colon + 1));
  text = text.substr(0, colon);
  colon = text.rfind(':');
  if (colon != std::string_view::npos && number(text.substr(colon + 1)) > 0) {
    place.col = place.lineno;
    place.lineno = number(text.substr(colon + 1));
    text = text.substr(0, colon);
  }
  place.filename = std::string(text);
  return place.lineno > 0;
}

}  // namespace

CompileError compile_error(std::string_view compiler, std::string_view kernel, std::string log,
                           int code) {
  ErrorPlace place;
  std::string said = first_line(log);
  for (const std::string_view line : split(log, '\n')) {
    const size_t at = line.find("error: ");
    if (at == std::string_view::npos) continue;
    std::string_view head = trim(line.substr(0, at));
    if (head.ends_with("fatal")) head = trim(head.substr(0, head.size() - 5));
    if (head.ends_with(':')) head.remove_suffix(1);
    said = std::string(trim(line.substr(at + 7)));
    if (!read_place(head, place)) place = {};
    break;
  }
  std::string message = cat(
      compiler, " could not compile kernel ", kernel, ": ",
      said.empty() ? cat("exit status ", code) : said,
      "\n  help: text of @func_native is compiled as it is written: correct it there; where the "
      "kernel has none, see what the compiler lacks, or report its output with "
      "kernel.source(\"cpp\")\nFull output of the compiler:\n",
      log);
  return CompileError(std::move(place), std::move(message), std::move(log), code);
}

const HostCompiler& find_host_compiler(const HostCompilerConfig& config) {
  using Key = std::tuple<std::string, std::string, std::string>;
  static auto* mutex = new std::mutex;
  static auto* found = new std::map<Key, std::unique_ptr<HostCompiler>>;
  const char* cxx = std::getenv("CXX");
  const Key key(config.compiler, config.zig_python, cxx != nullptr ? cxx : "");
  const std::lock_guard lock(*mutex);
  std::unique_ptr<HostCompiler>& entry = (*found)[key];
  if (!entry) entry = std::make_unique<HostCompiler>(search(config));
  return *entry;
}

std::string host_cache_tag(const HostCompiler& compiler, const HostCompileOptions& options) {
  return cat("cpu; ", compiler.version, "; ", join(flags(compiler, options), " "),
             options.arch.empty() ? cat("; ", join(cpu_features(), " ")) : std::string());
}

Binary compile_host(const HostCompiler& compiler, std::string_view text, std::string_view name,
                    const HostCompileOptions& options) {
  const TemporaryFolder folder;
  const std::string output = folder.path() + "/kernel.so";
  Command argv = compiler.command;
  for (std::string& flag : flags(compiler, options)) argv.push_back(std::move(flag));
  argv.insert(argv.end(), {"-x", "c++", "-", "-o", output});
  ProcessResult result = run_process(argv, text);
  if (!result.error.empty()) {
    throw DeviceError(coded("WT709"),
                      cat("could not start the C++ compiler ", join(compiler.command, " "),
                          " for kernel ", name, ": ", result.error));
  }
  if (result.exit_code != 0) {
    throw compile_error(join(compiler.command, " "), name, std::move(result.output),
                        result.exit_code);
  }
  const int fd = open(output.c_str(), O_RDONLY | O_CLOEXEC);
  std::optional<std::string> data = fd < 0 ? std::nullopt : read_all(fd);
  if (fd >= 0) close(fd);
  if (!data || data->empty()) {
    throw DeviceError(
        coded("WT709"),
        cat("the C++ compiler ", join(compiler.command, " "), " ended without an error for kernel ",
            name, " but wrote no output to ", output, ". It printed:\n", result.output));
  }
  return {.kind = BinaryKind::kSharedObject,
          .name = std::string(name),
          .arch = options.arch.empty() ? std::string(host_arch()) : options.arch,
          .data = std::move(*data)};
}

}  // namespace wt::rt
