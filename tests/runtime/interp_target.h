// SPDX-License-Identifier: Apache-2.0
// interp_target.h: a second Target: its "binary" is IR text, and its code runs in the interpreter.
#pragma once

#include <memory>
#include <string>

#include "csrc/codegen/interp/interp.h"
#include "csrc/runtime/target.h"

namespace wt::rt::testing {

/// Emits the IR's own text; compiling checks that it reads back.
class InterpTarget final : public Target {
 public:
  std::string_view name() const override { return "interp"; }
  std::string cache_tag() const override { return "interp-1"; }
  BinaryKind binary_kind() const override { return BinaryKind::kSharedObject; }
  std::string arch() const override { return "ir"; }
  Source emit(const ir::Module& m) const override {
    Source source{ir::print(m), {}};
    for (const auto& f : m.funcs)
      if (f->kernel) source.entries.push_back(f->name);
    return source;
  }
  Binary compile(const Source& source, const std::string& label) const override {
    ir::verify(*ir::parse(source.text), "parse");
    return {binary_kind(), label, arch(), source.text};
  }
};

/// Runs what InterpTarget compiles, over host memory, one thread after the other.
class InterpExecutable final : public Executable {
 public:
  explicit InterpExecutable(const Binary& binary) : module_(ir::parse(binary.data)) {
    for (const auto& f : module_->funcs) entries_.push_back(std::make_unique<Entry>(f->name));
  }
  const Entry* entry(std::string_view name) override {
    for (const auto& e : entries_)
      if (e->name == name) return e.get();
    throw DeviceError("no kernel " + std::string(name));
  }
  void plan(const Entry*, LaunchShape& shape) override { shape.lanes = 1; }
  void launch(const Entry* entry, const LaunchShape& shape, const void* args, size_t,
              Stream) override {
    interp::Interpreter(*module_).run(entry->name, args, 0, shape.total());
  }

 private:
  std::unique_ptr<ir::Module> module_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace wt::rt::testing
