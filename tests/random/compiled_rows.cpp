// SPDX-License-Identifier: Apache-2.0
// compiled_rows.cpp: finds the host code of a row and calls it on values in memory.
#include "tests/random/compiled_rows.h"

#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "csrc/codegen/interp/cells.h"
#include "tests/random/bound_rows.h"

struct WtRow {
  const char* key;
  void (*run)(const void* block, long long begin, long long end, long long lane);
};
extern const WtRow wt_rows[];
extern const int wt_row_count;

namespace wt::test {
namespace {

using Run = decltype(WtRow::run);

Run find(const ir::Op& op) {
  static const auto* rows = [] {
    auto* m = new std::unordered_map<std::string, Run>;
    for (int i = 0; i < wt_row_count; ++i) m->emplace(wt_rows[i].key, wt_rows[i].run);
    return m;
  }();
  std::vector<ir::Type> types;
  for (const ir::Value* v : op.operands) types.push_back(v->type);
  // Text of types is slow to make.
  thread_local std::map<std::pair<const BuiltinDef*, std::vector<ir::Type>>, Run> known;
  const auto [it, fresh] = known.try_emplace({op.builtin, types}, nullptr);
  if (fresh) {
    const auto row = rows->find(row_key(op.name(), types));
    if (row != rows->end()) it->second = row->second;
  }
  return it->second;
}

/// An array of one element at `data`, which may be any number of dimensions.
WtArray one_element(ir::Type t, char* data) {
  WtArray a{};
  a.data = data;
  a.ndim = 1;
  for (int d = 0; d < 4; ++d) a.shape[d] = 1;
  a.stride[0] = static_cast<int64_t>(ir::size_of(t));
  return a;
}

}  // namespace

bool run_compiled_row(const ir::Op& op, const interp::Cell* const* in, interp::Cell* const* out,
                      const interp::Objects& objects) {
  const Run run = find(op);
  if (!run) return false;
  constexpr size_t kMost = 512;  // Bytes of a value: a 4 x 4 matrix of doubles is 128.
  const size_t n = op.operands.size(), count = n + op.results.size();
  std::vector<double> memory(count * kMost / sizeof(double));
  std::vector<char> block(sizeof(WtLaunch) + count * sizeof(WtArray));
  const WtLaunch launch{.dim = {1, 1, 1, 1}, .size = 1, .batch = 1, .lanes = 1};
  std::memcpy(block.data(), &launch, sizeof launch);
  const auto data = [&](size_t i) { return reinterpret_cast<char*>(memory.data()) + i * kMost; };
  for (size_t i = 0; i < count; ++i) {
    const ir::Type t = i < n ? op.operand(i)->type : op.result(i - n)->type;
    WtArray a = one_element(t, data(i));
    if (t->kind == ir::Kind::kArray) {
      a = objects.arrays[static_cast<size_t>(in[i]->i)];
    } else if (i < n) {
      interp::write_memory(t, in[i], a.data, objects);
    }
    std::memcpy(block.data() + sizeof launch + i * sizeof a, &a, sizeof a);
  }
  run(block.data(), 0, 1, 0);
  interp::Objects none;
  for (size_t i = n; i < count; ++i) {
    interp::read_memory(op.result(i - n)->type, data(i), out[i - n], none);
  }
  return true;
}

}  // namespace wt::test
