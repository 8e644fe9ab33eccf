// SPDX-License-Identifier: Apache-2.0
// op_file.cpp: the C functions that include/warp_torch/ops.h calls. They are declared anew here,
// since that header sees PyTorch, which this library does not.
#include <cstring>
#include <string>
#include <vector>

#include "csrc/autograd/op_bundle.h"
#include "csrc/codegen/support/text.h"

struct WtOps {
  struct Entry {
    std::string name, registered;
    const wt::autograd::OpHost* host;
  };
  std::vector<Entry> entries;
};

extern "C" {

/// Stays open for the life of the process, as its ops do.
WT_API const WtOps* wt_open_ops(const char* path, char* error, size_t error_size) {
  try {
    auto* ops = new WtOps;
    for (const auto& [name, host] : wt::autograd::load_ops(path)) {
      const WtOp& op = host->op();
      ops->entries.push_back({name, wt::cat("warp_torch::", op.name, "_", op.key), host});
    }
    return ops;
  } catch (const std::exception& e) {
    std::strncpy(error, e.what(), error_size - 1);
    error[error_size - 1] = 0;
    return nullptr;
  }
}

WT_API int wt_ops_count(const WtOps* ops) { return int(ops->entries.size()); }
WT_API const char* wt_op_name(const WtOps* ops, int i) { return ops->entries[i].name.c_str(); }
WT_API const char* wt_op_registered(const WtOps* ops, int i) {
  return ops->entries[i].registered.c_str();
}
WT_API const WtOp* wt_op(const WtOps* ops, int i) { return &ops->entries[i].host->op(); }
WT_API const WtHostApi* wt_host_api() { return &wt::autograd::host_api(); }

}  // extern "C"
