"""Functions of expressions that take lists of arrays, give several, or read a word, against NumPy's."""
import os
import random
import time
import unittest

import numpy as np

import kiln

rng = np.random.default_rng(5)
DTYPES = ("bool", "int8", "uint32", "int64", "float16", "float32", "float64", "complex64")
draws = random.Random(os.environ.get("KILN_TEST_SEED"))


def drawn(cases):
    """A quarter of these dtypes or functions, by $KILN_TEST_SEED: each is a kernel. All of them with $KILN_TEST_ALL."""
    return cases if "KILN_TEST_ALL" in os.environ else draws.sample(cases, (len(cases) + 3) // 4)


def some(shape, dtype="float64", below=9):
    return rng.integers(0, below, shape).astype(dtype)


def odd(shape, dtype="float64"):
    """The same numbers as a view that runs backwards, with gaps."""
    return some(tuple(2 * n for n in shape), dtype)[tuple(slice(None, None, -2) for _ in shape)]


class Expressions(unittest.TestCase):
    def same(self, text, want, **inputs):
        got = kiln.eval(text, **inputs)
        got = got if isinstance(got, (tuple, list)) else (got,)
        want = want if isinstance(want, (tuple, list)) else (want,)
        self.assertEqual(len(got), len(want), text)
        for one, expected in zip(got, want):
            one, expected = np.asarray(one), np.asarray(expected)
            self.assertEqual((one.dtype, one.shape), (expected.dtype, expected.shape), text)
            np.testing.assert_allclose(one, expected, rtol=1e-3 if one.dtype == np.float16 else 1e-6,
                                       err_msg=text)

    def refused(self, error, says, text, **inputs):
        with self.assertRaisesRegex(error, says):
            np.asarray(kiln.eval(text, **inputs))

    def test_select(self):
        for dtype in drawn(DTYPES[1:]):
            x, y = odd((4, 6), dtype), odd((6,), dtype)
            self.same("select([x != 3, y != 0], [y, x])", np.select(
                [x != 3, np.broadcast_to(y != 0, x.shape)], [np.broadcast_to(y, x.shape), x]), x=x, y=y)
        x = some(10)
        self.same("select([x > 5, x > 2], [x, -x], 0.5)", np.select([x > 5, x > 2], [x, -x], 0.5), x=x)
        self.refused(TypeError, "1 choices for 2 conditions", "select([x > 5, x > 2], [x])", x=x)
        self.refused(TypeError, "condition 2 is not of bool", "select([x > 5, x], [x, x])", x=x)
        self.refused(ValueError, "a list of arrays is needed here", "select(x > 5, x)", x=x)

    def test_choose(self):
        for dtype in ("int8", "uint16", "int64"):
            i = odd((3, 4), dtype) % 3
            x, y = odd((4,), "float32"), odd((3, 1), "int16")
            i = i.astype(dtype)
            self.same("choose(i, [x, y, 7])", np.choose(i, [x, y, np.int16(7)]), i=i, x=x, y=y)
        i = np.arange(-4, 5)
        x = np.arange(9.)
        for mode in ("wrap", "clip"):
            self.same(f"choose(i, [x, -x], mode='{mode}')", np.choose(i, [x, -x], mode=mode), i=i, x=x)
        self.same("choose(x > 4, [x, -x])", np.choose(x > 4, [x, -x]), x=x)
        for i in (np.array([0, 2]), np.array([0, -1])):
            self.refused(IndexError, "index 2 .* out of range", "choose(i, [x[:2], 1])", i=i, x=x)
        self.refused(TypeError, "indices must be integers", "choose(x, [x, x])", x=x)

    def test_block(self):
        for dtype in drawn(DTYPES):
            a, b, c, d = odd((2, 3), dtype), odd((2, 1), dtype), odd((1, 2), dtype), odd((1, 2), dtype)
            self.same("block([[a, b], [c, d]])", np.block([[a, b], [c, d]]), a=a, b=b, c=c, d=d)
        x = some(4)
        self.same("block([x, x[:2] + 1])", np.block([x, x[:2] + 1]), x=x)
        self.same("block([[x], [x * 2]])", np.block([[x], [x * 2]]), x=x)
        self.same("block([[0, x], [x, 1]])", np.block([[0, x], [x, 1]]), x=x)
        self.refused(ValueError, "", "block([[x, x], [x]])", x=x)
        self.refused(ValueError, "a list is needed here", "block([[x], x])", x=x)
        self.refused(ValueError, "an array of arrays", "concatenate([[x], [x]])", x=x)

    def test_parts(self):
        x = odd((6, 9))
        for axis in (0, 1, -1):
            self.same(f"split(x, 3, axis={axis})", np.split(x, 3, axis=axis), x=x)
            for parts in (1, 2, 4, 11):
                self.same(f"array_split(x, {parts}, {axis})", np.array_split(x, parts, axis), x=x)
            self.same(f"split(x + 1, (1, 4, 4), axis={axis})", np.split(x + 1, (1, 4, 4), axis=axis), x=x)
        self.same("a, b = split(x, 2); a @ b.T", x[:3] @ x[3:].T, x=x)
        self.same("array_split(x[:0], 2)", np.array_split(x[:0], 2), x=x)
        self.refused(ValueError, "9 elements along axis 1 cannot be split into 2 equal parts", "split(x, 2, axis=1)", x=x)
        self.refused(kiln.AxisError, "axis 2", "split(x, 2, axis=2)", x=x)
        self.refused(ValueError, "1 to 64 parts", "split(x, 0)", x=x)

    def test_windows(self):
        view = np.lib.stride_tricks.sliding_window_view
        for dtype in drawn(DTYPES):
            x = odd((5, 7), dtype)
            self.same("sliding_window_view(x, 3)", view(x, 3, axis=-1), x=x)
            self.same("sliding_window_view(x, 5, axis=0)", view(x, 5, axis=0), x=x)
        self.same("mean(sliding_window_view(x, 2), axis=-1)", view(x, 2, -1).mean(-1), x=x)
        self.refused(ValueError, "a window of 8 elements along axis 1, which has 7", "sliding_window_view(x, 8)", x=x)
        self.refused(ValueError, "a window of 0 elements", "sliding_window_view(x, 0)", x=x)

    def test_functions_of_the_package(self):
        x, v, i, m = odd((3, 4), "float32"), odd((5,), "float64"), np.array([1, 0, 1, 1]), odd((3, 4), "float32") > 1
        window = np.lib.stride_tricks.sliding_window_view
        odd_one = np.where(m, np.nan, x)
        for name, args, keywords in (
                ("append", (x, x), {"axis": 0}), ("around", (x, 1), {}), ("atleast_1d", (2.5,), {}),
                ("atleast_2d", (v,), {}), ("atleast_3d", (x,), {}), ("average", (v,), {"weights": v * v}),
                ("average", (x,), {"axis": 0, "weights": [1, 2, 4]}), ("average", (x,), {"axis": 1, "weights": v[:4] ** 2 + 1}),
                ("block", ([[x, x], [x, x]],), {}), ("choose", (i, [x, -x]), {}), ("convolve", (v, [1, 2.5]), {}),
                ("column_stack", ([v, v],), {}), ("correlate", (v, v), {"mode": "same"}), ("cross", ([1, 2, 3], v[:3]), {}),
                ("delete", (x, [0, 2], 1), {}), ("diag", (v, -1), {}), ("diagflat", (x,), {}),
                ("diagonal", (x, 1), {}), ("dstack", ([x, x],), {}), ("ediff1d", (v,), {}), ("fliplr", (x,), {}),
                ("flipud", (x,), {}), ("geomspace", (1, 8, 4), {}), ("gradient", (v,), {}),
                ("hstack", ((x, x),), {}), ("identity", (3,), {}), ("indices", ((2, 3),), {}),
                ("insert", (x, 1, 7, 0), {}), ("intersect1d", (i, [3, 1]), {}), ("logspace", (0, 1, 3), {}),
                ("pad", (x, ((1, 2), (0, 3))), {"mode": "reflect"}),
                ("pad", (x, 2), {"constant_values": np.int64(5)}),
                ("nanmedian", (odd_one,), {}), ("nanmedian", (odd_one,), {"axis": 1, "keepdims": True}),
                ("nanquantile", (odd_one, 0.25, 0), {}), ("nanquantile", (v, [0.5, 0.75]), {"method": "hazen"}),
                ("nanpercentile", (odd_one,), {"q": 30, "axis": -1}),
                ("sum", (x,), {"axis": 0, "where": m}), ("max", (x,), {"axis": (0, 1), "where": m, "initial": 0}),
                ("mean", (x,), {"axis": 1, "keepdims": True, "where": ~m}), ("var", (v,), {"ddof": 1}), ("sum", (v,), {"initial": 2}),
                ("std", (v,), {"ddof": 1, "where": v > -9}), ("round", (v / 3, 2), {}), ("transpose", (x, (1, 0)), {}),
                ("interp", ([0.5, 3], [0, 1, 2], [2, 3, 5.0]), {}), ("trapezoid", (v,), {}), ("nan_to_num", (odd_one,), {}),
                ("nancumsum", (odd_one,), {"axis": 1}), ("cov", (x,), {}), ("isclose", (x, x + 1e-9), {}), ("vdot", (v, v), {}),
                ("fix", (x,), {}), ("copy", (x,), {}), ("matvec", (x, v[:4]), {}), ("vecmat", (v[:3], x), {}), ("trace", (x,), {}), ("trace", (x, 1), {"dtype": "float64"}), ("trace", (np.stack([x, x]), -1, 2, 1), {}),
                ("block", ([[[x, x], [x, x]], [[x, x], [x, x]]],), {}),
                ("block", ([[[i], [i]], [[i], [i]]],), {}), ("block", (x,), {}),
                ("ptp", (x,), {"axis": 0}), ("ravel", (x,), {}), ("pad", (x, (1, 2)), {"mode": "edge"}), ("rot90", (x,), {"k": 3}),
                ("diag", (x,), {"k": 1}), ("diagonal", (x,), {"offset": -1}),
                ("select", ([m, ~m], [x, 2 * x], 0), {}), ("setdiff1d", (v, v[:2]), {}),
                ("setxor1d", (v, v[1:] + 9), {}), ("swapaxes", (x, 0, 1), {}), ("tri", (3,), {"k": 1}),
                ("union1d", (v, v + 1), {}), ("vstack", ([x, x],), {})):
            with self.subTest(name=name):
                want = getattr(np, name)(*args, **keywords)
                got = np.asarray(getattr(kiln, name)(*args, **keywords))
                self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
                np.testing.assert_allclose(got, want, rtol=1e-6)
        np.testing.assert_array_equal(kiln.sliding_window_view(x, 3, axis=1), window(x, 3, axis=1))
        counts, *edges = kiln.histogram2d(v, v, 3)
        want, *others = np.histogram2d(v, v, 3)
        np.testing.assert_array_equal(counts, want)
        np.testing.assert_allclose(edges, others)
        counts, edges = kiln.histogramdd([v, -v, i[[0, 1, 2, 3, 0]]], bins=[2, np.array([-9, 0, 9.0]), 3])
        want, others = np.histogramdd([v, -v, i[[0, 1, 2, 3, 0]]], bins=[2, np.array([-9, 0, 9.0]), 3])
        np.testing.assert_array_equal(counts, want)
        for edge, other in zip(edges, others, strict=True):
            np.testing.assert_allclose(edge, other)
        for p in (None, 2, "fro", -1):
            np.testing.assert_allclose(kiln.linalg.cond(np.tri(3), p), np.linalg.cond(np.tri(3), p), rtol=1e-6)
        turned = kiln.linalg.expm([[0, -np.pi / 3], [np.pi / 3, 0]])
        np.testing.assert_allclose(turned, [[0.5, -0.75 ** 0.5], [0.75 ** 0.5, 0.5]], rtol=1e-14)
        copied = kiln.copy(own := kiln.asarray(x))
        copied[0] = 7
        np.testing.assert_array_equal(own, x)
        np.testing.assert_array_equal(kiln.in1d(x, [1, 2]), np.isin(x, [1, 2]).ravel())
        with self.assertRaisesRegex(ValueError, "2 is not between 0 and 1"):
            kiln.nanquantile(v, 2)
        np.testing.assert_allclose(np.sum(kiln.softmax(x, axis=1), axis=1), np.ones(3), rtol=1e-6)
        np.testing.assert_allclose(kiln.log_softmax(x), np.log(kiln.softmax(x)), rtol=1e-5)
        with self.assertRaisesRegex(ValueError, "mode"):
            kiln.pad(x, 1, mode="odd")
        with self.assertRaisesRegex(ValueError, "no word"):
            kiln.pad(x, 1, mode="edge', mode='wrap")

    def test_functions_stand_where_numpy_has_them(self):
        def knows(name):
            with self.assertRaises((ValueError, TypeError)) as caught:
                kiln.eval(f"{name}()")
            return "there is no function" not in str(caught.exception)
        for theirs, ours in ((np, kiln), (np.linalg, kiln.linalg)):
            names = [n for n in dir(theirs) if n[0] != "_" and callable(getattr(theirs, n)) and
                     not isinstance(getattr(theirs, n), type)]
            known = [n for n in names if knows(n)]
            self.assertGreater(len(known), 10)
            self.assertEqual([n for n in known if not hasattr(ours, n)], [])

    def test_random_numbers(self):
        random = kiln.random
        self.same("uniform(k, (2, 3))", np.asarray(random.uniform(42, (2, 3))), k=42)
        self.same("normal(k, 4, 10, 2, dtype=float32)", np.asarray(random.normal(7, 4, 10, 2, dtype="float32")), k=7)
        np.testing.assert_array_equal(np.sort(random.permutation(1, 6)), np.arange(6))
        np.testing.assert_array_equal(np.sort(random.shuffle(4, [3, 1, 2])), [1, 2, 3])
        self.assertEqual(len(set(np.asarray(random.choice(3, 10, 10, replace=False)).tolist())), 10)
        numbers = np.asarray(random.integers(5, 1000, 3, 9))
        self.assertEqual((numbers.min(), numbers.max(), numbers.dtype), (3, 8, np.int64))
        vectors = np.asarray(random.multivariate_normal(5, [0, 100], [[1, 0], [0, 1.0]], 20))
        self.assertEqual(vectors.shape, (20, 2))
        self.assertTrue((abs(vectors - [0, 100]) < 10).all())
        for name, args in drawn((("random", ()), ("standard_normal", ()), ("standard_exponential", ()), ("exponential", (2.0,)),
                                 ("standard_gamma", (2.0,)), ("gamma", (2.0, 3.0)), ("poisson", (4.0,)), ("binomial", (9, 0.5)),
                                 ("random_bits", ()), ("bernoulli", (0.5,)))):
            self.same(f"{name}(k, 5{''.join(f', {a}' for a in args)})", np.asarray(getattr(random, name)(1, 5, *args)), k=1)
        self.assertEqual(random.random(1, ()).shape, ())
        with self.assertRaisesRegex(kiln.RangeError, "bernoulli"):
            random.bernoulli(1, 3, 2.0)

    def test_numbers_of_draws_share_a_kernel(self):
        for n, (name, args) in enumerate((
                ("uniform", (2, 7.5)), ("normal", (-1, 3.0)), ("exponential", (4,)), ("gamma", (2.5,)), ("integers", (-3, 2**40)),
                ("bernoulli", (0.25,)), ("poisson", (3.5,)), ("binomial", (7, 0.25)), ("standard_gamma", (0.5,)))):
            draw = getattr(kiln.random, name)
            draw(1, 6, *(a + (1 if isinstance(a, int) else 0.125) for a in args))
            before = kiln._kiln.cache_counters(None)
            got = np.asarray(draw((2**63 + n, 9), (2, 3), *args))
            self.assertEqual(kiln._kiln.cache_counters(None), before, name)
            self.same(f"{name}((k, d), (2, 3), {', '.join(map(str, args))})", got, k=2**63 + n, d=9)
        for name, args, says in (("normal", (0, -1), "normal"), ("bernoulli", (1.5,), "bernoulli"), ("integers", (5, 5), "integers"),
                                 ("poisson", (-1,), "poisson"), ("binomial", (3, 2.0), "binomial")):
            with self.assertRaisesRegex(ValueError, says):
                getattr(kiln.random, name)(1, 3, *args)
        self.assertEqual(kiln.random.integers(3, (2, 2), 0, 9, dtype="int16").dtype, np.int16)
        with self.assertRaisesRegex(ValueError, "int8"):
            kiln.random.integers(3, 2, 0, 1000, dtype="int8")

    def test_nearness(self):
        x = some(5)
        for keywords in ({}, {"rtol": 1e-2}, {"atol": 0.5}, {"rtol": 0, "atol": 0.02}):
            self.assertEqual(np.asarray(kiln.isclose(x, x + 0.01, **keywords)).tolist(),
                             np.isclose(x, x + 0.01, **keywords).tolist())
            self.assertEqual(bool(kiln.allclose(x, x + 0.01, **keywords)), np.allclose(x, x + 0.01, **keywords))
        self.assertTrue(kiln.isclose(x, x + 0.01, 0, 0.02).all())

    def test_generators(self):
        g, first = kiln.random.default_rng(42), kiln.random.random(42, 5)
        np.testing.assert_array_equal(g.random(5), first)  # of stream 0, in the first draw
        second, state = np.asarray(g.random(5)), (g.seed, g.stream, g.draw)
        self.assertFalse((second == np.asarray(first)).any())
        self.assertEqual(state, (42, 0, 2))
        again = kiln.random.Generator(42)
        again.jump(1)
        np.testing.assert_array_equal(again.random(5), second)
        # As kiln_random_key() and kiln_random_split() of C have them (tests/test_random.c holds their function).
        self.assertEqual(kiln.random.Generator(5, 7).key, 7912022832289099968)
        self.assertEqual(kiln.random.Generator(5).split(3)[2].seed, 11991629154665149269)
        numbers = np.asarray(g.integers(2, 5, size=(50, 2), endpoint=True))
        self.assertEqual((numbers.min(), numbers.max(), numbers.shape), (2, 5, (50, 2)))
        self.assertEqual(g.normal([1, 2, 3], 0.5).shape, (3,))
        self.assertIsInstance(g.uniform(), float)
        x = kiln.arange(12).reshape(3, 4)
        g.shuffle(x, axis=1)
        np.testing.assert_array_equal(np.sort(x, axis=1), np.arange(12).reshape(3, 4))
        np.testing.assert_array_equal(np.sort(g.permutation(6)), np.arange(6))
        self.assertTrue(set(np.asarray(g.choice([10., 20.], (4, 5))).ravel().tolist()) <= {10.0, 20.0})
        before = g.draw
        for call in (lambda: g.random(-1), lambda: g.integers(5, 5), lambda: g.choice(3, 5, replace=False)):
            with self.assertRaises(ValueError):
                call()
        self.assertEqual(g.draw, before)

    def test_whole_arguments(self):
        """Of functions of NumPy's that the language knows a part of."""
        r = np.random.default_rng(2)
        x, v, t = r.normal(size=(3, 4)), r.normal(size=6), np.cumsum(r.uniform(1, 2, 6))
        k = kiln.asarray(x)
        for text in ("gradient(v)", "gradient(v, 2.0)", "gradient(v, t)", "gradient(v, t, edge_order=2)", "gradient(x)", "delete(v, [1, 1, -1])", "delete(v, v > 0)", "insert(v, [1, 1, 3], [7, 8, 9])", "insert(x, [0], [[1], [2], [3]], axis=1)", "pad(x, ((1, 2), (0, 3)), constant_values=((1, 2), (3, 4)))", "pad(v, 3, mode='reflect', reflect_type='odd')",
                     "compress([0, 1, 1], x, axis=1)", "diff(x, prepend=0, axis=0)", "tri(3, 4, -1, dtype=np.int8)"):
            want = eval(text, {"np": np, "x": x, "v": v, "t": t, **{n: getattr(np, n) for n in text.split("(")[:1]}})
            got = eval(text, {"np": np, "x": k, "v": kiln.asarray(v), "t": kiln.asarray(t),
                              **{n: getattr(kiln, n) for n in text.split("(")[:1]}})
            for one, other in ((got, want),) if isinstance(want, np.ndarray) else zip(got, want, strict=True):
                np.testing.assert_allclose(np.asarray(one), other, rtol=1e-12, err_msg=text)
                self.assertEqual(np.asarray(one).dtype, other.dtype, text)
        for error, what, call in ((ValueError, "places of shape", lambda: kiln.gradient(k, kiln.asarray(v), axis=0)),
                                  (TypeError, "2 distances for 1 axes", lambda: kiln.gradient(v, 1, 2)),
                                  (IndexError, "index 9 is out of range for axis 0", lambda: kiln.delete(kiln.asarray(v), [1, 9, True])),
                                  (IndexError, "not of float64", lambda: kiln.insert(kiln.asarray(v), [0.5], 1)),
                                  (ValueError, "pad_width is a number", lambda: kiln.pad(k, ((1, 2), (3, 4), (5, 6)))),
                                  (ValueError, "vector of conditions", lambda: kiln.compress(k > 0, kiln.asarray(v)))):
            with self.assertRaisesRegex(error, what):
                call()
        self.refused(ValueError, "does not broadcast", "gradient(v, t)", v=v, t=t[:4])

    def test_long_lists_have_one_kernel(self):
        def product(count):
            first = time.time_ns() % 10**6  # numbers that no earlier run can have left kernels of
            numbers = [0.25 * k - first for k in range(count)]
            got = kiln.eval(f"sum(multiply({numbers}, x))", x=np.ones(count))
            self.assertEqual(float(got), sum(numbers))
            return kiln.cache_counters("cpu")["misses"]
        self.assertEqual(product(100), product(77))
        with self.assertRaisesRegex(ValueError, "real numbers alone"):
            kiln.eval(f"sum([{'1, ' * 70}x])", x=1.0)

    def test_masks_of_eval(self):
        x = odd((3, 4), "float32")
        self.assertEqual(kiln.eval("sum(x[m])", x=x, m=x > 1), x[x > 1].sum())

    def test_shapes(self):
        x, y = odd((3, 1), "float32"), odd((4,), "int16")
        self.same("broadcast_arrays(x, y)", np.broadcast_arrays(x, y), x=x, y=y)
        x[0] = np.nan
        self.same("broadcast_arrays(x, y)", np.broadcast_arrays(x, y), x=x, y=y)
        self.refused(ValueError, "broadcast", "broadcast_arrays(x[:2, 0], y)", x=x, y=y)

    def test_diagonals(self):
        for dtype in drawn(DTYPES):
            x, v = odd((4, 6), dtype), odd((5,), dtype)
            for k in (0, 2, -3, 9, -9):
                self.same(f"diag(x, {k})", np.diag(x, k), x=x)
                self.same(f"diag(v, {k})", np.diag(v, k), v=v)
                self.same(f"diagflat(v, {k})", np.diagflat(v, k), v=v)
        x, v = odd((4, 6)), odd((5,))
        self.same("diag(v + 1) @ diag(v)", np.diag(v + 1) @ np.diag(v), v=v)
        self.refused(ValueError, "one or two axes", "diag(x[None])", x=x)

    def test_orders_and_counts(self):
        for dtype in ("int8", "uint32", "float32"):
            a, b = odd((60,), dtype), odd((60,), "int16")
            self.same("lexsort([a, b, a + b])", np.lexsort([a, b, a + b]), a=a, b=b)
        self.refused(ValueError, "that of key 2 is", "lexsort([a, b[:3]])", a=a, b=b)
        for dtype in ("bool", "uint8", "int64"):
            x = odd((8, 9), dtype)
            self.same("bincount(x, 12)", np.bincount(x.ravel().astype("int64"), minlength=12), x=x)
        self.same("bincount(x, length=3)", np.bincount(x[x < 3], minlength=3), x=x)

    def test_quantiles_where_functions_jump(self):
        hundredths = np.arange(0, 101, 5)
        for method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation"):
            for n in (10, 20, 25, 40):
                x = rng.permutation(n).astype("float32")
                self.same(f"percentile(x, p, method={method})", np.percentile(x, hundredths, method=method),
                          x=x, p=hundredths)
                for p in (10, 15, 35, 70):
                    self.same(f"percentile(x, {p}, method={method})", np.percentile(x, p, method=method), x=x)

    def test_quantiles(self):
        x = odd((5, 8), "float32") + 0.25
        for method in ("linear", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
                       "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
                       "normal_unbiased", "lower", "higher", "midpoint", "nearest"):
            self.same(f"quantile(x, 0.3, axis=1, method='{method}')",
                      np.quantile(x, 0.3, axis=1, method=method).astype("float32"), x=x)
            self.same(f"percentile(x, 70, method={method})",
                      np.percentile(x, 70, method=method).astype("float32"), x=x)
        self.refused(ValueError, "quantile has no method of this name", "quantile(x, 0.3, method='middle')", x=x)
        self.refused(ValueError, "takes no method", "sort(x, method='lower')", x=x)
        self.refused(ValueError, "takes no mode", "quantile(x, 0.3, mode='lower')", x=x)


if __name__ == "__main__":
    unittest.main()
