// SPDX-License-Identifier: Apache-2.0
// bundle.cpp: the table of binaries from bundles, and which of them a device takes.
#include "csrc/runtime/bundle.h"

#include <charconv>
#include <map>
#include <mutex>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/hash.h"
#include "csrc/runtime/host_compiler.h"
#include "csrc/runtime/target.h"

namespace wt::rt {
namespace {

struct Table {
  std::mutex mutex;
  std::multimap<std::string, Binary> entries;
};

Table& table() {
  static auto& t = *new Table;
  return t;
}

/// 90 of "sm_90" and "compute_90".
int version_of(std::string_view arch) {
  const size_t at = arch.find('_');
  int n = 0;
  if (at != std::string_view::npos) {
    std::from_chars(arch.data() + at + 1, arch.data() + arch.size(), n);
  }
  return n;
}

/// How well the binary suits the device: 0 not at all. Code of its own architecture goes first,
/// then older code of the same generation, then PTX, the newest first.
int rank(const Binary& b, const DeviceProperties& device) {
  if (device.kind == DeviceKind::kCpu) {
    if (b.kind != BinaryKind::kSharedObject || !host_runs(b.arch)) return 0;
    return b.arch == host_arch() ? 3 : b.arch == "x86-64-v3" ? 2 : 1;
  }
  const int have = version_of(device.arch), made = version_of(b.arch);
  if (b.kind == BinaryKind::kSharedObject || made == 0 || made > have) return 0;
  if (b.kind == BinaryKind::kPtx) return made;
  return made / 10 == have / 10 ? 1000 + made : 0;
}

}  // namespace

std::string bundle_key(const Source& source) {
  return Hasher().add(source.text).add(source.options.text()).finish().hex();
}

BundleEntry bundle_entry(const ir::Module& m, const std::string& label, std::string_view target,
                         const std::string& arch) {
  const std::unique_ptr<Target> made = make_target(target, arch);
  const Source source = made->emit(m);
  return {bundle_key(source), made->compile(source, label)};
}

void add_bundled(BundleEntry entry) {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  const auto [first, last] = t.entries.equal_range(entry.key);
  for (auto it = first; it != last; ++it) {
    if (it->second.arch != entry.binary.arch || it->second.kind != entry.binary.kind) continue;
    it->second = std::move(entry.binary);
    return;
  }
  t.entries.emplace(std::move(entry.key), std::move(entry.binary));
}

std::optional<Binary> bundled(const Source& source, const DeviceProperties& device) {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  if (t.entries.empty()) return std::nullopt;
  const auto [first, last] = t.entries.equal_range(bundle_key(source));
  const Binary* best = nullptr;
  for (auto it = first; it != last; ++it) {
    const int r = rank(it->second, device);
    if (r > 0 && (!best || r > rank(*best, device))) best = &it->second;
  }
  return best ? std::optional<Binary>(*best) : std::nullopt;
}

}  // namespace wt::rt
