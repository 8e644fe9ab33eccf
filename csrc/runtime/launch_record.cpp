// SPDX-License-Identifier: Apache-2.0
// launch_record.cpp: one file a program, safe to write from several processes at once.
#include "csrc/runtime/launch_record.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "csrc/codegen/support/text.h"

namespace wt::rt {
namespace {

std::filesystem::path folder() {
  static const char* const value = std::getenv("WT_RECORD_KERNELS");
  return value ? value : "";
}

}  // namespace

void record_kernel(const Program& program, std::string_view entry) {
  const std::filesystem::path dir = folder();
  if (dir.empty()) return;
  std::filesystem::create_directories(dir);
  const std::filesystem::path base = dir / program.hash().hex();
  // Appending one short line is atomic; lines may repeat.
  std::ofstream(base.string() + ".forms", std::ios::app) << cat(entry, "\n");
  const std::filesystem::path ir = base.string() + ".wir";
  if (std::filesystem::exists(ir)) return;
  const std::filesystem::path draft = cat(ir.string(), ".", getpid());
  // Under the kernel's own name, so that reading it gives the same program and entries again.
  const std::unique_ptr<ir::Module> module = ir::clone(*program.forward().module);
  module->funcs.front()->name = program.info().name;
  std::ofstream(draft) << ir::print(*module);
  std::filesystem::rename(draft, ir);
}

}  // namespace wt::rt
