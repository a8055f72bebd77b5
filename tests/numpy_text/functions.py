"""The functions that programs are made of: each draws its operands and appends one part."""
import numpy as np

from draw import Rejected, is_exact
from orders import (among, chosen_rows, chosen_used, counted_bins, divided, histogram, lexsorted, mask_reduced, masked, middle, order,
                    placed, searched, sorted_, sorted_by, top)

REAL, ANY = "biuf", "biufc"


# ---- elementwise ----------------------------------------------------------------------------------

def arithmetic(d):
    x = d.array(0)
    y = d.matching(x)
    sign = d.among("+", "-", "*", "+", "-", "*", "/", "//", "%")
    if x.kind == "c" or y.kind == "c":
        sign = d.among("+", "-", "*")
    d.add("{0} %s {1}" % sign, x, y, jumps=sign in ("//", "%"), terms=0 if sign == "/" else 1)


def number(d):
    x = d.array(0)
    n = d.among("2", "3", "-1", "0.5", "2.5", "100") if x.kind != "u" else d.among("2", "3", "0.5")
    sign = d.among("+", "-", "*", "**") if n in ("2", "3") else d.among("+", "-", "*")
    if sign == "**" and x.kind == "b":
        raise Rejected  # NumPy's operator gives int8, its power() int64
    d.add(("{0} %s " + n) % sign if d.once_in(2) or sign == "**" else n + " %s {0}" % sign, x,
          terms=0 if sign == "**" and x.kind in "fc" else 1)


def argument(d):
    """A number that the call gives, as weak as one in the text."""
    x = d.array(0, REAL)
    n = d.input(value=d.among(2, 3, -1, 7) if x.kind in "iu" or d.once_in(2) else d.among(0.5, -2.25))
    if x.kind in "bu" and n.value < 0:
        raise Rejected
    d.add(d.among("{0} + {1}", "{1} - {0}", "{0} * {1}", "where({0} > {1}, {0}, {1})" if x.same else "{0} * {1}",
                  "maximum({0}, {1})"), x, n)


def bits(d):
    x = d.array(0, "biu" if not d.mistakes else "biuf", same=True)
    y = d.matching(x, dtype=str(x.dtype))
    sign = d.among("&", "|", "^", "<<", ">>") if x.kind != "b" else d.among("&", "|", "^")
    d.add("{0} %s {1}" % sign, x, y, jumps=True)


def compare(d):
    x = d.array(0, same=True)
    y = d.matching(x)
    d.add("{0} %s {1}" % d.among("<", "<=", ">", ">=", "==", "!="), x, y, jumps=True)


def unary(d):
    name = d.among("abs", "negative", "sign", "square", "isnan", "floor", "ceil", "rint", "exp", "tanh", "sqrt",
                   "sin", "log1p", "logical_not", "conj", "isfinite", "cbrt", "trunc", "positive", "reciprocal")
    jumps = name in ("sign", "isnan", "floor", "ceil", "rint", "logical_not", "isfinite", "trunc")
    kinds = ANY if name in ("abs", "square", "conj", "negative", "exp", "isnan", "positive") else REAL
    x = d.array(0, kinds, same=jumps)
    if x.kind in "iu" and name == "reciprocal":
        raise Rejected
    d.add(name + "({0})", x, moves=name in ("negative", "conj", "positive") or (name == "abs" and x.kind != "c"),
          jumps=jumps, terms=1 if name == "square" else 0)


def two(d):
    x = d.array(0, REAL)
    y = d.matching(x)
    name = d.among("maximum", "minimum", "fmax", "fmin", "logical_and", "logical_xor", "hypot", "copysign",
                   "arctan2", "heaviside", "fmod", "left_shift", "gcd", "logaddexp")
    moves = name in ("maximum", "minimum", "fmax", "fmin")
    if y.kind == "c":
        raise Rejected
    d.add(name + "({0}, {1})", x, y, moves=moves, terms=0,
          jumps=name in ("logical_and", "logical_xor", "copysign", "arctan2", "heaviside", "fmod", "left_shift", "gcd"))


def where(d):
    x = d.array(0)
    c, y = d.matching(x, dtype="bool"), d.matching(x)
    d.add("where({0}, {1}, {2})", c, x, y, moves=c.same, jumps=not c.same)


def clip(d):
    x = d.array(0, REAL)
    low, high = d.among("None", "-2", "0", "1.5"), d.among("3", "2.5", "None")
    if x.kind in "ub":
        low = "1"
    d.add("clip({0}, %s, %s)" % (low, high if low != "None" else "3"), x, moves=True)


def cast(d):
    dtype = d.among("bool", "int16", "int64", "float16", "float32", "float64", "complex64", "uint8", "int8")
    x = d.array(0, REAL, same=True)
    if np.dtype(dtype).kind in "iu" and x.kind == "f":
        x = d.array(0, "biu", same=True)
    d.add(d.among("{0}.astype(%s)", "%s({0})", "cast({0}, %s)") % dtype, x, moves=True, jumps=True)


def rows(d):
    """Reductions whose results the same row uses: row programs."""
    x = d.array(1, "f")
    k = d.axis(x)
    if 0 in x.shape or not np.isfinite(np.asarray(x.value, np.float64)).all():
        raise Rejected
    text = d.among("{0} - max({0}, axis=%s, keepdims=True)", "{0} - mean({0}, axis=%s, keepdims=True)",
                   "exp({0} - max({0}, axis=%s, keepdims=True))", "{0} / (1 + sum(abs({0}), axis=%s, keepdims=True))",
                   "{0} * (sum({0}, axis=%s, keepdims=True) > 0)" if is_summable(x) else "{0} - mean({0}, %s, keepdims=True)")
    d.add(text % k, x, moves=False, terms=x.size + 1 if "mean" not in text and "exp" not in text and "/" not in text
          else 0)


def is_summable(x):
    return x.same and is_exact(x.value, x.size + 1)


def divmod_(d):
    x = d.array(0, "iu", same=True)
    d.add("divmod({0}, {1})", x, d.matching(x, dtype=str(x.dtype)), jumps=True, results=2)


# ---- views and arrangements -----------------------------------------------------------------------

def subscript(d):
    x = d.array(1)
    at = []
    for n in x.shape[:1 + d.below(x.rank)]:
        one = d.below(7)
        if one == 0 and n > 0:
            at.append(str(d.below(n) - d.among(0, n) + (n if d.mistakes and d.once_in(3) else 0)))
        elif one == 1:
            at.append("None, :")
        elif one == 2:
            at.append("%d:%d" % (d.below(n + 1), d.below(n + 3)))
        elif one == 3:
            at.append("::%d" % d.among(-1, 2, -2, 3))
        elif one == 4:
            at.append("%d:" % (-1 - d.below(n + 1)))
        else:
            at.append("%d:%d:%d" % (d.below(n + 2) - 1, -d.below(n + 2), d.among(1, 2, -1)))
    if d.once_in(3) and len(at) < x.rank:
        at.insert(d.below(len(at) + 1), "...")
    d.add("{0}[" + ", ".join(at) + "]", x, moves=True)


def taken(d):
    x = d.array(1)
    style, k = d.below(7), d.below(x.rank)
    n = x.shape[k]
    if n == 0 and not (d.mistakes and style < 3):
        raise Rejected
    if style == 0:
        d.add("take({0}, {1}, axis=%d)" % (k - d.among(0, x.rank)), x, d.indices(d.shape(0, 2), n), moves=True)
    elif style == 1:
        d.add("take({0}, {1})", x, d.indices(d.shape(0, 2), x.size), moves=True)
    elif style == 2:
        mode = d.among("wrap", "clip")
        at = d.input(value=d.rng.integers(-2 * n, 3 * n, d.shape(1, 2)))
        d.add("take({0}, {1}, axis=%d, mode='%s')" % (k, mode), x, at, moves=True)
    elif style == 3:
        shape = list(x.shape)
        shape[k] = d.among(1, 2, 5, n)
        if d.once_in(3):
            shape = [m if j == k else 1 for j, m in enumerate(shape)]
        d.add("take_along_axis({0}, {1}, %d)" % k, x, d.indices(tuple(shape), n), moves=True)
    elif style == 4:
        d.add("{0}[" + ":, " * k + "{1}]", x, d.indices(d.shape(0, 3), n), moves=True)
    elif style == 5 and x.rank > 1:
        one, other = sorted(d.rng.permutation(x.rank)[:2])
        i, j = d.indices(d.among((4,), (2, 1), (3, 4)), x.shape[one]), d.indices(d.among((4,), (1,)), x.shape[other])
        at = [":"] * x.rank
        at[one], at[other] = "{1}", "{2}"
        if d.once_in(3) and other > one + 1:
            at[one + 1] = d.among("1:", "::-1", "None, :")
        d.add("{0}[" + ", ".join(at[:other + 1]) + "]", x, i, j, moves=True)
    else:
        numbers = ", ".join(str(d.below(n) - d.among(0, n)) for _ in range(1 + d.below(4)))
        d.add("{0}[[" + numbers + "]]" if k == 0 else "take({0}, [" + numbers + "], axis=%d)" % k, x, moves=True)


def ordered(d):
    """Elements by computed indices."""
    x = d.array(1, same=True)
    k = d.below(x.rank)
    if x.shape[k] == 0:
        raise Rejected
    y = d.array(x.rank, most=x.rank) if d.once_in(2) else x
    y = y if y.shape == x.shape else x
    if x.rank == 1 and d.once_in(2):
        d.add("{0}[argsort({1})]", y, x, moves=True)
    else:
        d.add("take_along_axis({0}, argsort({1}, axis=%d), %d)" % (k, k), y, x, moves=True)


def scattered(d):
    x = d.array(1, most=3)
    name = d.among("set", "add", "multiply", "minimum", "maximum")
    if x.size == 0 or x.kind == "b" or x.kind == "c" and name in ("minimum", "maximum"):
        raise Rejected
    style = d.below(4)
    if style == 0:
        count = 1 + d.below(9)
        v = d.input(shape=(count,), dtype=str(x.dtype))
        d.add("put({0}, {1}, {2})", x, d.indices((count,), x.size), v, moves=True)
    elif style == 1:
        k = d.below(x.rank)
        shape = tuple(m if j != k else 1 + d.below(m) for j, m in enumerate(x.shape))
        d.add("put_along_axis({0}, {1}, {2}, %d)" % k, x, d.indices(shape, x.shape[k]),
              d.input(shape=shape if d.once_in(2) else shape[-1:], dtype=str(x.dtype)), moves=True)
    else:
        i = d.indices(d.among((3,), (12,), (2, 4)), x.shape[0])
        v = d.input(shape=i.shape + x.shape[1:] if d.once_in(2) else x.shape[1:], dtype=str(x.dtype))
        d.add("scatter_%s({0}, {1}, {2})" % name, x, i, v, moves=name in ("set", "minimum", "maximum"), terms=16)


def turned(d):
    x = d.array(1)
    a, b = d.axis(x), d.axis(x)
    text = d.among("swapaxes({0}, %s, %s)" % (a, b), "moveaxis({0}, %s, %s)" % (a, b), "flip({0}, axis=%s)" % a,
                   "{0}.T", "expand_dims({0}, %s)" % a, "squeeze({0})", "ravel({0})", "flip({0})",
                   "roll({0}, %d, axis=%s)" % (d.below(9) - 4, a), "roll({0}, %d)" % (d.below(60) - 30),
                   "atleast_2d({0})", "atleast_3d({0})", "reshape({0}, -1)")
    d.add(text, x, moves=True)


def shaped(d):
    x = d.array(1)
    order = [int(k) - d.among(0, x.rank) for k in d.rng.permutation(x.rank)]
    wide = (d.among(1, 2),) * d.below(2) + tuple(d.among(n, 3) if n == 1 else n for n in x.shape)
    d.add(d.among("transpose({0}, (%s))" % "".join(f"{k}, " for k in order), "broadcast_to({0}, (%s,))" %
                  ", ".join(map(str, wide)), "{0}[None]", "{0}[..., None]", "ravel({0}.T)", "ravel({0})[::-2]"), x,
          moves=True)


def together(d):
    x = d.array(1)
    y = d.matching(x)
    if d.once_in(2):
        d.add("broadcast_arrays({0}, {1})", x, y, moves=True, results=2)
    else:
        a, b = d.array(1, most=1), d.array(1, most=1)
        d.add("meshgrid({0}, {1}%s)" % d.among("", ", indexing='ij'"), a, b, moves=True, results=2)


def crossed(d):
    x = d.input(shape=d.shape(0, 2) + (3,), dtype=d.among("float32", "float64", "int32"))
    y = d.input(shape=d.among(x.shape, (3,)), dtype=str(x.dtype))
    d.add("cross({0}, {1})", x, y, terms=4)


def squares(d):
    x = d.array(2)
    a, b = d.axis(x), d.axis(x)
    k = d.below(5) - 2
    text = d.among("rot90({0}, %d)" % k, "diagonal({0}, %d, %s, %s)" % (k, a, b), "tril({0}, %d)" % k, "triu({0})",
                   "fliplr({0})", "flipud({0})", "transpose({0})", "reshape({0}, (-1, %d))" % max(1, x.shape[-1]),
                   "reshape({0}, (%d, -1))" % max(1, x.shape[0]))
    d.add(text, x, moves=True)


def diag(d):
    x = d.array(1, most=2)
    d.add(d.among("diag({0})", "diag({0}, %d)" % (d.below(5) - 2), "diagflat({0}, 1)"), x, moves=True)


def trace(d):
    x = d.array(2, same=True)
    d.add(d.among("trace({0})", "trace({0}, 1)"), x, terms=40)


def beside(d):
    x = d.array(1)
    k = d.below(x.rank)
    others = [x]
    for _ in range(d.below(3) + (0 if d.once_in(5) else 1)):
        shape = tuple(d.among(1, 2, 5, n) if j == k else n for j, n in enumerate(x.shape))
        others.append(d.some(lambda p: p.rank == x.rank and all(
            j == k or n == p.shape[j] for j, n in enumerate(x.shape)), shape=shape))
    names = ", ".join("{%d}" % j for j in range(len(others)))
    if d.once_in(6) and all(p.shape == x.shape for p in others):
        text = "stack([%s], axis=%s)" % (names, d.axis(x))
    elif d.once_in(6) and k == min(1, x.rank - 1):
        text = "hstack([%s])" % names
    elif d.once_in(6) and k == 0 and x.rank > 1:
        text = "vstack([%s])" % names
    elif d.once_in(8) and len(others) > 1:
        others, text = others[:2], "append({0}, {1})"
    else:
        text = "concatenate([%s], axis=%d)" % (names, k - d.among(0, x.rank))
    d.add(text, *others, moves=True)


def block(d):
    x = d.array(2, most=2)
    y = d.input(shape=(x.shape[0], d.below(4) + 1), dtype=str(x.dtype))
    z = d.input(shape=(2, x.shape[1] + y.shape[1]), dtype=str(x.dtype))
    d.add("block([[{0}, {1}], [{2}]])", x, y, z, moves=True)


def repeated(d):
    x = d.array(1, most=3)
    k = d.below(x.rank)
    counts = ", ".join(str(d.below(4) - (1 if d.mistakes and d.once_in(3) else 0)) for _ in range(x.shape[k]))
    text = d.among("tile({0}, %d)" % (1 + d.below(3)), "tile({0}, (2, 3))", "tile({0}, (2, 1, 2))",
                   "repeat({0}, %d, axis=%s)" % (d.below(4), d.axis(x)), "repeat({0}, 2)",
                   "repeat({0}, (%s), axis=%d)" % (counts if "," in counts else counts + ",", k))
    if x.shape[k] > 9 or counts == "":
        text = "repeat({0}, 3, axis=%d)" % k
    d.add(text, x, moves=True)


def padded(d):
    x = d.array(1, most=3)
    mode = d.among("constant", "edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "mean", "median",
                   "linear_ramp", "constant", "reflect", "edge")
    if 0 in x.shape and mode != "constant":
        raise Rejected
    jumps = mode in ("mean", "median", "linear_ramp")
    if jumps and x.kind not in "f" or mode in ("maximum", "minimum") and x.kind in "bc":
        mode, jumps = "constant", False
    widths = [d.below(4) if mode != "reflect" or d.once_in(3) else d.below(2) for _ in range(2 * x.rank)]
    widths = str(widths[0]) if x.rank == 1 and d.once_in(2) else "(%s)" % ", ".join(map(str, widths))
    if d.once_in(3):
        widths = str(d.below(5))
    more = ", 7" if mode == "constant" and d.once_in(2) and x.kind != "b" else ""
    d.add("pad({0}, %s%s, mode='%s')" % (widths, more, mode), x, moves=not jumps, jumps=mode == "median",
          terms=0)


def removed(d):
    x = d.array(1, most=3)
    k = d.below(x.rank)
    n = x.shape[k]
    if n == 0:
        raise Rejected
    at, other = d.below(n), d.below(n) - n
    style = d.below(4)
    if style == 0:
        d.add("delete({0}, %d, axis=%d)" % (at, k), x, moves=True)
    elif style == 1:
        d.add("delete({0}, (%d, %d), axis=%d)" % (at, other, k), x, moves=True)
    elif style == 2:
        d.add("insert({0}, %d, %d, axis=%d)" % (at, d.below(2), k), x, moves=True)
    else:
        v = d.input(shape=(x.shape[:k] + x.shape[k + 1:])[-1:], dtype=str(x.dtype))
        d.add("insert({0}, %d, {1}, axis=%d)" % (at, k), x, v, moves=True)


def parted(d):
    x = d.array(1)
    k = d.below(x.rank)
    n = x.shape[k]
    style = d.below(3)
    if style == 0:
        m = 2 + d.below(3)
        if n % m and not d.mistakes:
            raise Rejected
        d.add("split({0}, %d, axis=%d)" % (m, k), x, moves=True, results=m)
    elif style == 1:
        m = 2 + d.below(4)
        d.add("array_split({0}, %d, axis=%d)" % (m, k), x, moves=True, results=m)
    else:
        d.add("split({0}, (%d, %d), axis=%d)" % (d.below(n + 1), d.below(n + 2), k), x, moves=True, results=3)


def parted_by_name(d):
    x = d.array(1)
    name, k = d.among(("hsplit", 1 if x.rank > 1 else 0), ("vsplit", 0), ("dsplit", 2))
    if x.rank < {"hsplit": 1, "vsplit": 2, "dsplit": 3}[name] and not d.mistakes:
        raise Rejected
    n = x.shape[min(k, x.rank - 1)]
    if d.once_in(2):
        m = d.among(*[m for m in (1, 2, 3, 4, 5, 7) if n % m == 0 or d.mistakes])
        d.add("%s({0}, %d)" % (name, m), x, moves=True, results=m)
    else:
        at = sorted((d.below(n + 2), d.below(n + 1) - d.below(3)))
        d.add("%s({0}, (%d, %d))" % (name, *at), x, moves=True, results=3)


def windows(d):
    x = d.array(1, most=3)
    k = d.below(x.rank)
    if d.once_in(2):
        widest = max(1, min(d.among(5, 12, 40), x.shape[k] + d.mistakes))
        text = "sliding_window_view({0}, %d, axis=%d)" % (1 + d.below(widest), k - d.among(0, x.rank))
        d.add(d.among(text, text, "max(%s, axis=-1)" % text if x.kind in "iu" else text,
                      "%s[..., -1]" % text), x, moves=True)
        return
    width = [str(1 + d.below(max(1, min(6, n)))) for n in x.shape]
    if d.once_in(2):
        d.add("sliding_window_view({0}, (%s,))" % ", ".join(width), x, moves=True)
    else:
        axes = [int(a) - d.among(0, x.rank) for a in d.rng.permutation(x.rank)[:1 + d.below(x.rank)]]
        d.add("sliding_window_view({0}, (%s,), axis=(%s,))" % (", ".join(width[a] for a in axes),
                                                             ", ".join(map(str, axes))), x, moves=True)


def differences(d):
    x = d.array(1, "iuf")
    text = d.among("diff({0})", "diff({0}, 2)", "diff({0}, axis=%s)" % d.axis(x), "ediff1d({0})",
                   "gradient({0}, 1, axis=%s)" % d.axis(x), "gradient({0}, 2, axis=%s)" % d.axis(x))
    d.add(text, x, terms=4)


def convolved(d):
    a, v = d.array(1, "iuf", most=1), d.array(1, "iuf", most=1)
    if a.size * v.size == 0 or (a.kind != v.kind):
        raise Rejected
    d.add("%s({0}, {1}, mode='%s')" % (d.among("convolve", "correlate"), d.among("full", "same", "valid")), a, v,
          terms=2 * min(a.size, v.size))


def chosen_of_many(d):
    x = d.array(1)
    y = d.matching(x)
    style = d.below(3)
    if style == 0:
        i = d.input(value=d.rng.integers(0, 2 + (d.mistakes and d.once_in(3)), x.shape))
        d.add("choose({0}, [{1}, {2}])", i, x, y, moves=True)
    elif style == 1:
        i = d.input(value=d.rng.integers(-5, 6, x.shape))
        d.add("choose({0}, [{1}, {2}], mode='%s')" % d.among("wrap", "clip"), i, x, y, moves=True)
    else:
        c, b = d.input(shape=x.shape, dtype="bool"), d.input(shape=x.shape, dtype="bool")
        z = d.input(shape=x.shape, dtype=str(x.dtype))
        d.add("select([{0}, {1}], [{2}, {3}], %d)" % d.below(3), c, b, x, z, moves=True)


def positions(d):
    x = d.array(1)
    d.add(d.among("iota({0}, %s)" % d.axis(x), "where(iota({0}, 0) > 1, {0}, 0)"), x, moves=True)


def made(d):
    n, m, k = 1 + d.below(6), 1 + d.below(6), d.below(5) - 2
    x = d.array(1)
    d.add(d.among("eye(%d, %d, %d)" % (n, m, k), "tri(%d, %d, %d)" % (n, m, k), "arange(%d)" % n,
                  "indices((%d, %d))" % (n, m), "identity(%d)" % n, "arange(%d)[::-1]" % n), x, moves=True)


def filled(d):
    x = d.array(0)
    shape = d.among("(2, 3)", "4", "(%d,)" % d.below(5), "()", "(3, 1, 2)")
    dtype = d.among("int8", "float32", "float64", "bool", "complex64", "uint16", "'float32'", "'int8'")
    value = d.among("0", "1", "7", "2.5", "True")
    d.add(d.among("zeros(%s)" % shape, "ones(%s, dtype=%s)" % (shape, dtype), "zeros(%s, %s)" % (shape, dtype),
                  "full(%s, %s)" % (shape, value), "full(%s, %s, dtype=%s)" % (shape, value, dtype),
                  "zeros_like({0})", "ones_like({0}, dtype=%s)" % dtype, "full_like({0}, %s)" % value,
                  "full_like({0}, %s, dtype=%s)" % (value, dtype), "ones({0}.shape)", "full({0}.shape, %s)" % value,
                  "ones_like({0})"), x, moves=True)


def spaced(d):
    def real():
        return str(d.among(0, 1, -3, 10, 0.5, -2.25, "pi", "-pi / 4", 7, 100))
    a, b, n = real(), real(), d.below(8)
    step = str(d.among(1, 2, 3, -1, -2, 0.5, 0.1, -0.3, "pi / 8"))
    if step.startswith("-") == (eval(b, {"pi": np.pi}) > eval(a, {"pi": np.pi})) and d.once_in(2):
        a, b = b, a
    end = d.among("", "", ", endpoint=False", ", endpoint=True")
    text = d.among("arange(%s, %s)" % (a, b), "arange(%s, %s, %s)" % (a, b, step), "arange(%s)" % b,
                   "arange(%d, %d, %d, dtype=float32)" % (d.below(5), d.below(30), 1 + d.below(4)),
                   "linspace(%s, %s, %d%s)" % (a, b, n, end), "linspace(%s, %s)" % (a, b),
                   "linspace(%s, %s, num=%d%s, dtype=int32)" % (a, b, n, end),
                   "logspace(%d, %d, %d%s)" % (d.below(5) - 2, d.below(5) - 2, n, end),
                   "logspace(0, 3, %d, base=2)" % n,
                   "geomspace(%s, %s, %d%s)" % (d.among("1", "2.5"), d.among("8", "0.01"), n, end))
    x = d.array(1)
    d.add(text, x, terms=0, jumps="int32" in text)


def rounded(d):
    x = d.array(0, "iufc", same=True)
    if x.kind in "fc" and not (np.abs(x.value) < 100).all():
        raise Rejected
    n = d.among("2", "1", "0", "-1", "3") if x.kind in "fc" else d.among("2", "0", "-1")
    if x.size and x.kind in "iu" and np.abs(np.asarray(x.value, np.float64)).max() > 2**50:
        raise Rejected
    d.add(d.among("round({0}, %s)", "around({0}, %s)", "round({0}, decimals=%s)", "{0}.round(%s)") % n, x, jumps=True,
          terms=0)


def normed(d):
    x = d.array(1, "iufc", most=3)
    if x.size == 0 or not np.isfinite(x.value).all() or x.dtype == np.float16:
        raise Rejected
    order = d.among("None", "1", "2", "inf", "-inf", "3", "0", "0.5", "-1")
    k = d.axis(x)
    keep = d.among("", "", ", keepdims=True")
    text = d.among("norm({0}%s)" % keep, "norm({0}, axis=%s%s)" % (k, keep), "norm({0}, %s, axis=%s%s)" % (order, k, keep),
                   "norm({0}, ord=%s, axis=%s)" % (order, k))
    if x.rank == 1 and d.once_in(3):
        text = "norm({0}, %s)" % order
    if x.rank > 1 and d.once_in(2):
        order = d.among("None", "1", "-1", "2", "-2", "inf", "-inf", "'fro'", "'nuc'", "3" if d.mistakes else "1")
        over = "(%s, %s)" % (d.axis(x), d.axis(x))
        text = "norm({0}, %s, axis=%s%s)" % (order, over, keep)
        if x.rank == 2 and d.once_in(3):
            text = "norm({0}, %s)" % order
    d.add(text, x, terms=0, jumps=", 0" in text)


# ---- reductions, scans ----------------------------------------------------------------------------

def axes(d, x):
    if x.rank > 1 and d.once_in(3):
        picked = [int(k) - d.among(0, x.rank) for k in d.rng.permutation(x.rank)[:2]]
        return "(%d, %d)" % tuple(picked)
    return d.axis(x, none=True)


def reduced(d):
    name = d.among("sum", "prod", "mean", "max", "min", "any", "all", "count_nonzero", "argmax", "argmin", "var",
                   "std", "nansum", "nanmax", "nanmin", "ptp", "sum", "sum", "max")
    jumps = name in ("any", "all", "count_nonzero", "argmax", "argmin")
    x = d.array(1, REAL if name != "sum" else ANY, same=jumps or name.startswith("nan"))
    moves = name in ("max", "min", "nanmax", "nanmin", "argmax", "argmin", "ptp")
    if name == "ptp" and x.kind == "b" or name in ("var", "std", "mean", "prod") and x.kind == "f" and x.size == 0:
        raise Rejected
    over = d.axis(x, none=True) if name.startswith("arg") else axes(d, x)
    keep = ", keepdims=True" if d.once_in(3) and name != "ptp" else ""
    if name == "count_nonzero" and over == "None":
        keep = ""
    if name in ("sum", "mean") and x.kind in "iuf" and d.once_in(4):
        keep += ", dtype=float64"
    method = d.once_in(4) and name not in ("count_nonzero", "nansum", "nanmax", "nanmin", "ptp")
    text = ("{0}.%s(axis=%s%s)" if method else "%s({0}, axis=%s%s)") % (name, over, keep)
    d.add(text, x, moves=moves, jumps=jumps, terms=0 if name in ("var", "std", "mean", "prod") else x.size + 1)


def running(d):
    x = d.array(1, REAL)
    name = d.among("cumsum", "cumsum", "cumprod", "cummax", "cummin")
    if name == "cumprod" and x.kind == "f":
        name = "cumsum"
    if name in ("cummax", "cummin") and x.kind == "b":
        raise Rejected
    d.add("%s({0}, axis=%s)" % (name, d.axis(x)), x, moves=name in ("cummax", "cummin"), terms=x.size + 1)


def weighted(d):
    x = d.array(1, "iuf")
    k = d.below(x.rank)
    if x.shape[k] == 0:
        raise Rejected  # NumPy looks at the weights and refuses those whose sum is 0
    w = d.input(value=d.rng.integers(1, 5, x.shape).astype("float64"))
    d.add("average({0}, axis=%d, weights={1})" % k, x, w, terms=0)


# ---- linear algebra -------------------------------------------------------------------------------

def producted(d):
    a = d.array(1, "iuf" if d.once_in(3) else "f", most=3)
    n = a.shape[-1]
    b = d.some(lambda p: p.rank and p.shape[-2 if p.rank > 1 else 0] == n and p.kind in "iuf" and p.rank < 3,
               shape=d.among((n,), (n, 1 + d.below(6))), dtype=str(a.dtype))
    if a.dtype == np.int8 or b.dtype == np.int8:
        raise Rejected
    d.add(d.among("{0} @ {1}", "dot({0}, {1})"), a, b, terms=2 * n + 1)


def products_of_axes(d):
    a, b = d.array(1, "f", most=2), d.array(1, "f", most=2)
    style = d.below(4)
    if style == 0:
        d.add("outer({0}, {1})", a, b)
    elif style == 1:
        d.add("kron({0}, {1})", a, b)
    elif style == 2:
        c = d.input(shape=d.shape(1, 2)[:1] + a.shape[-1:], dtype=str(a.dtype))
        d.add("inner({0}, {1})", a, c, terms=2 * a.shape[-1] + 1)
    else:
        k = 1 + d.below(a.rank)
        c = d.input(shape=a.shape[-k:] + (3,), dtype=str(a.dtype))
        d.add("tensordot({0}, {1}, %d)" % k, a, c, terms=2 * a.size + 1)


def einsum(d):
    extents = {letter: d.among(1, 2, 3, 4, 5) for letter in "ijklm"}
    terms, operands, size = [], [], 1
    for _ in range(1 + d.below(3)):
        letters = [d.among(*"ijklm") for _ in range(1 + d.below(3))]
        if d.once_in(2):
            letters = list(dict.fromkeys(letters))
        shape = tuple(extents[x] for x in letters)
        terms.append("".join(letters))
        operands.append(d.some(lambda p: p.shape == shape and p.kind == "f", shape=shape,
                               dtype=d.among("float32", "float64", "int64", "complex64")))
    used = sorted(set("".join(terms)))
    result = "".join(d.rng.permutation([x for x in used if not d.once_in(2)]))
    for x in used:
        size *= extents[x]
    text = ",".join(terms) + ("" if d.once_in(4) else "->" + result)
    if len({p.kind for p in operands}) > 1 or not all(np.isfinite(p.value).all() for p in operands):
        raise Rejected  # what infinities give depends on the order of products
    d.add('einsum("%s", %s)' % (text, ", ".join("{%d}" % k for k in range(len(terms)))), *operands,
          terms=4 * size**2)


def equations(d):
    n, stack = 1 + d.below(6), d.among((), (), (3,), (2, 3))
    dtype = d.among("float32", "float64", "float64", "complex128")
    a = d.input(value=(d.rng.integers(-2, 3, stack + (n, n)) + 4 * n * np.eye(n)).astype(dtype))
    b = d.input(shape=stack + (n, 1 + d.below(3)), dtype=dtype) if d.once_in(2) else d.some(
        lambda p: p.kind == a.kind and p.dtype == a.dtype and p.rank == a.rank and p.shape[:-1] == a.shape[:-1],
        shape=stack + (n, 2), dtype=dtype)
    h = "({0} + conj(swapaxes({0}, -1, -2)))"
    text = d.among("solve({0}, {1})", "solve({0}, {1})", "inv({0}) @ {1}", "det({0} / 8)", "cholesky(%s)" % h,
                   "eigvalsh(%s)" % h, "svdvals({0})", "pinv({0})", "lstsq({0}, {1})", "matrix_rank({0})",
                   "matrix_power({0}, 3)", "slogdet({0})[1]", "multi_dot([{0}, {0}, {1}])")
    if stack and text.startswith(("lstsq", "multi_dot")):
        raise Rejected
    if text.startswith("slogdet"):
        d.add("slogdet({0})", a, terms=0, results=2)
        return
    d.add(text, a, *((b,) if "{1}" in text else ()), terms=0)


# ---- random numbers -------------------------------------------------------------------------------

def drawn(d):
    x = d.array(1)
    n, key = 1 + d.below(40), d.below(1000)
    shape = "(%d, %d)" % (1 + d.below(5), 1 + d.below(9))
    d.add(d.among("uniform(%d, %s)" % (key, shape), "uniform(%d, %s, float32)" % (key, shape),
                  "sort(permutation(%d, %d))" % (key, n), "random_bits(%d, %s)" % (key, shape),
                  "where(uniform(%d, {0}.shape) < 0.4, 0, {0})" % key, "flip(uniform(%d, {0}.shape))[None]" % key,
                  "argsort(uniform(%d, {0}.shape), axis=-1)" % key,
                  "uniform(%d, {0}.shape)" % key), x, moves=True)


WEIGHTS = {
    arithmetic: 6, number: 4, bits: 2, compare: 3, unary: 5, two: 3, where: 3, clip: 1, cast: 3, divmod_: 1,
    argument: 2, rows: 4, shaped: 4, together: 1, crossed: 1, subscript: 6, taken: 6, ordered: 3, scattered: 4, turned: 5, squares: 3, diag: 1, trace: 1, beside: 5, block: 1,
    repeated: 3, padded: 4, removed: 3, parted: 2, parted_by_name: 2, windows: 2, differences: 2, convolved: 2, chosen_of_many: 2,
    positions: 1, made: 1, filled: 2, spaced: 2, rounded: 1, normed: 2, reduced: 8, running: 3, weighted: 1, sorted_: 3, order: 2, top: 2, placed: 1, middle: 3,
    searched: 3, lexsorted: 1, sorted_by: 3, counted_bins: 1, histogram: 2, among: 1, masked: 3, divided: 2, mask_reduced: 2, chosen_rows: 2, chosen_used: 3, producted: 3,
    products_of_axes: 2, einsum: 3, equations: 4, drawn: 2,
}
