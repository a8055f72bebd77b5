#!/usr/bin/env python3
"""Kill the tool, its compilers and their children at random moments, and look for litter.

    python3 random_kills.py --tool build/kiln [--seconds 8] [--seed 1]

Some processes of the tool share one cache folder and one TMPDIR, each compiling new kernels. Every
few milliseconds one of their processes (tool, driver, compiler proper, assembler, linker), chosen at
random, gets SIGKILL, SIGTERM, SIGHUP, SIGINT or SIGSEGV. Afterwards:

  - no process that carries this run's mark in its environment is left;
  - after one more compile $TMPDIR is empty;
  - `kiln cache verify` finds no damaged entry, and a kernel still compiles and computes.

The exit status is 0 when all hold, and 1 with a line for each that does not.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT,
           signal.SIGSEGV]
TOOLS = 4


def marked(mark):
    """Numbers of living processes that have `mark` in their environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark not in file.read():
                    continue
            with open(f"/proc/{name}/stat", "rb") as file:
                if file.read().rsplit(b")", 1)[1].split()[0] in (b"Z", b"X"):
                    continue
        except OSError:
            continue
        found.append(int(name))
    return found


def start(tool, environment, number):
    expression = f"sqrt(x * {number}.5 + exp(x - {number})) + sum(x * {number})"
    return subprocess.Popen([tool, "eval", expression, "x=1.5"], env=environment,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def attack(tool, environment, mark, seconds):
    """Returns how many processes were started, and how many signals were sent."""
    running, started, sent = [], 0, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        running = [process for process in running if process.poll() is None]
        while len(running) < TOOLS:
            started += 1
            running.append(start(tool, environment, started))
        time.sleep(random.uniform(0.001, 0.05))
        victims = marked(mark)
        if victims:
            try:
                os.kill(random.choice(victims), random.choice(SIGNALS))
                sent += 1
            except ProcessLookupError:
                pass
    for process in running:
        process.kill()
        process.wait()
    return started, sent


def left_over(mark):
    """Living marked processes after up to a minute of patience, which a busy machine may need."""
    end = time.monotonic() + 60
    while marked(mark) and time.monotonic() < end:
        time.sleep(0.02)
    return marked(mark)


def describe(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return f"{pid} {file.read()[:100]!r}"
    except OSError:
        return str(pid)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 30)
    random.seed(seed)
    folder = tempfile.mkdtemp(prefix="kiln-attack.")
    temporary, cache = os.path.join(folder, "tmp"), os.path.join(folder, "cache")
    os.mkdir(temporary, 0o700)
    os.mkdir(cache, 0o700)
    mark = f"KILN_ATTACK={os.path.basename(folder)}".encode()
    environment = dict(os.environ, TMPDIR=temporary, KILN_CACHE_DIR=cache, KILN_DEVICE="cpu",
                       KILN_ATTACK=os.path.basename(folder))
    wrong = []
    try:
        started, sent = attack(options.tool, environment, mark, options.seconds)
        left = left_over(mark)
        wrong += [f"still there: {describe(pid)}" for pid in left]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        last = subprocess.run([options.tool, "eval", "x * 987654321 + 7", "x=2"], env=environment,
                              capture_output=True, text=True, timeout=120)
        if last.returncode != 0 or last.stdout.split()[-1:] != ["1975308649"]:
            wrong.append(f"the last compile: {last.returncode} {last.stdout!r} {last.stderr!r}")
        wrong += [f"left in TMPDIR: {name}" for name in os.listdir(temporary)]
        verify = subprocess.run([options.tool, "cache", "verify"], env=environment,
                                capture_output=True, text=True, timeout=120)
        if verify.returncode != 0:
            wrong.append(f"cache verify: {verify.stdout!r} {verify.stderr!r}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if sent < 5:
        wrong.append(f"only {sent} signals were sent: nothing was attacked")
    print(f"{started} programs, {sent} signals, seed {seed}: "
          f"{'no litter' if not wrong else 'WRONG'}")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
