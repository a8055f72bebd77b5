"""CuPy and PyTorch on the cases of bench_scan, added to its result file.

    python3 peers_scan.py RESULTS/scan.json [--scale N]

Outputs are given where a peer takes one. Rates are medians over device time between events, over the
bytes of input and output. A peer that is not installed is said so and left out.
"""
import json
import re

from peers_reduce import Cupy, Torch, main, scaled

DTYPES = {"float16": ((1 << 18, 1 << 10), 1), "float64": ((1 << 28,), 0),
          "int32": ((1 << 28,), 0), "int8": ((1 << 28,), 0)}
WIDER = {"int32": "int64", "int8": "int64"}


def extent(text):
    return 1 << int(text[2:]) if text.startswith("2^") else int(text)


def shape_of(name):
    """Shape, axis and dtype of a row, or None for one that peers have nothing like."""
    if name == "cumsum_all":
        return (1 << 28,), 0, "float32"
    match = re.fullmatch(r"cumsum_([0-9^]+)x([0-9^]+)_([01])", name)
    if match:
        return (extent(match[1]), extent(match[2])), int(match[3]), "float32"
    dtype = name[len("cumsum_"):]
    if name.startswith("cumsum_") and dtype in DTYPES:
        return DTYPES[dtype] + (dtype,)
    return None


def cumsum(peer, x, axis, dtype):
    """A call that scans x, and the bytes it must move."""
    wide = WIDER.get(dtype, dtype)
    y = peer.array(tuple(x.shape), wide)
    moved = peer.bytes(x) + peer.bytes(y)
    if isinstance(peer, Torch):
        return lambda: peer.torch.cumsum(x, dim=axis, out=y), moved
    return lambda: peer.cp.cumsum(x, axis=axis, out=y), moved


def run_peer(kind, names, scale):
    """Print one line of JSON a row, so that a peer that crashes keeps what it has done."""
    peer = Torch() if kind == "torch" else Cupy()
    print(json.dumps({"version": peer.version}), flush=True)
    for name in names:
        found = shape_of(name)
        if found is None:
            continue
        shape, axis, dtype = found
        call, moved = cumsum(peer, peer.array(scaled(shape, scale), dtype), axis, dtype)
        print(json.dumps({"case": name, "value": moved / peer.ms(call) / 1e6}), flush=True)


if __name__ == "__main__":
    main(__file__, run_peer, (("cupy", "cupy", None), ("torch", "torch", None)))
