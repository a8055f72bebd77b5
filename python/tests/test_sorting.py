"""Sorting, searching, distinct elements, and elements that index arrays and masks change, against NumPy's."""
import itertools
import unittest

import numpy as np

import kiln

rng = np.random.default_rng(11)
DTYPES = ("bool", "int8", "int64", "uint32", "float16", "float32", "float64", "complex64")


def some(shape, dtype="float64", below=9):
    return rng.integers(0, below, shape).astype(dtype)


class Sorting(unittest.TestCase):
    def same(self, got, want):
        want = np.asarray(want)
        self.assertIsInstance(got, kiln.ndarray)
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        np.testing.assert_array_equal(np.asarray(got), want)

    def test_orders(self):
        for dtype in DTYPES:
            x = some((5, 7), dtype)
            for axis in (0, 1, -1, None):
                self.same(kiln.sort(x, axis=axis), np.sort(x, axis=axis))
                self.same(kiln.argsort(x, axis=axis), np.argsort(x, axis=axis, kind="stable"))
        x = some((5, 7))
        self.same(kiln.sort(x, descending=True), -np.sort(-x))
        self.same(kiln.argsort(x, descending=True), np.argsort(-x, kind="stable"))
        self.same(kiln.asarray(x).argsort(0), np.argsort(x, 0, kind="stable"))
        a = kiln.array(x)
        a.sort(0)
        self.same(a, np.sort(x, 0))
        keys = some(50, below=3), some(50, "int32", below=3)
        self.same(kiln.lexsort(keys), np.lexsort(keys))
        values, places = kiln.topk(x, 3, axis=1)
        self.same(values, -np.sort(-x)[:, :3])
        self.same(places, np.argsort(-x, kind="stable")[:, :3])
        self.same(kiln.topk(x, 2, axis=0, largest=False).values, np.sort(x, 0)[:2])
        self.assertEqual(kiln.partition(x.ravel(), 9)[9].item(), np.sort(x, None)[9])
        with self.assertRaises(ValueError):
            kiln.topk(x, 8)
        with self.assertRaises(kiln.AxisError):
            kiln.sort(x, axis=2)

    def test_rules(self):
        x, y, z = some(300, "float32"), some(300, "int32"), some(300, "uint8")
        order = np.lexsort((-y, x))
        results = kiln.sort_by("float32 x, int32 y, T z", x, y, z,
                               less="a.x < b.x || (a.x == b.x && a.y > b.y)")
        for got, want in zip(results, (x[order], y[order], z[order], order)):
            self.same(got, want)
        order = np.argsort(-(x * y), kind="stable")
        self.same(kiln.sort_by("T x, U y", x, y, key="x * y", descending=True)[2], order)
        x, y = some((4, 30), "float32", below=5), some((4, 30), "int32")
        for axis in (-1, 0, None):
            order = np.argsort(-x, axis=axis, kind="stable")
            wanted = [np.take_along_axis(z, order, axis) for z in (x, y)] + [order]
            for got, want in zip(kiln.sort_by("T x, U y", x, y, less="a.x > b.x", axis=axis), wanted):
                self.same(got, want)
        self.same(kiln.sort_by("T x", x, key="-x")[1], np.argsort(-x, kind="stable"))
        with self.assertRaises(ValueError):
            kiln.sort_by("T x", x)
        with self.assertRaises(kiln.AxisError):
            kiln.sort_by("T x", x, key="x", axis=2)

    def test_statistics(self):
        x = rng.standard_normal((6, 9))
        for axis in (None, 0, -1):
            for keep in (False, True):
                self.same(kiln.median(x, axis=axis, keepdims=keep), np.median(x, axis=axis, keepdims=keep))
                got = kiln.quantile(x, [0.1, 0.6], axis, method="weibull", keepdims=keep)
                want = np.quantile(x, [0.1, 0.6], axis, method="weibull", keepdims=keep)
                np.testing.assert_allclose(np.asarray(got), want, rtol=1e-14)
                self.assertEqual(got.shape, want.shape)
        self.same(kiln.percentile(x, 50), np.percentile(x, 50))
        self.same(kiln.quantile(x, 0.3, 1, method="nearest"), np.quantile(x, 0.3, 1, method="nearest"))
        with self.assertRaises(ValueError):
            kiln.quantile(x, 0.3, method="best")

    def test_statistics_over_several_axes(self):
        x = rng.standard_normal((3, 4, 5, 2))
        holes = np.where(rng.random(x.shape) < 0.2, np.nan, x)
        for _ in range(4):
            axes = tuple(int(a) - 4 * int(rng.integers(2)) for a in rng.permutation(4)[:rng.integers(5)])
            keep, q = bool(rng.integers(2)), (0.25, [0.5, 1.0])[rng.integers(2)]
            for name, values, more in (("median", x, ()), ("quantile", x, (q,)), ("percentile", x, (30,)),
                                       ("nanmedian", holes, ()), ("nanquantile", holes, (q,)), ("nanpercentile", holes, (30,))):
                with self.subTest(name, axes=axes, keepdims=keep, q=q):
                    got = np.asarray(getattr(kiln, name)(values, *more, axis=axes, keepdims=keep))
                    want = getattr(np, name)(values, *more, axis=axes, keepdims=keep)
                    self.assertEqual(got.shape, want.shape)
                    np.testing.assert_allclose(got, want, rtol=1e-13)
        with self.assertRaises(kiln.AxisError):
            kiln.median(x, axis=(1, -3))

    def test_histograms_of_points(self):
        points, w = rng.integers(-9, 10, (3, 70)) / 2, rng.integers(-4, 9, 70) / 4
        points[0, 3] = np.nan
        edges = np.array([-2.0, 0, 0.5, 4])
        for bins in ([edges, edges[::2], edges[1:]], [3, edges, 2]):
            for weights, density in ((None, None), (w, None), (None, True), (w * w, True)):
                part = slice(1, None) if isinstance(bins[0], int) else slice(None)  # of NaN there is no range
                some_bins = bins if part.start is None else bins[1:]
                got = kiln.histogramdd(list(points[part]), some_bins, weights=weights, density=density)
                want = np.histogramdd(list(points[part]), some_bins, weights=weights, density=density)
                np.testing.assert_allclose(np.asarray(got[0]), want[0], rtol=1e-13)
                for one, other in zip(got[1], want[1], strict=True):
                    np.testing.assert_allclose(np.asarray(one), other, rtol=1e-13)
        x, y = points[1:]
        for bins in (4, edges, [edges, 3]):
            for more in ({"range": ((-3, 2), (0, 4))}, {"weights": w * w, "density": True}):
                for one, other in zip(kiln.histogram2d(x, y, bins, **more), np.histogram2d(x, y, bins, **more), strict=True):
                    np.testing.assert_allclose(np.asarray(one), other, rtol=1e-13)
        for points in (points[1:].T, points[1]):
            np.testing.assert_array_equal(np.asarray(kiln.histogramdd(points, 3)[0]), np.histogramdd(points, 3)[0])
        with self.assertRaisesRegex(ValueError, "weights of shape"):
            kiln.histogram2d(x, y, weights=w[:2])

    def test_weights_and_densities(self):
        r = np.random.default_rng(5)
        x, w = r.integers(0, 9, 60), r.integers(-4, 9, 60) / 4
        self.same(kiln.bincount(x, w), np.bincount(x, w))
        self.same(kiln.bincount(x, weights=w, minlength=12), np.bincount(x, weights=w, minlength=12))
        for bins, extent in (([0, 2, 3, 8], None), (4, (0, 8)), (8, None)):
            for got, want in zip(kiln.histogram(x, bins, extent, weights=w), np.histogram(x, bins, extent, weights=w)):
                self.same(got, want)
            got, want = kiln.histogram(x, bins, extent, density=True), np.histogram(x, bins, extent, density=True)
            np.testing.assert_allclose(np.asarray(got[0]), want[0], rtol=1e-14)
        with self.assertRaisesRegex(ValueError, r"weights of shape \(3,\) for elements of shape \(60,\)"):
            kiln.bincount(x, w[:3])

    def test_searches_and_counts(self):
        x, v = np.sort(some(40, "int32", 30)), some((3, 5), "int32", 35)
        for side in ("left", "right"):
            self.same(kiln.searchsorted(x, v, side=side), np.searchsorted(x, v, side))
        order = rng.permutation(40)
        back = np.argsort(order)
        self.same(kiln.searchsorted(x[order], v, sorter=back), np.searchsorted(x[order], v, sorter=back))
        self.same(kiln.isin(v, x), np.isin(v, x))
        self.same(kiln.isin(v, x, invert=True), ~np.isin(v, x))
        self.same(kiln.bincount(x, minlength=50), np.bincount(x, minlength=50))
        values = rng.standard_normal(1000)
        for bins, ends in ((10, None), (7, (-1, 2)), (np.array([-2, 0, 0.5, 4]), None)):
            counts, edges = kiln.histogram(values, bins, ends)
            wanted, at = np.histogram(values, bins, ends)
            self.same(counts, wanted)
            np.testing.assert_allclose(np.asarray(edges), at, rtol=1e-14)
        self.same(kiln.digitize(values, [-1, 0, 1], right=True), np.digitize(values, [-1, 0, 1], right=True))

    def test_distinct_elements(self):
        for dtype in DTYPES:
            x = some((6, 8), dtype, 5)
            self.same(kiln.unique(x), np.unique(x))
            for got, want in zip(kiln.unique_all(x), np.unique(x, True, True, True)):
                self.same(got, want)
        self.same(kiln.unique_counts(x).counts, np.unique(x, return_counts=True)[1])
        self.same(kiln.unique_inverse(x).inverse_indices, np.unique(x, return_inverse=True)[1])
        z = np.array([[3, -1, 2], [-5, 4, 0]], "float32")
        self.same(kiln.sort(z, axis=0, less="a > b"), -np.sort(-z, axis=0))
        self.same(kiln.argsort(z, key=abs(z)), np.argsort(abs(z), kind="stable"))
        self.same(kiln.sort(z, axis=None, key=-z), -np.sort(-z, axis=None))
        with self.assertRaisesRegex(ValueError, "not both"):
            kiln.sort(z, key=z, less="a < b")
        for axis in (0, 1, -1):
            y = np.array([[1, 0, 1], [0, 2, 0], [1, 0, 1], [0, 1, 0]], "int16")
            for got, want in zip(kiln.unique(y, True, True, True, axis=axis), np.unique(y, True, True, True, axis=axis),
                                 strict=True):
                self.same(got, want)
            self.same(kiln.unique(y, axis=axis), np.unique(y, axis=axis))
        with self.assertRaisesRegex(kiln.AxisError, "axis 2"):
            kiln.unique(y, axis=2)
        values, first = kiln.unique(x, return_index=True)
        self.same(first, np.unique(x, return_index=True)[1])

    def test_nan_of_the_array_api_are_distinct(self):
        for dtype, size in itertools.product(("float32", "complex64"), (0, 1, 2, 60)):
            x = rng.integers(0, 4, size).astype(dtype)
            x[rng.random(size) < 0.4] = np.nan
            x = x.reshape(-1, 6) if size == 60 else x
            want, got = np.unique_all(x), kiln.unique_all(x)
            self.same(got.values, want.values)
            self.same(got.counts, want.counts)
            values, indices, inverse = (np.asarray(a) for a in got[:3])
            np.testing.assert_array_equal(values[inverse], x)
            np.testing.assert_array_equal(x.ravel()[indices], values)
            self.assertEqual(sorted(indices), sorted(want.indices))
            self.same(kiln.unique_values(x), want.values)
            for other in (kiln.unique_counts(x), kiln.unique_inverse(x)):
                self.same(other.values, want.values)
            self.same(kiln.unique_counts(x).counts, want.counts)
            self.same(kiln.unique_inverse(x).inverse_indices, inverse)


class Indices(unittest.TestCase):
    same = Sorting.same

    def test_take(self):
        x, i = some((5, 6)), np.array([[3, 0], [-1, 3]])
        for axis in (None, 0, 1, -1):
            self.same(kiln.take(x, i, axis=axis), np.take(x, i, axis=axis))
            for dtype in ("int8", "uint64"):  # arrays of kiln's own
                own = kiln.asarray(x), kiln.asarray((i % 5).astype(dtype))
                self.same(kiln.take(*own, axis=axis), np.take(x, i % 5, axis=axis))
        for wrong in (kiln.asarray(x), kiln.asarray(x > 3)):
            with self.assertRaisesRegex(IndexError, "index arrays are of integers"):
                kiln.take(kiln.asarray(x), wrong)
        self.same(kiln.take(kiln.asarray(x), kiln.asarray(i[0, 1])), np.take(x, i[0, 1]))
        self.same(kiln.take(x, [7, -9], axis=0, mode="clip"), np.take(x, [7, -9], axis=0, mode="clip"))
        order = np.argsort(x, axis=1, kind="stable")
        self.same(kiln.take_along_axis(x, order, axis=1), np.take_along_axis(x, order, 1))
        with self.assertRaises(ValueError):
            kiln.take(x, i, mode="none")

    def test_kernels_take(self):
        w, i, x = some(7, "float32"), rng.integers(-7, 7, (4, 5)), some((4, 5), "float32")
        kernel = kiln.ElementwiseKernel("take T w by i2, I i2, T x", "T y", "y = w + 2 * x", "taken")
        np.testing.assert_array_equal(kernel(w, i, x), w[i] + 2 * x)

    def change(self, key, value, dtype="float32"):
        x = some((5, 6, 4), dtype)
        a = kiln.array(x)
        x[key] = value
        a[key] = value
        self.same(a, x)
        self.same(a[key], x[key])

    def test_index_arrays_assign(self):
        i, j = np.array([3, 0, -1]), [[1], [0]]
        for dtype in DTYPES:
            self.change(i, 1, dtype)
        self.change((i, slice(1, 3)), np.arange(8.0).reshape(2, 4))
        self.change((slice(None), i, j), some((5, 2, 3)))
        self.change((i, slice(None, None, -1), 2), 7.5)
        self.change((Ellipsis, [0, 2]), [5, 6])
        self.change((slice(None), None, i), 3)
        with self.assertRaises(IndexError):
            kiln.zeros(3)[[0.5]] = 1
        with self.assertRaises(ValueError):
            kiln.zeros(3)[i] = [1, 2]

    def test_masks_beside_other_subscripts(self):
        mask = some((5, 6), below=2) > 0
        self.change((mask, 1), 2)
        self.change((mask,), some((mask.sum(), 4)))
        self.change((slice(None), mask[0], slice(1, 3)), 4)
        self.change((mask[:, 0], 2), [1, 2, 3, 4])

    def test_lists_of_bools_are_masks(self):
        mask = [True, False, True, False, True]
        self.change(mask, 3)
        self.change((mask, 1), 2)
        self.change(some((5, 6), below=2).astype(bool).tolist(), 4)
        self.change([1, True], 5)  # numbers

    def test_masks_that_do_not_fit_are_refused(self):
        mask = np.array([True, False, True])
        for key in (mask, mask.tolist(), [[True]]):
            with self.assertRaisesRegex(IndexError, "a mask of shape"):
                kiln.zeros((5, 6))[key]
            with self.assertRaisesRegex(IndexError, "a mask of shape"):
                kiln.zeros((5, 6))[key] = 1
        for key in ((mask, 1), (0, mask), (Ellipsis, mask), (mask, None, 2), (slice(None), mask[None])):
            a = kiln.zeros((5, 6, 4))
            with self.assertRaisesRegex(IndexError, "mask"):
                a[key]
            with self.assertRaisesRegex(IndexError, "mask"):
                a[key] = 1
            self.same(a, np.zeros((5, 6, 4)))

    def test_each_value_counts(self):
        i = np.array([1, 3, 1, 1])
        for name in ("add", "multiply", "minimum", "maximum"):
            for fast in (False, True):
                x = some(5)
                a = kiln.array(x)
                getattr(np, name).at(x, i, [2, 3, 4, 5])
                getattr(kiln, name).at(a, i, [2, 3, 4, 5], fast=fast)
                self.same(a, x)
        x = some((5, 3))
        a = kiln.array(x)
        a[i] += 1
        x[i] += 1
        self.same(a, x)
        np.add.at(a, (i, 2), 1)
        np.add.at(x, (i, 2), 1)
        self.same(a, x)

    def test_put(self):
        x = some((4, 5))
        a, at = kiln.array(x), np.array([[0], [4], [2], [-1]])
        np.put(x, [3, 19, 3], [7, 8, 9])
        kiln.put(a, [3, 19, 3], [7, 8, 9])
        np.put(x, [33], 1, mode="wrap")
        kiln.put(a, [33], 1, mode="wrap")
        np.put_along_axis(x, at, -1, 1)
        kiln.put_along_axis(a, at, -1, 1)
        self.same(a, x)
        np.place(x, x > 3, [1, 2])
        kiln.place(a, a > 3, [1, 2])
        self.same(a, x)
        self.same(kiln.extract(x > 1, a), np.extract(x > 1, x))


if __name__ == "__main__":
    unittest.main()
