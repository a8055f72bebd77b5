#!/usr/bin/env python3
"""The Python tests that need packages which are not installed here.

    PYTHONPATH=build/python python3 python/tests/with_libraries.py [package...]

Installs the packages (default: jax array-api-strict mypy) with pip into a temporary folder, runs the tests
of other libraries and of the array API's names on the cpu device, and has mypy, if it is among them, check
the type stubs strictly. PyTorch is used where it is installed, or named: pip fetches it with CUDA's
libraries, which are large.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import kiln

HERE = pathlib.Path(__file__).resolve().parent
USE = """import kiln
a = kiln.ones((2, 2), "float32")
b: kiln.ndarray = kiln.linalg.qr(a).Q @ (a + 1)
k = kiln.ElementwiseKernel("T x", "T y", "y = x")
with kiln.timeline("run.json"), kiln.scope("part"):
    k(b, size=3)
"""


def main():
    packages = sys.argv[1:] or ["jax", "array-api-strict", "mypy"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", folder, *packages], check=True)
        paths = [str(pathlib.Path(kiln.__file__).parent.parent), folder]
        environment = dict(os.environ, KILN_DEVICE="cpu", PYTHONPATH=os.pathsep.join(paths))
        failed = [name for name in ("test_interop.py", "test_standard.py")
                  if subprocess.run([sys.executable, "-B", HERE / name], env=environment).returncode]
        if "mypy" in packages:
            use = pathlib.Path(folder) / "use/use.py"
            use.parent.mkdir()
            use.write_text(USE)
            environment["MYPYPATH"] = paths[0]
            if subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder + "/cache",
                               str(use)], env=environment, cwd=use.parent).returncode:
                failed.append("mypy")
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
