#!/usr/bin/env python3
"""Let the tool write results under limits on file sizes: an error each time, and no file left.

    python3 file_limits.py --tool build/kiln

A kernel is compiled without a limit first. Then `kiln run -o` writes 400 KB under limits from
nothing to one byte too little: it must not be killed by SIGXFSZ, must say why, and must leave the
folder as it was: without a new file, and with an old file's bytes.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

COUNT = 100_000
FILE_BYTES = 128 + 4 * COUNT


def run(tool, folder, environment, limit):
    def bound():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [tool, "run", "--in", "", "--out", "float32 z", "--op", "z = i", "--size", str(COUNT),
               "-o", os.path.join(folder, "out.npy")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120,
                          preexec_fn=bound)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="kiln-attack.")
    results = os.path.join(folder, "results")
    os.mkdir(results)
    environment = dict(os.environ, KILN_CACHE_DIR=os.path.join(folder, "cache"), KILN_DEVICE="cpu")
    path, wrong = os.path.join(results, "out.npy"), []
    try:
        first = run(options.tool, results, environment, None)
        if first.returncode != 0 or os.path.getsize(path) != FILE_BYTES:
            print(f"without a limit: {first.returncode} {first.stderr!r}")
            return 1
        for old in (True, False):
            if old:
                with open(path, "wb") as file:
                    file.write(b"before")
            else:
                os.unlink(path)
            before = os.listdir(results)
            for limit in (0, 64, 128, 4096, 65536, FILE_BYTES - 1):
                done = run(options.tool, results, environment, limit)
                if done.returncode <= 0 or "File too large" not in done.stderr:
                    wrong.append(f"limit {limit}: status {done.returncode}, {done.stderr!r}")
                if os.listdir(results) != before:
                    wrong.append(f"limit {limit}: {os.listdir(results)} in the folder")
                if old and open(path, "rb").read() != b"before":
                    wrong.append(f"limit {limit}: the old file was changed")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("WRONG" if wrong else "12 limits, 12 errors, nothing left")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
