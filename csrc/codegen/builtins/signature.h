// SPDX-License-Identifier: Apache-2.0
// signature.h: the parsed form of a row's `sig`, and matching of types against it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/builtins/builtin_def.h"
#include "csrc/codegen/ir/type.h"

namespace wt::builtins {

/// "3" or a variable such as "N".
struct SizePattern {
  int fixed = 0;
  std::string var;
};

/// A type with variables. A fixed scalar has `fixed` set; a variable has `var`.
struct TypePattern {
  enum class Kind : uint8_t { kFixed, kVar, kVec, kMat, kQuat, kXform, kArray };
  Kind kind = Kind::kFixed;
  ir::Type fixed = nullptr;
  std::string var;  ///< F, I, S, B or T, with an optional digit
  SizePattern rows, cols;
  std::shared_ptr<const TypePattern> elem;  ///< component of vec ... xform, element of array
};

struct Param {
  std::string name;
  TypePattern type;
  bool inout = false;
  std::optional<double> value;  ///< if it is left out
};

struct Signature {
  std::vector<Param> params;
  std::vector<TypePattern> results;  ///< inout parameters come last
};

/// Throws InternalError naming the row and the column.
Signature parse_signature(const BuiltinDef& def);

/// What the variables of one call stand for.
class Bindings {
 public:
  struct Entry {
    std::string name;
    ir::Type type = nullptr;  ///< null for a size
    int size = 0;
  };

  const Entry* find(std::string_view name) const;
  /// False if the name is bound to something else.
  bool bind(std::string_view name, ir::Type type);
  bool bind(std::string_view name, int size);
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// Unifies a pattern with a type; on failure `why` says what did not fit.
bool match(const TypePattern& pattern, ir::Type type, Bindings* bound, std::string* why = nullptr);
/// The same for a weak operand: shapes unify, the scalar type is left to what is bound already.
/// `scalars` collects (variable, literal's own scalar) of variables that nothing has bound yet.
bool match_weak(const TypePattern& pattern, ir::Type type, Bindings* bound,
                std::vector<Bindings::Entry>* scalars, std::string* why = nullptr);
/// The type that a pattern stands for; every variable must be bound.
ir::Type instantiate(const TypePattern& pattern, const Bindings& bound);

/// The type of the same shape with other components.
ir::Type with_scalar(ir::Type t, ir::Scalar s);

/// True if a scalar variable (F, I, S, B, T) may stand for the type.
bool admits(std::string_view var, ir::Type type);

}  // namespace wt::builtins
