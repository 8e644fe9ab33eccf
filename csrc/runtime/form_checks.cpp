// SPDX-License-Identifier: Apache-2.0
// form_checks.cpp: what a checked kernel found, in words.
#include "csrc/runtime/form_checks.h"

#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <mutex>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/kernel.h"

namespace wt::rt {
namespace {

using passes::CheckSite;

std::atomic<int> g_mode{0};
std::atomic<int> g_captured{0};  // How many checks have been launched inside a capture.

std::mutex& list_mutex() {
  static auto& m = *new std::mutex;
  return m;
}
std::vector<FormChecks*>& captured_checks() {
  static auto& all = *new std::vector<FormChecks*>;
  return all;
}

/// "(3, 4)", or "3" for one number where `bare`.
std::string tuple(const int64_t* v, int n, bool bare) {
  if (n == 1) return bare ? cat(v[0]) : cat("(", v[0], ",)");
  std::string out = "(";
  for (int i = 0; i < n; ++i) append(out, i ? ", " : "", v[i]);
  return out + ")";
}

/// Coordinates of the linear thread, as many as the kernel or the launch has.
std::string thread_text(const int64_t* record, int dims) {
  const int64_t* dim = record + passes::kCheckDim;
  int64_t at[4];
  int64_t rest = record[passes::kCheckThread];
  for (int d = 3; d >= 0; --d) {
    const int64_t n = dim[d] > 0 ? dim[d] : 1;
    at[d] = rest % n;
    rest /= n;
    if (dim[d] > 1 && d >= dims) dims = d + 1;
  }
  return cat("thread ", tuple(at, dims < 1 ? 1 : dims, true));
}

/// The line of the user's file, for the caret; "" if it cannot be read.
std::string line_of(const Loc& loc) {
  std::string text;
  if (!loc.known() || !loc.file) return text;
  std::ifstream in(*loc.file);
  for (int i = 0; i < loc.line; ++i)
    if (!std::getline(in, text)) return "";
  return text;
}

std::string array_text(const std::string& name) {
  if (name.starts_with("adj_")) return cat("the gradient of '", name.substr(4), "'");
  if (name.starts_with("tan_")) return cat("the tangent of '", name.substr(4), "'");
  return cat("'", name, "'");
}

struct Finding {
  const char* code;
  std::string message;
  std::string hint;
};

Finding describe(const CheckSite& site, const int64_t* record) {
  const int64_t* index = record + passes::kCheckIndex;
  const std::string which = tuple(index, site.dims, true);
  switch (site.kind) {
    case CheckSite::Kind::kAssert:
      return {"WT403", cat("assertion failed: ", site.array),
              "the condition of the assert was false for this thread"};
    case CheckSite::Kind::kValue:
      return {"WT402",
              cat("a value that is not finite is ", site.verb, " at index ", which, " of ",
                  array_text(site.array)),
              "look for a division by zero, a root or logarithm of a number out of its domain, or "
              "an overflow before this line"};
    case CheckSite::Kind::kIndex:
      break;
  }
  return {"WT401",
          cat("index ", which, " of ", array_text(site.array), " is out of range: it is ",
              site.verb, " and has shape ", tuple(record + passes::kCheckShape, site.dims, false)),
          "nothing was read or written there; compare the index with the array's shape before, or "
          "launch fewer threads"};
}

}  // namespace

void set_check_mode(CheckMode mode) { g_mode = mode.key(); }

CheckMode check_mode() {
  const int key = g_mode.load(std::memory_order_relaxed);
  return {.indices = (key & 1) != 0, .values = (key & 2) != 0, .deterministic = (key & 4) != 0};
}

FormChecks::FormChecks(std::string subject, int dims, std::vector<CheckSite> sites, Device& device)
    : subject_(std::move(subject)), dims_(dims), sites_(std::move(sites)), device_(device) {}

void FormChecks::launch(const LoadedForm& code, const LaunchShape& shape, std::vector<char> block,
                        Stream stream) {
  constexpr size_t kBytes = passes::kCheckWords * sizeof(int64_t);
  if (!record_) {
    record_ = static_cast<int64_t*>(device_.alloc(kBytes, stream));
    const char zero = 0;
    device_.fill(record_, &zero, 1, kBytes, stream);
  }
  WtArray record{};
  record.data = reinterpret_cast<char*>(record_);
  record.ndim = 4;
  for (int d = 0; d < 4; ++d) record.shape[d] = shape.dim[d];
  record.stride[3] = sizeof(int64_t);
  const size_t at = block.size();
  block.resize(at + sizeof record);
  std::memcpy(block.data() + at, &record, sizeof record);
  code.executable->launch(code.entry, shape, block.data(), block.size(), stream);
  if (!device_.is_capturing(stream)) return raise(stream);
  if (captured_) return;
  captured_ = true;
  const std::lock_guard lock(list_mutex());
  captured_checks().push_back(this);
  ++g_captured;
}

void FormChecks::raise(Stream stream) {
  std::array<int64_t, passes::kCheckWords> record{};
  device_.copy(record.data(), record_, sizeof record, stream);
  device_.synchronize(stream);
  if (record[passes::kCheckSite] == 0) return;
  const char zero = 0;
  device_.fill(record_, &zero, 1, sizeof record, stream);
  raise(record.data());
}

void FormChecks::raise(const int64_t* record) const {
  const CheckSite& site = sites_.at(size_t(record[passes::kCheckSite] - 1));
  Finding f = describe(site, record);
  throw KernelError(f.code, site.loc.file ? *site.loc.file : std::string(), site.loc.line,
                    site.loc.col, cat(subject_, ", ", thread_text(record, dims_), ": ", f.message),
                    std::move(f.hint), line_of(site.loc));
}

void raise_findings(Device& device) {
  if (g_captured.load(std::memory_order_relaxed) == 0) return;
  std::vector<FormChecks*> all;
  {
    const std::lock_guard lock(list_mutex());
    all = captured_checks();
  }
  for (FormChecks* c : all)
    if (&c->device() == &device) c->raise(Stream{});
}

}  // namespace wt::rt
