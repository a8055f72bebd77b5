"""More functions that programs are made of, each by NumPy's name."""
import numpy as np

from draw import Rejected

# Those whose results may be off; those that jump; those of whole numbers and bits.
ROUNDED = ("fabs", "log", "log2", "log10", "exp2", "expm1", "cos", "tan", "arcsin", "arccos", "arctan", "sinh",
           "cosh", "arcsinh", "arccosh", "arctanh", "degrees", "radians", "deg2rad", "rad2deg", "i0", "sinc")
JUMPING = ("signbit", "spacing", "isinf", "round", "fix", "bitwise_count", "invert")
PAIRS = ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "mod", "power", "float_power",
         "logaddexp2", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_or",
         "bitwise_and", "bitwise_or", "bitwise_xor", "right_shift", "lcm", "nextafter", "ldexp")
EXACT = ("add", "subtract", "multiply")


def named(d):
    x = d.array(0, "biuf")
    name = d.among(*ROUNDED)
    if name in ("i0", "sinc") and x.dtype != np.float64:
        raise Rejected  # NumPy computes them in float64, or with a constant that float16 lacks
    d.add(name + "({0})", x, terms=0)


def named_jumps(d):
    x = d.array(0, "biuf", same=True)
    name = d.among(*JUMPING)
    if name == "bitwise_count" and x.kind == "b" or name == "fix" and x.kind == "b":
        raise Rejected
    d.add(name + "({0})", x, jumps=True)


def pair(d):
    x = d.array(0, "biuf", same=True)
    y = d.matching(x)
    name = d.among(*PAIRS)
    if not y.same or y.kind == "c" or name in ("power", "float_power") and x.size * y.size == 0:
        raise Rejected
    if name == "power" and (y.kind in "iu" and (np.asarray(y.value) < 0).any() or "b" in (x.kind, y.kind)):
        raise Rejected  # NumPy refuses whole numbers to negative powers
    if name == "ldexp" and (y.kind != "i" or x.kind != "f"):
        raise Rejected
    d.add(name + "({0}, {1})", x, y, jumps=name not in EXACT + ("divide", "logaddexp2", "power", "float_power"),
          terms=1 if name in EXACT else 0)


def complex_parts(d):
    x = d.array(0, "biufc", same=True)
    text = d.among("real({0})", "imag({0})", "{0}.real", "{0}.imag", "angle({0})", "conjugate({0})", "abs({0})")
    if text.startswith(("conj", "angle")) and x.kind == "b":
        raise Rejected  # NumPy's angle() computes with the number 0, and so in float64
    rounds = text[:5] in ("angle", "abs({")
    d.add(text, x, moves=not rounds, jumps=text.startswith("angle"), terms=0)


def two_results(d):
    x = d.array(0, "f", same=True)
    d.add(d.among("frexp({0})", "modf({0})"), x, jumps=True, results=2)


def views_of_views(d):
    """Arrays that lie backwards, or have one element in many places, as operands of what moves memory."""
    x = d.array(1, most=3)
    wide = (3,) + x.shape
    lying = d.among("{0}[::-1]", "{0}.T", "broadcast_to({0}, (%s,))" % ", ".join(map(str, wide)), "{0}[..., ::-2]",
                    "swapaxes({0}, 0, -1)[::-1]", "{0}[None]", "flip({0}.T)", "{0}[:0]", "{0}[1:][::-1]")
    then = d.among("ravel(%s)", "concatenate([%s, %s])", "stack([%s, %s], axis=-1)", "roll(%s, 1, axis=0)",
                   "repeat(%s, 2, axis=0)", "tile(%s, 2)", "reshape(%s, -1)", "where(True, %s, %s)", "sort(%s)",
                   "argsort(%s, axis=0)", "append(%s, %s)", "rot90(atleast_2d(%s))", "dstack([%s, %s])",
                   "flip(%s)", "broadcast_to(%s, (2,) + SHAPE)")
    if then.startswith("broadcast_to"):
        then = "(%s)[None]"
    if then[:3] in ("sor", "arg") and not x.same:
        raise Rejected
    d.add(then.replace("%s", "(" + lying + ")"), x, moves=True, jumps=then.startswith("arg"))


def nan_reduced(d):
    x = d.array(1, "biuf", same=True)
    name = d.among("nanmean", "nanvar", "nanstd", "nanprod", "nansum", "nanargmax", "nanargmin", "nanmax", "nanmin")
    numbers = np.asarray(x.value, np.float64)
    if x.size == 0 or np.isnan(numbers).all() or x.kind == "b" and name in ("nanmax", "nanmin"):
        raise Rejected
    over = d.axis(x, none=True)
    if name.startswith("nanarg") and np.isnan(numbers).any():
        over = "None"
    keep = ", keepdims=True" if d.once_in(3) else ""
    moves = name[3:] in ("max", "min", "argmax", "argmin")
    d.add("%s({0}, axis=%s%s)" % (name, over, keep), x, moves=moves, jumps=name.startswith("nanarg"), terms=0)


def softmaxes(d):
    x = d.array(1, "f", same=True)
    if x.size == 0 or not np.isfinite(np.asarray(x.value, np.float64)).all():
        raise Rejected
    text = d.among("softmax({0})", "softmax({0}, axis=%s)", "log_softmax({0}, axis=%s)", "log_softmax({0})")
    d.add(text.replace("%s", d.axis(x)), x, terms=0)


def factored(d):
    """Factors are not unique: their products are."""
    n, m, stack = 1 + d.below(5), 1 + d.below(5), d.among((), (), (3,), (2, 2))
    dtype = d.among("float32", "float64", "complex128")
    a = d.input(value=(d.rng.integers(-2, 3, stack + (n, n)) + 4 * n * np.eye(n)).astype(dtype))
    w = d.input(value=(d.rng.integers(-3, 4, stack + (n, m)) + np.eye(n, m)).astype(dtype))
    b = d.input(value=d.rng.integers(-3, 4, stack + (n, 2)).astype(dtype))
    h = "({0} + conj(swapaxes({0}, -1, -2)))"
    text = d.among("qr({1})[0] @ qr({1})[1]", "abs(eigh(%s)[0])" % h, "svd(%s)[1]" % h,
                   "conj(swapaxes(qr({0})[0], -1, -2)) @ qr({0})[0]", "eigvalsh(%s)" % h,
                   "cholesky(%s) @ conj(swapaxes(cholesky(%s), -1, -2))" % (h, h), "solve({0}, {2})",
                   "solve({0}, {2}[..., 0][..., None])", "inv({0})", "matrix_power({0} / 8, -2)", "lu_solve(lu_factor({0}), {2})",
                   "matvec({0}, {2}[..., 0])", "vecmat({2}[..., 1], {0})", "matmul({0}, {1})",
                   "matrix_power({0}, 0)", "trace(inv({0}))" if not stack else "inv({0})")
    d.add(text, a, w, b, terms=0)


def put_at(d):
    x = d.array(1, most=3)
    if x.size == 0 or x.kind == "b":
        raise Rejected
    n = x.shape[0]
    name = d.among("set", "add", "multiply", "minimum", "maximum")
    if x.kind == "c" and name in ("minimum", "maximum"):
        raise Rejected
    style = d.below(4)
    low = d.below(n)
    if style == 0:
        at, shape = str(d.below(n) - d.among(0, n)), x.shape[1:]
    elif style == 1:
        at, shape = "%d:" % low, (n - low,) + x.shape[1:]
    elif style == 2:
        at, shape = "::-2", ((n + 1) // 2,) + x.shape[1:]
    else:
        at, shape = "..., 0", x.shape[:-1]
    v = d.input(shape=shape if d.once_in(2) else shape[1:], dtype=str(x.dtype))
    d.add("{0}.at[%s].%s({1})" % (at, name), x, v, moves=name in ("set", "minimum", "maximum"), terms=2)


def lists_of_quantiles(d):
    x = d.array(1, "iuf", same=True)
    numbers = np.asarray(x.value, np.float64)
    if x.size == 0 or np.isinf(numbers).any() or x.dtype == np.float16:
        raise Rejected
    q = d.input(value=d.rng.random(d.shape(0, 2)))
    name = d.among("quantile", "nanquantile", "percentile")
    if name == "nanquantile" and (q.rank != 1 or np.isnan(numbers).all()):
        raise Rejected  # NumPy mixes up the axes of a matrix of quantiles
    probabilities = d.among("[0.25, 0.5, 1.0]", "{1}", "{1}", "{1}")
    method = d.among("linear", "lower", "hazen", "median_unbiased", "nearest", "averaged_inverted_cdf")
    if name == "percentile":
        probabilities = "(%s * 100.0)" % probabilities if "{" in probabilities else "[10, 100, 0.5]"
    d.add("%s({0}, %s, axis=%s, method='%s'%s)" % (name, probabilities, d.axis(x, none=True), method,
                                                 d.among("", ", keepdims=True")), x, q, terms=0)


def nonzeros(d):
    x = d.array(1, "biuf", same=True, most=1)
    d.add(d.among("{0}[~({0} > 0)]", "{0}[isnan({0}) | ({0} < 2)]", "compress({0}, {0})"), x,
          moves=True, jumps=True, counted=True)


def made_of_numbers(d):
    n = 1 + d.below(7)
    k = d.below(5) - 2
    x = d.array(1)
    text = d.among("eye(%d, None, %d)" % (n, k), "tri(%d, None, %d)" % (n, k), "eye(%d, dtype=int8)" % n,
                   "arange(%d, dtype='float32')" % n, "arange(%d, dtype=complex64)" % n, "tri(%d, dtype=bool)" % n,
                   "(-17) // 5 + %d" % n, "arange(%d) * 2**3 - 0x1f" % n, "identity(%d)[%d:]" % (n, n // 2))
    d.add(text, x, moves=True)


def nan_quantiles(d):
    x = d.array(1, "iuf", same=True)
    numbers = np.asarray(x.value, np.float64)
    if x.size == 0 or np.isinf(numbers).any():
        raise Rejected  # between infinities NumPy's methods give NaN or not
    over, keep = d.axis(x, none=True), d.among("", "", ", keepdims=True")
    if d.once_in(3):
        d.add("nanmedian({0}, axis=%s%s)" % (over, keep), x, terms=0)
        return
    if np.isnan(numbers).all() and x.kind == "f" and x.dtype.itemsize < 8 or x.dtype == np.float16:
        raise Rejected  # NumPy finds places in the dtype of the elements
    method = d.among("lower", "higher", "midpoint", "nearest", "linear", "hazen", "weibull", "median_unbiased",
                     "averaged_inverted_cdf", "inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
                     "normal_unbiased")
    q = d.among("0.0", "0.25", "0.5", "0.75", "1.0", "[0.25, 1.0]" if x.dtype == np.float64 else "0.5")
    d.add(d.among("nanquantile({0}, %s, axis=%s%s)" % (q, over, keep),
                  "nanquantile({0}, %s, axis=%s, method='%s'%s)" % (q, over, method, keep),
                  "nanpercentile({0}, %s, axis=%s, method='%s')" % (d.among("50", "25", "100"), over, method)), x,
          terms=0)


def histograms_of_points(d):
    n = 1 + d.below(20)
    axes = [d.input(value=d.rng.integers(-9, 10, n).astype(d.among("int8", "float32", "float64"))) for _ in range(1 + d.below(3))]
    edges = [d.input(value=np.sort(d.rng.integers(-9, 10, 2 + d.below(5))).astype("float64")) for _ in axes]
    points = ", ".join("{%d}" % k for k in range(len(axes)))
    bins = ", ".join("{%d}" % (k + len(axes)) for k in range(len(axes)))
    d.add("histogramdd([%s], [%s])" % (points, bins), *axes, *edges, moves=True, jumps=True, results=1 + len(axes))


def values_by_lists(d):
    x = d.array(1, most=3)
    if x.size == 0 or x.kind == "b":
        raise Rejected
    at = ", ".join(str(d.below(x.size) - d.among(0, x.size)) for _ in range(1 + d.below(4)))
    values = ", ".join(str(d.below(9)) for _ in range(1 + d.below(4)))
    d.add("put({0}, [%s], [%s])" % (at, values) if d.once_in(2) else "put({0}, [%s], %d)" % (at, d.below(9)), x,
          moves=True)


def placed_values(d):
    x = d.array(1, most=3)
    if x.size == 0 or x.kind == "b":
        raise Rejected
    m = d.input(shape=x.shape, dtype="bool")
    v = d.input(shape=(1 + d.below(9),), dtype=str(x.dtype))
    d.add(d.among("place({0}, {1}, {2})", "place({0}, {1}, {2}[::-1])", "place({0}, {1}, [1, 2, 3])",
                  "place({0}[::-1], {1}, {2})"), x, m, v, moves=True)


def distinct(d):
    x = d.array(1, same=True)
    asked = [name for name in ("return_index", "return_inverse", "return_counts") if d.once_in(2)]
    with np.errstate(all="ignore"):
        if np.isnan(np.asarray(x.value, complex)).any():
            asked = ["return_index"] + [name for name in asked if name != "return_index"]  # NumPy's sort is stable then
    lying = d.among("{0}", "{0}", "{0}[::-1]", "swapaxes({0}, 0, -1)")
    over = ", axis=%s" % d.axis(x, none=True) if d.once_in(2) else ""
    if over and x.dtype == np.float16 and np.isnan(x.value).any():
        raise Rejected  # NumPy orders NaN of float16 before numbers here, and nowhere else
    text = "unique(%s%s%s)" % (lying, "".join(", %s=True" % name for name in asked), over)
    d.add(text, x, moves=True, jumps=True, counted=True, results=1 + len(asked) if asked else 0)


def repeated_rows(d):
    """Rows of which some are equal."""
    x = d.input(value=d.rng.integers(0, 3, (1 + d.below(40), 1 + d.below(3))).astype(d.among("int8", "float32", "bool")))
    k = d.among(0, -2, 1)
    d.add("unique({0}, axis=%d, return_index=True, return_inverse=True, return_counts=True)" % k, x, moves=True,
          jumps=True, counted=True, results=4)


def searched_complex(d):
    x = d.array(1, "c", same=True, most=1)
    v = d.array(0, "biufc", same=True)
    side = d.among("", ", side='right'")
    d.add(d.among("searchsorted(sort({0}), {1}%s)", "searchsorted({0}, {1}%s, sorter=argsort({0}))") % side, x, v,
          jumps=True)


def columns(d):
    x = d.array(1, most=2)
    others = [x] + [d.input(shape=x.shape[:1] + d.among((), (2,), (1,)), dtype=str(x.dtype)) for _ in range(d.below(3))]
    if x.rank == 2:
        others = [x] + [y for y in others[1:]]
    d.add("column_stack([%s])" % ", ".join("{%d}" % k for k in range(len(others))), *others, moves=True)


def compared_near(d):
    x = d.array(0, "iufc", same=True)
    y = d.matching(x, dtype=str(x.dtype)) if d.once_in(2) else d.input(value=np.asarray(x.value) * (1 + 1e-7))
    if y.kind not in "iufc":
        raise Rejected
    d.add(d.among("isclose({0}, {1})", "isclose({0}, {1}, rtol=1e-3)", "isclose({0}, {1}, equal_nan=True)",
                  "allclose({0}, {1})", "allclose({0}, {1}, atol=0.5, equal_nan=True)", "isclose({0}, {1}, 0.25, 1)"),
          x, y, jumps=True)


def cleaned(d):
    x = d.array(1, "biuf", same=True)
    d.add(d.among("nan_to_num({0})", "nan_to_num({0}, nan=2)", "nan_to_num({0}, nan=1.5, posinf=9)",
                  "nan_to_num({0}, neginf=-7)", "nan_to_num({0}, True, 0.5, 3, -4)") if x.kind == "f" else "nan_to_num({0})",
          x, moves=True)


def running_without_nan(d):
    x = d.array(1, "iuf", same=True)
    axis = d.axis(x, none=True)
    if x.kind != "f":
        d.add("nancumsum({0}, axis=%s)" % axis, x)
    else:
        d.add("nancumsum({0}, axis=%s)" % axis, x, terms=x.size + 1)


def covered(d):
    x = d.array(1, "iuf", same=True, most=2)
    if x.size == 0 or x.shape[-1] < 2 or not (np.abs(np.asarray(x.value, np.float64)) < 100).all():
        raise Rejected
    texts = ["cov({0})", "cov({0}, bias=True)", "cov({0}, ddof=0)", "{0}.flatten()", "{0}.copy()"]
    texts += ["cov({0}, rowvar=False)"] if x.rank == 2 and x.shape[0] > 1 else []
    texts += ["vdot({0}, {0})", "trapezoid({0})", "trapezoid({0}, dx=0.5)", "trapezoid({0}, axis=0)",
              "trapezoid({0}, arange(%d) * 0.5)" % x.shape[-1]] if x.kind == "f" else []
    d.add(d.among(*texts), x, terms=4 * x.size)


def interpolated(d):
    n = 1 + d.below(6)
    xp = d.input(value=np.cumsum(d.rng.integers(1, 9, n)) / 4.0)
    fp = d.input(shape=(n,), dtype="float64")
    x = d.array(0, "iuf", same=True)
    if not np.isfinite(np.asarray(fp.value)).all():
        raise Rejected
    d.add("interp({0}, {1}, {2})", x, xp, fp, terms=0)


def several(d, x):
    """Some axes as a tuple, counted from one end."""
    from_end = x.rank * d.below(2)
    axes = [int(a) - from_end for a in d.rng.permutation(x.rank)[:1 + d.below(x.rank)]]
    return "(" + "".join("%d, " % a for a in axes) + ")"


def ranked_over_axes(d):
    """Medians and quantiles along several axes."""
    x = d.array(2, "iuf", same=True)
    numbers = np.asarray(x.value, np.float64)
    if x.size == 0 or np.isinf(numbers).any() or x.dtype == np.float16:
        raise Rejected
    over, keep = several(d, x), d.among("", ", keepdims=True")
    names = ["median({0}, axis=%s%s)", "nanmedian({0}, axis=%s%s)"]
    if x.dtype == np.float64 and not np.isnan(numbers).any():
        names += ["quantile({0}, 0.25, axis=%s%s)", "quantile({0}, [0.5, 0.75], %s%s)", "nanquantile({0}, [0.25, 1.0], axis=%s%s)",
                  "percentile({0}, 25, %s, method='lower'%s)"]
    d.add(d.among(*names) % (over, keep), x, terms=0)


def reduced_where(d):
    """Reductions of the elements where a mask is true, that begin with a value, or of fewer degrees of freedom."""
    x = d.array(1, "iuf", same=True)
    if x.size == 0 or not np.isfinite(np.asarray(x.value, np.float64)).all() or x.dtype == np.float16:
        raise Rejected
    over = d.among("", ", axis=%s" % d.axis(x), ", axis=" + several(d, x)) + d.among("", ", keepdims=True")
    m = d.matching(x, dtype="bool")
    text = d.among("sum({0}%s, where={1})", "any({0}%s, where={1})", "all({0} > 0%s, where={1})", "sum({0}%s, initial=2)",
                   "max({0}%s, where={1}, initial=3)", "min({0}%s, initial=3)", "sum({0}%s, where={1}, initial=3)",
                   "mean({0}%s, where={1})", "var({0}%s, ddof=1)", "std({0}%s, ddof=1)", "var({0}%s, where={1})")
    if m.kind != "b":
        raise Rejected
    exact = text.startswith(("any", "all", "max", "min"))
    found = d.add(text % over, x, m, moves=exact, jumps=exact, terms=x.size + 1 if text.startswith("sum") else 0)
    if not np.isfinite(np.asarray(found.value, np.float64)).all():
        d.parts.remove(found)
        raise Rejected  # of no element, or of one


def by_names(d):
    x = d.array(2, most=3)
    axis, n = d.below(x.rank), 1 + d.below(3)
    texts = ["roll({0}, shift=%d)" % n, "roll({0}, axis=%d, shift=-%d)" % (axis, n), "repeat({0}, repeats=%d)" % n,
             "repeat({0}, axis=%d, repeats=%d)" % (axis, n), "tile({0}, reps=%d)" % n, "tril({0}, k=%d)" % (n - 2),
             "pad({0}, mode='constant', pad_width=%d)" % n, "pad({0}, pad_width=(%d, 0), constant_values=1)" % n,
             "diagonal({0}, axis1=1, axis2=0)", "diagonal({0}, offset=1)", "rot90({0}, k=%d)" % n,
             "rot90({0}, axes=(1, 0))", "moveaxis({0}, source=0, destination=-1)", "swapaxes({0}, axis1=0, axis2=-1)",
             "{0}.repeat(repeats=%d, axis=%d)" % (n, axis),
             "pad({0}, (%s), mode='%s')" % (", ".join("(%d, %d)" % (d.below(3), d.below(3)) for _ in x.shape),
                                            d.among("edge", "constant") if x.size else "constant")]
    if x.shape[axis]:
        at = d.below(x.shape[axis])
        texts += ["delete({0}, obj=%d, axis=%d)" % (at, axis), "insert({0}, axis=%d, obj=%d, values=1)" % (axis, at)]
    d.add(d.among(*texts), x, moves=True)


def compressed(d):
    x = d.array(1, most=3)
    axis = d.below(x.rank)
    mask = d.input(value=d.rng.integers(0, 2, x.shape[axis]).astype(d.among("bool", "int64")))
    d.add("compress({1}, {0}, axis=%d)" % (axis - d.among(0, x.rank)), x, mask, moves=True, jumps=True, counted=True)


def long_lists(d):
    """Lists of more numbers than the text of a kernel holds."""
    x = d.array(1, "iuf", same=True, most=2)
    n = 65 + d.below(100)
    if x.size == 0 or not np.isfinite(np.asarray(x.value, np.float64)).all():
        raise Rejected
    whole = ", ".join(str(d.below(200) - 100) for _ in range(n))
    places = ", ".join(str(d.below(x.size) - d.among(0, x.size)) for _ in range(n))
    rising = ", ".join(map(str, np.cumsum(d.rng.integers(1, 9, n)) / 4.0 - 20))
    text = d.among("isin({0}, [%s])" % whole, "searchsorted([%s], {0})" % rising, "take({0}, [%s])" % places,
                   "union1d([%s], [1])[:3]" % whole, "cumsum([%s], axis=0)" % rising, "multiply([%s], 2)" % whole)
    d.add(text, x, moves=True, jumps=True, counted=text.startswith("union"))


def padded_sides(d):
    """pad() with constants, ends, lengths of their own for each side, and with odd reflections."""
    x = d.array(1, "iuf", same=True, most=3)
    if x.size == 0 or not (np.abs(np.asarray(x.value, np.float64)) < 1e3).all() or x.dtype == np.float16:
        raise Rejected

    def pairs(most, least=0):
        each = [(least + d.below(most), least + d.below(most)) for _ in x.shape]
        return d.among(str(each[0]), str(each[0]), "(%s,)" % ", ".join(map(str, each)))
    widths = d.among(pairs(4), str(d.below(4)), pairs(9))
    text, same = d.among(("constant_values=%s" % pairs(9), True), ("mode='linear_ramp', end_values=%s" % pairs(9), False),
                         ("mode='%s', stat_length=%s" % (d.among("maximum", "minimum"), pairs(4, 1)), True),
                         ("mode='mean', stat_length=%s" % pairs(4, 1), False),
                         ("mode='%s', reflect_type='odd'" % d.among("reflect", "symmetric"), False))
    if not same and x.kind in "iu" and not text.endswith("'odd'"):
        raise Rejected  # values beside a half are rounded
    d.add("pad({0}, %s, %s)" % (widths, text), x, moves=same, jumps=text.endswith("'odd'") and x.kind in "iu", terms=0)


def slopes(d):
    """gradient() along one axis or two, at distances and at places, with ends of both orders."""
    x = d.array(1, "iufc", same=True, most=3)
    if not np.isfinite(np.asarray(x.value)).all() or x.dtype == np.float16 or np.abs(np.asarray(x.value, complex)).max(initial=0) > 1e4:
        raise Rejected
    axis = d.below(x.rank)
    places = d.input(value=np.cumsum(d.rng.integers(1, 4, x.shape[axis])) * 0.5)
    texts = ["gradient({0}, {1}, axis=%d)" % axis, "gradient({0}, {1}, edge_order=2, axis=%d)" % (axis - x.rank),
             "gradient({0}, 0.5, axis=%d, edge_order=2)" % axis]
    if x.rank == 2 and min(x.shape) > 2:
        texts += ["gradient({0}, axis=(1, 0))[0]", "gradient({0}, 2, axis=(0, 1), edge_order=2)[1]",
                  "gradient({0}, {1}, 3.0)[0]" if axis == 0 else "gradient({0}, 3, {1})[1]"]
    d.add(d.among(*texts), x, places, terms=0)


def differences_by_name(d):
    x = d.array(1, "iuf")
    d.add(d.among("diff({0}, n=2, axis=%s)" % d.axis(x), "diff({0}, axis=%s, n=1)" % d.axis(x)), x, terms=3)


WEIGHTS = {
    ranked_over_axes: 2, reduced_where: 4,
    long_lists: 1, padded_sides: 3, slopes: 3, by_names: 3, compressed: 2, differences_by_name: 1,
    compared_near: 2, cleaned: 2, running_without_nan: 1, covered: 2, interpolated: 1,
    nan_quantiles: 3, histograms_of_points: 2, values_by_lists: 2, placed_values: 2, columns: 2, distinct: 4, searched_complex: 1, repeated_rows: 2,
    named: 4, named_jumps: 3, pair: 5, complex_parts: 2, two_results: 2, views_of_views: 6, nan_reduced: 3,
    softmaxes: 2, factored: 3, put_at: 3, lists_of_quantiles: 3, nonzeros: 1, made_of_numbers: 1,
}
