"""The build backend of the Python package (PEP 517): CMake builds, this file packs the wheel.

It needs nothing but CMake, a C compiler, Python's headers and the standard library, so that
`pip install ./python` works without a network. With `--config-settings=build-folder=build` it packs what
is built there already. The wheel holds the package, its extension module and
libkiln.so beside it; it is for CPython 3.11 and later, as the module uses the limited API.
"""
import base64
import csv
import hashlib
import io
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent
DATE = (1980, 1, 1, 0, 0, 0)  # equal inputs give equal wheels


def _version():
    text = (SOURCE / "include/kiln/base.h").read_text()
    return re.search(r'KILN_VERSION_STRING "([0-9.]+)"', text).group(1)


def _metadata():
    readme = (SOURCE / "docs/python.md").read_text()
    return ("Metadata-Version: 2.1\nName: kiln\n"
            f"Version: {_version()}\n"
            "Summary: Kernels of your own, generated and compiled at run time, on arrays of any "
            "library\nLicense: MIT\nRequires-Python: >=3.11\n"
            f"Description-Content-Type: text/markdown\n\n{readme}")


def _tag():
    return f"cp311-abi3-linux_{platform.machine()}"


def _configure(folder):
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(["cmake", "-S", SOURCE, "-B", folder, *generator, "-DCMAKE_BUILD_TYPE=Release",
                    "-DKILN_BUILD_TESTS=OFF", "-DKILN_BUILD_TOOLS=OFF", "-DKILN_BUILD_EXAMPLES=OFF",
                    "-DKILN_BUILD_BENCH=OFF", "-DKILN_INSTALL=OFF", "-DKILN_BUILD_PYTHON=ON",
                    "-DKILN_PYTHON_REQUIRED=ON", f"-DPython3_EXECUTABLE={sys.executable}",
                    f"-DPython3_INCLUDE_DIR={sysconfig.get_path('include')}"], check=True,
                   stdout=sys.stderr)


def _build(folder):
    """Build the package in `folder`."""
    _configure(folder)
    subprocess.run(["cmake", "--build", folder, "--parallel", "--target", "kiln_python",
                    "kiln_python_files"], check=True, stdout=sys.stderr)


def _files(folder):
    """The package's files in a build folder, by their names in the wheel."""
    package = pathlib.Path(folder) / "python/kiln"
    files = {f"kiln/{p.name}": p for p in sorted(package.iterdir()) if p.is_file()}
    library = (pathlib.Path(folder) / "libkiln.so").resolve()
    files[f"kiln/libkiln.so.{_version().partition('.')[0]}"] = library
    return files


def _digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _pack(files, texts, path):
    """A wheel of files and of texts by their names in it."""
    info = f"kiln-{_version()}.dist-info"
    texts = {f"{info}/{name}": text.encode() for name, text in texts.items()}
    contents = {name: pathlib.Path(p).read_bytes() for name, p in files.items()} | texts
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
            rows.writerow((name, _digest(data), len(data)))
        rows.writerow((f"{info}/RECORD", "", ""))
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", DATE), record.getvalue())


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    del metadata_directory
    name = f"kiln-{_version()}-{_tag()}.whl"
    with tempfile.TemporaryDirectory() as folder:
        built = (config_settings or {}).get("build-folder")
        if built is None:
            _build(folder)
        _pack(_files(built or folder),
              {"METADATA": _metadata(),
               "WHEEL": f"Wheel-Version: 1.0\nGenerator: kiln\nRoot-Is-Purelib: false\nTag: {_tag()}\n",
               "LICENSE": (SOURCE / "LICENSE").read_text()},
              pathlib.Path(wheel_directory) / name)
    return name


def build_sdist(sdist_directory, config_settings=None):
    del sdist_directory, config_settings
    raise NotImplementedError("the package is built from kiln's repository: pip install ./python")
