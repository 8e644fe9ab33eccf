// SPDX-License-Identifier: Apache-2.0
// ast.h: the Source AST: a kernel as the front end saw it, names resolved, nothing typed yet.
//
// Text form (ast_print.cpp, ast_read.cpp; print(read(text)) is a fixed point for printed text):
//   (kind @line:col:endcol text child...)
// Functions and parameters have their name before the place. A place is left out where unknown; a
// text is bare unless it holds a space, a bracket, a quote or a leading @. Example:
//   (kernel axpy @4:1:30 "axpy.py"
//     (param x @4:10:11 array<f32,1>)
//     (do
//       (aug @5:5:16 add (index @5:5:9 (name @5:5:6 x) (int @5:7:8 0)) (float @5:13:16 0.5))))
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "csrc/codegen/support/loc.h"

namespace wt::ast {

/// `text` and the children (`args`) of each kind:
enum class ExprKind : uint8_t {
  kName,     ///< text: a local variable or parameter
  kInt,      ///< text: decimal digits with sign; weak
  kFloat,    ///< text: decimal, inf or nan; weak
  kBool,     ///< text: true or false
  kStr,      ///< text: the characters
  kNone,     ///< Python's None; also an absent part of a slice
  kConst,    ///< text: type; children: its components (numbers; fields in order for a struct)
  kType,     ///< text: type
  kFunc,     ///< text: id of a function of the unit
  kBuiltin,  ///< text: name of a builtin
  kTuple,    ///< children
  kCall,     ///< callee, then arguments; a keyword argument is a kKeyword, `*v` a kStar
  kKeyword,  ///< text: name; child: value
  kStar,     ///< child
  kAttr,     ///< text: attribute; child: object
  kIndex,    ///< object, then indices (each an expression or a kSlice)
  kSlice,    ///< start, stop, step
  kUnary,    ///< text: neg, pos, invert or not
  kBinary,   ///< text: add sub mul div floordiv mod pow matmul bit_and bit_or bit_xor lshift rshift
  kAnd,      ///< children, lazy
  kOr,       ///< children, lazy
  kCompare,  ///< text: operators (lt le gt ge eq ne in notin is isnot) with spaces; children
  kIfElse,   ///< condition, value if true, value if false
  kFString,  ///< children: strings and values
  kLambda,   ///< text: id of a function of the unit that reads the enclosing function's variables
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  ExprKind kind = ExprKind::kNone;
  Loc loc;
  std::string text;
  std::vector<ExprPtr> args;
};

/// `exprs`, and what `body` and `orelse` hold:
enum class StmtKind : uint8_t {
  kAssign,    ///< targets..., value
  kAnnotate,  ///< text: type; target, value
  kAugment,   ///< text: operator of kBinary; target, value
  kIf,        ///< condition
  kWhile,     ///< condition; orelse runs unless a break left the loop
  kFor,       ///< target, iterable; orelse likewise
  kBreak,
  kContinue,
  kReturn,  ///< nothing, or the value
  kPass,
  kExpr,    ///< expression
  kAssert,  ///< condition, optional message
};

struct Stmt {
  StmtKind kind = StmtKind::kPass;
  Loc loc;
  std::string text;
  std::vector<ExprPtr> exprs;
  std::vector<Stmt> body, orelse;
};

struct Param {
  std::string name;
  std::string type;  ///< type text; Any, Float, Int, Scalar and Function may stand inside
  Loc loc;
  ExprPtr value;  ///< default, may be null
};

/// Several functions with one id are overloads of each other.
struct Func {
  bool kernel = false;
  std::string id;
  std::string result;  ///< declared result type or ""
  Loc loc;             ///< loc.file is the file of everything in the function
  std::vector<Param> params;
  std::vector<std::pair<std::string, std::string>> attrs;
  std::vector<Stmt> body;
};

struct Field {
  std::string name;
  std::string type;
  ExprPtr value;  ///< default, may be null
};

struct Struct {
  std::string name;
  std::vector<Field> fields;
};

struct Unit {
  std::map<std::string, std::string> options;               ///< python_mod, python_div: "1"
  std::map<std::string, std::map<int, std::string>> files;  ///< name -> line number -> text
  std::vector<Struct> structs;  ///< a struct follows those that it holds
  std::vector<Func> funcs;

  const Func* find(std::string_view id) const;  ///< the first with that id, or null
  bool option(std::string_view name) const;
  std::string source_line(const Loc& loc) const;  ///< "" if not carried
};

/// Canonical text.
std::string print(const Unit& unit);
std::string print(const Expr& expr);
/// Reads the text form; throws InternalError naming the line of `text`, since only a front end
/// writes it.
std::unique_ptr<Unit> read(std::string_view text);

/// Spelling of each kind in the text form.
std::string_view to_string(ExprKind kind);
std::string_view to_string(StmtKind kind);
bool from_string(std::string_view text, ExprKind* out);
bool from_string(std::string_view text, StmtKind* out);

}  // namespace wt::ast
