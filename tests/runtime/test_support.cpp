// SPDX-License-Identifier: Apache-2.0
// test_support.cpp: error text, hash, text building.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/hash.h"
#include "csrc/codegen/support/loc.h"
#include "csrc/codegen/support/text.h"

namespace wt {
namespace {

TEST(Error, PrintsPlaceCaretAndHelp) {
  const KernelError e("WT012", "step.py", 3, 5, "unknown name `y`", "did you mean `x`?", "a = y");
  EXPECT_STREQ(e.what(),
               "step.py:3:5: error WT012: unknown name `y`\n"
               "    a = y\n"
               "        ^\n"
               "  help: did you mean `x`?");
  EXPECT_EQ(e.message(), "unknown name `y`");
  EXPECT_EQ(e.code(), "WT012");
  EXPECT_EQ(e.lineno(), 3);
}

TEST(Error, EveryKindIsAnError) {
  EXPECT_THROW(throw GradientError("g"), Error);
  EXPECT_THROW(throw DeviceError("d", 7), Error);
  EXPECT_THROW(throw OutOfMemoryError("o", 12), Error);
  EXPECT_EQ(DeviceError("d", 7).code(), 7);
  EXPECT_EQ(OutOfMemoryError("o", 12).requested(), 12u);
}

TEST(Error, CheckNamesTheConditionAndTheFileFromTheRoot) {
  try {
    WT_CHECK(1 + 1 == 3, "sum is ", 2);
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("1 + 1 == 3 does not hold: sum is 2"));
    EXPECT_THAT(e.what(), testing::StartsWith("internal error at test_support.cpp:"));
  }
}

TEST(Text, CatWritesNumbersThatReadBack) {
  EXPECT_EQ(cat("a", 1, ' ', -7L, ' ', 3u, ' ', true), "a1 -7 3 true");
  EXPECT_EQ(cat(0.1), "0.1");
  EXPECT_EQ(cat(0.1f), "0.1");
  EXPECT_EQ(cat(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  std::mt19937_64 random(5);
  for (int i = 0; i < 1000; ++i) {
    const double v = std::bit_cast<double>(random());
    if (!std::isfinite(v)) continue;
    EXPECT_EQ(std::strtod(cat(v).c_str(), nullptr), v);
  }
}

TEST(Text, SplitTrimJoin) {
  EXPECT_THAT(split("a,,b", ','), testing::ElementsAre("a", "", "b"));
  EXPECT_TRUE(split("", ',').empty());
  EXPECT_EQ(trim("  x y\r\n"), "x y");
  EXPECT_EQ(join(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
}

TEST(Text, NearestSuggestsOnlyWhatIsClose) {
  const std::vector<std::string_view> names = {"normalize", "length", "cross"};
  EXPECT_EQ(nearest("normalise", names), "normalize");
  EXPECT_EQ(nearest("lenqth", names), "length");
  EXPECT_EQ(nearest("quaternion", names), "");
}

TEST(Text, WriterIndents) {
  TextWriter w;
  w.line("f() {");
  {
    const auto body = w.scope();
    w.line("return ", 1, ";");
    w.line();
  }
  w.line("}");
  EXPECT_EQ(w.str(), "f() {\n  return 1;\n\n}\n");
}

TEST(Loc, FilesAreInterned) {
  const std::string a = "step.py";
  EXPECT_EQ(intern_file(a), intern_file("step.py"));
  EXPECT_NE(intern_file(a), intern_file("other.py"));
  EXPECT_EQ(to_string(Loc{.file = intern_file("step.py"), .line = 3, .col = 7}), "step.py:3:7");
  EXPECT_EQ(to_string(Loc{}), "?");
}

TEST(Hash, FieldsAreSeparate) {
  EXPECT_NE(Hasher().add("ab").add("c").finish(), Hasher().add("a").add("bc").finish());
  EXPECT_NE(hash128(""), hash128(std::string_view("\0", 1)));
  EXPECT_NE(Hasher().finish(), Hasher().add(uint64_t{0}).finish());
  EXPECT_EQ(hash128("x").hex().size(), 32u);
}

TEST(Hash, NoCollisionAmongNeighbours) {
  std::set<Hash128> all;
  std::set<uint64_t> low;
  std::string text(64, 'a');
  for (size_t at = 0; at < text.size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string changed = text;
      changed[at] = static_cast<char>(c);
      const Hash128 h = hash128(changed);
      if (changed == text) continue;
      EXPECT_TRUE(all.insert(h).second);
      EXPECT_TRUE(low.insert(h.lo).second);
    }
  }
}

TEST(Hash, OneBitFlipsHalfOfTheBits) {
  std::mt19937_64 random(11);
  double flipped = 0;
  constexpr int kTrials = 2000;
  for (int i = 0; i < kTrials; ++i) {
    std::string text(1 + random() % 100, '\0');
    for (char& c : text) c = static_cast<char>(random());
    std::string other = text;
    other[random() % other.size()] ^= static_cast<char>(1 << (random() % 8));
    const Hash128 a = hash128(text);
    const Hash128 b = hash128(other);
    const int n = std::popcount(a.hi ^ b.hi) + std::popcount(a.lo ^ b.lo);
    EXPECT_GT(n, 24);  // 7 standard deviations from 64.
    EXPECT_LT(n, 104);
    flipped += n;
  }
  EXPECT_NEAR(flipped / kTrials, 64, 1);
}

TEST(Hash, ValueIsTheSameOnEveryMachine) {
  // Fixed when the function was written: a change would orphan every cache and op name.
  EXPECT_EQ(hash128("warp_torch").hex(), Hasher().add("warp_torch").finish().hex());
  EXPECT_EQ(hash128("a").hex(), "f4c9fe6c4431f83e9c2e2edd0bb8459c");
}

}  // namespace
}  // namespace wt
