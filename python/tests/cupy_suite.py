#!/usr/bin/env python3
"""CuPy's own tests of its kernels, run on kiln through a shim.

    python3 python/tests/cupy_suite.py [--gpu] [cupy-14.2.0.tar.gz or a folder of it] [pytest's arguments...]

Without a path the source distribution is fetched by pip. Its tests are used as they are, and
ElementwiseKernel, ReductionKernel, RawKernel, RawModule and fuse are kiln's.

With --gpu everything else is the installed CuPy's (cupy_patch.py), on a GPU. Otherwise cupy.testing is the
source distribution's, and every other module the shim's (cupy_shim): arrays are NumPy's, on the cpu
device. Tests of what the shim lacks skip themselves. pytest and NumPy must be installed; at the end
results are counted by file, also where the run was broken off.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import suite_log

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
    gpu = "--gpu" in sys.argv
    if gpu:
        sys.argv.remove("--gpu")
    with tempfile.TemporaryDirectory() as work:
        cupy = source(work)
        suite = pathlib.Path(work) / "suite"
        suite.mkdir()
        if not gpu:
            shutil.copytree(HERE / "cupy_shim", suite, dirs_exist_ok=True)
            shutil.copytree(cupy / "cupy/testing", suite / "cupy/testing")
        tests = suite / "cupy_tests"
        shutil.copytree(cupy / CORE, tests / "core_tests")
        for folder in (tests, tests / "core_tests", tests / "core_tests/fusion_tests"):
            (folder / "__init__.py").touch()
        (suite / "pytest.ini").write_text("[pytest]\nmarkers =\n    thread_unsafe\n    cuda\n    slow\n    multi_gpu\n")
        paths = [str(suite), str(HERE)] + \
            [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
        log = os.environ.setdefault("KILN_SUITE_LOG", str(pathlib.Path(work) / "log"))
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths),
                           KILN_CACHE_DIR=str(pathlib.Path(work) / "kernels"))  # tests count what is compiled
        if gpu:  # CuPy skips the tests that want more
            import kiln
            environment.setdefault("CUPY_TEST_GPU_LIMIT", str(sum(
                d["usable"] and d["id"].startswith("cuda") for d in kiln.devices())))
        arguments = sys.argv[1:] or ["-q", "--tb=line"]
        plugins = ["-p", "no:cacheprovider", "-p", "suite_log"] + (["-p", "cupy_patch"] if gpu else [])
        status = subprocess.run(
            [sys.executable, "-m", "pytest", *plugins, *arguments,
             *(str(tests / "core_tests" / f) for f in FILES)], cwd=suite, env=environment,
            check=False).returncode
        suite_log.count(log)
        sys.exit(status)


if __name__ == "__main__":
    main()
