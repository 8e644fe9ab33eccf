# SPDX-License-Identifier: Apache-2.0
# references.py: what each builtin gives, from NumPy, SciPy and torch. Arguments are batches: a
# scalar operand has shape (n,), a vector (n, N), a matrix (n, M, N).
import numpy as np
import scipy.linalg
import scipy.special
from scipy.spatial.transform import Rotation


def wide(x, like):
    """A batch of scalars beside a batch of vectors or matrices."""
    return x.reshape(x.shape + (1,) * (like.ndim - x.ndim))


def both(f):
    return lambda a, b: f(
        wide(a, b) if a.ndim < b.ndim else a, wide(b, a) if b.ndim < a.ndim else b
    )


def is_int(a):
    return np.issubdtype(a.dtype, np.integer)


def multiply(row, a, b):
    kinds = [t.split("<")[0] for t in row["operands"]]
    if kinds == ["quat", "quat"]:
        return (Rotation.from_quat(a) * Rotation.from_quat(b)).as_quat(), "up to sign"
    if kinds == ["xform", "xform"]:
        return compose(a, b), "transform"
    if kinds == ["mat", "vec"]:
        return np.einsum("nij,nj->ni", a, b)
    if kinds == ["vec", "mat"]:
        return np.einsum("ni,nij->nj", a, b)
    return a @ b if kinds == ["mat", "mat"] else both(np.multiply)(a, b)


def divide(a, b):
    a, b = (wide(a, b), b) if a.ndim < b.ndim else (a, wide(b, a))
    return np.trunc(a / b).astype(a.dtype) if is_int(a) else a / b


def rotation(q):
    return Rotation.from_quat(q)


def matrix4(t):
    m = np.zeros((len(t), 4, 4))
    m[:, :3, :3] = rotation(t[:, 3:]).as_matrix()
    m[:, :3, 3] = t[:, :3]
    m[:, 3, 3] = 1
    return m


def transform(m):
    return np.concatenate([m[:, :3, 3], Rotation.from_matrix(m[:, :3, :3]).as_quat()], 1)


def compose(a, b):
    return transform(matrix4(a) @ matrix4(b))


def skew(v):
    x, y, z = v.T
    o = np.zeros_like(x)
    return np.stack([o, -z, y, z, o, -x, -y, x, o], 1).reshape(-1, 3, 3)


def motion_cross(a):
    """The 6x6 matrix of the cross product of twists, angular part first."""
    m = np.zeros((len(a), 6, 6))
    m[:, :3, :3] = m[:, 3:, 3:] = skew(a[:, :3])
    m[:, 3:, :3] = skew(a[:, 3:])
    return m


def adjoint(rot, s):
    m = np.zeros((len(rot), 6, 6))
    m[:, :3, :3] = m[:, 3:, 3:] = rot
    m[:, 3:, :3] = s
    return m


def twist_matrix(t):
    rot = rotation(t[:, 3:]).as_matrix()
    return adjoint(rot, skew(t[:, :3]) @ rot)


def flat(a):
    return a.reshape(len(a), -1)


def norm(v):
    return np.linalg.norm(flat(v), axis=1)


def huber(v, delta=None):
    delta = np.ones(len(v)) if delta is None else delta
    l = norm(v)  # noqa: E741
    return np.where(l <= delta, l * l / 2, delta * (l - delta / 2))


def pseudo_huber(v, delta=None):
    delta = np.ones(len(v)) if delta is None else delta
    return delta * np.sqrt(1 + (norm(v) / delta) ** 2)


def slerp(a, b, t):
    a, b = rotation(a), rotation(b)
    return (a * Rotation.from_rotvec((a.inv() * b).as_rotvec() * t[:, None])).as_quat()


def axis_angle(q, *_):
    v = rotation(q).as_rotvec()
    angle = norm(v)
    return v / angle[:, None], angle


def twist(axis, q):
    """The twist by its definition: the projection of the vector part on the axis, normalised."""
    part = np.concatenate([axis * np.sum(axis * q[:, :3], 1)[:, None], q[:, 3:]], 1)
    return part / norm(part)[:, None]


def nearest_quaternion(m):
    """Of a rotation matrix; test_values gives quat_from_matrix rotation matrices only."""
    return Rotation.from_matrix(m[:, :3, :3]).as_quat()


def pcg(x):
    m = np.uint64((1 << 32) - 1)
    x = np.asarray(x).astype(np.uint64) & m
    s = (x * np.uint64(747796405) + np.uint64(2891336453)) & m
    w = ((s >> ((s >> np.uint64(28)) + np.uint64(4))) ^ s) * np.uint64(277803737) & m
    return ((w >> np.uint64(22)) ^ w).astype(np.uint32)


def unit(x):
    return ((x >> 8) / 2**24).astype(np.float32)


def normal(state):
    u, v = unit(pcg(state)).astype(float), unit(pcg(pcg(state))).astype(float)
    return (np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)).astype(np.float32), pcg(pcg(state))


def randi(s, low=None, high=None):
    r = pcg(s)
    if low is None:
        return r.view(np.int32), r
    return (r % (high - low).astype(np.uint32)).astype(np.int32) + low, r


def sampler(points):
    """Points made of as many uniform numbers as `points` takes arguments."""
    count = points.__code__.co_argcount

    def run(state):
        uniform = []
        for _ in range(count):
            state = pcg(state)
            uniform.append(unit(state).astype(float))
        return np.stack(points(*uniform), 1).astype(np.float32), state

    return run


def on_circle(turn, radius=1.0):
    return radius * np.cos(2 * np.pi * turn), radius * np.sin(2 * np.pi * turn)


def on_sphere(z, turn, radius=1.0):
    return (*on_circle(turn, radius * np.sqrt(1 - z * z)), radius * z)


def lattice(state, at, period):
    """Gradients at lattice points: uniform in a cube, then made unit vectors."""
    at = np.where(period > 0, at % np.maximum(period, 1), at)
    primes = np.array((73856093, 19349663, 83492791, 10000019)[: at.shape[1]])
    state = state.astype(np.int64) + np.sum(at * primes, 1) & 0xFFFFFFFF
    g = np.zeros(at.shape)
    for d in range(at.shape[1]):
        state = pcg(state)
        g[:, d] = 2 * unit(state).astype(float) - 1
    return g / norm(g)[:, None] if at.shape[1] > 1 else g


def noise(state, x, *periods):
    x = x[:, None] if x.ndim == 1 else x
    period = np.stack(periods, 1) if periods else np.zeros(x.shape, int)
    low = np.floor(x.real).astype(int)
    t = x - low
    fade = t**3 * (t * (t * 6 - 15) + 10)
    out = 0.0
    for corner in np.ndindex(*(2,) * x.shape[1]):
        c = np.array(corner)
        weight = np.prod(np.where(c == 1, fade, 1 - fade), 1)
        out = out + weight * np.sum(lattice(state, low + c, period) * (t - c), 1)
    return out


def noise_gradient(state, x, period=None):
    """By steps in the imaginary direction, which lose no digits."""
    period = np.zeros(x.shape, int) if period is None else period
    steps = [noise(state, x + 1e-30j * e, *period.T).imag for e in np.eye(x.shape[1])]
    return np.stack(steps, 1) / 1e-30


def curl(state, x, octaves=None, lacunarity=None, gain=None):
    n = len(x)
    octaves = np.ones(n, int) if octaves is None else octaves
    lacunarity = np.full(n, 2.0) if lacunarity is None else lacunarity
    gain = np.full(n, 0.5) if gain is None else gain
    fields = [state, *(pcg(state.astype(np.int64) + f * 2654435769) for f in (1, 2))]
    out = 0.0
    for o in range(octaves.max()):
        g = [noise_gradient(f, x * (lacunarity**o)[:, None]) for f in fields]
        if x.shape[1] == 2:
            c = np.stack([-g[0][:, 1], g[0][:, 0]], 1)
        else:
            c = np.stack([g[(i + 2) % 3][:, (i + 1) % 3] - g[(i + 1) % 3][:, (i + 2) % 3]
                          for i in range(3)], 1)  # fmt: skip
        out = out + np.where(octaves > o, gain**o, 0)[:, None] * c
    return out


def poisson(state, mean):
    """Knuth's products below 10; of larger means test_random_numbers.py tests the distribution."""
    out, states = [], []
    for s, m in zip(state.tolist(), mean, strict=True):
        p, k = 1.0, -1
        while p > np.exp(-m):
            s = int(pcg([s])[0])
            p *= (s >> 8) / 2**24
            k += 1
        out.append(k)
        states.append(s)
    return np.array(out, np.uint32), np.array(states, np.uint32)


def symmetric(a):
    return (a + np.swapaxes(a, 1, 2)) / 2


def svd(a, *_):
    u, s, vt = np.linalg.svd(a)
    v = np.swapaxes(vt, 1, 2)
    return u, s, v, "columns"


def svd3(a, *_):
    u, s, v, how = svd(a)
    s = s * np.stack([s[:, 0] * 0 + 1, s[:, 0] * 0 + 1, np.sign(np.linalg.det(a))], 1)
    return u, s, v, how


def qr3(a, *_):
    q, r = np.linalg.qr(a)
    sign = np.sign(np.diagonal(r, axis1=1, axis2=2)).copy()
    sign[:, 2] = np.linalg.det(q) * sign[:, 0] * sign[:, 1]
    return q * sign[:, None, :], r * sign[:, :, None]


def eig3(a, *_):
    d, q = np.linalg.eigh(symmetric(a))
    return q, d, "eigen"


def ldlt(a):
    c = np.linalg.cholesky(symmetric(a))
    root = np.diagonal(c, axis1=1, axis2=2)
    return c / root[:, None, :], root**2


def cofactors(a):
    return np.linalg.det(a)[:, None, None] * np.swapaxes(np.linalg.inv(a), 1, 2)


def pairs(s, sign):
    g = s[:, None, :] + sign * s[:, :, None]
    off = ~np.eye(s.shape[1], dtype=bool)[None]
    return np.where(off, 1 / np.where(off, g, 1), 0)


def from_euler(e, i, j, k):
    out = []
    for angles, axes in zip(e, np.stack([i, j, k], 1), strict=True):
        rot = Rotation.identity()
        for a in axes:
            rot = Rotation.from_rotvec(np.eye(3)[a] * angles[a]) * rot
        out.append(rot.as_quat())
    return np.array(out), "up to sign"


def to_euler(q, i, j, k):
    out = np.zeros((len(q), 3))
    for n, axes in enumerate(np.stack([i, j, k], 1)):
        angles = rotation(q[n]).as_euler("".join("xyz"[a] for a in axes))
        out[n, [axes[0], axes[1], 3 - axes[0] - axes[1]]] = angles
    return out


def between(a, b):
    a, b = a / norm(a)[:, None], b / norm(b)[:, None]
    axis = np.cross(a, b)
    angle = np.arctan2(norm(axis), np.sum(a * b, 1))
    return Rotation.from_rotvec(axis / norm(axis)[:, None] * angle[:, None]).as_quat()


def decompose(m):
    s = np.sqrt(np.sum(m[:, :3, :3] ** 2, 1))
    q = Rotation.from_matrix(m[:, :3, :3] / s[:, None, :]).as_quat()
    return m[:, :3, 3], q, s, "quaternions"


def bits_of(x):
    return x.dtype.itemsize * 8, [int(v) & ((1 << (x.dtype.itemsize * 8)) - 1) for v in x]


def leading_zeros(x):
    width, values = bits_of(x)
    return np.array([width - v.bit_length() for v in values])


def reversed_bits(x):
    width, values = bits_of(x)
    turned = [int(format(v, f"0{width}b")[::-1], 2) for v in values]
    return np.array(turned, np.uint64).astype(x.dtype)


def smooth(a, b, w, sign):
    return (a + b + sign * np.hypot(a - b, w)) / 2


def of_complex(f):
    """A function of complex numbers as one of real and imaginary parts; reals stay as they are."""

    def call(*operands):
        z = f(*(a if a.ndim == 1 else a[:, 0] + 1j * a[:, 1] for a in operands))
        return np.stack([z.real, z.imag], 1) if np.iscomplexobj(z) else z

    return call


def stumpff(x, k):
    return sum((-x) ** n / scipy.special.factorial(2 * n + k) for n in range(40))


def left_jacobian(v):
    """The mean of the rotations by s v for s from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    turned = [Rotation.from_rotvec(v * (s + 1) / 2).as_matrix() for s in nodes]
    return sum(w / 2 * m for w, m in zip(weights, turned, strict=True))


def motion(s):
    m = np.zeros((len(s), 4, 4))
    m[:, :3, :3] = skew(s[:, :3])
    m[:, :3, 3] = s[:, 3:]
    return transform(np.stack([scipy.linalg.expm(x) for x in m])), "transform"


def motion_log(t):
    w = rotation(t[:, 3:]).as_rotvec()
    return np.concatenate([w, np.linalg.solve(left_jacobian(w), t[:, :3, None])[:, :, 0]], 1)


SIMPLE = {
    "complex_mul": of_complex(np.multiply), "complex_div": of_complex(np.divide),
    "complex_conj": of_complex(np.conj), "complex_abs": of_complex(np.abs),
    "complex_arg": of_complex(np.angle), "complex_exp": of_complex(np.exp),
    "complex_polar": of_complex(lambda r, a: r * np.exp(1j * a)),
    "complex_log": of_complex(np.log), "complex_sqrt": of_complex(np.sqrt),
    "complex_pow": of_complex(np.power), "_stumpff": stumpff,
    "_arc_sq": lambda c: np.arccos(c) ** 2, "rotation_jacobian": left_jacobian,
    "rotation_jacobian_inverse": lambda v: np.linalg.inv(left_jacobian(v)),
    "rotation_exp": lambda v: Rotation.from_rotvec(v).as_matrix(),
    "rotation_log": lambda m: Rotation.from_matrix(m).as_rotvec(),
    "transform_exp": motion, "transform_log": motion_log, "eig": eig3, "_ones": np.ones_like,
    "svd": svd, "svd2": svd, "svd3": svd3, "qr3": qr3, "eig3": eig3, "ldlt": ldlt,
    "solve": lambda a, b: np.linalg.solve(a, b if b.ndim == 3 else b[:, :, None]).reshape(b.shape),
    "cholesky": lambda a: np.linalg.cholesky(symmetric(a)),
    "cholesky_solve": lambda c, b: np.linalg.solve(
        np.tril(c) @ np.swapaxes(np.tril(c), 1, 2), b[:, :, None])[:, :, 0],
    "_cofactors": cofactors, "_strict": lambda a: np.tril(a, -1), "_lower": np.tril,
    "_gaps": lambda s: pairs(s, -1), "_sums": lambda s: pairs(s, 1),
    "quat_from_euler": from_euler, "quat_to_euler": to_euler, "quat_between_vectors": between,
    "quat_exp": lambda v: (Rotation.from_rotvec(v).as_quat(), "up to sign"),
    "quat_log": lambda q: rotation(q).as_rotvec(), "transform_decompose": decompose,
    "transform_from_matrix": lambda m: (transform(m), "transform"),
    "transform_set_translation_copy": lambda t, p: np.concatenate([p, t[:, 3:]], 1),
    "transform_set_rotation_copy": lambda t, q: np.concatenate([t[:, :3], q], 1),
    "_unit": lambda v, i: np.eye(3)[i], "_unit_quat": lambda v, i: np.eye(4)[i],
    "_pick": lambda v, i: v[np.arange(len(v)), i], "_place": lambda v, x, i: np.eye(3)[i] * wide(x, v),
    "_parity": lambda v, i, j: np.where(j == (i + 1) % 3, 1, -1),
    "lgamma": scipy.special.gammaln, "trigamma": lambda x: scipy.special.polygamma(1, x),
    "tetragamma": lambda x: scipy.special.polygamma(2, x),
    "soft_abs": np.hypot, "soft_max": lambda a, b, w: smooth(a, b, w, 1),
    "soft_min": lambda a, b, w: smooth(a, b, w, -1),
    "soft_step": lambda x, w: (1 + x / np.hypot(x, w)) / 2,
    "soft_clip": lambda x, a, b, w: smooth(smooth(x, a, w, 1), b, w, -1),
    "popc": np.bitwise_count if hasattr(np, "bitwise_count") else None, "clz": leading_zeros,
    "ffs": lambda x: np.array([(v & -v).bit_length() for v in bits_of(x)[1]]),
    "brev": reversed_bits, "unot": np.logical_not, "div_approx": divide,
    "noise": noise, "pnoise": noise, "_noise_grad": noise_gradient, "curlnoise": curl,
    "poisson": poisson, "sample_triangle": sampler(lambda a, b: (1 - np.sqrt(a), b * np.sqrt(a))),
    "sample_unit_ring": sampler(lambda a: on_circle(a)),
    "sample_unit_disk": sampler(lambda a, b: on_circle(b, np.sqrt(a))),
    "sample_unit_sphere_surface": sampler(lambda a, b: on_sphere(1 - 2 * a, b)),
    "sample_unit_sphere": sampler(lambda a, b, c: on_sphere(1 - 2 * a, b, np.cbrt(c))),
    "sample_unit_hemisphere_surface": sampler(lambda a, b: on_sphere(1 - a, b)),
    "sample_unit_hemisphere": sampler(lambda a, b, c: on_sphere(1 - a, b, np.cbrt(c))),
    "sample_unit_square": sampler(lambda a, b: (a - 0.5, b - 0.5)),
    "sample_unit_cube": sampler(lambda a, b, c: (a - 0.5, b - 0.5, c - 0.5)),
    "add": np.add, "sub": np.subtract, "neg": np.negative, "pos": np.positive, "div": divide,
    "floordiv": np.floor_divide, "mod": np.fmod, "pow": np.power, "fma": lambda a, b, c: a * b + c,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_not": np.logical_not,
    "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor,
    "invert": np.invert, "lshift": np.left_shift, "rshift": np.right_shift,
    "eq": lambda a, b: np.all(flat(a) == flat(b), axis=1),
    "ne": lambda a, b: np.any(flat(a) != flat(b), axis=1),
    "min": lambda *a: np.minimum(*a) if len(a) == 2 else a[0].min(1),
    "max": lambda *a: np.maximum(*a) if len(a) == 2 else a[0].max(1),
    "clamp": lambda x, a, b: np.clip(x, a, b),
    "abs": np.abs, "sign": lambda x: np.where(x < 0, -1, 1), "step": lambda x: 1.0 * (x < 0),
    "nonzero": lambda x: 1.0 * (x != 0), "copysign": np.copysign,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "hypot": np.hypot,
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "sincos": lambda x: (np.sin(x), np.cos(x)),
    "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "degrees": np.degrees, "radians": np.radians, "floor": np.floor, "ceil": np.ceil,
    "round": lambda x: np.trunc(x + np.copysign(0.5, x)), "rint": np.rint, "trunc": np.trunc,
    "frac": lambda x: x - np.trunc(x), "erf": scipy.special.erf, "erfc": scipy.special.erfc,
    "erfinv": scipy.special.erfinv, "erfcinv": scipy.special.erfcinv,
    "sigmoid": scipy.special.expit, "softplus": lambda x: np.logaddexp(0, x),
    "lerp": lambda a, b, t: a * (1 - wide(t, a)) + b * wide(t, a),
    "smoothstep": lambda a, b, x: (lambda t: t * t * (3 - 2 * t))(np.clip((x - a) / (b - a), 0, 1)),
    "isnan": lambda a: np.isnan(flat(a)).any(1), "isinf": lambda a: np.isinf(flat(a)).any(1),
    "isfinite": lambda a: np.isfinite(flat(a)).all(1),
    "bit_count": np.vectorize(lambda v: bin(int(v) & 0xFFFFFFFFFFFFFFFF).count("1")),
    "where": lambda c, a, b: np.where(c.astype(bool), a, b),
    "select": lambda c, a, b: np.where(c.astype(bool), b, a), "stop_gradient": np.positive,
    "argmin": lambda a: a.argmin(1), "argmax": lambda a: a.argmax(1),
    "cw_mul": np.multiply, "cw_div": divide, "dot": lambda a, b: np.sum(a * b, 1),
    "ddot": lambda a, b: np.sum(a * b, (1, 2)), "cross": np.cross,
    "outer": lambda a, b: a[:, :, None] * b[:, None, :],
    "length": norm, "length_sq": lambda a: np.sum(a * a, 1), "norm_l2": norm,
    "normalize": lambda a: a / norm(a)[:, None], "norm_l1": lambda v: np.abs(v).sum(1),
    "norm_huber": huber, "norm_pseudo_huber": pseudo_huber,
    "smooth_normalize": lambda v, *delta: v / pseudo_huber(v, *delta)[:, None],
    "transpose": lambda a: np.swapaxes(a, 1, 2), "trace": lambda a: np.trace(a, axis1=1, axis2=2),
    "diag": lambda v: np.stack([np.diag(x) for x in v]),
    "get_diag": lambda m: np.stack([np.diag(x) for x in m]), "skew": skew,
    "determinant": np.linalg.det, "inverse": np.linalg.inv, "inverse_approx": np.linalg.inv,
    "matrix_from_cols": lambda *v: np.stack(v, 2), "matrix_from_rows": lambda *v: np.stack(v, 1),
    "_less": lambda a, b: np.where(a < b, 1, np.where(a == b, 0.5, 0)),
    "_ties": lambda a, r: (a == r[:, None]) / np.maximum(1, (a == r[:, None]).sum(1))[:, None],
    "_sign": np.sign, "_scaled_identity": lambda a, s: s[:, None, None] * np.eye(a.shape[1]),
    "quaternion": lambda *p: np.stack(p, 1)
    if len(p) == 4
    else np.concatenate([p[0], p[1][:, None]], 1),
    "quat_inverse": lambda q: q * [-1, -1, -1, 1],
    "quat_rotate": lambda q, v: rotation(q).apply(v),
    "quat_rotate_inv": lambda q, v: rotation(q).inv().apply(v),
    "quat_from_axis_angle": lambda v, a: np.concatenate(
        [v * np.sin(a / 2)[:, None], np.cos(a / 2)[:, None]], 1),
    "quat_to_axis_angle": axis_angle,
    "quat_to_matrix": lambda q: rotation(q).as_matrix(),
    "quat_from_matrix": lambda m: (nearest_quaternion(m), "up to sign"),
    "quat_rpy": lambda *e: (Rotation.from_euler("xyz", np.stack(e, 1)).as_quat(), "up to sign"),
    "quat_to_rpy": lambda q: rotation(q).as_euler("xyz"),
    "quat_slerp": lambda a, b, t: (slerp(a, b, t), "up to sign"), "quat_twist": twist,
    "quat_twist_angle": lambda axis, q: 2 * np.arctan2(
        np.abs(np.sum(axis * q[:, :3], 1)), q[:, 3]),
    "quat_twist_angle_signed": lambda axis, q: 2 * np.arctan2(np.sum(axis * q[:, :3], 1), q[:, 3]),
    "transformation": lambda p, q=None: np.concatenate(
        [p, np.tile([0.0, 0, 0, 1], (len(p), 1)) if q is None else q], 1),
    "transform_multiply": lambda a, b: (compose(a, b), "transform"),
    "transform_get_translation": lambda t: t[:, :3], "transform_get_rotation": lambda t: t[:, 3:],
    "transform_set_translation": lambda t, p: np.concatenate([p, t[:, 3:]], 1),
    "transform_set_rotation": lambda t, q: np.concatenate([t[:, :3], q], 1),
    "transform_point": lambda t, p: np.einsum(
        "nij,nj->ni", (t if t.ndim == 3 else matrix4(t))[:, :3],
        np.concatenate([p, np.ones((len(p), 1))], 1)),
    "transform_vector": lambda t, v: np.einsum(
        "nij,nj->ni", (t if t.ndim == 3 else matrix4(t))[:, :3, :3], v),
    "transform_inverse": lambda t: (transform(np.linalg.inv(matrix4(t))), "transform"),
    "transform_to_matrix": matrix4,
    "transform_compose": lambda p, q, s: matrix4(np.concatenate([p, q], 1))
    @ np.stack([np.diag([*x, 1]) for x in s]),
    "spatial_vector": lambda *p: np.concatenate(p, 1) if len(p) == 2 else np.stack(p, 1),
    "spatial_top": lambda v: v[:, :3], "spatial_bottom": lambda v: v[:, 3:],
    "spatial_dot": lambda a, b: np.sum(a * b, 1),
    "spatial_cross": lambda a, b: np.einsum("nij,nj->ni", motion_cross(a), b),
    "spatial_cross_dual": lambda a, b: np.einsum("nji,nj->ni", -motion_cross(a), b),
    "spatial_adjoint": adjoint,
    "transform_twist": lambda t, x: np.einsum("nij,nj->ni", twist_matrix(t), x),
    # Power is the same in both frames, so wrenches go by the inverse transpose.
    "transform_wrench": lambda t, x: np.einsum("nji,nj->ni", np.linalg.inv(twist_matrix(t)), x),
    "velocity_at_point": lambda v, p: v[:, 3:] + np.cross(v[:, :3], p),
    "rand_init": lambda s, o=None: pcg(s)
    if o is None
    else pcg(s + pcg(o).astype(np.int64) & 0xFFFFFFFF),
    "randi": randi, "randn": normal,
    "randu": lambda s, a=None, b=None: (pcg(s) if a is None else pcg(s) % (b - a) + a, pcg(s)),
    "randf": lambda s, a=None, b=None: (
        unit(pcg(s)) if a is None else a + (b - a) * unit(pcg(s)), pcg(s)),
}  # fmt: skip


def function_of(name: str):
    """The reference of a builtin: ours above, else what NumPy or SciPy calls by the same name."""
    if name in SIMPLE:
        return SIMPLE[name]
    found = getattr(np, name, None) or getattr(scipy.special, name, None)
    return found if isinstance(found, np.ufunc) else None


def reference(row: dict, operands: list[np.ndarray]):
    """(results, how) or None: how is "exact", "up to sign", "transform" or "quaternions" where a
    quaternion is up to sign, "columns" for vectors up to sign, "eigen" for those in any order."""
    function = function_of(row["name"])
    if row["name"] == "mul":
        out = multiply(row, *operands)
    elif function is None:
        return None
    else:
        out = function(*operands)
    how = "exact"
    if isinstance(out, tuple) and isinstance(out[-1], str):
        *out, how = out
        out = tuple(out)
    return (list(out) if isinstance(out, tuple) else [out]), how
