// SPDX-License-Identifier: Apache-2.0
// gradient_check.cpp: adjoint launches against central differences, from the host.
#include "csrc/autograd/gradient_check.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/ir/encode.h"
#include "csrc/codegen/ir/ir.h"
#include "csrc/codegen/support/error_table.h"

namespace wt::autograd {
namespace {

std::atomic<bool> g_on{false};

constexpr int kSamples = 6;          // numbers of each argument
constexpr int64_t kPicks = 64;       // elements looked at for gradients that are not zero
constexpr double kAgreement = 2e-2;  // of the larger derivative
constexpr double kRoundings = 16.0;  // of the values that change

std::vector<char> to_host(rt::Device& device, const char* data, size_t bytes, rt::Stream stream) {
  std::vector<char> out(bytes);
  if (bytes == 0) return out;
  device.copy(out.data(), data, bytes, stream);
  device.synchronize(stream);
  return out;
}

double precision(ir::Scalar s) {
  switch (s) {
    case ir::Scalar::kF64:
      return 1.2e-16;
    case ir::Scalar::kF32:
      return 6e-8;
    case ir::Scalar::kF16:
      return 5e-4;
    default:
      return 4e-3;
  }
}

/// Relative size of the step: about the cube root of the precision.
double step_size(ir::Scalar s) {
  switch (s) {
    case ir::Scalar::kF64:
      return 1e-5;
    case ir::Scalar::kF32:
      return 4e-3;
    default:
      return 6e-2;
  }
}

/// All numbers of a block of memory.
std::vector<double> numbers(const std::vector<char>& bytes, ir::Scalar s) {
  const size_t item = size_t(ir::bits(s)) / 8;
  std::vector<double> out(bytes.size() / item);
  for (size_t i = 0; i < out.size(); ++i) out[i] = ir::decode_scalar(s, bytes.data() + i * item);
  return out;
}

struct Memory {
  std::shared_ptr<rt::Storage> storage;
  rt::Array before;  ///< bytes before the launch
  rt::Array work;    ///< bytes that trial launches use
  ir::Scalar scalar = ir::Scalar::kF32;
  bool numeric = false;  ///< its elements are numbers of one float type, with a gradient
  bool written = false;
  std::vector<double> cotangent;
  std::vector<double> after;  ///< values that the launch leaves
};

struct Pick {
  const BoundArray* argument;
  Memory* memory;
  int64_t index[rt::kMaxDims];
  int component;
  size_t byte;  ///< in the block
};

std::string tuple(const int64_t* index, int ndim) {
  std::string s = "(";
  for (int d = 0; d < ndim; ++d) s += cat(d ? ", " : "", index[d]);
  return s + (ndim == 1 ? ",)" : ")");
}

}  // namespace

void set_gradient_checks(bool on) { g_on = on; }
bool gradient_checks() { return g_on.load(std::memory_order_relaxed); }

Loc line_of(const ir::Func& kernel, int param) {
  const ir::Value* array = kernel.body.args.at(size_t(param)).get();
  Loc read, written;
  ir::walk(kernel.body, [&](const ir::Op& op) {
    const bool load = op.code == ir::OpCode::kLoad;
    const bool store = op.code == ir::OpCode::kStore || op.code == ir::OpCode::kAtomic;
    if ((!load && !store) || op.loc.line == 0) return;
    const ir::Value* v = op.operand(0);
    while (v->def && (v->def->code == ir::OpCode::kView || v->def->code == ir::OpCode::kSlice ||
                      v->def->code == ir::OpCode::kPart || v->def->code == ir::OpCode::kField))
      v = v->def->operand(0);
    Loc& found = load ? read : written;
    if (v == array && found.line == 0) found = op.loc;
  });
  return read.line ? read : written.line ? written : kernel.loc;
}

LaunchImage::LaunchImage(const Call& call) {
  for (const BoundArray& b : call.arrays) {
    const bool known = std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
      return block.storage == b.array.storage;
    });
    if (known) continue;
    rt::Array copy = byte_array(call, b.array.storage->bytes);
    if (copy.size() > 0)
      call.device->copy(copy.data, b.array.storage->data, b.array.storage->bytes, call.stream);
    blocks_.push_back({b.array.storage, std::move(copy)});
  }
}

struct GradientCheck::State {
  Call call;
  ad::Mask mask;
  size_t step;
  std::vector<Memory> memories;
  uint64_t random = 0x9E3779B97F4A7C15ull;

  State(const Call& c, const ad::Mask& m, size_t n) : call(c), mask(m), step(n) { random ^= n; }

  Memory* memory_of(const rt::Array& a) {
    for (Memory& m : memories)
      if (m.storage == a.storage) return &m;
    return nullptr;
  }

  int64_t below(int64_t n) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    return int64_t((random >> 33) % uint64_t(n));
  }

  std::vector<double> gradient_of(const Memory& m) {
    const rt::Storage& g = *m.storage->grad;
    return numbers(to_host(*call.device, g.data, m.storage->bytes, call.stream), m.scalar);
  }

  void prepare(const LaunchImage& image) {
    for (const LaunchImage::Block& block : image.blocks()) {
      Memory m;
      m.storage = block.storage;
      m.before = block.copy;
      m.work = byte_array(call, block.storage->bytes);
      memories.push_back(std::move(m));
    }
    for (const BoundArray& b : call.arrays) {
      Memory& m = *memory_of(b.array);
      const bool number = ir::is_numeric(b.array.dtype) && ir::is_float(b.array.dtype->scalar);
      if (call.kernel->info().params[size_t(b.param)].writes()) m.written = true;
      if (!mask[size_t(b.param)] || !number || !m.storage->grad) continue;
      m.numeric = true;
      m.scalar = b.array.dtype->scalar;
    }
    for (Memory& m : memories)
      if (m.numeric) m.cotangent = gradient_of(m);
    // The trials go to the copies.
    for (BoundArray& b : call.arrays) {
      const Memory& m = *memory_of(b.array);
      WtArray h = b.array.header();
      h.data = m.work.data + (b.array.data - m.storage->data);
      std::memcpy(call.block.data() + b.offset, &h, sizeof h);
    }
  }

  /// Runs the launch with `value` at the place of `pick` and notes what it leaves.
  void run(const Pick* pick, const char* value) {
    for (Memory& m : memories)
      if (m.storage->bytes > 0)
        call.device->copy(m.work.data, m.before.data, m.storage->bytes, call.stream);
    if (pick) {
      const size_t item = size_t(ir::bits(pick->memory->scalar)) / 8;
      call.device->copy(pick->memory->work.data + pick->byte, value, item, call.stream);
    }
    run_forward(call);
    for (Memory& m : memories)
      if (m.numeric && m.written)
        m.after =
            numbers(to_host(*call.device, m.work.data, m.storage->bytes, call.stream), m.scalar);
  }

  using Values = std::vector<std::vector<double>>;
  Values values() const {
    Values out;
    for (const Memory& m : memories) out.push_back(m.after);
    return out;
  }

  /// L(a) - L(b), and in `noise` what rounding may have added.
  double difference(const Values& a, const Values& b, double* noise) const {
    double sum = 0;
    for (size_t k = 0; k < memories.size(); ++k) {
      const Memory& m = memories[k];
      if (!m.numeric || !m.written) continue;
      for (size_t i = 0; i < a[k].size(); ++i) {
        if (a[k][i] == b[k][i] || m.cotangent[i] == 0.0) continue;
        sum += m.cotangent[i] * (a[k][i] - b[k][i]);
        *noise += std::abs(m.cotangent[i]) * precision(m.scalar) *
                  std::max(std::abs(a[k][i]), std::abs(b[k][i]));
      }
    }
    return sum;
  }

  std::vector<Pick> picks(const BoundArray& b, const std::vector<double>& found);
  void compare(const Pick& pick, const Values& base, double found, double rounding);
  [[noreturn]] void report(const char* code, const Pick& pick, const std::string& what) const;
};

std::vector<Pick> GradientCheck::State::picks(const BoundArray& b,
                                              const std::vector<double>& found) {
  std::vector<Pick> out, zeros;
  Memory* m = memory_of(b.array);
  const size_t item = size_t(ir::bits(m->scalar)) / 8;
  const int parts = int(ir::num_components(b.array.dtype));
  for (int64_t n = 0; n < std::min(b.array.size() * parts, kPicks); ++n) {
    Pick p{.argument = &b, .memory = m, .index = {}, .component = int(below(parts)), .byte = 0};
    const char* at = b.array.data + int64_t(item) * p.component;
    for (int d = 0; d < b.array.ndim; ++d) {
      p.index[d] = below(b.array.shape[d]);
      at += p.index[d] * b.array.stride[d];
    }
    p.byte = size_t(at - m->storage->data);
    (found[p.byte / item] != 0.0 ? out : zeros).push_back(p);
    if (out.size() == size_t(kSamples)) break;
  }
  while (out.size() < size_t(kSamples) && !zeros.empty()) {
    out.push_back(zeros.back());
    zeros.pop_back();
  }
  return out;
}

void GradientCheck::State::compare(const Pick& pick, const Values& base, double found,
                                   double rounding) {
  const ir::Scalar s = pick.memory->scalar;
  const size_t item = size_t(ir::bits(s)) / 8;
  const auto bytes = to_host(*call.device, pick.memory->before.data + pick.byte, item, call.stream);
  const double x = ir::decode_scalar(s, bytes.data());
  const double h = step_size(s) * std::max(std::abs(x), 0.1);
  double at[2];
  Values ends[2];
  for (int side = 0; side < 2; ++side) {
    char moved[8];
    ir::encode_scalar(s, 0, side ? x - h : x + h, moved);
    at[side] = ir::decode_scalar(s, moved);
    run(&pick, moved);
    ends[side] = values();
  }
  if (at[0] == x || at[1] == x) return;
  double noise = 0;
  const double quotients[] = {difference(ends[0], base, &noise) / (at[0] - x),
                              difference(base, ends[1], &noise) / (x - at[1]),
                              difference(ends[0], ends[1], &noise) / (at[0] - at[1])};
  if (!std::isfinite(quotients[2])) return;  // the step left the domain
  const double low = std::min(quotients[0], quotients[1]);
  const double high = std::max(quotients[0], quotients[1]);
  double largest = 0;
  for (const Memory& m : memories)
    for (const double w : m.cotangent) largest = std::max(largest, std::abs(w));
  const double slack = kAgreement * std::max({std::abs(found), std::abs(low), std::abs(high)}) +
                       kRoundings * (noise / h + rounding) + 1e-6 * largest;
  if (found >= low - slack && found <= high + slack) return;
  report("WT310", pick,
         cat("is ", found, " by the adjoint, and ", quotients[2], " by finite differences"));
}

void GradientCheck::State::report(const char* code, const Pick& pick,
                                  const std::string& what) const {
  const KernelInfo& info = call.kernel->info();
  const BoundArray& b = *pick.argument;
  const ParamInfo& p = info.params[size_t(b.param)];
  const Loc loc = line_of(call.form().kernel(), b.param);
  ErrorPlace place = coded(code);
  if (loc.file) place.filename = *loc.file;
  place.lineno = loc.line;
  place.col = loc.col;
  const bool own = p.tid_dims > 0 && p.tid_dims == b.array.ndim && p.tid_dims == info.launch_dims;
  const std::string thread =
      own ? cat(", thread ",
                b.array.ndim == 1 ? cat(pick.index[0]) : tuple(pick.index, b.array.ndim))
          : std::string();
  const bool parts = ir::num_components(b.array.dtype) > 1;
  throw GradientError(std::move(place),
                      cat("kernel '", info.name, "', entry ", step, " of the tape", thread,
                          ": the gradient of '", p.name, "' at ", tuple(pick.index, b.array.ndim),
                          parts ? cat(", component ", pick.component) : std::string(), " ", what));
}

GradientCheck::GradientCheck(const Call& call, const ad::Mask& mask, const LaunchImage& image,
                             size_t step)
    : state_(std::make_unique<State>(call, mask, step)) {
  state_->prepare(image);
}

GradientCheck::~GradientCheck() = default;

void GradientCheck::finish() {
  State& s = *state_;
  std::vector<std::vector<double>> left;
  for (const Memory& m : s.memories)
    left.push_back(m.numeric ? s.gradient_of(m) : std::vector<double>());
  s.run(nullptr, nullptr);
  const State::Values base = s.values();
  for (const BoundArray& b : s.call.arrays) {
    Memory* m = s.memory_of(b.array);
    if (!m->numeric || !s.mask[size_t(b.param)] || b.array.size() == 0) continue;
    std::vector<double> found = left[size_t(m - s.memories.data())];
    if (!m->written)
      for (size_t i = 0; i < found.size(); ++i) found[i] -= m->cotangent[i];
    const size_t item = size_t(ir::bits(m->scalar)) / 8;
    for (const Pick& pick : s.picks(b, found)) {
      const double g = found[pick.byte / item];
      if (!std::isfinite(g)) s.report("WT311", pick, cat("is ", g));
      // What was in the gradient before the launch has been rounded with what it added.
      s.compare(pick, base, g, precision(m->scalar) * std::abs(m->cotangent[pick.byte / item]));
    }
  }
}

}  // namespace wt::autograd
