# SPDX-License-Identifier: Apache-2.0
# ported_code.py: kernels written for Warp, whose annotations are calls. No type checker takes a call in
# an annotation: pyright is told so here, mypy by `disable_error_code = valid-type` in mypy.ini.
# pyright: reportInvalidTypeForm=false
import warp_torch as wp


@wp.struct
class Body:
    mass: float
    forces: wp.array(dtype=wp.vec3)


@wp.func
def energy(v: wp.vec3, mass: float):
    return 0.5 * mass * wp.dot(v, v)


@wp.kernel
def kinetic(v: wp.array(dtype=wp.vec3), body: Body, out: wp.array(dtype=float, ndim=2)):
    i = wp.tid()
    out[i, 0] = energy(v[i] + body.forces[i], body.mass)
    wp.atomic_add(out, i, 1, wp.length(v[i]))


def main() -> float:
    v = wp.array([[1.0, 2.0, 2.0]], dtype=wp.vec3, device="cpu")
    body = Body()
    body.mass = 2.0
    body.forces = wp.zeros(1, dtype=wp.vec3, device="cpu")
    out = wp.zeros((1, 2), dtype=float, device="cpu")
    wp.launch(kinetic, dim=1, inputs=[v, body, out], device="cpu")
    return float(out.numpy().sum())
