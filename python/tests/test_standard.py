"""The functions of the array API, running results and linear algebra, against NumPy's."""
import inspect
import unittest

import numpy as np

import kiln

try:
    import array_api_strict
except ImportError:
    array_api_strict = None

x = np.random.default_rng(7).standard_normal((3, 4, 5))
m = x[0, :, :4] + 4 * np.eye(4)
i = np.arange(12, dtype=np.int32).reshape(3, 4)
stack = np.stack([m, 2 * m + np.eye(4)])

#: What the standard has and kiln lacks.
ABSENT = {"fft": "no Fourier transforms"}
ABSENT_LINALG = {}


def ours(value):
    if isinstance(value, np.ndarray):
        return kiln.asarray(value, copy=True)
    if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
        return type(value)(map(ours, value))
    return value


class Cases(unittest.TestCase):
    def same(self, got, want, name):
        if isinstance(want, (list, tuple)) and not isinstance(got, np.ndarray):
            self.assertEqual(len(got), len(want), name)
            for g, w in zip(got, want):
                self.same(g, w, name)
            return
        want = np.asarray(want)
        self.assertIsInstance(got, kiln.ndarray, name)
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape), name)
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-10, atol=1e-11, err_msg=name)

    def check(self, name, *args, numpys=None, of=kiln, **keywords):
        want = (getattr(np.linalg if of is kiln.linalg else np, name) if numpys is None
                else numpys)(*args, **keywords)
        self.same(getattr(of, name)(*map(ours, args), **keywords), want, name)

    def test_shapes(self):
        for axis in (0, 1, -1, None):
            self.check("concat", [x, 2 * x], axis=axis)
        self.check("concat", [i, x[0, :3, :4]])
        for parts in ([i], [i[:0], i, i[:0]], [i[:, :0], i.T.copy().T, i[:, ::-2]], [x[0, k] for k in range(3)] * 30,
                      [i[:0], i[:0]], [i == 1, i == 2]):
            self.check("concat", parts, axis=-1 if parts[0].shape[-1:] == (0,) else 0)
        self.check("concat", [x[:, :k % 4] for k in range(8)], axis=1)
        self.check("concat", [x[:, ::-1]] * 12)
        self.check("concat", [i[k % 3:] if k % 2 else np.float32(k) * i for k in range(90)])
        large = np.arange(1 << 19).reshape(2, -1) % 100
        for count in (2, 8, 9):  # 1 MiB and more: up to eight arrays of one dtype are a step on a GPU
            self.check("concat", [(large + k).astype(np.int8) for k in range(count)], axis=1)
        self.check("stack", [i, i + 1, i * 2], axis=-1)
        self.check("unstack", x, axis=1)
        self.check("split", x, 2, axis=1)
        self.check("split", x, (1, 3, 9, -1), axis=2)
        self.check("array_split", x, 3, axis=1)
        for name, parts in (("hsplit", 2), ("hsplit", (1, 2)), ("vsplit", 3), ("dsplit", 5), ("dsplit", (0, -2))):
            self.check(name, x, parts)
        self.check("hsplit", x[0, 0], 5)
        self.assertRaisesRegex(ValueError, "5 elements along axis 2 cannot be split into 2", kiln.dsplit, ours(x), 2)
        self.assertRaisesRegex(ValueError, "2 or more axes, this one has 1", kiln.vsplit, ours(x[0, 0]), 1)
        for counts in (2, (2, 3), (2, 1, 1, 2), (0,)):
            self.check("tile", i, counts)
        for axis in (None, 0, 1):
            self.check("repeat", i, 3, axis=axis)
        self.check("repeat", i, np.array([2, 0, 1]), axis=0)
        large = np.arange(1 << 20, dtype=np.float32).reshape(2, -1)  # stored side by side by one kernel
        for a in (large, large[:, :40], large[:, :7]):
            for axis in (None, 0, 1):
                self.check("repeat", a, 3, axis=axis)
        np.testing.assert_array_equal(kiln.eval("repeat(x + 1, 2, axis=1) * 2", x=large),
                                      np.repeat(large + 1, 2, axis=1) * 2)
        for shift, axis in ((2, None), (-1, 0), ((1, 2), (0, 1)), (7, (0, 1)), (3, 1), ((1, 2, -9), (0, 1, 0))):
            self.check("roll", i, shift, axis=axis)
        for indexing in ("xy", "ij"):
            self.check("meshgrid", i[0], x[0, 0], i[:, 0], indexing=indexing)
        self.check("broadcast_arrays", i, i[0], i[:, :1])
        self.assertEqual(kiln.broadcast_shapes((3, 1), (4,), ()), (3, 4))
        for a in (kiln.zeros((3, 4)), np.zeros((3, 4)), [[0] * 4] * 3):
            self.assertEqual((kiln.shape(a), kiln.ndim(a), kiln.size(a), kiln.size(a, -1)), ((3, 4), 2, 12, 4))
        self.assertRaises(IndexError, lambda: kiln.size([1], 1))
        for k in (-2, 0, 1):
            self.check("tril", x, k=k)
            self.check("triu", i > 3, k=k)
        self.check("diff", x, axis=1, n=2)
        self.check("diff", i[0], prepend=np.array([5], np.int32), append=np.array([1], np.int32))
        self.check("isin", i, np.array([1, 5, 99], np.int32))
        self.check("isin", i, np.array([1, 5], np.int32), invert=True)

    def test_arguments_by_position(self):
        """What NumPy takes by position, the array API takes by name alone."""
        self.check("concat", [i, i + 1], 1)
        self.check("concatenate", [i, i + 1], None)
        self.check("stack", [i, i + 1], 1)
        self.check("repeat", x, 2, 1)
        self.check("roll", x, 2, 1)
        self.check("roll", x, (1, 2), (0, 2))
        self.check("diff", x, 2)
        self.check("diff", x, 1, 0)
        self.check("tensordot", m, m, 1)
        self.check("searchsorted", np.arange(5.0), np.arange(5.0), "right")

    def test_shapes_that_do_not_fit(self):
        a = ours(i)
        for bad in (lambda: kiln.concat([]), lambda: kiln.concat([a, a.T]), lambda: kiln.concat([a, a[0]]),
                    lambda: kiln.concat([a, a[:, :2]]), lambda: kiln.stack([a, a.T]),
                    lambda: kiln.broadcast_shapes((3,), (4,)), lambda: kiln.repeat(a, kiln.arange(2), axis=0),
                    lambda: kiln.tril(a[0, 0]), lambda: kiln.concat([a], axis=2),
                    lambda: kiln.meshgrid(a, indexing="zy"), lambda: kiln.roll(a, (1, 2, 3), axis=(0, 1))):
            with self.assertRaises(ValueError):
                bad()

    def test_clip(self):
        for limits in ({}, {"max": 5}, {"min": i[0], "max": np.array([[3], [5], [9]], np.int32)}):
            self.same(kiln.clip(ours(i), **{k: ours(v) for k, v in limits.items()}), np.clip(i, **limits), limits)
        a = ours(i)
        self.assertNotEqual(kiln.clip(a)._address, a._address)
        out = kiln.empty((3, 4), "int32")
        self.assertIs(kiln.clip(a, None, None, out), out)
        self.same(out, i, "clip")

    def test_counts_that_cannot_be(self):
        for bad in (lambda: kiln.repeat(ours(i), -1), lambda: kiln.repeat(ours(i[0]), np.array([1, -1, 0, 2])),
                    lambda: kiln.diff(ours(i), n=-1), lambda: ours(i).__array_namespace__(api_version="2019.1"),
                    lambda: kiln.linalg.vecdot(ours(x), ours(x[..., :1]))):
            with self.assertRaises(ValueError):
                bad()
        self.assertIs(ours(i).__array_namespace__(api_version="2024.12"), kiln)

    def test_running_results(self):
        for axis in (0, 1, -1, None):
            self.check("cumsum", i, axis=axis)
            self.check("cumprod", x, axis=axis)
        self.check("cumsum", i, axis=0, dtype=np.float32)
        self.same(kiln.cummax(ours(x), 1), np.maximum.accumulate(x, 1), "cummax")
        self.same(kiln.cummin(ours(x), 0), np.minimum.accumulate(x, 0), "cummin")
        for first in (False, True):
            self.check("cumulative_sum", x, axis=1, include_initial=first)
            self.check("cumulative_prod", i, axis=0, include_initial=first)
        self.check("cumulative_sum", x[0, 0])
        out = kiln.empty((3, 4), "int64", "cpu")
        self.assertIs(kiln.cumsum(ours(i), 0, out=out), out)
        np.testing.assert_array_equal(np.asarray(out), np.cumsum(i, 0))
        with self.assertRaises(ValueError):
            kiln.cumulative_sum(ours(i))

    def test_complex_numbers_have_an_order(self):
        z = np.round(2 * x) + 1j * np.round(2 * x[::-1])
        holes = np.where(np.abs(x) > 1.5, np.nan + 1j, z)
        for name in ("max", "min", "argmax", "argmin"):
            for axis in (None, 0, 1, -1):
                self.check(name, z, axis=axis)
                self.check(name, z.astype(np.complex64), axis=axis)
                self.check("nan" + name, holes, axis=axis, numpys=getattr(np, "nan" + name))
        self.same(kiln.cummax(ours(z), 1), np.maximum.accumulate(z, 1), "cummax")
        self.same(kiln.cummin(ours(z), 0), np.minimum.accumulate(z, 0), "cummin")
        self.assertEqual(kiln.eval("max(z) - min(z)", z=z), z.max() - z.min())
        total = kiln.fuse(lambda v: v.max(axis=0) * 2)(z)
        np.testing.assert_array_equal(total, z.max(axis=0) * 2)

    def test_spread(self):
        for correction in (0, 1, 0.5):
            for name in ("std", "var"):
                self.check(name, x, axis=(0, 2), correction=correction, keepdims=True)

    def test_dtypes(self):
        for name in ("float16", "float32", "float64", "complex64"):
            got, want = kiln.finfo(getattr(kiln, name)), np.finfo(name)
            self.assertEqual((got.bits, got.eps, got.max, got.min, got.smallest_normal),
                             (want.bits, want.eps, want.max, want.min, want.smallest_normal))
        for name in ("int8", "uint8", "int64", "uint64"):
            got, want = kiln.iinfo(name), np.iinfo(name)
            self.assertEqual((got.bits, got.max, got.min), (want.bits, want.max, want.min))
        names = ("bool", "int8", "int32", "uint8", "uint32", "int64", "float32", "float64", "complex64")
        for a in names:
            for b in names:
                self.assertEqual(kiln.result_type(getattr(kiln, a), ours(np.zeros(1, b))),
                                 np.result_type(a, b), (a, b))
            self.assertEqual(kiln.result_type(kiln.ones(2, a), 1.5), np.result_type(np.ones(2, a), 1.5))
        self.assertEqual((kiln.can_cast("int8", "int16"), kiln.can_cast("int16", "int8")), (True, False))
        self.assertTrue(kiln.isdtype(kiln.int8, ("bool", "integral")))
        self.assertFalse(kiln.isdtype(kiln.float32, "integral"))
        self.assertTrue(kiln.isdtype(kiln.bool, "bool"))
        for bad in (lambda: kiln.isdtype(kiln.int8, "odd"), lambda: kiln.finfo("int8"),
                    lambda: kiln.iinfo("float32"), kiln.result_type):
            with self.assertRaises(ValueError):
                bad()
        info = kiln.__array_namespace_info__()
        self.assertEqual(info.dtypes(kind="real floating"), {"float32": kiln.float32, "float64": kiln.float64})
        self.assertIn("cpu", info.devices())
        self.assertEqual(info.capabilities(), {"boolean indexing": True, "data-dependent shapes": True,
                                               "max dimensions": 32})
        self.assertEqual(kiln.zeros((1,) * 32).ndim, 32)
        with self.assertRaises(ValueError):
            kiln.zeros((1,) * 33)

    def test_products(self):
        for name, *args in (("matmul", x, x[0].T), ("matmul", x[0, 0], x[0].T), ("dot", x, x[0].T),
                            ("inner", i, i), ("outer", i[0], x[0, 0]), ("kron", i, i[:2]),
                            ("tensordot", x, x[0], ((1, 2), (0, 1))), ("vecdot", x, x[0, 0])):
            axes = {"axes": args.pop()} if name == "tensordot" else {}
            self.check(name, *args, **axes)
        self.check("vecdot", x * 1j + 1, x * (2 - 1j), axis=0)
        self.same(kiln.einsum("abc,bc->a", ours(x), ours(x[1])), np.einsum("abc,bc->a", x, x[1]), "einsum")
        a = ours(m)
        self.same(a @ a, m @ m, "@")
        self.same(m @ a, m @ m, "@")
        a @= a
        self.same(a, m @ m, "@=")
        self.same(kiln.linalg.multi_dot([ours(m)] * 3), np.linalg.multi_dot([m] * 3), "multi_dot")
        for n in (-2, 0, 3):
            self.check("matrix_power", m, n, of=kiln.linalg)
        self.check("cross", x[..., :3], x[0, 0, :3], of=kiln.linalg)
        for offset in (-1, 0, 2):
            self.check("diagonal", x, offset=offset, of=kiln.linalg)
            self.check("trace", i, offset=offset, of=kiln.linalg)

    def test_dtypes_of_products(self):
        for a, b in (("bool", "bool"), ("uint8", "uint8"), ("int16", "bool"), ("int16", "uint8"), ("int8", "float32")):
            self.check("vecdot", i.astype(a), i.astype(b), axis=0)
        for a in ("bool", "int8"):
            self.check("diagonal", i.astype(a), offset=1, of=kiln.linalg)
            self.check("trace", i.astype(a), of=kiln.linalg)

    def test_a_tolerance_for_each_matrix(self):
        q, _ = np.linalg.qr(x[0, :, :4] + 1j * x[1, :, :4])
        few = np.stack([(q * [1, 0.5, 1e-3, 1e-6]) @ np.conj(q.T)[:, :3] for _ in range(3)]).reshape(3, 1, 4, 3)
        for rtol in (np.array([[1e-1], [1e-4], [1e-9]]), np.float64(1e-4), np.full((), 1e-4), 1e-4):
            self.check("pinv", few, rtol=rtol, of=kiln.linalg)
            self.check("matrix_rank", few, rtol=rtol, of=kiln.linalg)
        single = few.real.astype(np.float32)
        self.check("matrix_rank", single, rtol=1e39, of=kiln.linalg)
        for order in (1e300, -1e300, 1e-300):
            with np.errstate(all="ignore"):
                self.same(kiln.linalg.vector_norm(ours(single[0, 0]), axis=0, ord=order),
                          np.linalg.vector_norm(single[0, 0], axis=0, ord=order), order)

    def test_equations_and_factors(self):
        for a in (m, stack, m + 1j * m.T):
            hermitian = a @ np.conj(np.swapaxes(a, -1, -2))
            for name in ("inv", "det", "slogdet", "pinv", "svdvals"):
                self.check(name, a, of=kiln.linalg)
            self.check("solve", a, a[..., :2] if a.ndim > 2 else x[0, :, 0], of=kiln.linalg)
            for name in ("cholesky", "eigvalsh"):
                self.check(name, hermitian, of=kiln.linalg)
            q, r = map(np.asarray, kiln.linalg.qr(ours(a)))
            np.testing.assert_allclose(q @ r, a, atol=1e-12)
            w, v = map(np.asarray, kiln.linalg.eigh(ours(hermitian)))
            np.testing.assert_allclose(hermitian @ v, v * w[..., None, :], atol=1e-9)
            w, v = map(np.asarray, kiln.linalg.eig(ours(a)))
            np.testing.assert_allclose(a @ v, v * w[..., None, :], atol=1e-9)
            np.testing.assert_allclose(np.sort_complex(np.asarray(kiln.linalg.eigvals(ours(a)))),
                                       np.sort_complex(np.linalg.eigvals(a)), rtol=1e-9, atol=1e-9)
            for symmetric in (hermitian, hermitian - 40 * np.eye(hermitian.shape[-1])):
                l, d, order = map(np.asarray, kiln.linalg.ldl(ours(symmetric)))
                np.testing.assert_allclose(l @ d @ np.conj(np.swapaxes(l, -1, -2)), symmetric, atol=1e-10)
                triangle = np.take_along_axis(l, order[..., None], -2)
                self.assertTrue((triangle == np.tril(triangle)).all())
            right = a[..., :2]
            np.testing.assert_allclose(
                a @ np.asarray(kiln.linalg.lu_solve(kiln.linalg.lu_factor(ours(a)), ours(right))), right, atol=1e-12)
            for part in (a, a[..., :2]):
                k = part.shape[-1]
                p, l, u = map(np.asarray, kiln.linalg.lu(ours(part)))
                mixed, _ = map(np.asarray, kiln.linalg.lu(ours(part), permute_l=True))
                np.testing.assert_allclose(p @ (l @ u), part, atol=1e-12)
                np.testing.assert_allclose(mixed, p @ l, atol=1e-15)
                self.assertTrue((u == np.triu(u)).all() and (l == np.tril(l)).all())
                q, r = map(np.asarray, kiln.linalg.qr(ours(part), mode="complete"))
                self.assertEqual(q.shape[-1], part.shape[-2])
                np.testing.assert_allclose(q @ r, part, atol=1e-12)
                for full in (True, False):
                    u, s, vh = map(np.asarray, kiln.linalg.svd(ours(part), full_matrices=full))
                    self.assertEqual(u.shape[-1], part.shape[-2] if full else k)
                    np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ vh, part, atol=1e-12)
        self.check("det", i[:, :3], of=kiln.linalg)
        self.same(kiln.linalg.lstsq(ours(x[0]), ours(m)), np.linalg.lstsq(x[0], m, rcond=None)[0], "lstsq")
        self.assertEqual(kiln.linalg.matrix_rank(ours(np.ones((4, 3)))).item(), 1)
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            self.same(kiln.linalg.matrix_norm(ours(stack), ord=order),
                      np.linalg.matrix_norm(stack, ord=order), order)
        for order in (0, 1, 2, 3, np.inf, -np.inf):
            self.same(kiln.linalg.vector_norm(ours(x), axis=1, ord=order),
                      np.linalg.vector_norm(x, axis=1, ord=order), order)

    def test_linear_algebra_that_cannot_be(self):
        a = ours(m)
        for bad, word in ((lambda: kiln.linalg.inv(ours(x)), "square"),
                          (lambda: kiln.linalg.inv(a * 0), "singular"),
                          (lambda: kiln.linalg.cholesky(-a), "positive"),
                          (lambda: a @ ours(x[:, :3]), "shape|match|extent|columns"),
                          (lambda: kiln.linalg.qr(a, mode="raw"), "reduced"),
                          (lambda: kiln.linalg.cross(a, a), "three"),
                          (lambda: kiln.linalg.matrix_norm(a, ord=7), "norm")):
            with self.assertRaisesRegex(ValueError, word):
                bad()
        with self.assertRaises(kiln.LinAlgError):
            kiln.linalg.solve(a * 0, a)
        with self.assertRaises(TypeError):
            a @ 2

    @unittest.skipIf(array_api_strict is None, "array-api-strict is not installed")
    def test_the_standards_names_and_arguments(self):
        """Every function of the standard is there with its arguments, or in the list of what is absent."""
        for theirs, namespace, absent in ((array_api_strict, kiln, ABSENT),
                                          (array_api_strict.linalg, kiln.linalg, ABSENT_LINALG)):
            names = getattr(theirs, "__all__", None) or \
                [n for n in dir(theirs) if getattr(getattr(theirs, n), "__module__", "").endswith("_linalg")
                 and inspect.isfunction(getattr(theirs, n))]
            for name in names:
                if "strict" in name.lower() or name in ("Device", "linalg") or name.startswith("_"):
                    continue
                self.assertEqual(hasattr(namespace, name), name not in absent, name)
                if name in absent or not inspect.isfunction(getattr(theirs, name)):
                    continue
                wanted = inspect.signature(getattr(theirs, name)).parameters.values()
                there = inspect.signature(getattr(namespace, name)).parameters
                if any(p.kind is p.VAR_POSITIONAL for p in there.values()):
                    continue
                for p in wanted:
                    if p.kind is not p.POSITIONAL_ONLY:
                        self.assertIn(p.name, there, name)


if __name__ == "__main__":
    unittest.main()
