# SPDX-License-Identifier: Apache-2.0
# shade_fit.py: a ball and its light found from a picture, by the derivative of the picture.
"""The loop finds where a ray meets the surface; the derivative is that of the surface there, from
the distance field at the point found, so that no step of the loop has to be undone."""

import numpy as np
import warp_torch as wp


@wp.func
def ball(p: wp.vec3, centre: wp.vec3, radius: float):
    return wp.length(p - centre) - radius


@wp.kernel
def follow(
    centre: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    size: int,
    depth: wp.array2d(dtype=float),
):
    """Where each ray (straight along -z) meets the ball; -1 if it does not."""
    i, j = wp.tid()
    x = 2.0 * (float(j) + 0.5) / float(size) - 1.0
    y = 1.0 - 2.0 * (float(i) + 0.5) / float(size)
    t = float(0.0)
    found = float(-1.0)
    for _step in range(64):
        d = ball(wp.vec3(x, y, 2.0 - t), centre[0], radius[0])
        if d < 1.0e-4:
            found = t
            break
        t += d
        if t > 4.0:
            break
    depth[i, j] = found


@wp.kernel
def shade(
    depth: wp.array2d(dtype=float),
    centre: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    light: wp.array(dtype=wp.vec3),
    size: int,
    picture: wp.array2d(dtype=float),
):
    i, j = wp.tid()
    t = depth[i, j]
    if t < 0.0:
        picture[i, j] = 0.0
    else:
        x = 2.0 * (float(j) + 0.5) / float(size) - 1.0
        y = 1.0 - 2.0 * (float(i) + 0.5) / float(size)
        p = wp.vec3(x, y, 2.0 - t)
        # One step of Newton's method carries the derivative of the surface.
        n0 = wp.normalize(p - centre[0])
        q = wp.vec3(x, y, p[2] - ball(p, centre[0], radius[0]) / n0[2])
        n = wp.normalize(q - centre[0])
        picture[i, j] = wp.max(wp.dot(n, light[0]), 0.0)


@wp.kernel
def compare(
    a: wp.array2d(dtype=float),
    b: wp.array2d(dtype=float),
    scale: float,
    loss: wp.array(dtype=float),
):
    i, j = wp.tid()
    d = a[i, j] - b[i, j]
    wp.atomic_add(loss, 0, scale * d * d)


@wp.kernel
def improve(x: wp.array(dtype=wp.vec3), grad: wp.array(dtype=wp.vec3), rate: float):
    i = wp.tid()
    x[i] = x[i] - grad[i] * rate


def draw(scene, depth, size, picture):
    centre, radius, light = scene
    # Depths count as constants: the next kernel has the derivative of the surface.
    wp.launch(
        follow,
        dim=picture.shape,
        inputs=[centre, radius, size],
        outputs=[depth],
        record_tape=False,
    )
    wp.launch(
        shade, dim=picture.shape, inputs=[depth, centre, radius, light, size], outputs=[picture]
    )


def scene_of(centre, light):
    grad = {"dtype": wp.vec3, "requires_grad": True}
    radius = wp.array([0.6], dtype=float, requires_grad=True)
    return wp.array([centre], **grad), radius, wp.array([light], **grad)


def main(size=64, iterations=60, rate=0.5):
    depth = wp.zeros((size, size), dtype=float)
    wanted = wp.zeros((size, size), dtype=float)
    draw(scene_of([0.1, -0.05, 0.0], [0.5, 0.5, 0.7]), depth, size, wanted)
    scene = scene_of([0.0, 0.0, 0.0], [-0.3, 0.2, 0.9])
    picture = wp.zeros((size, size), dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    losses, first = [], None
    for _ in range(iterations):
        loss.zero_()
        tape = wp.Tape()
        with tape:
            draw(scene, depth, size, picture)
            wp.launch(
                compare, dim=picture.shape, inputs=[picture, wanted, 1.0 / size**2], outputs=[loss]
            )
        tape.backward(loss)
        losses.append(float(loss.numpy()[0]))
        gradients = np.concatenate([a.grad.numpy().ravel() for a in scene])
        first = gradients if first is None else first
        wp.launch(improve, dim=1, inputs=[scene[0], scene[0].grad, 0.1 * rate])
        wp.launch(improve, dim=1, inputs=[scene[2], scene[2].grad, 2.0 * rate])
        tape.zero()
    light = scene[2].numpy()[0]
    print(f"loss {losses[0]:.4f} at first, {losses[-1]:.5f} in the end; light {light}")
    assert losses[-1] < 0.1 * losses[0]
    return {"losses": np.array(losses[:5]), "gradient": first, "picture": wanted.numpy()}


if __name__ == "__main__":
    main()
