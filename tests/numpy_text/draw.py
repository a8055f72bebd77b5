"""Draws programs: texts that `kiln eval` and Python both evaluate, with NumPy's value of every part.

A part is `same` when every right implementation gives its bits: elements that were only moved, integers, sums of
floats that are exact. Other parts have `err`, how far a right value may be off, found by moving the operands by
their own. What jumps (comparisons, orders, indices) takes parts that are the same.
"""
import re
import warnings

import numpy as np

import oracle

NAMES = oracle.names()
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool",) + INTEGERS + FLOATS + FLOATS + FLOATS + COMPLEX
MOST_ELEMENTS = 6000
REDUCTIONS = ("sum", "prod", "mean", "max", "min", "any", "all", "count_nonzero", "argmax", "argmin", "var", "std") + (
    "nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanargmax", "nanargmin")
LARGE = ((5000,), (4097,), (70, 65), (2, 2100), (1300, 3), (1, 4500), (13, 17, 19), (2, 2, 2, 600))


class Part:
    """A value: a template over other parts (`{0}` is the first one's text), or an input."""

    def __init__(self, text, of, value, same=True, err=0.0, counted=False, name=None, item=None):
        self.text, self.of, self.value, self.same, self.err = text, of, value, same, err
        self.counted = counted  # the device alone knows its length
        self.name = name        # of an input; a list that stands for one
        self.item = item        # which result of a function with several, and their number
        self.dtype, self.shape = np.asarray(value).dtype, np.shape(value)
        self.rank, self.size, self.kind = len(self.shape), int(np.size(value)), self.dtype.kind


class Refused(Exception):
    """NumPy refuses the program: so must kiln."""


class Rejected(Exception):
    """The part cannot be judged: another one is drawn."""


# What NumPy refuses a call with.
REFUSALS = (ValueError, IndexError, TypeError, SyntaxError, ZeroDivisionError, np.linalg.LinAlgError)


def run(text, values):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(re.sub(r"(_\d+)\.at\[", r"_at(\1)[", text), {**NAMES, **values})


def epsilon(dtype):
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0


def is_exact(value, terms=1):
    """Whether sums of `terms` such floats have no rounding, in any order."""
    value = np.asarray(value)
    if value.dtype.kind not in "fc":
        return True
    parts = np.abs(np.stack([value.real, value.imag]).astype(np.float64))
    if not np.isfinite(parts).all():
        return False
    digits = int(round(-np.log2(epsilon(value.dtype)))) - 1
    for scale in (1, 16, 256):
        if (parts * scale == np.floor(parts * scale)).all():
            return parts.max(initial=0) * scale * terms < 2.0**digits
    return False


def is_listed(value):
    """Whether a list of numbers, or of such lists, in the text can stand for an array."""
    if np.ndim(value) not in (1, 2) or not 0 < np.size(value) <= 12 or value.dtype.char not in "?ldD":
        return False
    return bool(np.isfinite(value).all() and (np.abs(value) < 2.0**53).all())


class Draw:
    in_order = False  # whether texts.py gives its lines in turn

    def __init__(self, seed, mistakes=False):
        self.rng = np.random.default_rng(seed)
        self.number = seed[1]
        self.parts = []
        self.mistakes = mistakes
        self.inputs = {}
        self.large = self.once_in(10)  # whether one input has as many elements as several blocks take

    # ---- choices ------------------------------------------------------------------------------

    def below(self, n):
        return int(self.rng.integers(n))

    def among(self, *values):
        return values[self.below(len(values))]

    def once_in(self, n):
        return self.below(n) == 0

    def shape(self, least=0, most=4):
        if self.large and self.once_in(3) and least < 4 and most > 0:
            self.large = False
            return self.among(*(shape for shape in LARGE if least <= len(shape) <= most))
        extents = (1, 2, 3, 3, 4, 5, 6, 7, 9, 17, 33) + ((0,) if self.once_in(8) else ())
        while True:
            shape = tuple(self.among(*extents) for _ in range(least + self.below(most - least + 1)))
            if np.prod(shape) <= MOST_ELEMENTS // 4:
                return shape

    # ---- inputs -------------------------------------------------------------------------------

    def numbers(self, shape, dtype):
        """Whole numbers with ties, quarters, or any floats; sometimes NaN, infinities and -0."""
        rng, dtype = self.rng, np.dtype(dtype)
        if dtype.kind == "b":
            return rng.integers(0, 2, shape).astype(bool)
        if dtype.kind in "iu":
            low = 0 if dtype.kind == "u" else -9
            x = rng.integers(low, 10, shape).astype(dtype)
            if self.once_in(6):
                info = np.iinfo(dtype)
                x = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
            return x
        if dtype.kind == "c":
            return (self.numbers(shape, "f4") + 1j * self.numbers(shape, "f4")).astype(dtype)
        style = self.below(4)
        if style == 0:
            return rng.standard_normal(shape).astype(dtype)
        x = rng.integers(-9, 10, shape).astype(dtype)
        if style == 1:
            x = x / dtype.type(4)
        if style == 2 and dtype.kind == "f" and self.once_in(2) and not self.plain:
            special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], dtype)
            x = np.where(rng.random(shape) < 0.2, special[rng.integers(0, 5, shape)], x)
        return np.asarray(x, dtype)

    plain = False  # whether inputs are finite

    def input(self, shape=None, dtype=None, value=None, listed=True):
        if value is None:
            shape = self.shape() if shape is None else shape
            dtype = dtype or self.among(*DTYPES)
            self.plain = np.dtype(dtype).kind == "c"
            value = self.numbers(shape, dtype)
            self.plain = False
        value = value if isinstance(value, (int, float)) else np.asarray(value)
        if np.ndim(value) > 1 and self.once_in(3):
            value = np.asfortranarray(value)
        if listed and is_listed(value) and self.once_in(3):
            part = Part(None, (), value, name=str(value.tolist()))
        else:
            again = len(self.inputs) // 23
            name = "abcdfghklmnopqrstuvwxyz"[len(self.inputs) % 23] + (str(again + 1) if again else "")
            self.inputs[name] = value
            part = Part(name, (), value, name=name)
        self.parts.append(part)
        return part

    def some(self, fits=None, **wanted):
        """A part that fits, or a new input."""
        found = [p for p in self.parts if not p.counted and (fits is None or fits(p))]
        if found and not self.once_in(4):
            return found[-1 - min(self.below(len(found)), self.below(len(found)))]
        return self.input(**wanted)

    def array(self, least=1, kinds="biufc", same=False, most=4):
        def fits(p):
            return (least <= p.rank <= most and p.kind in kinds and (p.same or not same) and
                    isinstance(p.value, np.ndarray))
        dtypes = [d for d in DTYPES if np.dtype(d).kind in kinds]
        return self.some(fits, shape=self.shape(least, most), dtype=self.among(*dtypes))

    def axis(self, p, none=False):
        """An axis as a text; with mistakes sometimes none that there is."""
        if none and self.once_in(4):
            return "None"
        if self.mistakes and self.once_in(6):
            return str(self.among(p.rank, -p.rank - 1))
        return str(self.below(p.rank) - self.among(0, p.rank)) if p.rank else "0"

    def indices(self, shape, extent):
        low = 0 if self.once_in(2) else -extent
        dtype = self.among("int64", "int32", "int16", "int8" if extent < 100 else "int32")
        if low == 0 and self.once_in(4):
            dtype = self.among("uint8", "uint32", "uint64")
        value = self.rng.integers(low, extent, shape) if extent else np.zeros((0,) * len(shape))
        if self.mistakes and value.size and self.once_in(4):
            value.flat[self.below(value.size)] = self.among(extent, -extent - 1)
            dtype = "int64"
        return self.input(value=value.astype(dtype))

    def matching(self, p, **wanted):
        """An operand that broadcasts with p."""
        shape = tuple(n if self.below(4) else 1 for n in p.shape)[self.below(p.rank + 1):]
        if self.mistakes and self.once_in(6) and shape:
            shape = shape[:-1] + (shape[-1] + 2,)
        def fits(q):
            try:
                return np.broadcast_shapes(q.shape, p.shape) is not None
            except ValueError:
                return False
        if self.once_in(3):
            return self.input(shape=p.shape if self.once_in(2) else shape, **wanted)
        return self.some(fits, shape=shape, **wanted)

    # ---- parts --------------------------------------------------------------------------------

    def judge(self, text, of, value, moves, jumps, terms):
        """Whether a result is the same everywhere, and how far it may be off otherwise."""
        array = np.asarray(value)
        all_same = all(p.same for p in of)
        if jumps and not all_same:
            raise Rejected
        if array.dtype.kind not in "fc" or (moves and all_same):
            if not all_same and not moves:
                raise Rejected  # an integer or a bool of what may be off
            return all_same, 0.0
        exact = is_exact(array, terms) and all(is_exact(p.value, terms) for p in of)
        if exact and all_same and terms:
            return True, 0.0
        finite = np.isfinite(array)
        if array.dtype.kind == "c" and not finite.all():
            raise Rejected
        most = max([float(np.max(np.abs(x[np.isfinite(x)]), initial=0)) for x in
                    [np.asarray(v, np.complex128) for v in [array] + [p.value for p in of if p.kind in "fc"]]])
        if most > 1e-2 * float(np.finfo(array.dtype).max):
            raise Rejected
        err = 0.0
        for _ in range(0 if all_same else 3):
            moved = {}
            for k, p in enumerate(of):
                by = p.err * self.rng.choice([-1.0, 1.0], p.shape)
                moved[f"_{k}"] = p.value if p.same else np.asarray(p.value + by, p.dtype)[()]
            other = np.asarray(run(text.format(*(f"_{k}" for k in range(len(of)))), moved))
            if other.shape != array.shape or (np.isfinite(other) != finite).any():
                raise Rejected
            err = max(err, 3 * float(np.max(np.abs(other[finite] - array[finite]), initial=0)))
        if not moves:
            err += 32 * epsilon(array.dtype) * most * max(1, terms)**0.5
        for p in of:
            if not p.same:
                err = max(err, p.err if moves else 0.0)
        if err > 0.03 * most:
            raise Rejected
        return False, err

    def refuse_keyword(self, text, of, values, results):
        """Refused, if NumPy refuses the call with a further argument."""
        name = re.match(r"(\w+)\([^()]*\)$", text)
        keyword = self.among("axis=(0, 1)", "axis=0", "axis=None", "keepdims=True", "dtype=float16")
        if not name or name[1] in REDUCTIONS:
            return  # of which kiln's have more arguments
        text = text[:-1] + ", " + keyword + ")"
        try:
            run(text.format(*values), values)
        except REFUSALS as e:
            self.parts.append(Part(text, of, np.zeros(0), item=(0, results) if results else None))
            raise Refused(str(e)) from e

    def add(self, text, *of, moves=False, jumps=False, terms=1, results=0, counted=False):
        """Record a part. moves: elements are only moved, where no part but the first has floats. jumps: a small
        change of an operand may change the result much. terms: how many products a sum has, 0 for functions that
        round. results: of a function that has several."""
        if any(p.counted for p in of) and not counted:
            raise Rejected
        used = [k for k in range(len(of)) if f"{{{k}}}" in text]
        for new, old in enumerate(used):
            text = text.replace(f"{{{old}}}", f"{{{new}}}")
        of = tuple(of[k] for k in used)
        values = {f"_{k}": p.value for k, p in enumerate(of)}
        if self.mistakes and not self.in_order and self.once_in(6):
            self.refuse_keyword(text, of, values, results)
        try:
            value = run(text.format(*values), values)
        except REFUSALS as e:
            self.parts.append(Part(text, of, np.zeros(0), item=(0, results) if results else None))
            raise Refused(str(e)) from e
        made = []
        for k in range(max(1, results)):
            one = value[k] if results else value
            if np.size(one) > MOST_ELEMENTS or np.asarray(one).dtype == object:
                raise Rejected
            item = (k, results) if results else None
            judged = f"({text})[{k}]" if results else text
            same, err = self.judge(judged, of, one, moves, jumps, terms)
            made.append(Part(text, of, one, same, err, counted, item=item))
        self.parts.extend(made)
        return made[0]


    def add_text(self, text, *of):
        """Record a part whose result may be several, and have a length that the device alone knows."""
        values = {f"_{k}": p.value for k, p in enumerate(of)}
        try:
            value = run(text.format(*values), values)
        except REFUSALS:
            value = None  # add() tells it
        self.add(text, *of, jumps=True, terms=0, counted=True, results=len(value) if isinstance(value, (tuple, list)) else 0)


def written(wanted, rng):
    """The text of a program with these results: parts that are used twice, and some others, get names."""
    uses, order = {}, []

    def visit(p):
        key = (p.text, tuple(map(id, p.of))) if p.item else id(p)
        uses[key] = uses.get(key, 0) + 1
        if uses[key] > 1 or p.name:
            return
        for q in p.of:
            visit(q)
        order.append((key, p))

    for p in wanted:
        visit(p)
    statements, known = [], {}

    def said(p):
        if p.name:
            return p.name
        key = (p.text, tuple(map(id, p.of))) if p.item else id(p)
        return known[key][p.item[0]] if p.item else known[key]

    for key, p in order:
        text = p.text.format(*(said(q) for q in p.of))
        if p.item:
            known[key] = [f"v{len(statements)}_{k}" for k in range(p.item[1])]
            statements.append(", ".join(known[key]) + " = " + text)
        elif uses[key] > 1 or rng.integers(3) == 0:
            known[key] = f"v{len(statements)}"
            statements.append(f"{known[key]} = {text}")
        else:
            known[key] = text if re.fullmatch(r"\w+\([^()]*\)", p.text) else f"({text})"
    return "; ".join(statements + [", ".join(said(p) for p in wanted)])


def inputs_of(wanted):
    found, todo = {}, list(wanted)
    while todo:
        p = todo.pop()
        todo.extend(p.of)
        if p.text == p.name and p.name:
            found[p.name] = p.value
    return found
