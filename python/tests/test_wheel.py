"""The wheel that python/backend.py packs: what is in it, and that it works where it is unpacked, without
the build folder. It holds what this build folder has; `pip wheel ./python` compiles for itself, which is
only configured here."""
import base64
import csv
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import kiln

PYTHON = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(kiln.__file__).resolve().parents[2]


@unittest.skipIf(not (BUILD / "CMakeCache.txt").exists(), "the package is no build folder's")
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(PYTHON))
        import backend
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.name = backend.build_wheel(cls.folder.name, {"build-folder": str(BUILD)})
        cls.path = pathlib.Path(cls.folder.name) / cls.name

    def test_its_record_is_right(self):
        with zipfile.ZipFile(self.path) as wheel:
            names = set(wheel.namelist())
            info = f"kiln-{kiln.__version__}.dist-info"
            record = csv.reader(wheel.read(f"{info}/RECORD").decode().splitlines())
            rows = {name: (digest, size) for name, digest, size in record}
            self.assertEqual(set(rows), names)
            for name in names - {f"{info}/RECORD"}:
                data = wheel.read(name)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                self.assertEqual(rows[name], (f"sha256={digest}", str(len(data))))
            self.assertIn(f"Version: {kiln.__version__}\n", wheel.read(f"{info}/METADATA").decode())
            tag = wheel.read(f"{info}/WHEEL").decode().partition("Tag: ")[2].strip()
        self.assertRegex(tag, "^cp311-abi3-linux_[a-z0-9_]+$")
        self.assertEqual(self.name, f"kiln-{kiln.__version__}-{tag}.whl")
        for name in ("kiln/__init__.py", "kiln/__init__.pyi", "kiln/py.typed", "kiln/_kiln.abi3.so",
                     "kiln/linalg.py", f"kiln/libkiln.so.{kiln.__version__.partition('.')[0]}"):
            self.assertIn(name, names)

    @unittest.skipIf(shutil.which("ninja") is None, "no ninja, which tells what it would build")
    def test_pip_would_build_it(self):
        """All but the compiling, which takes minutes: pip's build is configured, and knows each step."""
        import backend
        with tempfile.TemporaryDirectory() as folder:
            backend._configure(folder)
            steps = subprocess.run(["ninja", "-C", folder, "-t", "commands", "kiln_python", "kiln_python_files"],
                                   capture_output=True, text=True, check=True).stdout
        self.assertGreater(steps.count("\n"), 100)
        for name in ("libkiln.so", "_kiln.abi3.so", "copied.stamp"):
            self.assertIn(name, steps)
        self.assertNotIn("test_", steps)

    def test_it_works_where_it_is_unpacked(self):
        with tempfile.TemporaryDirectory() as place:
            with zipfile.ZipFile(self.path) as wheel:
                wheel.extractall(place)
            code = ("import sys; sys.path.insert(0, sys.argv[1]); import kiln\n"
                    "maps = open('/proc/self/maps').read()\n"
                    "assert sys.argv[1] + '/kiln/libkiln' in maps, maps\n"
                    "kiln.set_default_device('cpu')\n"
                    "print(kiln.eval('sum(x * x)', x=kiln.arange(4.0)).item())\n")
            done = subprocess.run([sys.executable, "-I", "-c", code, place], capture_output=True,
                                  text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, "14.0\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
