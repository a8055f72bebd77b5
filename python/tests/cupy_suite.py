#!/usr/bin/env python3
"""CuPy's own tests of its kernels, run on kiln through a shim.

    python3 python/tests/cupy_suite.py [cupy-14.2.0.tar.gz or a folder of it] [pytest's arguments...]

Without a path the source distribution is fetched by pip. Its tests and its package cupy.testing are used
as they are; every other module that they import is the shim's (python/tests/cupy_shim): arrays are
NumPy's, and ElementwiseKernel, ReductionKernel, RawKernel, RawModule and fuse are kiln's, on the cpu
device. pytest and NumPy must be installed. Tests of what the shim lacks skip themselves; what else does
not pass is told by pytest: the words of CuPy's errors, for one, are its own.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CORE = "tests/cupy_tests/core_tests"
FILES = ("test_userkernel.py", "test_elementwise.py", "test_reduction.py", "test_raw.py",
         "fusion_tests")


def source(work):
    """The folder of CuPy's sources."""
    path = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 and os.path.exists(sys.argv[1]) else None
    if path is None:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary",
                        "cupy", "-d", work, "cupy"], check=True)
        path = next(pathlib.Path(work).glob("cupy-*.tar.gz"))
    if path.is_dir():
        return path
    with tarfile.open(path) as archive:
        archive.extractall(work, filter="data")
    return next(p for p in pathlib.Path(work).iterdir() if p.is_dir() and p.name.startswith("cupy-"))


def main():
    with tempfile.TemporaryDirectory() as work:
        cupy = source(work)
        suite = pathlib.Path(work) / "suite"
        shutil.copytree(HERE / "cupy_shim", suite)
        shutil.copytree(cupy / "cupy/testing", suite / "cupy/testing")
        tests = suite / "cupy_tests"
        shutil.copytree(cupy / CORE, tests / "core_tests")
        for folder in (tests, tests / "core_tests", tests / "core_tests/fusion_tests"):
            (folder / "__init__.py").touch()
        (suite / "pytest.ini").write_text("[pytest]\nmarkers =\n    thread_unsafe\n    cuda\n    slow\n    multi_gpu\n")
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(
            [str(suite)] + [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]))
        arguments = sys.argv[1:] or ["-q", "--tb=line"]
        sys.exit(subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments,
             *(str(tests / "core_tests" / f) for f in FILES)], cwd=suite, env=environment,
            check=False).returncode)


if __name__ == "__main__":
    main()
