// SPDX-License-Identifier: Apache-2.0
// test_tape.cpp: what a tape records, saves, seeds and leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "csrc/autograd/record.h"
#include "csrc/autograd/tape.h"
#include "csrc/codegen/support/error.h"
#include "tests/autograd/taped_kernels.h"

namespace wt::autograd {
namespace {

using testing::array;
using testing::call;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kernel;
using ::testing::ThrowsMessage;
using testing::values;

class Recording {
 public:
  explicit Recording(Tape& tape) : tape_(tape) { push_tape(&tape); }
  ~Recording() { pop_tape(&tape_); }

 private:
  Tape& tape_;
};

struct Kernels {
  std::shared_ptr<rt::Kernel> square = kernel(testing::kSquare);
  std::shared_ptr<rt::Kernel> in_place = kernel(testing::kSquareInPlace);
  std::shared_ptr<rt::Kernel> total = kernel(testing::kTotal);
  std::shared_ptr<rt::Kernel> add = kernel(testing::kAdd);
};

const Kernels& kernels() {
  static const Kernels k;
  return k;
}

TEST(Tape, RecordsNothingOutside) {
  Tape tape;
  rt::Array x = array({1, 2}), y = array({0, 0});
  launch(call(kernels().square, {x, y}));
  EXPECT_FALSE(recording());
  EXPECT_EQ(tape.stats().entries, 0u);
  EXPECT_THAT(values(y), ElementsAre(1, 4));
}

TEST(Tape, ChainRule) {
  Tape tape;
  rt::Array x = array({1, 2, 3}), y = array({0, 0, 0}), loss = array({0});
  {
    Recording on(tape);
    launch(call(kernels().square, {x, y}));
    launch(call(kernels().total, {y, loss}));
  }
  tape.backward(&loss, {});
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 4, 6));
  EXPECT_THAT(values(y.grad()), ElementsAre(0, 0, 0));
  EXPECT_THAT(values(loss.grad()), ElementsAre(1));
  EXPECT_EQ(tape.describe(), "launch square on 3 threads\nlaunch total on 3 threads\n");
}

TEST(Tape, LogsWhatAnInPlaceProductOverwrites) {
  Tape tape;
  rt::Array x = array({3, 2}), loss = array({0});
  {
    Recording on(tape);
    launch(call(kernels().in_place, {x}));
    launch(call(kernels().in_place, {x}));
    launch(call(kernels().total, {x, loss}));
  }
  EXPECT_EQ(tape.stats().log_bytes, 512u);
  EXPECT_EQ(tape.stats().saved_bytes, 0u);
  tape.backward(&loss, {});
  EXPECT_THAT(values(x.grad()), ElementsAre(4 * 27, 4 * 8));
  EXPECT_THAT(values(x), ElementsAre(81, 16));
  tape.backward(&loss, {});
  EXPECT_THAT(values(x.grad()), ElementsAre(8 * 27, 8 * 8));
}

TEST(Tape, SavesARangeOnceForAllReaders) {
  Tape tape;
  rt::Array x = array({1, 2, 3, 4}), y = array({0, 0, 0, 0}), z = array({0, 0, 0, 0});
  const double nine = 9;
  {
    Recording on(tape);
    launch(call(kernels().square, {x, y}));
    launch(call(kernels().square, {x, z}));
    autograd::fill(rt::slice(x, 0, 0, 2, 1), &nine, {});
    autograd::fill(x, &nine, {});
  }
  EXPECT_EQ(tape.stats().saved_bytes, 32u);
  tape.backward(nullptr, {{y, array({1, 1, 1, 1}, false)}, {z, array({1, 1, 1, 1}, false)}});
  EXPECT_THAT(values(x.grad()), ElementsAre(4, 8, 12, 16));
  EXPECT_THAT(values(x), ElementsAre(9, 9, 9, 9));
}

TEST(Tape, LinearUpdatesSaveNothing) {
  Tape tape;
  rt::Array x = array({1, 2}), y = array({3, 4});
  {
    Recording on(tape);
    for (int i = 0; i < 4; ++i) launch(call(kernels().add, {x, y}));
  }
  EXPECT_EQ(tape.stats().saved_bytes + tape.stats().log_bytes, 0u);
  tape.backward(nullptr, {});
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 1));
  EXPECT_THAT(values(y.grad()), ElementsAre(4, 4));
}

TEST(Tape, NamesWhatChangedBehindItsBack) {
  Tape tape;
  rt::Array x = array({1, 2}), y = array({0, 0});
  {
    Recording on(tape);
    launch(call(kernels().square, {x, y}));
  }
  launch(call(kernels().in_place, {x}));
  EXPECT_THAT([&] { tape.backward(nullptr, {}); },
              ThrowsMessage<GradientError>(HasSubstr("argument 'x' of square")));
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 0));
  EXPECT_THAT(values(y.grad()), ElementsAre(0, 0));
}

TEST(Tape, NestedTapesBothRecord) {
  Tape outer, inner;
  rt::Array x = array({1, 2}), y = array({0, 0}), loss = array({0});
  {
    Recording on(outer);
    launch(call(kernels().square, {x, y}));
    Recording also(inner);
    launch(call(kernels().total, {y, loss}));
  }
  EXPECT_EQ(outer.stats().entries, 2u);
  EXPECT_EQ(inner.stats().entries, 1u);
  outer.backward(&loss, {});
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 4));
}

TEST(Tape, ATapeEnteredTwiceRecordsOnce) {
  Tape tape;
  rt::Array x = array({1, 2}), y = array({0, 0});
  {
    Recording on(tape), again(tape);
    launch(call(kernels().square, {x, y}));
  }
  EXPECT_FALSE(recording());
  EXPECT_EQ(tape.stats().entries, 1u);
}

TEST(Tape, BackwardDoesNotRecordItself) {
  Tape tape;
  rt::Array x = array({1, 2}), y = array({0, 0});
  Recording on(tape);
  launch(call(kernels().square, {x, y}));
  bool seen = true;
  tape.record_func([&] { seen = recording(); }, {});
  tape.backward(nullptr, {});
  EXPECT_FALSE(seen);
  EXPECT_TRUE(recording());
  EXPECT_EQ(tape.stats().entries, 2u);
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 4));
}

TEST(Tape, OneArrayAsTwoArgumentsIsOne) {
  Tape tape;
  rt::Array x = array({1, 2}), loss = array({0});
  {
    Recording on(tape);
    launch(call(kernels().add, {x, x}));
    launch(call(kernels().total, {x, loss}));
  }
  tape.backward(&loss, {});
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 2));
}

TEST(Tape, PartialOverlapIsRefused) {
  Tape tape;
  rt::Array x = array({1, 2, 3});
  Recording on(tape);
  EXPECT_THAT(
      [&] {
        launch(call(kernels().add, {rt::slice(x, 0, 0, 2, 1), rt::slice(x, 0, 1, 2, 1)}));
      },
      ThrowsMessage<GradientError>(HasSubstr("share part of their memory")));
  EXPECT_THAT(values(x), ElementsAre(1, 2, 3));
  // Every second element of one array: no element is in both.
  rt::Array y = array({1, 2, 3, 4});
  launch(call(kernels().add, {rt::slice(y, 0, 0, 2, 2), rt::slice(y, 0, 1, 2, 2)}));
  EXPECT_THAT(values(y), ElementsAre(3, 2, 7, 4));
}

TEST(Tape, ResetForgets) {
  Tape tape;
  rt::Array x = array({1, 2}), y = array({0, 0});
  std::weak_ptr<rt::Storage> kept = y.storage;
  {
    Recording on(tape);
    launch(call(kernels().square, {x, y}));
  }
  y = {};
  EXPECT_FALSE(kept.expired());
  tape.reset();
  EXPECT_TRUE(kept.expired());
  EXPECT_EQ(tape.stats().entries, 0u);
}

}  // namespace
}  // namespace wt::autograd
