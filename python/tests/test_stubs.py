"""The type stubs name what is there."""
import ast
import inspect
import pathlib
import unittest

import kiln


class Stubs(unittest.TestCase):
    tree = ast.parse((pathlib.Path(kiln.__file__).parent / "__init__.pyi").read_text())

    def parameters(self, node):
        a = node.args
        return {x.arg for x in a.posonlyargs + a.args + a.kwonlyargs} - {"self"}

    def test_linear_algebra(self):
        tree = ast.parse((pathlib.Path(kiln.__file__).parent / "linalg.pyi").read_text())
        stubs = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        there = {name: f for name, f in vars(kiln.linalg).items()
                 if inspect.isfunction(f) and name[0] != "_" and
                 (f.__module__ == "kiln.linalg" or name == "matrix_transpose")}
        self.assertEqual(set(stubs), set(there))
        for name, node in stubs.items():
            names = inspect.signature(there[name]).parameters.values()
            self.assertEqual(self.parameters(node), {p.name for p in names
                                                     if p.kind is not p.VAR_POSITIONAL}, name)

    def test_operators(self):
        node = next(n for n in self.tree.body if getattr(n, "name", "") == "ndarray")
        for name in (n.name for n in node.body if isinstance(n, ast.FunctionDef)):
            if name != "__getattr__":
                self.assertTrue(hasattr(kiln.ndarray, name), name)

    #: Types of functions that are made from a table.
    protocols = ("_Expression", "_Operation", "_UpdatingOperation", "_Reduction", "_Like")

    def stubs(self):
        """What the stubs say of each name: a function, a class, or the name of a type."""
        found = {}
        for n in self.tree.body:
            if isinstance(n, ast.ImportFrom):
                found.update((a.asname or a.name, None) for a in n.names)
            elif isinstance(n, ast.Assign):
                found.update((t.id, None) for t in n.targets)
            elif isinstance(n, ast.AnnAssign):
                found[n.target.id] = ast.unparse(n.annotation)
            elif hasattr(n, "name"):
                found.setdefault(n.name, n)
        return found

    def test_every_public_name_stands_there_with_its_parameters(self):
        found, checked = self.stubs(), 0
        self.assertNotIn("__getattr__", found)
        for name, value in vars(kiln).items():
            if name[0] == "_" or inspect.ismodule(value):
                continue
            self.assertIn(name, found)
            stub = found[name]
            if stub in self.protocols:
                self.assertEqual(stub == "_UpdatingOperation", hasattr(value, "at"), name)
                body = found["_Operation" if hasattr(value, "at") else stub].body
                stub = next(m for m in body if getattr(m, "name", "") == "__call__")
            if not isinstance(stub, ast.FunctionDef) or name == "fuse":
                continue
            there = inspect.signature(value).parameters.values()
            a = stub.args
            self.assertEqual([x.arg for x in a.posonlyargs + a.args if x.arg != "self"],
                             [p.name for p in there if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)], name)
            self.assertEqual({x.arg for x in a.kwonlyargs}, {p.name for p in there if p.kind is p.KEYWORD_ONLY}, name)
            checked += 1
        self.assertGreater(checked, 200)

    def test_every_public_method_stands_there(self):
        node = next(n for n in self.tree.body if getattr(n, "name", "") == "ndarray")
        names = {getattr(n, "name", None) or n.target.id for n in node.body}
        for name in dir(kiln.ndarray):
            if name[0] != "_":
                self.assertIn(name, names)

    def test_names_exist(self):
        for node in self.tree.body:
            name = getattr(node, "name", None) or getattr(getattr(node, "target", None), "id", None)
            if name is None or name.startswith("_") and not name.startswith("__v") or \
                    name.endswith("info_object"):
                continue
            self.assertTrue(hasattr(kiln, name), name)

    def test_parameters_exist(self):
        checked = 0
        for node in self.tree.body:
            made = [n for n in getattr(node, "body", ()) if getattr(n, "name", "") == "__init__"]
            if isinstance(node, ast.ClassDef) and made:
                there = inspect.signature(getattr(kiln, node.name).__init__).parameters
                self.assertEqual(self.parameters(made[0]), set(there) - {"self"}, node.name)
                checked += 1
            elif isinstance(node, ast.FunctionDef) and inspect.isfunction(getattr(kiln, node.name, 0)) \
                    and node.name not in ("fuse", "__getattr__"):
                there = inspect.signature(getattr(kiln, node.name)).parameters
                names = {n for n, p in there.items() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
                self.assertEqual(self.parameters(node), names, node.name)
                checked += 1
        self.assertGreater(checked, 15)


if __name__ == "__main__":
    unittest.main()
