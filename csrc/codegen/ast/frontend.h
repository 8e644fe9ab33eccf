// SPDX-License-Identifier: Apache-2.0
// frontend.h: the first replaceable layer: text of some kind to Source AST. Lowering is shared, so
// a front end never sees the IR.
#pragma once

#include <memory>
#include <string_view>

#include "csrc/codegen/ast/ast.h"

namespace wt {

class Frontend {
 public:
  virtual ~Frontend() = default;
  virtual std::string_view name() const = 0;
  /// Throws KernelError where the user's source is wrong.
  virtual std::unique_ptr<ast::Unit> parse(std::string_view source) const = 0;
};

/// Reads the AST text that python/warp_torch/frontend.py writes.
class AstTextFrontend final : public Frontend {
 public:
  std::string_view name() const override { return "ast_text"; }
  std::unique_ptr<ast::Unit> parse(std::string_view source) const override;
};

namespace ast {
/// The front end of every kernel that comes from Python.
const Frontend& default_frontend();
}  // namespace ast

}  // namespace wt
