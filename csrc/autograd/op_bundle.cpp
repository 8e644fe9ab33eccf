// SPDX-License-Identifier: Apache-2.0
// op_bundle.cpp: writes ops into records and makes them of records.
#include "csrc/autograd/op_bundle.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <future>
#include <iterator>
#include <thread>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"

namespace wt::autograd {
namespace {

constexpr size_t kAllSubsets = 3;  // of more parameters the subsets are too many

/// Texts and lists of texts in a row of fields.
class FieldWriter {
 public:
  void put(std::string text) { fields.push_back(std::move(text)); }
  void put(const std::vector<std::string>& list) {
    put(std::to_string(list.size()));
    fields.insert(fields.end(), list.begin(), list.end());
  }
  std::vector<std::string> fields;
};

class FieldReader {
 public:
  explicit FieldReader(const std::vector<std::string>& fields) : fields_(fields) {}
  const std::string& text() {
    if (at_ == fields_.size())
      throw ArgumentValueError(coded("WT720"), "a bundle holds half an op; make it again");
    return fields_[at_++];
  }
  size_t number() {
    const std::string& t = text();
    size_t n = 0;
    std::from_chars(t.data(), t.data() + t.size(), n);
    return n;
  }
  std::vector<std::string> list() {
    std::vector<std::string> out;
    for (size_t n = number(); n > 0; --n) out.push_back(text());
    return out;
  }

 private:
  const std::vector<std::string>& fields_;
  size_t at_ = 0;
};

rt::BundleRecord op_record(const std::string& name, const rt::Kernel& kernel,
                           const OpOptions& options) {
  FieldWriter w;
  w.put("op");
  w.put(name);
  w.put(kernel.info().name);
  w.put(kernel.deterministic() ? "1" : "0");
  w.put(options.deterministic ? "1" : "0");
  w.put(options.dim);
  w.put(options.mutates);
  w.put(options.tensors);
  w.put(std::to_string(options.outputs.size()));
  for (const auto& [result, shape] : options.outputs) {
    w.put(result);
    w.put(shape);
  }
  return {std::move(w.fields), kernel.program().lowered()};
}

std::pair<std::string, std::unique_ptr<OpHost>> op_of(const rt::BundleRecord& record) {
  FieldReader r(record.fields);
  if (r.text() != "op")
    throw ArgumentValueError(coded("WT720"), "a bundle holds what is no op; make it again");
  const std::string name = r.text(), entry = r.text();
  const bool deterministic_kernel = r.number() != 0;
  OpOptions options;
  options.deterministic = r.number() != 0;
  options.dim = r.list();
  options.mutates = r.list();
  options.tensors = r.list();
  for (size_t n = r.number(); n > 0; --n) {
    const std::string result = r.text();
    options.outputs[result] = r.list();
  }
  auto kernel = std::make_shared<rt::Kernel>(Program::from_ir(ir::parse(record.data), entry));
  kernel->set_deterministic(deterministic_kernel);
  auto plan = std::make_shared<OpPlan>(std::move(kernel), options);
  return {name, std::make_unique<OpHost>(std::move(plan))};
}

/// Which arguments want gradients, and which results have them.
std::vector<ad::Mask> op_masks(const OpPlan& plan) {
  ad::Mask arguments = plan.full_mask(), results = plan.full_mask();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Role role = plan.params()[i].role;
    const bool result = role == Role::kOutput || role == Role::kSum;
    (result ? arguments : results)[i] = false;
  }
  std::vector<ad::Mask> out;
  for (const ad::Mask& a : ahead_masks(arguments))
    for (const ad::Mask& r : ahead_masks(results)) {
      ad::Mask& both = out.emplace_back(a);
      for (size_t i = 0; i < both.size(); ++i) both[i] = a[i] || r[i];
    }
  if (out.empty()) out = ahead_masks(plan.full_mask());  // all results are arguments, changed
  return out;
}

}  // namespace

std::vector<ad::Mask> ahead_masks(const ad::Mask& all) {
  std::vector<size_t> on;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i]) on.push_back(i);
  std::vector<ad::Mask> out;
  if (on.empty()) return out;
  const auto add = [&](size_t chosen) {
    ad::Mask mask(all.size(), false);
    for (size_t k = 0; k < on.size(); ++k)
      if (on.size() > kAllSubsets ? chosen == k : (chosen >> k & 1) != 0) mask[on[k]] = true;
    out.push_back(std::move(mask));
  };
  if (on.size() > kAllSubsets) {
    out.push_back(all);
    for (size_t k = 0; k < on.size(); ++k) add(k);
  } else {
    for (size_t bits = (size_t{1} << on.size()) - 1; bits > 0; --bits) add(bits);
  }
  return out;
}

std::vector<rt::BundleRecord> compile_ahead(const std::vector<const Form*>& forms,
                                            const std::vector<AheadTarget>& targets) {
  std::vector<rt::BundleRecord> made(forms.size() * targets.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < made.size(); i = next++) {
      const Form& f = *forms[i / targets.size()];
      const auto& [target, arch] = targets[i % targets.size()];
      made[i] = rt::binary_record(rt::bundle_entry(*f.module, f.entry, target, arch));
    }
  };
  std::vector<std::future<void>> workers;
  for (unsigned n = std::max(1U, std::thread::hardware_concurrency()); n > 0; --n)
    workers.push_back(std::async(std::launch::async, work));
  for (std::future<void>& w : workers) w.wait();
  for (std::future<void>& w : workers) w.get();
  return made;
}

void add_adjoint(std::vector<const Form*>& forms, Program& program, const ad::Mask& mask,
                 AdjointMode mode) {
  try {
    const AdjointForm& a = program.adjoint(mask, mode);
    forms.push_back(&a.adjoint);
    if (a.augmented) forms.push_back(a.augmented.get());
  } catch (const GradientError&) {  // a refused derivative is left out: its launch says why
  }
}

std::vector<rt::BundleRecord> op_records(const std::string& name,
                                         const std::shared_ptr<rt::Kernel>& kernel,
                                         const OpOptions& options,
                                         const std::vector<AheadTarget>& targets) {
  std::vector<rt::BundleRecord> out = {op_record(name, *kernel, options)};
  const OpPlan plan(kernel, options);
  Program& program = plan.kernel().program();
  std::vector<const Form*> forms = {&program.forward()};
  for (const ad::Mask& mask : op_masks(plan))
    add_adjoint(forms, program, mask, AdjointMode::kFresh);
  add_adjoint(forms, program, plan.full_mask(), AdjointMode::kAtomic);
  std::vector<rt::BundleRecord> made = compile_ahead(forms, targets);
  std::move(made.begin(), made.end(), std::back_inserter(out));
  return out;
}

std::map<std::string, const OpHost*> load_ops(const std::string& path) {
  std::map<std::string, const OpHost*> out;
  for (const rt::BundleRecord& record : rt::load_bundle_file(path)) {
    auto [name, host] = op_of(record);
    out[name] = host.release();  // its plan is what a registered op runs, and no op is ever dropped
  }
  return out;
}

}  // namespace wt::autograd
