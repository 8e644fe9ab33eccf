// SPDX-License-Identifier: Apache-2.0
// wt_opt.cpp: reads IR text, runs passes, writes IR or C++ text.
// wt_opt [--passes=a,b] [--emit=cpu|cuda] [--times] [FILE]
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "csrc/codegen/emit/target.h"
#include "csrc/codegen/ir/ir.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"

namespace wt {
namespace {

constexpr std::string_view kUsage =
    "wt_opt [--passes=a,b] [--emit=cpu|cuda] [--times] [FILE]: reads IR text (stdin without "
    "FILE),\n"
    "runs the passes, writes IR text, or C++ with --emit. The pass 'optimize' stands for the "
    "default\n"
    "pipeline. Passes:\n";

struct Arguments {
  std::string passes;
  std::string file;
  std::string emit;
  bool times = false;
  bool help = false;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg.starts_with("--passes=")) {
      a.passes = arg.substr(std::strlen("--passes="));
    } else if (arg == "--emit=cpu" || arg == "--emit=cuda") {
      a.emit = arg.substr(std::strlen("--emit="));
    } else if (arg == "--times") {
      a.times = true;
    } else if (arg == "--help" || arg == "-h") {
      a.help = true;
    } else if (arg.starts_with("--")) {
      throw ArgumentValueError(cat("wt_opt: unknown option ", arg, "; see wt_opt --help"));
    } else {
      a.file = arg;
    }
  }
  return a;
}

std::string read_text(const std::string& file) {
  if (file.empty() || file == "-") {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) throw ArgumentValueError(cat("wt_opt: cannot read ", file));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void print_help() {
  std::cout << kUsage;
  for (const passes::PassInfo& p : passes::all_passes()) {
    std::cout << "  " << p.name << std::string(14 - std::min<size_t>(13, p.name.size()), ' ')
              << p.doc << "\n";
  }
}

void run(const Arguments& a) {
  const std::unique_ptr<ir::Module> m = ir::parse(read_text(a.file));
  ir::verify(*m, "parse");
  std::vector<passes::PassTime> times;
  passes::RunOptions options{.verify = true, .dump = {}, .times = &times};
  for (const std::string_view name : split(a.passes, ',')) {
    const std::string_view names[] = {trim(name)};
    if (names[0] == "optimize") {
      passes::optimize(*m, options);
    } else if (!names[0].empty()) {
      passes::run(*m, names, options);
    }
  }
  std::cout << (a.emit.empty() ? ir::print(*m) : emit_cxx(*m, a.emit).text);
  if (!a.times) return;
  for (const passes::PassTime& t : times) {
    std::fprintf(stderr, "%10.1f us  %s%s\n", t.seconds * 1e6, t.name.c_str(),
                 t.changed ? "" : " (unchanged)");
  }
}

}  // namespace
}  // namespace wt

int main(int argc, char** argv) {
  try {
    const wt::Arguments a = wt::read_arguments(argc, argv);
    if (a.help) {
      wt::print_help();
    } else {
      wt::run(a);
    }
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
