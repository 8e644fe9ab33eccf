// SPDX-License-Identifier: Apache-2.0
// test_text.cpp: print(read(text)) is a fixed point; errors name the line.
#include <gtest/gtest.h>

#include "csrc/codegen/ast/frontend.h"
#include "csrc/codegen/support/error.h"

namespace wt::ast {
namespace {

constexpr std::string_view kUnit = R"((unit
  (option python_mod 1)
  (file "a b.py"
    (line 1 "@wp.kernel")
    (line 2 "def k(x):\t\"quoted\" \\ é"))
  (struct Body
    (field m f32 (const f32 (float 2.0)))
    (field p vec<3,f32>))
  (func f @9:1:5 "a b.py"
    (param n @9:3:4 Any (int 3))
    (result f32)
    (attr inline 1)
    (do
      (return @10:3:9 (name @10:10:11 n))))
  (kernel k @2:1:9 "a b.py"
    (param x @2:7:8 array<vec<3,f32>,2>)
    (do
      (assign @3:3:12 (name @3:3:4 a) (name @3:7:8 b) (float @3:9:12 0.5))
      (annotate @4:3:4 f64 (name a) (int -1))
      (aug @5:3:9 add (index (attr p (name a)) (int 0) (slice (none) (int 1) (none))) (str ""))
      (if @6:3:4 (compare "lt le" (name a) (name b) (int 1))
        (do
          (break @6:4:5))
        (else
          (pass)
          (continue)))
      (while (bool true)
        (do
          (assert (name a) (fstr (str "a = ") (name a))))
        (else
          (expr (call (builtin sin) (kw x (star (tuple)))))))
      (for (tuple (name i) (name j)) (call (func f) (lambda "g h") (type vec<3,f32>))
        (do
          (return))))))
)";

TEST(AstText, PrintOfReadIsAFixedPoint) {
  const auto unit = read(kUnit);
  EXPECT_EQ(print(*unit), kUnit);
  EXPECT_EQ(print(*read(print(*unit))), kUnit);
}

TEST(AstText, HoldsWhatItSays) {
  const auto unit = read(kUnit);
  EXPECT_TRUE(unit->option("python_mod"));
  EXPECT_FALSE(unit->option("python_div"));
  ASSERT_EQ(unit->structs.size(), 1u);
  EXPECT_EQ(unit->structs[0].fields[1].type, "vec<3,f32>");
  const Func* k = unit->find("k");
  ASSERT_TRUE(k);
  EXPECT_TRUE(k->kernel);
  EXPECT_EQ(k->body.size(), 6u);
  const Stmt& a = k->body[0];
  EXPECT_EQ(a.kind, StmtKind::kAssign);
  EXPECT_EQ(*a.loc.file, "a b.py");
  EXPECT_EQ(a.loc.line, 3);
  EXPECT_EQ(a.loc.end_col, 12);
  EXPECT_EQ(unit->source_line({a.loc.file, 1, 0, 0}), "@wp.kernel");
  EXPECT_EQ(unit->source_line({a.loc.file, 77, 0, 0}), "");
  EXPECT_EQ(k->body[3].orelse.size(), 2u);
}

void expect_refused(std::string_view text, std::string_view part) {
  try {
    read(text);
    FAIL() << "read: " << text;
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(AstText, RefusesWhatIsNoUnit) {
  expect_refused("", "line 1: expected (");
  expect_refused("(kernel k)", "expected (unit ...)");
  expect_refused("(unit\n  (kernel k x\n    (do\n      (jump))))",
                 "line 4, (jump: unknown statement");
  expect_refused("(unit\n (func f f (do (expr (cal x)))))", "(cal: unknown expression");
  expect_refused("(unit (file \"a", "string is not closed");
  expect_refused("(unit (kernel k", "is not closed");
  expect_refused("(unit (struct))", "wants 1 words");
  expect_refused("(unit (kernel k @1:x:3 f))", "bad place");
  expect_refused("(unit) (unit)", "text after the unit");
  expect_refused("(unit (func f f (do (expr (binary add (int 1))))))", "binary: wants 2 children");
  expect_refused("(unit (func f f (do (assign (int 1)))))", "assign: wants 2 children");
}

}  // namespace
}  // namespace wt::ast
