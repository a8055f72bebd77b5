#!/usr/bin/env python3
"""The array API's own tests (data-apis/array-api-tests), run on kiln.

    PYTHONPATH=build/python python3 python/tests/array_api_suite.py [--device DEVICE] [checkout] [pytest's arguments...]

The checkout is a folder with its submodule; $KILN_ARRAY_API_TESTS names it where no argument does, and without
either the script ends with the code 77. What the suite requires (its requirements.txt) must be installed. Tests that
array_api_skips.txt names are skipped, with the reason that stands there; those of products run once more without
int8. Results are counted by file at the end, also where the run was broken off.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import suite_log

HERE = pathlib.Path(__file__).resolve().parent
#: kiln sums products of int8 in int32 (docs/linalg.md), which the standard does not.
PRODUCTS = tuple(f"array_api_tests/test_linalg.py::test_{name}" for name in ("matmul", "tensordot"))


def skips():
    """Parts of tests' names, and why the tests that have them are skipped."""
    lines = (HERE / "array_api_skips.txt").read_text(encoding="utf-8").splitlines()
    return [line.split(" | ") for line in lines if line and line[0] != "#"]


def pytest_collection_modifyitems(items):
    """As a plugin of pytest's."""
    import pytest
    listed = skips()
    for item in items:
        for part, reason in listed:
            if part in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=reason))


def main():
    arguments = sys.argv[1:]
    device = "cpu"
    if arguments[:1] == ["--device"]:
        device, arguments = arguments[1], arguments[2:]
    given = arguments and os.path.isdir(arguments[0])
    checkout = arguments.pop(0) if given else os.environ.get("KILN_ARRAY_API_TESTS")
    if not checkout:
        sys.exit(77)
    import kiln
    with tempfile.TemporaryDirectory() as work:
        log = os.environ.setdefault("KILN_SUITE_LOG", str(pathlib.Path(work) / "log"))
        paths = [str(HERE), str(pathlib.Path(kiln.__file__).resolve().parent.parent), os.environ.get("PYTHONPATH", "")]
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths), KILN_DEVICE=device,
                           ARRAY_API_TESTS_MODULE="kiln", HYPOTHESIS_STORAGE_DIRECTORY=work)
        command = [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-p", "suite_log",
                   "--disable-deadline", *(arguments or ["-q", "--tb=short"])]
        status = subprocess.run([*command, "-p", "array_api_suite", "array_api_tests"], cwd=checkout,
                                env=environment, check=False).returncode
        environment["ARRAY_API_TESTS_SKIP_DTYPES"] = "int8"
        status |= subprocess.run([*command, *PRODUCTS], cwd=checkout, env=environment, check=False).returncode
        suite_log.count(log)
        sys.exit(status)


if __name__ == "__main__":
    main()
