"""tools/cupy_manifest.py: the definitions that it finds in Python sources made up here.

    python3 test_cupy_manifest.py SOURCE
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = sys.argv.pop(1)
TOOL = os.path.join(SOURCE, "tools", "cupy_manifest.py")


class Manifest(unittest.TestCase):
    def run_tool(self, files, *options):
        """The manifest of some files, {name: text}, and what is said beside it."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
            done = subprocess.run([sys.executable, "-B", TOOL, folder, *options], check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    def one(self, text, *options):
        lines, said = self.run_tool({"m.py": text}, *options)
        self.assertEqual(len(lines), 1, said)
        return lines[0]

    def test_cupy_manifest__arguments_by_place_and_by_name(self):
        self.assertEqual(
            self.one("import cupy\nk = cupy.ElementwiseKernel('T x', 'T y', 'y = x', 'same',\n"
                     "    reduce_dims=False, preamble='#define A 1', options=('-DB=2',))\n"),
            {"kind": "elementwise", "in": "T x", "out": "T y", "op": "y = x", "name": "same",
             "keep_axes": True, "preamble": "#define A 1", "options": ["-DB=2"],
             "types": [{"T": "float32"}]})
        self.assertEqual(
            self.one("k = ReductionKernel('float x', 'int64 y', 'x * x', 'a + b', 'y = a', '0')\n"),
            {"kind": "reduction", "in": "float64 x", "out": "int64 y", "map": "x * x",
             "reduce": "a + b", "post": "y = a", "identity": "0", "name": "reduce_kernel"})
        self.assertEqual(
            self.one("y = cuda.reduce('T x', 'T y', 'x', 'a + b', 'y = a', None, 's')(x)\n"),
            {"kind": "reduction", "in": "T x", "out": "T y", "map": "x", "reduce": "a + b",
             "post": "y = a", "name": "s", "types": [{"T": "float32"}]})

    def test_cupy_manifest__constant_expressions(self):
        for text in ("'y = ' + 'x * 3'", "f'y = x * {N}'", "'y = x * %d' % N",
                     "'y = x * {}'.format(N)", "'y = x * {n}'.format(n=N)",
                     "' = '.join(['y', f'x * {N}'])", "'y = x * 4'.replace('4', str(N))",
                     "string.Template('y = x * ${n}').substitute(n=N)",
                     "'y = x * 3' if N > 2 else 'y = x'", "TEXTS['three']", "make(N)",
                     "''.join(c for c in 'y = x * 3')", "textwrap.dedent('  y = x * 3').strip()"):
            line = self.one("import string\nimport textwrap\nN = 3\nTEXTS = {'three': 'y = x * 3'}\n"
                            "def make(n, name='x'):\n    text = 'y = '\n    for k in range(1):\n"
                            "        text += f'{name} * {n}'\n    return text\n"
                            f"k = ElementwiseKernel('T x', 'T y', {text}, 'k')\n")
            self.assertEqual(line["op"], "y = x * 3", text)

    def test_cupy_manifest__names_mean_what_they_mean_at_their_line(self):
        lines, _ = self.run_tool({"m.py": "op = 'y = x'\nop += ' + 1'\n"
                                          "a = ElementwiseKernel('T x', 'T y', op, 'a')\n"
                                          "op = op.replace('1',\n    '2')\n"
                                          "b = ElementwiseKernel('T x', 'T y', op, 'b')\n"})
        self.assertEqual([line["op"] for line in lines], ["y = x + 1", "y = x + 2"])

    def test_cupy_manifest__modules_import_from_each_other(self):
        lines, said = self.run_tool({
            "p/__init__.py": "", "p/texts.py": "op = 'y = 2 * x'\npreamble = '#define A'\n",
            "p/one.py": "from p.texts import op as o\nk = ElementwiseKernel('T x', 'T y', o, 'k1')\n",
            "p/two.py": "from . import texts\n"
                        "k = ElementwiseKernel('T x', 'T y', texts.op, 'k2')\n",
            "p/three.py": "import p.texts\nk = ElementwiseKernel('T x', 'T y', p.texts.op, 'k3',\n"
                          "    preamble=p.texts.preamble)\n"})
        self.assertEqual([(line["name"], line["op"]) for line in lines],
                         [("k1", "y = 2 * x"), ("k3", "y = 2 * x"), ("k2", "y = 2 * x")], said)

    def test_cupy_manifest__what_is_not_constant_is_told(self):
        lines, said = self.run_tool({"m.py": "def f(n):\n    return ElementwiseKernel('T x', 'T y',\n"
                                             "        'y = x * %d' % n, 'k')\n"})
        self.assertEqual(lines, [])
        self.assertRegex(said, r"m\.py:2: left out: `n` is not constant")
        self.assertIn("0 lines, 1 definitions left out", said)

    def test_cupy_manifest__dtypes_are_guessed_or_given(self):
        text = "k = ElementwiseKernel('raw T x, S index', 'T y', 'y = x[index]', 'k')\n"
        self.assertEqual(self.one(text)["types"], [{"T": "float32", "S": "int32"}])
        self.assertEqual(self.one(text, "--dtype", "T=float16")["types"],
                         [{"T": "float16", "S": "int32"}])

    def test_cupy_manifest__ufuncs_are_a_line_for_each_row(self):
        text = ("k = create_ufunc('twice', ('f->f', ('d->d', 'out0 = in0 + in0'), '?->l'),\n"
                "    'out0 = 2 * in0', preamble='#define A')\n")
        self.assertEqual(self.run_tool({"m.py": text})[0], [])
        lines, _ = self.run_tool({"m.py": text}, "--ufuncs")
        self.assertEqual([(line["in"], line["out"], line["op"]) for line in lines],
                         [("float32 in0", "float32 out0", "out0 = 2 * in0"),
                          ("float64 in0", "float64 out0", "out0 = in0 + in0"),
                          ("bool in0", "int64 out0", "out0 = 2 * in0")])
        self.assertEqual(lines[0]["preamble"],
                         "typedef float32 in0_type;\ntypedef float32 out0_type;\n#define A")


if __name__ == "__main__":
    unittest.main()
