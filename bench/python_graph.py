#!/usr/bin/env python3
"""What a kernel of kiln's costs inside a CUDA graph of PyTorch's that trains a model.

    PYTHONPATH=build/python python3 bench/python_graph.py [file.json]

The step is forward, backward and SGD of w in sum(f(w * x)), captured once and replayed. f is a
torch.autograd.Function: its two kernels are kiln's, or PyTorch's of the same traffic, or left out. kiln's
write to tensors that PyTorch allocates, whose memory is then the graph's own. The two kernels are also
timed alone, in a graph of their own. Figures are medians of rounds in turns, in microseconds a replay on the device.
"""
import json
import statistics
import sys

import torch

import kiln

SIZE, REPLAYS, ROUNDS = 1 << 22, 50, 15
FORWARD = kiln.ElementwiseKernel("T x", "T y", "y = x * x", "square")
BACKWARD = kiln.ElementwiseKernel("T x, T g", "T y", "y = 2 * x * g", "square_backward")


def function(forward, backward):
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x.detach())

        @staticmethod
        def backward(ctx, g):
            return backward(*ctx.saved_tensors, g.contiguous())
    return Function.apply


def step_with(f):
    """A graph of one step, and its parameter."""
    x = torch.full((SIZE,), 0.5, device="cuda")
    w = torch.linspace(0.5, 1.0, SIZE, device="cuda").requires_grad_()
    optimiser = torch.optim.SGD([w], lr=0.1)

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss = f(w * x).sum()
        loss.backward()
        optimiser.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    return graph, w, loss


def into_new(kernel):
    """The kernel with an output that PyTorch allocates."""
    def run(*args):
        out = torch.empty_like(args[0])
        kernel(*args, out)
        return out
    return run


def kernels_alone():
    x = torch.rand(SIZE, device="cuda")
    y, z = torch.empty_like(x), torch.empty_like(x)
    FORWARD(x, y)
    BACKWARD(x, y, z)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        FORWARD(x, y)
        BACKWARD(x, y, z)
    return graph, x, y


def main():
    zero = torch.zeros((), device="cuda")
    graphs = {
        "step with kiln's kernels": step_with(function(into_new(FORWARD), into_new(BACKWARD))),
        "step with PyTorch's": step_with(function(
            torch.square, lambda x, g: torch.addcmul(zero, x, g, value=2))),
        "step without": step_with(function(lambda x: x.view_as(x), lambda x, g: g)),
        "kiln's kernels alone": kernels_alone(),
    }
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = {name: [] for name in graphs}
    for _ in range(ROUNDS):
        for name, (graph, _, _) in graphs.items():
            graph.replay()
            start.record()
            for _ in range(REPLAYS):
                graph.replay()
            end.record()
            end.synchronize()
            times[name].append(1000 * start.elapsed_time(end) / REPLAYS)
    loss = graphs["step with kiln's kernels"][2].item()
    reference = graphs["step with PyTorch's"][2].item()
    result = {name: round(statistics.median(t), 2) for name, t in times.items()}
    for name, value in result.items():
        print(f"{name:30} {value:8.2f} us")
    print(f"loss {loss:.6g}, PyTorch's {reference:.6g}")
    if abs(loss - reference) > 1e-4 * abs(reference):
        sys.exit("the two models differ")
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as out:
            json.dump({"microseconds": result, "samples": times}, out, indent=1)


if __name__ == "__main__":
    main()
