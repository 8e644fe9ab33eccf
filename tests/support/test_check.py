# SPDX-License-Identifier: Apache-2.0
# test_check.py: the matcher finds what it must and refuses what it must.
import pytest

from tests.support.check import Mismatch, check

OUTPUT = """kernel @axpy(%0: f32) {
  %1 = const(2)
  %12 = mul(%0,   %1)
  store(%12)
}
"""


@pytest.mark.parametrize(
    "test",
    [
        "// CHECK: const(2)\n// CHECK: store",
        "// CHECK: const(2)\n// CHECK-NEXT: mul(%0, %1)",
        "// CHECK: kernel\n// CHECK-NOT: add\n// CHECK: store\n// CHECK-NOT: mul",
        "// CHECK: [[C:%\\d+]] = const({{[0-9]}})\n// CHECK: mul(%0, [[C]])",
        "// CHECK: [[C:%\\d+]] = const\n// CHECK: [[P:%\\d+]] = mul\n// CHECK: store([[P]])",
        "# CHECK: const(2)",
    ],
)
def test_holds(test):
    check(test, OUTPUT)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("nothing", "no CHECK line"),
        ("// CHECK: store\n// CHECK: const", "line 2"),
        ("// CHECK: kernel\n// CHECK-NEXT: mul", "not in output line 2"),
        ("// CHECK-NOT: mul", "output line 3"),
        ("// CHECK: kernel\n// CHECK-NOT: const\n// CHECK: store", "output line 2"),
        ("// CHECK: store([[X]])", "used before"),
        ("// CHECK: [[C:%\\d+]] = const\n// CHECK: store([[C]])", "line 2"),
        ("// CHECK: %1 = mul", "line 1"),
        ("// CHECK: %12 = mu", "line 1"),
        ("// CHECK-NEXT: kernel", "needs a CHECK before"),
    ],
)
def test_fails(test, message):
    with pytest.raises(Mismatch, match=message.replace("(", r"\(")):
        check(test, OUTPUT)
