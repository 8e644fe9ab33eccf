# SPDX-License-Identifier: Apache-2.0
# test_against_torch.py: gradient, tangent and Hessian-vector product of kernels of every kind,
# against torch.autograd on the same text, in float64.
import numpy as np
import pytest
import torch
import warp_torch as wp

from tests.gradients import torch_scalars

F = wp.float64
A1 = wp.array(dtype=F)
A2 = wp.array(dtype=F, ndim=2)
V3 = wp.array(dtype=wp.vec3d)
INTS = wp.array(dtype=int)
CASES = []


def case(dim=1, structs=(), **args):
    def add(kernel):
        CASES.append(pytest.param(kernel, dim, structs, args, id=kernel.key))
        return kernel

    return add


def data(*shape, seed=0, low=0.3, high=1.7):
    return torch.from_numpy(np.random.default_rng(seed).uniform(low, high, size=shape))


def zeros(*shape):
    return torch.zeros(shape, dtype=torch.float64)


@case(4, x=data(4), s=0.7, y=zeros(4))
@wp.kernel
def straight_line(x: A1, s: F, y: A1):
    i = wp.tid()
    a = wp.sin(x[i]) * s
    b = wp.exp(a) / (x[i] + F(2.0))
    y[i] = b * b - a + s * s


@case(6, x=data(6, low=-2, high=3), y=zeros(6))
@wp.kernel
def branches_and_conditions(x: A1, y: A1):
    i = wp.tid()
    a = x[i]
    if F(0.5) < a < F(1.2):
        a = a * a * a
    elif not (a > F(0.3)) or a > F(1.5):
        a = wp.exp(a * F(0.5))
    b = wp.sqrt(x[i]) if x[i] > F(0.0) else x[(i + 1) % 6] * x[i]
    if x[i] > F(0.0) and wp.log(x[i]) < F(0.3) or i == 2:
        b = b * a
    y[i] = a + b


@case(3, x=data(3, 4), y=zeros(3), n=4)
@wp.kernel
def nested_loops(x: A2, y: A1, n: int):
    i = wp.tid()
    s = F(1.0)
    for j in range(n):
        t = F(0.0)
        for k in range(j, n):
            t += x[i, k] * s
            if k == 2:
                continue
            t = wp.sin(t) + s * x[i, j]
        s = s * F(0.5) + t * t
    y[i] = s


@case(5, x=data(5, low=0.1, high=2), y=zeros(5))
@wp.kernel
def while_on_data(x: A1, y: A1):
    i = wp.tid()
    a = x[i]
    b = F(1.0)
    n = 0
    while a < F(20.0):
        a = a * F(1.3) + b * x[i]
        b = wp.cos(b) + F(0.1) * a
        n += 1
    y[i] = a * b * F(n)


@case(4, x=data(4, low=0.1, high=2), y=zeros(4), n=6)
@wp.kernel
def break_continue_return(x: A1, y: A1, n: int):
    i = wp.tid()
    t = x[i]
    for a in range(n):
        u = t
        for b in range(n):
            if b > a:
                break
            u = wp.sin(u) + x[i] * F(0.3)
            if u > F(1.2) and b == 2:
                continue
            u = u * F(1.1)
            k = 0
            while True:
                u = u * u * F(0.5)
                k += 1
                if u < F(0.5) or k > 3:
                    break
        t = t + u
        if t > F(3.0):
            y[i] = t * t
            return
    y[i] = t


@wp.func
def settles(x: F, n: int):
    s = x
    for a in range(n):
        for b in range(a + 1):
            s = s * F(0.9) + wp.sin(s * x)
            if s > F(2.5):
                return s * F(a + 1)
            k = 0
            while k < b:
                k += 1
                if k == 2:
                    continue
                s = s + F(0.01) * x * F(k)
        if s < F(0.1):
            return x
    return s * s


@case(6, x=data(6, low=0.05, high=2.2), y=zeros(6), n=5)
@wp.kernel
def loops_in_functions(x: A1, y: A1, n: int):
    i = wp.tid()
    t = settles(x[i], n)
    for k in range(2):
        t = settles(t * F(0.5), k + 2) + t
    y[i] = t


@case(3, v=data(3, 3), y=zeros(3, 3), n=4)
@wp.kernel
def components_in_loops(v: V3, y: V3, n: int):
    i = wp.tid()
    a = v[i]
    b = a
    for k in range(n):
        a[k % 3] = a[(k + 1) % 3] * b[k % 3]
        a[1] += a[0] * a[0]
        b[2] = b[2] * a[0] + a[2]
        y[i][k % 3] += a[k % 3] * b[2]
    a[0] = a[1]
    y[i] = y[i] + a * b[2]


@case(2, x=data(2, 5), y=zeros(2), n=5)
@wp.kernel
def local_arrays(x: A2, y: A1, n: int):
    i = wp.tid()
    h = wp.zeros(shape=5, dtype=F)
    for k in range(n):
        h[k] = x[i, k] * x[i, k]
        if k > 0:
            h[k] = h[k] * h[k - 1]
    for k in range(n):
        h[(k * 2) % 5] += h[k] * x[i, 0]
    s = F(0.0)
    for k in range(n):
        s += h[k] * h[(k + 1) % n]
    y[i] = s


@wp.struct
class State:
    pos: wp.vec3d
    speed: F
    hits: int


@case(3, structs=("State",), v=data(3, 3), y=zeros(3), n=5)
@wp.kernel
def struct_fields(v: V3, y: A1, n: int):
    i = wp.tid()
    s = State()
    s.pos = v[i]
    s.speed = v[i][0]
    s.hits = 0
    old = s
    for k in range(n):
        if s.speed > F(1.0):
            old = s
            s.hits += 1
            s.pos[0] = s.pos[1] * s.speed
        s.speed = s.speed * F(0.7) + old.pos[k % 3] * s.pos[2]
    y[i] = s.speed * wp.dot(s.pos, old.pos) + F(s.hits) * s.pos[0]


@case(1, x=data(6), n=6)
@wp.kernel
def overwritten_elements(x: A1, n: int):
    for i in range(1, n):
        x[i] = x[i] * x[i - 1] + wp.sin(x[i])
    j = n - 1
    while j >= 0:
        x[j] *= x[n - 1 - j]
        j -= 1


@case(4, x=data(4), y=data(4, seed=1), n=3)
@wp.kernel
def states_stepped_in_place(x: A1, y: A1, n: int):
    i = wp.tid()
    for _ in range(n):
        y[i] += x[i] * y[i]
        x[i] = x[i] * y[i]
        y[i] /= F(2.0) + x[i]
    y[i] -= x[i] * x[i]


@case(1, x=data(3, 3), n=3)
@wp.kernel
def factorised_in_place(x: A2, n: int):
    for k in range(n):
        x[k, k] = x[k, k] + F(2.0)
        for i in range(k + 1, n):
            x[i, k] /= x[k, k]
            for j in range(k + 1, n):
                x[i, j] -= x[i, k] * x[k, j]


@case(6, x=data(6), y=zeros(6), n=6)
@wp.kernel
def stencil(x: A1, y: A1, n: int):
    i = wp.tid()
    if i > 0 and i < n - 1:
        y[i] = x[i] + F(0.1) * (x[i - 1] - F(2.0) * x[i] + x[i + 1]) * x[i]
    else:
        y[i] = x[i] * x[n - 1 - i]


SPREAD = torch.tensor([2, 0, 2, 3], dtype=torch.int32)


@case(4, x=data(4), to=SPREAD, y=zeros(4), loss=zeros(1))
@wp.kernel
def scattered_additions(x: A1, to: INTS, y: A1, loss: A1):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[to[i]])
    for k in range(2):
        wp.atomic_add(y, to[i], wp.sin(x[i] * F(k + 1)))


@case(4, x=data(4), count=torch.zeros(1, dtype=torch.int32), y=zeros(4))
@wp.kernel
def compaction_by_a_counter(x: A1, count: INTS, y: A1):
    i = wp.tid()
    if x[i] > F(0.8):
        j = wp.atomic_add(count, 0, 1)
        y[j] = x[i] * x[i]


@case(4, x=data(4), y=data(4, seed=3), z=zeros(4))
@wp.kernel
def values_of_own_atomics(x: A1, y: A1, z: A1):
    i = wp.tid()
    old = wp.atomic_exch(y, i, x[i] * x[i])
    x[i] = old * x[i]
    z[i] = wp.atomic_add(y, i, x[i] * old) * x[i]


@case(2, x=data(2, 4), y=zeros(2))
@wp.kernel
def indices_from_data(x: A2, y: A1):
    i = wp.tid()
    v = wp.vec3d(x[i, 0], x[i, 1], x[i, 2])
    for k in range(8):
        j = int(x[i, k % 4] * F(7.0)) % 3
        v[j] = v[(j + 1) % 3] * x[i, k % 4]
        v[k % 3] += v[j] * v[j] * F(0.1)
    y[i] = wp.dot(v, v) * wp.length(v)


@case(5, x=torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0], dtype=torch.float64), y=zeros(5))
@wp.kernel
def kinks(x: A1, y: A1):
    i = wp.tid()
    a = x[i]
    b = wp.abs(a) * a + wp.max(a, F(0.5)) * F(2.0)
    y[i] = b + wp.min(a, F(1.0)) * wp.clamp(a, F(0.0), F(1.0))


@wp.func
def cube(x: F):
    return x * x * x


@wp.func
def folded(x: F, y: F):
    s = x
    for _ in range(3):
        s = s * y + wp.sin(x)
    return s


@case(3, x=data(3), y=zeros(3), n=3)
@wp.kernel
def gradients_in_loops(x: A1, y: A1, n: int):
    i = wp.tid()
    s = x[i]
    for _ in range(n):
        s = s - F(0.1) * wp.grad(cube)(s)
        gx, gy = wp.grad(folded)(s, x[i])
        s = s + F(0.05) * gx * gy
    y[i] = s


@case(2, m=data(2, 3, 3), v=data(2, 3), y=zeros(2, 3))
@wp.kernel
def matrices(m: wp.array(dtype=wp.mat33d), v: V3, y: V3):
    i = wp.tid()
    a = m[i]
    for k in range(3):
        a[k, k] += F(2.0)
        a[(k + 1) % 3] = a[k] * (a[k, 2] * F(0.1)) + a[(k + 1) % 3]
    b = wp.inverse(a)
    y[i] = b * v[i] * wp.determinant(a) + wp.cross(a[0], b[2])


def close(got, wanted, what):
    got = torch.as_tensor(got, dtype=torch.float64)
    wanted = wanted.detach()
    scale = float(wanted.abs().max()) + 1e-3
    torch.testing.assert_close(
        got.reshape(wanted.shape), wanted, rtol=0, atol=1e-10 * scale, msg=lambda m: f"{what}: {m}"
    )


class Reference:
    """A case by torch: the sum of what is written, each number by its weight."""

    def __init__(self, kernel, dim, structs, args, weights, directions):
        self.leaves = {
            n: (x.clone() if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=torch.float64))
            for n, x in args.items()
            if n in directions
        }
        for x in self.leaves.values():
            x.requires_grad_()
        self.out = torch_scalars.run(kernel, (dim,), {**args, **self.leaves}, structs)
        weighted = [(self.out[n] * w).sum() for n, w in weights.items()]
        self.gradient = self._by(sum(weighted))
        along = sum((self.gradient[n] * d).sum() for n, d in directions.items())
        self.tangent = along.detach()
        whole = self._by(sum(self.out[n].sum() for n in weights))
        self.second = self._by(sum((whole[n] * d).sum() for n, d in directions.items()))

    def _by(self, value):
        if not value.requires_grad:
            return {n: torch.zeros_like(x) for n, x in self.leaves.items()}
        found = torch.autograd.grad(
            value, list(self.leaves.values()), create_graph=True, allow_unused=True
        )
        return {
            n: torch.zeros_like(x) if g is None else g
            for (n, x), g in zip(self.leaves.items(), found)
        }


@pytest.mark.parametrize("kernel, dim, structs, args", CASES)
def test_derivatives_are_those_of_torch(device, kernel, dim, structs, args):
    rng = np.random.default_rng(7)
    floats = [
        n
        for n, x in args.items()
        if isinstance(x, float) or torch.is_floating_point(torch.as_tensor(x))
    ]
    read = set(wp.hvp(kernel, on(device, args), {}, dim=dim))
    directions = {n: torch.from_numpy(rng.normal(size=np.shape(args[n]))) for n in floats}
    directions = {n: d if n in read else d * 0 for n, d in directions.items()}
    written = wp.jvp(kernel, on(device, args), {}, dim=dim)
    weights = {n: torch.from_numpy(rng.normal(size=args[n].shape)) for n in written}
    reference = Reference(kernel, dim, structs, args, weights, directions)

    got = wp.vjp(kernel, on(device, args), on(device, weights), dim=dim)
    for n in read:
        close(cpu(got[n]), reference.gradient[n], f"gradient of {n}")
    given = {n: d if d.dim() else float(d) for n, d in directions.items() if n in read}
    got = wp.jvp(kernel, on(device, args), on(device, given), dim=dim)
    close(sum((cpu(got[n]) * w).sum() for n, w in weights.items()), reference.tangent, "tangent")
    got = wp.hvp(kernel, on(device, args), on(device, given), dim=dim)
    for n in read:
        close(cpu(got[n]), reference.second[n], f"second derivative by {n}")


def on(device, args):
    return {n: x.to(device) if isinstance(x, torch.Tensor) else x for n, x in args.items()}


def cpu(x):
    return x.cpu() if isinstance(x, torch.Tensor) else x
