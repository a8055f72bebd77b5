"""CuPy and PyTorch on the cases of bench_select, added to its result file.

    python3 peers_select.py RESULTS/select.json [--scale N]

Both wait for the number of elements within a call. Rates are medians over device time between events,
over the bytes of the inputs and of what is kept. A peer that is not installed is said so and left out.
"""
import json

from peers_reduce import Cupy, Torch, main

ELEMENTS = 1 << 28


def choose(peer, kind, share, size):
    """A call, and the bytes it must move: those of bench_select."""
    if isinstance(peer, Torch):
        torch = peer.torch
        x = torch.rand(size, dtype=torch.float32, device="cuda")
        mask = torch.rand(size, device="cuda") < share
        calls = {"compress": lambda: x[mask], "nonzero": lambda: torch.nonzero(y),
                 "filter": lambda: x[x > 1 - share], "both": lambda: (x[x > 1 - share], x[x <= 1 - share])}
        y = mask.to(torch.float32)
    else:
        cp = peer.cp
        x = cp.random.random(size, dtype="float32")
        mask = cp.random.random(size, dtype="float32") < share
        calls = {"compress": lambda: x[mask], "nonzero": lambda: cp.flatnonzero(y),
                 "filter": lambda: x[x > 1 - share], "both": lambda: (x[x > 1 - share], x[x <= 1 - share])}
        y = mask.astype("float32")
    bytes_in, bytes_out = {"compress": (5, 4), "nonzero": (4, 8), "filter": (4, 4), "both": (8, 0)}[kind]
    return calls[kind], size * (bytes_in + share * bytes_out)


def run_peer(kind, names, scale):
    """Print one line of JSON a row, so that a peer that crashes keeps what it has done."""
    peer = Torch() if kind == "torch" else Cupy()
    print(json.dumps({"version": peer.version}), flush=True)
    for name in names:
        call, moved = choose(peer, name.split("_")[0], int(name.split("_")[1]) / 100,
                             ELEMENTS // scale)
        print(json.dumps({"case": name, "value": moved / peer.ms(call) / 1e6}), flush=True)


if __name__ == "__main__":
    main(__file__, run_peer, (("cupy", "cupy", None), ("torch", "torch", None)))
