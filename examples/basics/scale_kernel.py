# SPDX-License-Identifier: Apache-2.0
# scale_kernel.py: the smallest kernel with a gradient.
import warp_torch as wp

wp.init()


@wp.kernel
def scale_kernel(x: wp.array(dtype=float), factor: float, y: wp.array(dtype=float)):
    tid = wp.tid()
    y[tid] = factor * x[tid]


def main():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros_like(x)

    with wp.Tape() as tape:
        wp.launch(scale_kernel, dim=len(x), inputs=[x, 2.0], outputs=[y])
    tape.backward()  # y is what nothing else reads: seeded with ones

    print("y      =", y.numpy())
    print("x.grad =", x.grad.numpy())
    assert y.numpy().tolist() == [2.0, 4.0, 6.0]
    assert x.grad.numpy().tolist() == [2.0, 2.0, 2.0]


if __name__ == "__main__":
    main()
