"""Random expressions: `kiln eval` and NumPy evaluate the same text, and must give the same.

    tests/test_numpy_text.py build/kiln                                # 300 programs, seed 1
    tests/test_numpy_text.py build/kiln --seed random --seconds 600
    tests/test_numpy_text.py build/kiln --seed 7 --case 123 --keep /tmp/case

A failure is printed with the smallest part of its program that fails alone; --keep writes its inputs and the
command into a folder. Programs with mistakes (one in eight) must be refused where NumPy refuses them.
`kiln warm` of the program's line must have all kernels that the run needs, which every other run records.
What is drawn stands in tests/numpy_text/functions.py and further.py; docs/testing.md says more.
"""
import argparse
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from unittest import mock

try:
    import numpy as np
except ImportError:
    print("SKIPPED: no NumPy")
    sys.exit(77)
if int(np.__version__.split(".")[0]) < 2:
    print(f"SKIPPED: NumPy {np.__version__} has other rules than NumPy 2")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "numpy_text"))
from draw import Draw, Refused, Rejected, inputs_of, written  # noqa: E402
import functions  # noqa: E402
import further  # noqa: E402
import lengths  # noqa: E402
import texts  # noqa: E402

WEIGHTS = {**functions.WEIGHTS, **further.WEIGHTS, **lengths.WEIGHTS, **texts.WEIGHTS}

# What kiln says that it does not do.
LIMITS = [
    "how many elements a mask chooses is known to the device alone",
    "an axis is cut into at most 64 runs",
    "are given, rank is",
]


class Case:
    """Some parts as the results of one program."""

    def __init__(self, wanted, seed, refused=False):
        self.wanted = wanted
        self.refused = refused  # by NumPy, so that nobody knows how many results there would be
        self.text = written(wanted, np.random.default_rng(seed))
        self.inputs = inputs_of(wanted)

    def command(self, kiln, folder):
        given = []
        for name, value in self.inputs.items():
            given.append(f"{name}={value}")
            if not isinstance(value, (int, float)):
                given[-1] = f"{name}={folder}/{name}.npy"
                np.save(os.path.join(folder, name + ".npy"), value)
        return ([kiln, "eval", self.text] + given +
                [a for k in range(0 if self.refused else len(self.wanted)) for a in ("-o", f"{folder}/out{k}.npy")])

    def line(self):
        """As a line of a manifest, for one call of these shapes."""
        numbers = [name for name, value in self.inputs.items() if isinstance(value, (int, float))]
        return json.dumps({
            "kind": "expression", "text": self.text, "scalars": numbers,
            "types": [{name: str(np.asarray(value).dtype) for name, value in self.inputs.items()}],
            "shapes": [{name: value.shape for name, value in self.inputs.items() if name not in numbers}]})

    def missing(self, kiln, folder, target):
        """A kernel of the run that was recorded that `kiln warm` of its line does not compile; or None."""
        if any(np.size(value) == 0 for value in self.inputs.values()):
            return None  # a manifest has no such shapes
        warm = subprocess.run([kiln, "warm", "-", "--dry-run"] + target, input=self.line(),
                              capture_output=True, text=True, timeout=300)
        if warm.returncode != 0:
            return f"kiln warm: status {warm.returncode}: {warm.stderr[-4000:]}"
        given = set(warm.stdout.splitlines())
        if not os.path.exists(f"{folder}/record.jsonl"):
            return None
        with open(f"{folder}/record.jsonl") as record:
            kernels = record.read().splitlines()
        return next((f"kiln warm does not compile {k}" for k in kernels if k not in given), None)

    def described(self):
        return ", ".join(f"{name}={value}" if isinstance(value, (int, float)) else
                         f"{name}: {value.dtype}{value.shape}" for name, value in self.inputs.items())

    def run_recorded(self, kiln, folder, target):
        """None, or what is wrong with the results, or with the kernels of its line."""
        record = f"{folder}/record.jsonl"
        if os.path.exists(record):
            os.remove(record)
        # `kiln warm` is for GPUs of 6 multiprocessors and more.
        with mock.patch.dict(os.environ, KILN_RECORD=record, KILN_EMULATOR_UNITS="6"):
            wrong = self.run(kiln, folder)
        return wrong or self.missing(kiln, folder, target)

    def run(self, kiln, folder):
        """None, or what is wrong."""
        ran = subprocess.run(self.command(kiln, folder), capture_output=True, text=True, timeout=300)
        if ran.returncode == 1 and ran.stderr.startswith("kiln: "):
            return "refused: " + ran.stderr.strip()
        if ran.returncode != 0:
            return f"status {ran.returncode}: {ran.stderr[-4000:]}"
        for k, p in enumerate(self.wanted if not self.refused else ()):
            wrong = differs(np.load(f"{folder}/out{k}.npy"), p)
            if wrong:
                return f"result {k + 1}: {wrong}"
        return None


def differs(got, part):
    want = np.asarray(part.value)
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, expected {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if part.same or want.dtype.kind == "b":
        right = got == want
        if want.dtype.kind in "fc":
            right |= np.isnan(got) & np.isnan(want)
    else:
        with np.errstate(all="ignore"):
            right = (np.abs(got - want) <= part.err) | (got == want) | (np.isnan(got) & np.isnan(want))
    if np.all(right):
        return None
    at = tuple(int(i) for i in np.argwhere(~right)[0]) if want.ndim else ()
    return f"{np.sum(~right)} of {want.size} wrong, at {at} {got[at]!r}, expected {want[at]!r} within {part.err:g}"


def drawn(seed, number):
    """A case, or None where NumPy refuses what was drawn; and the parts."""
    d = Draw((seed, number), mistakes=number % 8 == 7 or Draw.in_order)
    weights = np.array(list(WEIGHTS.values()), float)
    wanted = 1 if d.in_order else 1 + d.below(9)
    tries = 0
    while sum(p.name is None for p in d.parts) < wanted and tries < 200:
        tries += 1
        try:
            d.rng.choice(list(WEIGHTS), p=weights / weights.sum())(d)
        except Rejected:
            continue
        except Refused:
            if d.mistakes:
                return Case([d.parts[-1]], number, refused=True), d.parts, True
            d.parts.pop()
    made = [p for p in d.parts if p.name is None]
    last = made[-1:] + [p for p in made[:-1] if d.once_in(4)]
    return (Case(last, number), d.parts, False) if made else (None, d.parts, False)


def smallest(case, wrong_before, parts, kiln, folder, number):
    """The first part that fails alone, else the case as it is."""
    for p in parts:
        if p.name is None:
            one = Case([p], number)
            wrong = one.run(kiln, folder)
            if wrong:
                return one, wrong
    wrong = case.run(kiln, folder)
    return case, wrong or f"at the first of two runs: {wrong_before}"


def main():
    say = argparse.ArgumentParser()
    say.add_argument("kiln")
    say.add_argument("--device", help="cpu or cuda; $KILN_DEVICE when left out")
    say.add_argument("--seed", default="1")
    say.add_argument("--case", type=int)
    say.add_argument("--cases", type=int, default=300)
    say.add_argument("--seconds", type=float)
    say.add_argument("--keep")
    say.add_argument("--only", help="of these functions alone, by commas")
    say.add_argument("--lines", action="store_true", help="the lines of texts.txt in turn, each --cases times")
    say.add_argument("--stop", type=int, default=20, help="failures after which to end")
    given = say.parse_args()
    if given.device:
        os.environ["KILN_DEVICE"] = given.device
    info = subprocess.run([given.kiln, "info", "--json"], capture_output=True, text=True, timeout=100).stdout
    if given.device == "cuda" and not any(d["backend"] == "cuda" and d["usable"] for d in json.loads(info)["devices"]):
        print("SKIPPED: no GPU")
        return 77
    device = next(d for d in json.loads(info)["devices"] if d["usable"] and given.device in (None, d["backend"]))
    target = ["--arch", device["target"]] if device["backend"] == "cuda" else ["--cpu"]
    seed = random.randrange(10**6) if given.seed == "random" else int(given.seed)
    if given.lines:
        Draw.in_order, given.only, given.cases = True, "tabled", min(given.cases, 3) * len(texts.TABLE)
    if given.only:
        wanted = given.only.split(",")
        for f in [f for f in WEIGHTS if f.__name__ not in wanted]:
            del WEIGHTS[f]
    folder = given.keep or tempfile.mkdtemp(prefix="kiln-numpy-")
    os.makedirs(folder, exist_ok=True)
    begun, failures, limits, refusals, number = time.monotonic(), 0, 0, 0, given.case or 0
    while failures < given.stop:
        if given.case is not None and number > given.case:
            break
        if given.case is None and (time.monotonic() - begun > given.seconds if given.seconds else
                                   number >= given.cases):
            break
        case, parts, refused = drawn(seed, number)
        number += 1
        if case is None:
            continue
        # Every other case: whether `kiln warm` of its line has the kernels that the run needs, too.
        warms = number % 2 == 1 and not refused
        wrong = case.run_recorded(given.kiln, folder, target) if warms else case.run(given.kiln, folder)
        if refused:
            refusals += 1
            if wrong is None or not wrong.startswith("refused"):
                failures += 1
                print(f"FAILED: NumPy refuses this, kiln: {wrong}\n  # --seed {seed} --case {number - 1}\n"
                      f"  {case.text}\n  " + case.described())
            continue
        if wrong and any(limit in wrong for limit in LIMITS):
            limits += 1
        elif wrong:
            failures += 1
            if not wrong.startswith("kiln warm"):
                case, wrong = smallest(case, wrong, parts, given.kiln, folder, number)
            print(f"FAILED: {wrong}\n  # --seed {seed} --case {number - 1}\n  {case.text}\n  " +
                  case.described(), flush=True)
            if given.keep:
                print("  " + shlex.join(case.command(given.kiln, folder)))
    print(f"{number} programs of seed {seed}: {failures} failed; {refusals} refused by NumPy as well, "
          f"{limits} beyond what kiln does")
    if not given.keep:
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        os.rmdir(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
