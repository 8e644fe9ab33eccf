# SPDX-License-Identifier: Apache-2.0
# raymarch.py: a picture of a scene that is given by distances.
"""Each thread follows the ray of one pixel through the distance field until it meets a surface."""

import warp_torch as wp


@wp.func
def sphere(p: wp.vec3, centre: wp.vec3, radius: float):
    return wp.length(p - centre) - radius


@wp.func
def box(p: wp.vec3, half: wp.vec3):
    q = wp.vec3(wp.abs(p[0]) - half[0], wp.abs(p[1]) - half[1], wp.abs(p[2]) - half[2])
    outside = wp.length(wp.vec3(wp.max(q[0], 0.0), wp.max(q[1], 0.0), wp.max(q[2], 0.0)))
    return outside + wp.min(wp.max(q[0], wp.max(q[1], q[2])), 0.0)


@wp.func
def scene(p: wp.vec3):
    """A box with a ball cut out, a ball in it, and the ground."""
    hollow = wp.max(box(p, wp.vec3(1.0, 1.0, 1.0)), -sphere(p, wp.vec3(0.0, 0.0, 0.0), 1.3))
    solid = wp.min(hollow, sphere(p, wp.vec3(0.0, 0.0, 0.0), 0.5))
    return wp.min(solid, p[1] + 1.0)


@wp.func
def normal(p: wp.vec3):
    eps = 1.0e-3
    return wp.normalize(
        wp.vec3(
            scene(p + wp.vec3(eps, 0.0, 0.0)) - scene(p - wp.vec3(eps, 0.0, 0.0)),
            scene(p + wp.vec3(0.0, eps, 0.0)) - scene(p - wp.vec3(0.0, eps, 0.0)),
            scene(p + wp.vec3(0.0, 0.0, eps)) - scene(p - wp.vec3(0.0, 0.0, eps)),
        )
    )


@wp.func
def march(origin: wp.vec3, direction: wp.vec3, most: int):
    """How far the ray goes; -1 where it meets nothing."""
    t = float(0.0)
    for _step in range(most):
        d = scene(origin + direction * t)
        if d < 1.0e-3:
            return t
        t += d
        if t > 30.0:
            return -1.0
    return -1.0


@wp.kernel
def draw(eye: wp.vec3, turn: wp.quat, light: wp.vec3, most: int, picture: wp.array2d(dtype=float)):
    i, j = wp.tid()
    height = float(picture.shape[0])
    x = (float(j) + 0.5 - 0.5 * float(picture.shape[1])) / height
    y = (0.5 * height - float(i) - 0.5) / height
    direction = wp.quat_rotate(turn, wp.normalize(wp.vec3(x, y, -1.0)))
    t = march(eye, direction, most)
    if t < 0.0:
        picture[i, j] = 0.0
        return
    p = eye + direction * t
    n = normal(p)
    shade = wp.max(wp.dot(n, light), 0.0)
    if march(p + n * 0.01, light, most) > 0.0:
        shade *= 0.3
    picture[i, j] = 0.1 + 0.9 * shade


def main(size=256, most=128):
    picture = wp.zeros((size, size), dtype=float)
    turn = wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), 0.6)
    turn = turn * wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), -0.35)
    eye = wp.quat_rotate(turn, wp.vec3(0.0, 0.0, 5.0))
    light = wp.normalize(wp.vec3(0.6, 1.0, 0.4))
    wp.launch(draw, dim=picture.shape, inputs=[eye, turn, light, most], outputs=[picture])
    image = picture.numpy()
    lit, dark = (image > 0.5).mean(), (image == 0.0).mean()
    print(f"{size} x {size}: {100 * lit:.0f} % in the light, {100 * dark:.0f} % sky")
    assert 0.2 < lit < 0.9 and dark < 0.4 and image.max() <= 1.0
    return {"image": image}


if __name__ == "__main__":
    main()
