#!/usr/bin/env python3
"""bench_warm.py - how well `kiln warm` uses the cores of a build machine; no GPU is involved.

    bench_warm.py [--kiln PATH] [--definitions N] [--arch LIST] [--jobs N] [FILE]

Makes a manifest of N definitions (500), each one kernel for each of the architectures, and warms an
empty folder twice: with one worker, and with one for each core. Then once more, when all is there.
Prints the figures, and writes JSON to FILE.

Efficiency is the processor time that the work takes one worker, over wall time times workers, of
the run with all workers: 1 is a machine that did nothing else. On a machine that others use too it
tells about them; then look at `processor_time_ratio`, what the same work costs more when it is done
in parallel, and at `processors_had`, how many processors' time the run was given.
"""
import argparse
import datetime
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time

FUNCTIONS = ["sqrt", "exp", "sin", "tanh", "fabs", "floor", "log1p", "cbrt"]
DTYPES = ["float32", "float64", "float16", "int32"]


def definition(k):
    """The kth kernel: mostly loops of some length, every fifth a reduction."""
    dtype = DTYPES[k % len(DTYPES)]
    f = FUNCTIONS[k // len(DTYPES) % len(FUNCTIONS)] if dtype.startswith("float") else "abs"
    if k % 5 == 4:
        return {"kind": "reduction", "name": f"r{k}", "in": "T x, T y", "out": "T z",
                "map": f"{f}(x) * y + T({k % 97})", "reduce": "a + b", "post": "z = a",
                "identity": "0", "types": [{"T": dtype}], "axes": None}
    return {"kind": "elementwise", "name": f"e{k}", "in": "T x, T y, T a", "out": "T z",
            "op": f"z = a * {f}(x) + y * T({k % 97}); if (x < T(0)) z = {f}(y) - z;",
            "types": [{"T": dtype}], "scalars": ["a"]}


def warm(kiln, manifest, folder, arch, jobs):
    """One run: its own JSON, and the processor time of it and all its children."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([kiln, "warm", manifest, "--arch", arch, "--jobs", str(jobs), "--cache",
                           folder, "--json"], stdout=subprocess.PIPE, check=True)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - start
    result = json.loads(done.stdout)
    result["all_cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    result["all_wall_s"] = wall
    return result


def count(result, field):
    return sum(target[field] for target in result["targets"])


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser()
    p.add_argument("--kiln", default=os.path.join(here, "..", "build", "kiln"))
    p.add_argument("--definitions", type=int, default=500)
    p.add_argument("--arch", default="sm_80,sm_89,sm_90,sm_120")
    p.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("file", nargs="?")
    a = p.parse_args()

    work = tempfile.mkdtemp(prefix="kiln-bench-warm-")
    try:
        manifest = os.path.join(work, "m.jsonl")
        with open(manifest, "w") as f:
            f.writelines(json.dumps(definition(k)) + "\n" for k in range(a.definitions))
        load = os.getloadavg()[0]
        one = warm(a.kiln, manifest, os.path.join(work, "one"), a.arch, 1)
        all_ = warm(a.kiln, manifest, os.path.join(work, "all"), a.arch, a.jobs)
        again = warm(a.kiln, manifest, os.path.join(work, "all"), a.arch, a.jobs)
    finally:
        shutil.rmtree(work)

    kernels = count(all_, "compiled")
    if count(again, "compiled") or count(one, "compiled") != kernels or count(all_, "failed"):
        sys.exit("the runs did not do the same work")
    had = all_["all_cpu_s"] / all_["all_wall_s"]
    figures = {
        "definitions": a.definitions, "targets": a.arch.split(","), "kernels": kernels,
        "workers": all_["workers"], "cores": len(os.sched_getaffinity(0)),
        "one_worker_cpu_s": round(one["all_cpu_s"], 2),
        "one_worker_wall_s": round(one["all_wall_s"], 2),
        "cpu_s": round(all_["all_cpu_s"], 2), "wall_s": round(all_["all_wall_s"], 2),
        "parallel_efficiency": round(one["all_cpu_s"] / (all_["all_wall_s"] * a.jobs), 3),
        "processor_time_ratio": round(all_["all_cpu_s"] / one["all_cpu_s"], 3),
        "processors_had": round(had, 2),
        "kernels_per_s": round(kernels / all_["all_wall_s"], 1),
        "second_run_wall_s": round(again["all_wall_s"], 3),
        "worker_peak_mb": round(all_["worker_peak_bytes"] / 1e6, 1),
        "retries": all_["retries"],
    }
    result = {
        "date": datetime.date.today().isoformat(),
        "commit": subprocess.run(["git", "-C", here, "rev-parse", "--short", "HEAD"],
                                 stdout=subprocess.PIPE, text=True).stdout.strip(),
        "machine": f"{figures['cores']} cores, {platform.machine()}",
        "load_average_before": round(load, 2),
        "figures": figures,
        "targets": {"parallel_efficiency": 0.9, "worker_peak_mb": 300},
    }
    print(json.dumps(result, indent=2))
    if a.file:
        with open(a.file, "w") as f:
            json.dump(result, f, indent=2)
            f.write("\n")


if __name__ == "__main__":
    main()
