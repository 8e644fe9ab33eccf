// SPDX-License-Identifier: Apache-2.0
// fold_rules.h: the rewrites of pass fold, by kind of op. Each returns the value that the op's
// result may be replaced by, making ops through the builder if it must, or null.
#pragma once

#include "csrc/codegen/ir/builder.h"

namespace wt::passes {

/// Literals: builtins and casts of constants, evaluated as every target does.
ir::Value* fold_constants(const ir::Op& op, ir::Builder& b);
/// Identities of builtins, select and cast.
ir::Value* fold_algebra(const ir::Op& op, ir::Builder& b);
/// Parts of values that were just put together: extract of make, field of set_field, shape of view.
ir::Value* fold_parts(const ir::Op& op, ir::Builder& b);
/// load, store, atomics and views of a view go to the array itself. True if it changed operands.
bool fold_views(ir::Op& op);

/// True for the op `zero` (of any type).
bool is_zero_op(const ir::Value* v);

}  // namespace wt::passes
