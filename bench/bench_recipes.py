# SPDX-License-Identifier: Apache-2.0
# bench_recipes.py: ways to a kernel in PyTorch side by side: kernel_op, autograd_function, tape_op,
# and the recipes that users of Warp write, with Warp and with this package as Warp.
"""For each way: lines of the user's code beside the kernel, time of a forward and of a forward with
backward, and what works, found by trying it against PyTorch's own gradients."""

import argparse
import inspect
import json
import pathlib
import tempfile
import warnings

import measure
import torch
import warp_torch as wt

try:
    import warp
except ImportError:
    warp = None


@wt.kernel
def product(x: wt.array(dtype=float), y: wt.array(dtype=float), out: wt.array(dtype=float)):
    i = wt.tid()
    out[i] = wt.sin(x[i]) * y[i]


def reference(x, y):
    return torch.sin(x) * y


def way_kernel_op(wp, kernel):
    return wp.kernel_op(kernel)


def way_autograd_function(wp, kernel):
    return wp.autograd_function(kernel)


def way_tape_op(wp, kernel):
    @wp.tape_op(outputs="x")
    def function(x, y):
        out = torch.empty_like(x)
        wp.launch(kernel, x.shape[0], inputs=[x, y], outputs=[out])
        return out

    return function


def way_function_recipe(wp, kernel):
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            out = torch.empty_like(x)
            arrays = [wp.from_torch(t.detach()) for t in (x, y, out)]
            wp.launch(kernel, dim=x.shape[0], inputs=arrays[:2], outputs=arrays[2:])
            return out

        @staticmethod
        def backward(ctx, grad):
            x, y = (t.detach() for t in ctx.saved_tensors)
            out = torch.empty_like(x)
            grads = [torch.zeros_like(x), torch.zeros_like(y)]
            wp.launch(
                kernel,
                dim=x.shape[0],
                inputs=[wp.from_torch(x), wp.from_torch(y)],
                outputs=[wp.from_torch(out)],
                adj_inputs=[wp.from_torch(g) for g in grads],
                adj_outputs=[wp.from_torch(grad.contiguous().clone())],
                adjoint=True,
            )
            return tuple(grads)

    return Function.apply


def way_custom_op_recipe(wp, kernel):
    name = f"recipes::{wp.__name__}_product"

    @torch.library.custom_op(name, mutates_args=())
    def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        arrays = [wp.from_torch(t.detach()) for t in (x, y, out)]
        wp.launch(kernel, dim=x.shape[0], inputs=arrays[:2], outputs=arrays[2:])
        return out

    @forward.register_fake
    def _(x, y):
        return torch.empty_like(x)

    @torch.library.custom_op(name + "_backward", mutates_args=())
    def backward(
        x: torch.Tensor, y: torch.Tensor, grad: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        out = torch.empty_like(x)
        grads = torch.zeros_like(x), torch.zeros_like(y)
        wp.launch(
            kernel,
            dim=x.shape[0],
            inputs=[wp.from_torch(x.detach()), wp.from_torch(y.detach())],
            outputs=[wp.from_torch(out)],
            adj_inputs=[wp.from_torch(g) for g in grads],
            adj_outputs=[wp.from_torch(grad.contiguous().clone())],
            adjoint=True,
        )
        return grads

    @backward.register_fake
    def _(x, y, grad):
        return torch.empty_like(x), torch.empty_like(y)

    forward.register_autograd(
        lambda ctx, grad: backward(*ctx.saved_tensors, grad),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    return forward


def warp_kernel(module):
    namespace = {"wp": module}
    text = inspect.getsource(product.pyfunc).replace("wt.", "wp.")
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "of_warp.py").write_text(f"import warp as wp\n\n\n{text}")
    code = compile((folder / "of_warp.py").read_text(), folder / "of_warp.py", "exec")
    exec(code, namespace)  # noqa: S102 - the kernel above, for Warp
    return namespace["product"]


# What works: each tries one thing and raises, or gives other values, if it does not.


def same(a, b):
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def leaves(device, n=8):
    g = torch.Generator().manual_seed(0)
    return [torch.rand(n, generator=g).to(device).requires_grad_() for _ in range(2)]


def try_backward(f, device):
    x, y = leaves(device)
    for a, b in zip(*(torch.autograd.grad(h(x, y).sum(), (x, y)) for h in (f, reference))):
        same(a, b)


def try_second(f, device):
    x, y = leaves(device)

    def second(h):
        (g,) = torch.autograd.grad(h(x, y).sum(), x, create_graph=True)
        return torch.autograd.grad(g.square().sum(), (x, y))

    for a, b in zip(second(f), second(reference)):
        same(a, b)


def try_func_grad(f, device):
    x, y = (t.detach() for t in leaves(device))
    got, wanted = (torch.func.grad(lambda x, h=h: h(x, y).sum())(x) for h in (f, reference))
    same(got, wanted)


def try_vmap(f, device):
    x, y = (t.detach().repeat(3, 1) for t in leaves(device))
    same(torch.vmap(f)(x, y), reference(x, y))


def try_jvp(f, device):
    x, y = (t.detach() for t in leaves(device))
    for a, b in zip(*(torch.func.jvp(h, (x, y), (y, x)) for h in (f, reference))):
        same(a, b)


def try_compile(f, device):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: f(x * 2, y) + 1, fullgraph=True)
    x, y = leaves(device)
    out, wanted = compiled(x, y), reference(x * 2, y) + 1
    same(out, wanted)
    for a, b in zip(*(torch.autograd.grad(o.sum(), (x, y)) for o in (out, wanted))):
        same(a, b)


def try_export(f, device):
    class Net(torch.nn.Module):
        def forward(self, x, y):
            return f(x, y)

    x, y = (t.detach() for t in leaves(device))
    same(torch.export.export(Net(), (x, y)).module()(x, y), reference(x, y))


def try_autocast(f, device):
    x, y = leaves(device)
    with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
        out = f(x.bfloat16(), y)  # two dtypes, as layers under autocast bring them
    out.float().sum().backward()
    assert x.grad is not None


def try_checkpoint(f, device):
    x, y = leaves(device)
    out = torch.utils.checkpoint.checkpoint(f, x, y, use_reentrant=False)
    same(torch.autograd.grad(out.sum(), x)[0], torch.autograd.grad(reference(x, y).sum(), x)[0])


def try_strided_cotangent(f, device):
    x, y = leaves(device)
    got, wanted = (
        torch.autograd.grad(h(x, y), x, torch.ones((), device=device).expand(8))[0]
        for h in (f, reference)
    )
    same(got, wanted)


def try_graph(f, device):
    if torch.device(device).type != "cuda":
        return "-"
    x, y = leaves(device)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.autograd.grad(f(x, y).sum(), x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        out = f(x, y)
        (g,) = torch.autograd.grad(out.sum(), x)
    with torch.no_grad():
        x.mul_(0.5)
    graph.replay()
    same(g, torch.autograd.grad(reference(x, y).sum(), x)[0])


TRIALS = {
    "backward": try_backward,
    "expanded cotangent": try_strided_cotangent,
    "double backward": try_second,
    "torch.func.grad": try_func_grad,
    "vmap": try_vmap,
    "jvp": try_jvp,
    "compile, full graph": try_compile,
    "export": try_export,
    "autocast": try_autocast,
    "checkpointing": try_checkpoint,
    "CUDA graph": try_graph,
}


def outcome(trial, f, device):
    """ "yes", "no (the error)", "WRONG" or "-" where it cannot be tried."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return trial(f, device) or "yes"
    except AssertionError as e:
        return f"WRONG: {str(e).splitlines()[0][:80]}"
    except Exception as e:  # noqa: BLE001 - the outcome
        return f"no: {type(e).__name__}"


def code_lines(way):
    """Lines of the user's code in a way, less its signature."""
    lines = inspect.getsource(way).splitlines()[1:]
    return sum(1 for line in lines if line.strip())


def times(f, device, options):
    x, y = leaves(device, 1024)

    def both():
        torch.autograd.grad(f(x, y).sum(), (x, y))

    def forward():
        with torch.no_grad():
            f(x, y)

    return {
        what: 1e6 * measure.seconds(run, torch.device(device), options.calls, repeats=5)["min"]
        for what, run in (("forward", forward), ("forward and backward", both))
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--calls", type=int, default=300, help="calls in one round")
    parser.add_argument("--out", type=pathlib.Path, help="write the figures here")
    options = parser.parse_args()
    ways = {
        "kernel_op": (way_kernel_op, wt, product),
        "autograd_function": (way_autograd_function, wt, product),
        "tape_op": (way_tape_op, wt, product),
        "Function recipe, this package": (way_function_recipe, wt, product),
        "custom_op recipe, this package": (way_custom_op_recipe, wt, product),
    }
    if warp is not None:
        warp.config.quiet = True
        warp.init()
        theirs = warp_kernel(warp)
        ways["Function recipe, Warp"] = (way_function_recipe, warp, theirs)
        ways["custom_op recipe, Warp"] = (way_custom_op_recipe, warp, theirs)
    rows = []
    for name, (way, module, kernel) in ways.items():
        f = way(module, kernel)
        works = {what: outcome(trial, f, options.device) for what, trial in TRIALS.items()}
        row = {"way": name, "lines": code_lines(way), "works": works}
        row["microseconds"] = times(f, options.device, options)
        rows.append(row)
        took = ", ".join(f"{what} {t:.1f} us" for what, t in row["microseconds"].items())
        print(f"{name}: {row['lines']} lines, {took}")
        for what, result in works.items():
            print(f"    {what:22s} {result}")
    if options.out:
        record = {
            "benchmark": "recipes",
            "machine": measure.machine(torch.device(options.device)),
            "device": options.device,
            "results": rows,
        }
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
