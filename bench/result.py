"""Result files of the benchmarks: reading one, and what its rows mean.

A result file is one JSON object (bench.h): facts about the machine, then `rows`. A row holds
kiln's figure, maybe a limit, a target, and a figure for each peer that was run. All are in the
row's unit: GB/s is a rate, more is better; every other unit is a time or a multiple of one, less is
better. bench_warm.py and bench_cache write `figures` instead of rows.

The peers' programs add to such a file, report.py makes tables of it, chart.py pictures.
"""
import collections
import json
import os
import subprocess
import sys

Peer = collections.namedtuple("Peer", "key name light dark")  # two colours, for the two backgrounds
PEERS = (Peer("cupy", "CuPy", "#2f78b4", "#64a9e0"),
         Peer("cupy_cub", "CuPy with CUB", "#8fbfe3", "#2f6796"),
         Peer("torch", "PyTorch", "#3a9a68", "#55bd88"), Peer("jax", "JAX", "#9a62ab", "#bf8fce"),
         Peer("numpy", "NumPy", "#2f78b4", "#64a9e0"),
         Peer("numexpr", "numexpr", "#3a9a68", "#55bd88"))

# How a file's name begins (the first that fits), what it measures, and what its limit is.
KINDS = (
    ("elementwise", "Elementwise kernels", "the best hand-written CUDA kernel that moves the same "
     "bytes; of calls the driver's launch, of first calls NVRTC"),
    ("cpu-reduce", "Reductions", "a C loop that reads the same bytes on all cores"),
    ("reduce", "Reductions", "the best hand-written CUDA kernel that reads the same bytes; of "
     "calls the driver's launch, of first calls NVRTC"),
    ("rows", "Row programs", "the best hand-written CUDA kernel that moves the same bytes"),
    ("scan", "Scans", "the best hand-written CUDA kernel that moves the same bytes"),
    ("select", "Filters", "the best hand-written CUDA kernel that moves the same bytes"),
    ("graph-cpu", "Pipelines as graphs", ""),
    ("graph", "Pipelines as graphs", "the best hand-written CUDA kernel that moves the same bytes; "
     "of calls as many elementwise calls"),
    ("cpu", "Elementwise kernels", "a C loop on all cores"),
    ("warm", "Warming a cache ahead", ""),
    ("cache", "The cache on disk", ""),
)


def read(path):
    with open(path) as source:
        return json.load(source)


def write(path, fields):
    """The same form that bench.c writes: one row a line."""
    head = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in fields.items()
                      if k != "rows")
    body = ",\n    ".join(json.dumps(row) for row in fields["rows"])
    with open(path, "w") as out:
        out.write(f'{{\n{head},\n  "rows": [\n    {body}\n  ]\n}}\n')


def add_peer(fields, key, arguments, environment):
    """Run a peer in a process of its own, and give its figures to the rows under `key`.

    The process is this Python with `arguments`. It prints an object with its version, then one with
    `case` and `value` for each row that it can do; what it prints on the other stream is told. A
    peer that takes longer than KILN_PEER_SECONDS is stopped, and keeps the rows that it has done.
    """
    seconds = float(os.environ.get("KILN_PEER_SECONDS", 0)) or None
    try:
        done = subprocess.run([sys.executable, *arguments], env={**os.environ, **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        print(f"{key} was stopped after {seconds:g} s")
        done = late
    output, errors = ((text or b"").decode() for text in (done.stdout, done.stderr))
    # The last line of a stopped peer may be cut.
    lines = [json.loads(line) for line in output.splitlines()
             if line.startswith("{") and line.endswith("}")]
    if not lines:
        reason = errors.strip().splitlines()
        print(f"{key} is left out: {reason[-1] if reason else 'no output'}")
        return
    for line in errors.splitlines():
        if " cannot do " in line:
            print(line)
    fields.setdefault("peers", {})[key] = lines[0]["version"]
    figures = {line["case"]: line["value"] for line in lines[1:]}
    for row in fields["rows"]:
        if row["case"] in figures:
            row[key] = round(figures[row["case"]], 3)
            print(f"{key:9} {row['case']:24} {row[key]:10.3f} {row['unit']}")


class Row:
    def __init__(self, fields):
        self.label, self.unit, self.kiln = fields["label"], fields["unit"], fields["kiln"]
        self.limit, self.rule = fields.get("limit"), fields.get("rule")
        self.target, self.met = fields.get("target"), fields.get("met", True)
        self.peers = [(peer, fields[peer.key]) for peer in PEERS if fields.get(peer.key)]

    @property
    def is_rate(self):
        return self.unit == "GB/s"

    def best(self):
        """The fastest of kiln and its peers."""
        values = [self.kiln] + [value for _, value in self.peers]
        return max(values) if self.is_rate else min(values)

    def share(self, value, of):
        """How fast `value` is beside `of`: 1 is as fast, 0.5 half as fast."""
        return value / of if self.is_rate else of / value

    def target_share(self):
        """The share of the limit that the target asks for; None when it asks for something else."""
        if self.limit and self.rule == "at least":
            return self.target
        if self.limit and self.rule == "over by":
            return self.limit / (self.limit + self.target)
        return None


class Result:
    def __init__(self, path):
        self.fields = read(path)
        self.name = os.path.splitext(os.path.basename(path))[0]
        kind = next((kind for kind in KINDS if self.name.startswith(kind[0])), ("", self.name, ""))
        self.title, self.limit = kind[1], kind[2]
        self.rows = [Row(fields) for fields in self.fields.get("rows", [])]
        shown = {peer for row in self.rows for peer, _ in row.peers}
        self.peers = [peer for peer in PEERS if peer in shown]

    def device(self):
        return self.fields.get("device") or self.fields.get("machine")

    def version(self, peer):
        """The peer's version, or nothing when the file does not tell."""
        fields = self.fields
        return fields.get("peers", {}).get(peer.key) or fields.get(peer.key + "_version", "")

    def made(self):
        """Where, when and of what the figures are, in a line."""
        fields = self.fields
        threads = fields.get("threads")
        parts = [self.device() + (f", {threads} threads" if threads else ""),
                 fields.get("driver") and f"driver {fields['driver']}",
                 fields.get("compiler"), fields.get("date"),
                 f"kiln {fields.get('kiln', '')} at {fields.get('commit') or 'unknown'}"]
        return ", ".join(part.replace("  ", " ") for part in parts if part)


def number(value):
    """A figure as people read it: three digits, more when it has them before the point."""
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 1 else f"{value:.2g}"
