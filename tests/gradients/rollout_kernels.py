# SPDX-License-Identifier: Apache-2.0
# rollout_kernels.py: steps for the rollout tests, each with the same computation in PyTorch.
import torch
import warp_torch as wt


@wt.kernel
def arm(
    q: wt.array(dtype=wt.vec2d),
    v: wt.array(dtype=wt.vec2d),
    u: wt.array(dtype=wt.vec2d),
    dt: wt.float64,
    damping: wt.float64,
    q_next: wt.array(dtype=wt.vec2d),
    v_next: wt.array(dtype=wt.vec2d),
):
    i = wt.tid()
    q0 = q[i]
    v0 = v[i]
    c2 = wt.cos(q0[1])
    s2 = wt.sin(q0[1])
    m11 = wt.float64(3.0) + wt.float64(2.0) * c2
    m12 = wt.float64(1.0) + c2
    g2 = wt.float64(9.81) * wt.cos(q0[0] + q0[1])
    g1 = wt.float64(19.62) * wt.cos(q0[0]) + g2
    h1 = -s2 * (wt.float64(2.0) * v0[0] * v0[1] + v0[1] * v0[1])
    h2 = s2 * v0[0] * v0[0]
    r1 = u[i][0] - h1 - g1 - damping * v0[0]
    r2 = u[i][1] - h2 - g2 - damping * v0[1]
    det = m11 - m12 * m12
    a = wt.vec2d((r1 - m12 * r2) / det, (m11 * r2 - m12 * r1) / det)
    v1 = v0 + dt * a
    v_next[i] = v1
    q_next[i] = q0 + dt * v1


def arm_torch(q, v, u, dt, damping):
    c2, s2 = torch.cos(q[..., 1]), torch.sin(q[..., 1])
    m11, m12 = 3.0 + 2.0 * c2, 1.0 + c2
    g2 = 9.81 * torch.cos(q[..., 0] + q[..., 1])
    g1 = 19.62 * torch.cos(q[..., 0]) + g2
    h1 = -s2 * (2.0 * v[..., 0] * v[..., 1] + v[..., 1] * v[..., 1])
    h2 = s2 * v[..., 0] * v[..., 0]
    r1 = u[..., 0] - h1 - g1 - damping * v[..., 0]
    r2 = u[..., 1] - h2 - g2 - damping * v[..., 1]
    det = m11 - m12 * m12
    a = torch.stack([(r1 - m12 * r2) / det, (m11 * r2 - m12 * r1) / det], -1)
    v = v + dt * a
    return q + dt * v, v


ARM = {"carry": {"q": "q_next", "v": "v_next"}, "per_step": ("u",), "outputs": ("q",)}


def arm_rollout_torch(q, v, u, dt, damping):
    path = []
    for t in range(u.shape[0]):
        q, v = arm_torch(q, v, u[t], dt, damping)
        path.append(q)
    return q, v, torch.stack(path) if path else q.new_empty((0, *q.shape))


@wt.kernel
def plate(
    x: wt.array(dtype=wt.float64, ndim=2),
    force: wt.array(dtype=wt.float64, ndim=2),
    gain: wt.array(dtype=wt.float64, ndim=2),
    field: wt.array(dtype=wt.float64),
    k: wt.float64,
    x_next: wt.array(dtype=wt.float64, ndim=2),
    energy: wt.array(dtype=wt.float64, ndim=2),
    total: wt.array(dtype=wt.float64),
):
    i, j = wt.tid()
    y = x[i, j]
    if force[i, j] > wt.float64(0.0):
        y = y + wt.sin(y) * force[i, j] * field[j]
    e = k * y * y * gain[i, j]
    energy[i, j] = e
    wt.atomic_add(total, i, e * y)
    x_next[i, j] = y - wt.float64(0.1) * e


def plate_torch(x, force, gain, field, k):
    energies, totals = [], []
    for t in range(force.shape[0]):
        y = torch.where(force[t] > 0, x + torch.sin(x) * force[t] * field, x)
        e = k * y * y * gain[t]
        energies.append(e)
        totals.append((e * y).sum(1))
        x = y - 0.1 * e
    return x, torch.stack(energies), torch.stack(totals)


PLATE = {
    "carry": {"x": "x_next"},
    "per_step": ("force", "gain"),
    "outputs": {"energy": ("x.shape[0]", "x.shape[1]"), "total": "x.shape[0]"},
}


@wt.kernel
def decay(x: wt.array(dtype=wt.float64), rate: wt.array(dtype=wt.float64)):
    i = wt.tid()
    x[i] = x[i] - rate[i] * x[i] * x[i]


@wt.kernel
def gate(
    x: wt.array(dtype=wt.float64),
    u: wt.array(dtype=wt.float64),
    w: wt.array(dtype=wt.float64, ndim=2),
    x_next: wt.array(dtype=wt.float64),
    y: wt.array(dtype=wt.float64),
):
    i = wt.tid()
    if x[i] > wt.float64(3.0):
        return
    if x[i] > wt.float64(0.0):
        y[i] = x[i] * u[i]
        x_next[i] = x[i] - u[i]
    else:
        total = wt.float64(0.0)
        for j in range(w.shape[1]):
            total += w[i, j] * x[i]
        x_next[i] = x[i] + total + wt.float64(0.5)


def gate_torch(x, u, w):
    path = []
    for t in range(u.shape[0]):
        live, up = x <= 3, x > 0
        zero = torch.zeros_like(x)
        path.append(torch.where(live & up, x * u[t], zero))
        moved = torch.where(up, x - u[t], x + w[t].sum(1) * x + 0.5)
        x = torch.where(live, moved, zero)
    return x, torch.stack(path)


@wt.kernel
def diffuse(
    x: wt.array(dtype=wt.float64),
    source: wt.array(dtype=wt.float64),
    k: wt.float64,
    x_next: wt.array(dtype=wt.float64),
):
    i = wt.tid()
    n = x.shape[0]
    left = x[(i + n - 1) % n]
    right = x[(i + 1) % n]
    x_next[i] = x[i] + k * (left - wt.float64(2.0) * x[i] + right) * x[i] + source[i]


def diffuse_torch(x, source, k):
    path = []
    for t in range(source.shape[0]):
        x = x + k * (x.roll(1) - 2.0 * x + x.roll(-1)) * x + source[t]
        path.append(x)
    return x, torch.stack(path)


def rand(*shape, seed=0, scale=1.0, grad=False):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=g, dtype=torch.float64) * scale
    return x.requires_grad_(grad)
