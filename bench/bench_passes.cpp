// SPDX-License-Identifier: Apache-2.0
// bench_passes.cpp: time of the text form, the verifier, each pass and optimize() by program size.
// The argument is the number of statements of a program like those that lowering writes.
#include <benchmark/benchmark.h>

#include <string>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"

namespace wt {
namespace {

/// Loops over an array with a branch in them, all on variables; `n` of them in a row.
std::unique_ptr<ir::Module> program(int64_t n) {
  auto m = std::make_unique<ir::Module>();
  m->funcs.push_back(std::make_unique<ir::Func>());
  ir::Func& f = *m->funcs[0];
  f.kernel = true;
  f.name = "k";
  ir::Value* x = f.body.add_arg(ir::array_type(ir::f32_type(), 1), "x");
  ir::Value* count = f.body.add_arg(ir::i32_type(), "n");
  ir::Builder b(&f.body);
  ir::Value* sum = b.var(ir::f32_type(), "s");
  for (int64_t k = 0; k < n; ++k) {
    ir::Op* loop = b.for_(count);
    ir::Builder in(loop->regions[0].get());
    ir::Value* const at[] = {loop->regions[0]->args[0].get()};
    ir::Value* v = in.load(x, at);
    ir::Value* half = in.mul(v, in.const_float(0.5, ir::f32_type()));
    in.set(sum, in.add(in.get(sum), half));
    ir::Op* branch = in.if_(in.builtin("gt", {v, in.const_float(1, ir::f32_type())}));
    ir::Builder then(branch->regions[0].get());
    then.set(sum, then.mul(then.get(sum), v));
    then.yield();
    ir::Builder(branch->regions[1].get()).yield();
    in.store(x, in.get(sum), at);
    in.yield();
  }
  b.ret();
  return m;
}

void Print(benchmark::State& state) {
  const auto m = program(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(ir::print(*m));
}
BENCHMARK(Print)->Arg(10)->Arg(100);

void Parse(benchmark::State& state) {
  const std::string text = ir::print(*program(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(ir::parse(text));
}
BENCHMARK(Parse)->Arg(10)->Arg(100);

void Verify(benchmark::State& state) {
  const auto m = program(state.range(0));
  for (auto _ : state) ir::verify(*m);
}
BENCHMARK(Verify)->Arg(10)->Arg(100);

void Optimize(benchmark::State& state) {
  const auto m = program(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    const auto copy = ir::clone(*m);
    state.ResumeTiming();
    passes::optimize(*copy);
  }
}
BENCHMARK(Optimize)->Arg(10)->Arg(100);

/// One pass, on variables for inline and mem2reg, else on values.
void Pass(benchmark::State& state, const passes::PassInfo* pass) {
  const auto m = program(state.range(0));
  if (pass->name != "inline" && pass->name != "mem2reg") passes::mem2reg(*m);
  for (auto _ : state) {
    state.PauseTiming();
    const auto copy = ir::clone(*m);
    state.ResumeTiming();
    pass->run(*copy);
  }
}

const bool kRegistered = [] {
  for (const passes::PassInfo& p : passes::all_passes()) {
    benchmark::RegisterBenchmark(("Pass/" + std::string(p.name)).c_str(), Pass, &p)->Arg(100);
  }
  return true;
}();

}  // namespace
}  // namespace wt
