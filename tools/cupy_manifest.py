#!/usr/bin/env python3
"""Turn Python sources that use CuPy into a kiln manifest (docs/manifest.md).

    python3 cupy_manifest.py PATH... > app.jsonl          files, or folders that are searched
    kiln warm app.jsonl --arch sm_80,sm_90 --cpu

It finds calls of ElementwiseKernel, ReductionKernel and, with --ufuncs, create_ufunc, and the
helpers of Chainer (cuda.elementwise, cuda.reduce), and evaluates their arguments as far as they
are constant: literals, names assigned in the same module or imported from another one under PATH,
f-strings, %, format(), join(), replace(), string.Template. Nothing is imported or run.

What is not constant is reported on stderr with file and line. CuPy does not write down the dtypes
of placeholders: --dtype T=float16 sets one for all definitions, and what is not set is guessed
from how parameters are used (float32, or int32 for what is used as an index).

Rule: the only judge of a definition is kiln itself. This script neither checks nor mends C++ text,
except that CuPy's `float` and `int` in signatures, which mean NumPy's, become float64 and int64.
"""
import argparse
import ast
import json
import os
import re
import string
import sys
import textwrap


class NotConstant(Exception):
    """The value is known only when the program runs."""


class Function:
    """A function of the sources, evaluated at its calls."""

    def __init__(self, node, scope):
        self.node, self.scope = node, scope


class Scope:
    """Names of one module, class or function, evaluated when they are asked for.

    `bound` are values that are there from the start (parameters). `inner` is a scope that is left
    and entered at one place, as a comprehension's: lines mean the same inside and outside.
    """

    def __init__(self, sources, path, body, parent=None, before=None, bound=None, inner=False):
        self.sources, self.path, self.parent, self.inner = sources, path, parent, inner
        self.known = dict(bound or {})
        self.entries, self.values, self.pending = {}, {}, set()
        for node in statements(body):
            if before is None or getattr(node, "lineno", 0) < before:
                for name, how in assignments(node):
                    self.entries.setdefault(name, []).append((node, how))

    def look_up(self, name, line=None):
        """The value of a name at a line, or after all lines."""
        if name in self.known:
            if self.known[name] is None:
                raise NotConstant(f"`{name}`")
            return self.known[name][0]
        entries = [e for e in self.entries.get(name, []) if line is None or e[0].end_lineno < line]
        if entries:
            return self.newest(name, entries)
        if self.parent is not None:
            return self.parent.look_up(name, line if self.inner else None)
        if name in BUILTINS:
            return BUILTINS[name]
        raise NotConstant(f"`{name}`")

    def newest(self, name, entries):
        """The last assignment that is constant, and what += adds to it."""
        reason = None
        for last in range(len(entries) - 1, -1, -1):
            if entries[last][1] == "augmented":
                continue
            try:
                value = self.value_of(name, *entries[last])
            except NotConstant as e:
                reason = reason or e
                continue
            for node, _ in entries[last + 1:]:
                if isinstance(node, ast.AugAssign):
                    value = apply(node.op, value, evaluate(node.value, self))
            return value
        raise reason or NotConstant(f"`{name}`")

    def value_of(self, name, node, how):
        key = (name, id(node))
        if key in self.values:
            return self.values[key]
        if key in self.pending:
            raise NotConstant(f"`{name}`, which needs itself")
        self.pending.add(key)
        try:
            if isinstance(node, ast.ClassDef):
                value = Scope(self.sources, self.path, node.body, self)
            elif isinstance(node, ast.FunctionDef):
                value = Function(node, self)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                value = self.sources.imported(self.path, node, how)
            else:
                value = evaluate(node.value, self)
                value = value if how is None else value[how]
        finally:
            self.pending.discard(key)
        self.values[key] = value
        return value

    def member(self, name):
        """An attribute of a module: a name, or a module of the same package."""
        try:
            return self.look_up(name)
        except NotConstant:
            folder = os.path.dirname(self.path)
            for end in (name + ".py", os.path.join(name, "__init__.py")):
                path = os.path.join(folder, end)
                if path in self.sources.files and os.path.basename(self.path) == "__init__.py":
                    return self.sources.module(path)[1]
            raise


class Sources:
    """The files given, and what they import from each other."""

    def __init__(self, files):
        self.files, self.modules = files, {}

    def module(self, path):
        if path not in self.modules:
            with open(path, encoding="utf-8") as f:
                tree = ast.parse(f.read(), path)
            self.modules[path] = (tree, Scope(self, path, tree.body))
        return self.modules[path]

    def imported(self, path, node, name):
        """What an import statement of `path` binds."""
        if isinstance(node, ast.Import):
            return LIBRARY.get(name) or self.find(name.replace(".", os.sep), name)
        folder = os.path.dirname(path)
        for _ in range(node.level - 1 if node.level else 0):
            folder = os.path.dirname(folder)
        dotted = (node.module or "").replace(".", os.sep)
        if dotted in LIBRARY and not node.level:
            return LIBRARY[dotted].look_up(name)
        if not node.level:
            try:
                return self.find(dotted, name).look_up(name)
            except NotConstant:
                return self.find(os.path.join(dotted, name), name)
        whole = os.path.join(folder, dotted) if dotted else folder
        for end in (".py", os.sep + "__init__.py"):
            if os.path.normpath(whole + end) in self.files:
                found = self.module(os.path.normpath(whole + end))[1]
                if name in found.entries:
                    return found.look_up(name)
        if os.path.normpath(os.path.join(whole, name + ".py")) in self.files:
            return self.module(os.path.normpath(os.path.join(whole, name + ".py")))[1]
        raise NotConstant(f"`{name}`, which is not among the sources")

    def find(self, dotted, name):
        for end in (os.sep + dotted + ".py", os.sep + os.path.join(dotted, "__init__.py")):
            for path in self.files:
                if path.endswith(end):
                    return self.module(path)[1]
        raise NotConstant(f"`{name}`, which is not among the sources")


class Library:
    """What is known of Python's own modules."""
    path = None

    def __init__(self, **members):
        self.members = members

    def look_up(self, name):
        if name not in self.members:
            raise NotConstant(f"`{name}`")
        return self.members[name]


LIBRARY = {
    "string": Library(Template=string.Template),
    "textwrap": Library(dedent=textwrap.dedent, indent=textwrap.indent),
}
BUILTINS = {f.__name__: f for f in (str, int, float, len, range, dict, list, tuple, sorted, min,
                                    max, enumerate, zip, repr, bool, sum, abs)}
BUILTINS.update({"True": True, "False": False, "None": None})
METHODS = {"format", "join", "replace", "strip", "lstrip", "rstrip", "lower", "upper", "split",
           "substitute", "safe_substitute", "format_map", "items", "keys", "values", "get",
           "splitlines", "title", "append"}
OPERATORS = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.Mod: lambda a, b: a % b, ast.Div: lambda a, b: a / b, ast.FloorDiv: lambda a, b: a // b,
    ast.Pow: lambda a, b: a ** b, ast.BitOr: lambda a, b: a | b,
}
COMPARISONS = {
    ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b, ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b, ast.GtE: lambda a, b: a >= b,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b, ast.IsNot: lambda a, b: a is not b,
}


def statements(body):
    """All statements of a body in order, also those in if, for, with and try, but not those of
    functions and classes inside it."""
    for node in body:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, field, []))
        for handler in getattr(node, "handlers", []):
            yield from statements(handler.body)


def names_of(target):
    if isinstance(target, ast.Name):
        yield target.id, None
    elif isinstance(target, (ast.Tuple, ast.List)):
        for k, item in enumerate(target.elts):
            if isinstance(item, ast.Name):
                yield item.id, k


def assignments(node):
    """What a statement binds: names, and which part of the value or of the import each takes."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from names_of(target)
    elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
        yield node.target.id, None
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, "augmented"
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name, None
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, alias.name
    elif isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.split(".")[0]
            yield alias.asname or name, name


def apply(op, a, b):
    if type(op) not in OPERATORS:
        raise NotConstant("an operator")
    return OPERATORS[type(op)](a, b)


def evaluate(node, scope):
    """The value of an expression; NotConstant says which part of it is none."""
    method = EVALUATORS.get(type(node))
    if method is None:
        raise NotConstant(f"`{ast.unparse(node)[:40]}`")
    try:
        return method(node, scope)
    except NotConstant:
        raise
    except RecursionError:
        raise NotConstant("a value that needs itself") from None
    except Exception as e:  # whatever Python would have said at run time
        raise NotConstant(f"`{ast.unparse(node)[:40]}` ({e})") from None


def evaluate_joined(node, scope):
    text = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            text.append(part.value)
            continue
        value = evaluate(part.value, scope)
        value = {114: repr, 115: str, 97: ascii}.get(part.conversion, lambda v: v)(value)
        form = evaluate(part.format_spec, scope) if part.format_spec else ""
        text.append(format(value, form))
    return "".join(text)


def evaluate_attribute(node, scope):
    owner = evaluate(node.value, scope)
    if isinstance(owner, Scope):
        return owner.member(node.attr)
    if isinstance(owner, Library):
        return owner.look_up(node.attr)
    if isinstance(owner, (str, dict, list, string.Template)) and node.attr in METHODS:
        return getattr(owner, node.attr)
    raise NotConstant(f"`{ast.unparse(node)[:40]}`")


def evaluate_call(node, scope):
    function = evaluate(node.func, scope)
    args = []
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            args.extend(evaluate(arg.value, scope))
        else:
            args.append(evaluate(arg, scope))
    named = {}
    for k in node.keywords:
        named.update({k.arg: evaluate(k.value, scope)} if k.arg else evaluate(k.value, scope))
    if isinstance(function, Function):
        return run(function, args, named)
    if isinstance(function, Scope):
        raise NotConstant(f"`{ast.unparse(node)[:40]}`")
    return function(*args, **named)


def parameters(node, args, named, scope):
    """Names of a function's parameters with the values that a call gives them."""
    names = [a.arg for a in node.args.posonlyargs + node.args.args]
    bound = {}
    defaults = node.args.defaults
    for name, default in zip(names[len(names) - len(defaults):], defaults):
        try:
            bound[name] = (evaluate(default, scope),)
        except NotConstant:
            bound[name] = None
    for a, default in zip(node.args.kwonlyargs, node.args.kw_defaults):
        if default is not None:
            bound[a.arg] = (evaluate(default, scope),)
    bound.update({name: (value,) for name, value in zip(names, args)})
    bound.update({name: (value,) for name, value in named.items()})
    for name in names:
        bound.setdefault(name, None)
    return bound


def run(function, args, named):
    """A call of a function that is constant but for its parameters."""
    node = function.node
    scope = Scope(function.scope.sources, function.scope.path, [], function.scope,
                  bound=parameters(node, args, named, function.scope))
    done, value = run_body(node.body, scope)
    if not done:
        raise NotConstant(f"`{node.name}()`")
    return value


def run_body(body, scope):
    for node in body:
        if isinstance(node, ast.Return):
            return True, evaluate(node.value, scope)
        if isinstance(node, ast.Assign):
            value = evaluate(node.value, scope)
            for target in node.targets:
                for name, index in names_of(target):
                    scope.known[name] = (value if index is None else value[index],)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            value = apply(node.op, scope.look_up(name), evaluate(node.value, scope))
            scope.known[name] = (value,)
        elif isinstance(node, ast.If):
            branch = node.body if evaluate(node.test, scope) else node.orelse
            done, value = run_body(branch, scope)
            if done:
                return True, value
        elif isinstance(node, ast.For):
            for item in evaluate(node.iter, scope):
                for name, index in names_of(node.target):
                    scope.known[name] = (item if index is None else item[index],)
                done, value = run_body(node.body, scope)
                if done:
                    return True, value
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                evaluate(node.value, scope)
        elif not isinstance(node, (ast.Pass, ast.Import, ast.ImportFrom, ast.Assert)):
            raise NotConstant(f"`{type(node).__name__}`")
    return False, None


def evaluate_each(node, scope):
    """A list, generator or dict comprehension of one `for`."""
    if len(node.generators) != 1:
        raise NotConstant("a nested comprehension")
    loop, results = node.generators[0], []
    for item in evaluate(loop.iter, scope):
        bound = {name: (item if index is None else item[index],)
                 for name, index in names_of(loop.target)}
        inner = Scope(scope.sources, scope.path, [], scope, bound=bound, inner=True)
        if all(evaluate(test, inner) for test in loop.ifs):
            results.append((evaluate(node.key, inner), evaluate(node.value, inner))
                           if isinstance(node, ast.DictComp) else evaluate(node.elt, inner))
    return dict(results) if isinstance(node, ast.DictComp) else results


def evaluate_comparison(node, scope):
    left, result = evaluate(node.left, scope), True
    for op, right in zip(node.ops, node.comparators):
        right = evaluate(right, scope)
        result, left = result and COMPARISONS[type(op)](left, right), right
    return result


def evaluate_list(node, scope):
    result = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            result.extend(evaluate(item.value, scope))
        else:
            result.append(evaluate(item, scope))
    return tuple(result) if isinstance(node, ast.Tuple) else result


def evaluate_boolean(node, scope):
    for part in node.values:
        value = evaluate(part, scope)
        if bool(value) == isinstance(node.op, ast.Or):
            break
    return value


EVALUATORS = {
    ast.Constant: lambda node, scope: node.value,
    ast.Name: lambda node, scope: scope.look_up(node.id, node.lineno),
    ast.BinOp: lambda node, scope: apply(node.op, evaluate(node.left, scope),
                                         evaluate(node.right, scope)),
    ast.UnaryOp: lambda node, scope: (
        not evaluate(node.operand, scope) if isinstance(node.op, ast.Not)
        else -evaluate(node.operand, scope)),
    ast.JoinedStr: evaluate_joined,
    ast.Attribute: evaluate_attribute,
    ast.Call: evaluate_call,
    ast.Tuple: evaluate_list,
    ast.List: evaluate_list,
    ast.Dict: lambda node, scope: {evaluate(k, scope): evaluate(v, scope)
                                   for k, v in zip(node.keys, node.values)},
    ast.Subscript: lambda node, scope: evaluate(node.value, scope)[evaluate(node.slice, scope)],
    ast.IfExp: lambda node, scope: evaluate(
        node.body if evaluate(node.test, scope) else node.orelse, scope),
    ast.Compare: evaluate_comparison,
    ast.BoolOp: evaluate_boolean,
    ast.ListComp: evaluate_each,
    ast.GeneratorExp: evaluate_each,
    ast.DictComp: evaluate_each,
}

# ---- definitions ----

ELEMENTWISE = ["in", "out", "op", "name", "reduce_dims", "preamble"]
REDUCTION = ["in", "out", "map", "reduce", "post", "identity", "name", "reduce_type",
             "reduce_dims", "preamble", "options"]
UFUNC = ["name", "ops", "routine", "preamble", "doc"]
CALLS = {"ElementwiseKernel": ("elementwise", ELEMENTWISE), "elementwise": ("elementwise", ELEMENTWISE),
         "ReductionKernel": ("reduction", REDUCTION), "reduce": ("reduction", REDUCTION),
         "create_ufunc": ("ufunc", UFUNC)}
SPELLED = {"in_params": "in", "out_params": "out", "operation": "op", "map_expr": "map",
           "reduce_expr": "reduce", "post_map_expr": "post"}
USED = {"in", "out", "op", "map", "reduce", "post", "identity", "name", "reduce_type", "preamble",
        "options", "reduce_dims", "loop_prep", "after_loop", "ops", "routine"}
OPTIONAL = {"identity", "reduce_type", "loop_prep", "after_loop", "preamble", "options", "name"}
CHARACTERS = {"?": "bool", "b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32",
              "I": "uint32", "l": "int64", "L": "uint64", "q": "int64", "Q": "uint64",
              "e": "float16", "E": "bfloat16", "f": "float32", "d": "float64", "F": "complex64",
              "D": "complex128"}
NUMPY_TYPES = {"float": "float64", "int": "int64", "uint": "uint64", "long": "int64",
               "ulong": "uint64", "complex": "complex128", "bool_": "bool", "intp": "int64",
               "uintp": "uint64"}


def signature(text):
    """CuPy's `float x` is NumPy's float64."""
    def rename(match):
        return NUMPY_TYPES.get(match.group(0), match.group(0))
    return re.sub(r"[A-Za-z_]\w*(?=\s+\w+\s*(?:,|$))", rename, text)


def is_definition(node):
    if not isinstance(node, ast.Call):
        return None
    name = getattr(node.func, "attr", getattr(node.func, "id", None))
    if name == "reduce" and not (isinstance(node.func, ast.Attribute) and
                                 getattr(node.func.value, "id", "") == "cuda"):
        return None
    if name == "elementwise" and not isinstance(node.func, ast.Attribute):
        return None
    return CALLS.get(name)


def arguments(node, order, scope):
    fields, wanted = {}, []
    for k, arg in enumerate(node.args):
        if isinstance(arg, ast.Starred):
            raise NotConstant("`*` among the arguments")
        if k < len(order):
            wanted.append((order[k], arg))
    for k in node.keywords:
        if k.arg is None:
            for name, value in evaluate(k.value, scope).items():
                fields[SPELLED.get(name, name)] = value
        else:
            wanted.append((SPELLED.get(k.arg, k.arg), k.value))
    for name, arg in wanted:
        if name in USED:
            fields[name] = evaluate(arg, scope)
    return fields


def line_of(kind, fields):
    line = {"kind": kind}
    for name, value in fields.items():
        if name == "reduce_dims":
            if not value and kind == "elementwise":
                line["keep_axes"] = True
        elif name == "options":
            if value:
                line["options"] = [value] if isinstance(value, str) else list(value)
        elif name in ("in", "out"):
            line[name] = signature(value)
        elif value is not None and not (name in OPTIONAL and value == ""):
            line[name] = value if isinstance(value, str) else str(value)
    line.setdefault("name", "kernel" if kind == "elementwise" else "reduce_kernel")
    return line


def ufunc_lines(fields):
    """A line for each row of a ufunc's types, with the names that CuPy gives them."""
    for row in fields["ops"]:
        types, code = (row, None) if isinstance(row, str) else (row[0], row[1])
        code = code if isinstance(code, str) else fields.get("routine")
        if not isinstance(code, str) or "->" not in types:
            continue
        ends = types.split("->")
        params = {side: [(CHARACTERS[c], f"{side}{k}") for k, c in enumerate(chars)]
                  for side, chars in zip(("in", "out"), ends)}
        names = "".join(f"typedef {dtype} {name}_type;\n"
                        for side in params.values() for dtype, name in side)
        yield {"kind": "elementwise", "name": fields["name"] + "__" + types.replace("->", "_")
               .replace("?", "b1"),
               "in": ", ".join(f"{dtype} {name}" for dtype, name in params["in"]),
               "out": ", ".join(f"{dtype} {name}" for dtype, name in params["out"]),
               "op": code, "preamble": names + fields.get("preamble", "")}


def guess_types(line, given):
    """A dtype for each placeholder: what was given, else int32 for what is used as an index."""
    declared = re.findall(r"(?:^|,)\s*(?:raw\s+)?(?:const\s+|_non_const\s+)?([A-Za-z])\s+(\w+)",
                          line["in"] + "," + line["out"])
    text = " ".join(str(line.get(k, "")) for k in ("loop_prep", "op", "map", "post", "after_loop"))
    types = {}
    for letter, name in declared:
        types.setdefault(letter, "float32")
        index = (re.search(r"\[[^][]*\b" + name + r"\b(?!\s*\[)[^][]*\]", text) or
                 re.search(r"\b" + name + r"(\[\w+\])?\s*(%|&(?!&)|\|(?!\|)|<<|>>|\^)", text) or
                 re.search(r"(ind|idx|index|indices|label|indptr|length|size)\d*$", name) or
                 re.search(r"atomic(And|Or|Xor|CAS)\(&" + name, text))
        if letter != "T" and index:
            types[letter] = "int32"
    return {letter: given.get(letter, dtype) for letter, dtype in types.items()}


def scopes(tree, module):
    """Every call of a module, with the scope that its arguments are evaluated in."""
    def visit(node, scope, functions):
        for child in ast.iter_child_nodes(node):
            inner, chain = scope, functions
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                chain = functions + [child]
            elif isinstance(child, ast.ClassDef):
                inner = Scope(scope.sources, scope.path, child.body, scope)
            if is_definition(child):
                yield child, local(scope, functions, child.lineno)
            yield from visit(child, inner, chain)

    def local(scope, functions, line):
        for function in functions:
            scope = Scope(scope.sources, scope.path, function.body, scope, before=line + 1,
                          bound=parameters(function, [], {}, scope))
        return scope

    yield from visit(tree, module, [])


def collect(paths):
    files = []
    for path in paths:
        if os.path.isdir(path):
            for folder, _, names in sorted(os.walk(path)):
                files += [os.path.join(folder, n) for n in sorted(names) if n.endswith(".py")]
        else:
            files.append(path)
    return [os.path.normpath(f) for f in files]


def definitions(sources, options):
    """(where, line) for each definition, (where, NotConstant) for those that are not constant."""
    for path in sources.files:
        try:
            tree, module = sources.module(path)
        except (SyntaxError, UnicodeDecodeError, OSError) as e:
            yield path, NotConstant(str(e))
            continue
        for call, scope in scopes(tree, module):
            kind, order = is_definition(call)
            where = f"{path}:{call.lineno}"
            if kind == "ufunc" and not options.ufuncs:
                continue
            try:
                fields = arguments(call, order, scope)
                if kind == "ufunc":
                    for line in ufunc_lines(fields):
                        yield where, line
                    continue
                line = line_of(kind, fields)
                types = guess_types(line, options.dtypes)
                if types:
                    line["types"] = [types]
                yield where, line
            except NotConstant as e:
                yield where, e


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--dtype", action="append", default=[], metavar="LETTER=DTYPE",
                        help="the dtype of a placeholder; may be repeated")
    parser.add_argument("--ufuncs", action="store_true",
                        help="create_ufunc as well: a line for each row of types")
    parser.add_argument("--where", metavar="FILE",
                        help="write FILE: where each line of the manifest comes from")
    options = parser.parse_args()
    options.dtypes = dict(item.split("=", 1) for item in options.dtype)
    sources = Sources(collect(options.paths))
    origins, left_out = {}, 0
    for where, line in definitions(sources, options):
        if isinstance(line, NotConstant):
            print(f"{where}: left out: {line} is not constant", file=sys.stderr)
            left_out += 1
            continue
        text = json.dumps(line, ensure_ascii=False)
        if text not in origins:
            origins[text] = where
            print(text)
    if options.where:
        with open(options.where, "w", encoding="utf-8") as f:
            f.writelines(f"{k}\t{where}\n" for k, where in enumerate(origins.values(), 1))
    print(f"{len(origins)} lines, {left_out} definitions left out", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
