# SPDX-License-Identifier: Apache-2.0
# torch_scalars.py: runs the Python text of a kernel on torch scalars, thread after thread, so that
# torch.autograd differentiates what the kernel says, to any order. Knows nothing of the compiler.
import ast
import inspect
import itertools
import textwrap

import torch

F64 = torch.float64


def scalar(x):
    return x if isinstance(x, torch.Tensor) else torch.tensor(float(x), dtype=F64)


class Vector:
    """A vector or matrix; changing a component makes a new tensor."""

    def __init__(self, tensor):
        self.tensor = tensor

    def _with(self, other, op):
        return Vector(op(self.tensor, other.tensor if isinstance(other, Vector) else other))

    def __add__(self, other):
        return self._with(other, torch.add)

    def __sub__(self, other):
        return self._with(other, torch.sub)

    def __mul__(self, other):
        matrix = isinstance(other, Vector) and self.tensor.dim() == 2
        return self._with(other, torch.matmul if matrix else torch.mul)

    def __getitem__(self, i):
        part = self.tensor[i]
        return Vector(part) if part.dim() else part

    def __setitem__(self, i, value):
        changed = self.tensor.clone()
        changed[i] = value.tensor if isinstance(value, Vector) else scalar(value)
        self.tensor = changed


class Record:
    """A struct that a kernel makes: fields by name."""

    def copied(self):
        out = Record()
        out.__dict__.update({n: copied(v) for n, v in self.__dict__.items()})
        return out


def copied(x):
    """Value semantics: `b = a` is a copy."""
    if isinstance(x, Vector):
        return Vector(x.tensor)
    return x.copied() if isinstance(x, Record) else x


class Array:
    def __init__(self, shape, items):
        self.shape, self.items = tuple(shape), items

    def _place(self, index):
        place = 0
        for i, n in zip(index if isinstance(index, tuple) else (index,), self.shape):
            place = place * n + int(i)
        return place

    def __getitem__(self, index):
        return self.items[self._place(index)]

    def __setitem__(self, index, value):
        self.items[self._place(index)] = copied(value)


def array_of(tensor, ndim):
    parts = list(tensor.reshape(-1, *tensor.shape[ndim:]).unbind())
    if tensor.dim() > ndim:
        parts = [Vector(p) for p in parts]
    elif not tensor.is_floating_point():
        parts = [int(p) for p in parts]
    return Array(tensor.shape[:ndim], parts)


def tensor_of(array, like):
    parts = [p.tensor if isinstance(p, Vector) else torch.as_tensor(p) for p in array.items]
    return torch.stack(parts).reshape(like.shape)


def _larger(a, b):
    return torch.maximum(a, scalar(b)) if isinstance(a, torch.Tensor) else max(a, b)


def _smaller(a, b):
    return torch.minimum(a, scalar(b)) if isinstance(a, torch.Tensor) else min(a, b)


def _vector(*parts):
    return Vector(torch.stack([scalar(p) for p in parts]))


def _gradient(f):
    """grad(f): by each argument on its own, though arguments may depend on one another."""

    def gradient(*args):
        own = [a * 1.0 if a.requires_grad else a.clone().requires_grad_() for a in args]
        out = torch.autograd.grad(f(*own), own, create_graph=True)
        return out[0] if len(out) == 1 else out

    return gradient


class Language:
    """What `wp` is inside a kernel."""

    def __init__(self, structs):
        self.thread = 0
        self.structs = structs

    def tid(self):
        return self.thread

    def atomic_add(self, array, i, x):
        old = array[i]
        array[i] = old + x
        return old

    def atomic_exch(self, array, i, x):
        old = array[i]
        array[i] = x
        return old

    def zeros(self, shape, dtype):
        return Array((shape,), [scalar(0.0)] * shape)

    max = staticmethod(_larger)
    min = staticmethod(_smaller)
    vec2d = vec3d = staticmethod(_vector)
    grad = staticmethod(_gradient)

    def clamp(self, x, low, high):
        return torch.clamp(x, float(low), float(high))

    def dot(self, a, b):
        return (a.tensor * b.tensor).sum()

    def length(self, a):
        return torch.linalg.norm(a.tensor)

    def cross(self, a, b):
        return Vector(torch.linalg.cross(a.tensor, b.tensor))

    def inverse(self, a):
        return Vector(torch.linalg.inv(a.tensor))

    def determinant(self, a):
        return torch.linalg.det(a.tensor)

    def loop_bound(self, n):
        pass

    def __getattr__(self, name):
        return lambda *args: getattr(torch, name)(*[scalar(a) for a in args])


class _Values(ast.NodeTransformer):
    """`b = a` copies, `a += b` makes a new value."""

    def visit_Assign(self, node):
        if isinstance(node.targets[0], ast.Name):
            node.value = ast.Call(ast.Name("copied", ast.Load()), [node.value], [])
        return node

    def visit_AugAssign(self, node):
        old = ast.parse(ast.unparse(node.target), mode="eval").body
        return ast.Assign([node.target], ast.BinOp(old, node.op, node.value))


def _on_torch(function, language):
    tree = _Values().visit(ast.parse(textwrap.dedent(inspect.getsource(function))))
    head = tree.body[0]
    head.decorator_list = []
    for a in head.args.args:
        a.annotation = None
    names = dict(function.__globals__, wp=language, F=scalar, copied=copied, **language.structs)
    for n in function.__code__.co_names:
        value = function.__globals__.get(n)
        if getattr(value, "wt_kind", None) == "func":
            names[n] = _on_torch(value.pyfunc, language)
    made = {}
    exec(compile(ast.fix_missing_locations(tree), function.__name__, "exec"), names, made)
    return made[function.__name__]


def run(kernel, dim, args, structs=()):
    """Runs a kernel on tensors and numbers by name; gives what is in each tensor afterwards. Names
    in `structs` make records."""
    language = Language({n: Record for n in structs})
    function = _on_torch(kernel.pyfunc, language)
    given = {
        n: array_of(x, kernel.pyfunc.__annotations__[n].ndim)
        if isinstance(x, torch.Tensor) and x.dim()
        else x
        for n, x in args.items()
    }
    for t in itertools.product(*[range(d) for d in dim]):
        language.thread = t if len(t) > 1 else t[0]
        function(**given)
    return {n: tensor_of(a, args[n]) for n, a in given.items() if isinstance(a, Array)}
