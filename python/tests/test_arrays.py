"""kiln.ndarray against NumPy: creation, views, operators, functions, the protocols."""
import array as packed
import itertools
import operator
import os
import pickle
import random
import unittest

import numpy as np

import kiln

NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128")


def both(*shape, dtype="float32", low=1, high=9):
    x = np.random.default_rng(3).integers(low, high, shape).astype(dtype)
    return kiln.array(x), x


class Creation(unittest.TestCase):
    def same(self, got, want):
        self.assertIsInstance(got, kiln.ndarray)
        self.assertEqual(got.dtype, want.dtype)
        self.assertEqual(got.shape, want.shape)
        np.testing.assert_array_equal(np.asarray(got), want)

    def test_of_constants(self):
        for name in NAMES:
            self.same(kiln.zeros((2, 3), name), np.zeros((2, 3), name))
            self.same(kiln.ones(4, name), np.ones(4, name))
            self.same(kiln.full((), 1, name), np.full((), 1, name))
            for shape in ((), (2, 1), (0,)):
                self.assertEqual(kiln.full(shape, 1, name).tolist(), np.full(shape, 1, name).tolist())
        self.same(kiln.full(2, 2**63 - 1), np.full(2, 2**63 - 1))
        self.same(kiln.ones_like(kiln.zeros((2, 1), "int8")), np.ones((2, 1), "int8"))
        self.same(kiln.eye(2, 4, 1), np.eye(2, 4, 1))
        for k in (2**70, -2**70):
            self.same(kiln.eye(2, 3, k, "bool"), np.zeros((2, 3), "bool"))

    def test_no_dtype_is_float64(self):
        for name, *given in (("zeros", 2), ("ones", (2, 1)), ("eye", 2), ("linspace", 0, 1, 3)):
            self.same(getattr(kiln, name)(*given, dtype=None), getattr(np, name)(*given, dtype=None))
        self.assertEqual(kiln.empty(2, dtype=None).dtype, np.float64)

    def test_filled_with_anything(self):
        inf, nan = float("inf"), float("nan")
        for value in (inf, -inf, nan, 2.0**70, True, 2**62, complex(nan, 1), complex(1, inf), -0.0,
                      np.float32(3), np.int8(-3), np.arange(3)):
            self.same(kiln.full((2, 3), value), np.full((2, 3), value))
            self.same(kiln.full((2, 3), value, "complex64"), np.full((2, 3), value, "complex64"))
        self.same(kiln.full_like(kiln.zeros(2, "int8"), fill_value=7), np.full_like(np.zeros(2, "int8"), 7))
        self.same(kiln.zeros_like(kiln.ones(2), "int8"), np.zeros_like(np.ones(2), "int8"))
        with self.assertRaises(OverflowError):
            kiln.full(2, 300, "uint8")

    def test_of_ranges(self):
        self.same(kiln.arange(5), np.arange(5))
        self.same(kiln.arange(1, 2, 0.25), np.arange(1, 2, 0.25))
        self.same(kiln.linspace(0, 3, 7), np.linspace(0, 3, 7))
        self.same(kiln.linspace(0, 3, 6, endpoint=False), np.linspace(0, 3, 6, endpoint=False))

    def test_of_lists(self):
        for value in ([1, 2], [[1.5], [2]], [True, False], 3, 2.5, [[[]]], [2**63], [1j, 2]):
            self.same(kiln.array(value), np.array(value))
        with self.assertRaisesRegex(ValueError, "different"):
            kiln.array([[1, 2], [3]])
        with self.assertRaisesRegex(ValueError, "different"):
            kiln.array([[1, 2], 3])

    def test_of_complex_numbers(self):
        parts = (0.0, -0.0, 1.5, float("inf"), -float("inf"), float("nan"))
        for value in [complex(a, b) for a in parts for b in parts] + [[1j, 2, True, -0.0]]:
            got, want = np.asarray(kiln.asarray(value)), np.asarray(value)
            np.testing.assert_array_equal(got, want)
            for part in ("real", "imag"):
                np.testing.assert_array_equal(np.signbit(getattr(got, part)), np.signbit(getattr(want, part)))
        x = kiln.zeros(2, "complex64")
        x[0] = complex(1, float("inf"))
        self.assertEqual(x[0].item(), complex(1, float("inf")))
        with self.assertRaises(TypeError):
            kiln.asarray([1j], dtype="float64")

    def test_of_arrays_and_scalars_in_lists(self):
        a = np.arange(3, dtype="int8")
        for value in ([a, a], [[a, a], [a, a]], [a[:1], a[:1]], [a[:0]], [a[0], 7], [[a[0], 7], [1, 2]],
                      (a, [1, 2, 3]), [a, [1.5, 2, 3]], np.int8(3), np.bool_(True), [np.uint64(2**63)],
                      [np.float16(1), np.float16(2)], np.complex64(1j), [np.float64(1), 2]):
            self.same(kiln.asarray(value), np.asarray(value))

            def ours(v):
                return [ours(w) for w in v] if isinstance(v, (list, tuple)) else \
                    kiln.asarray(v) if isinstance(v, np.ndarray) else v
            self.same(kiln.asarray(ours(value)), np.asarray(value))
        for bad in ([a, a[:2]], [a, 1]):
            with self.assertRaises(ValueError):
                kiln.asarray([kiln.asarray(v) for v in bad])

    def test_numbers_that_do_not_fit(self):
        nan, inf = float("nan"), float("inf")
        for value, dtype in ((300, "uint8"), ([1, -1], "uint64"), ([[2**31]], "int32"), (-129, "int8"), (2**63, "int64"),
                             ([True, 300], "int8"), ([300.5], "int8"), ([-1.5], "uint8"), ([1e300], "int64"),
                             ([1, inf], "int64"), ([nan], "int8")):
            wrong = ValueError if value == [nan] else OverflowError
            for library in (np, kiln):
                with self.assertRaises(wrong, msg=(value, dtype)):
                    library.asarray(value, dtype=dtype)
        for value, dtype in (([-0.5, 127.9, 2.5], "int8"), ([2.5, 2**62 + 1], "int64"), ([2**70, 1], "float64"),
                             ([2**70], "float32"), ([2**70], "complex128"), ([2**63, -1], None), ([300, 0], "bool"),
                             ([1e300], "float32")):
            with np.errstate(over="ignore"):
                self.same(kiln.asarray(value, dtype=dtype), np.asarray(value, dtype=dtype))

    def test_shares_memory_where_it_may(self):
        x = np.arange(6.0).reshape(2, 3)
        shared = kiln.asarray(x[:, ::-1])
        self.assertEqual(shared._address, x[:, ::-1].__array_interface__["data"][0])
        x[0, 0] = 9
        self.assertEqual(shared[0, 2].item(), 9)
        self.assertNotEqual(kiln.array(x)._address, x.__array_interface__["data"][0])
        self.assertEqual(kiln.asarray(packed.array("d", [1, 2])).tolist(), [1, 2])
        with self.assertRaises(ValueError):
            kiln.asarray(x, dtype="float32", copy=False)

    def test_dtypes_are_equal_to_numpys(self):
        for name in NAMES:
            self.assertEqual(getattr(kiln, name), np.dtype(name))
            self.assertEqual(kiln.empty(1, np.dtype(name)).dtype, name)
        self.assertEqual(kiln.float32, np.float32)
        self.assertNotEqual(kiln.float32, kiln.float64)
        self.assertEqual(pickle.loads(pickle.dumps(kiln.int8)), kiln.int8)
        with self.assertRaises(kiln.DtypeError):
            kiln.empty(1, "datetime64")


class Views(unittest.TestCase):
    def test_subscripts(self):
        a, x = both(4, 5, 6)
        for key in (0, -1, slice(1, 3), (slice(None), 2), (Ellipsis, 1), (None, 1), (1, 2, 3), (),
                    (slice(None, None, -2), slice(4, 1, -1), slice(1, None, 2))):
            self.assertEqual(a[key].tolist(), x[key].tolist())
        i, j = np.array([[3, 0], [-1, 1]]), np.array([2, 4], dtype="u1")
        for key in (i, [0, 1], (i, j), (slice(1, 3), j), (Ellipsis, kiln.asarray(j), 0), (None, i, 1)):
            native = tuple(np.asarray(k) if isinstance(k, kiln.ndarray) else k for k in key) \
                if isinstance(key, tuple) else key
            self.assertEqual(a[key].tolist(), x[native].tolist())
        for bad in (1.5, "x", [0.5]):
            with self.assertRaises(IndexError):
                a[bad]
        with self.assertRaises(IndexError):
            a[4]

    def test_one_bool_between_brackets(self):
        """It adds an axis of one element, or of none."""
        for shape in ((), (2, 3), (0,)):
            a, x = both(*shape)
            for key in (True, False, np.bool_(True), np.asarray(False), (True,)):
                own = kiln.asarray(key) if isinstance(key, np.ndarray) else key
                self.assertEqual((a[own].tolist(), a[own].shape), (x[key].tolist(), x[key].shape))
                for value in (7, x + 1, (x + 2)[None]):
                    a[own], x[key] = value, value
                    self.assertEqual(a.tolist(), x.tolist())

    def test_masks_without_elements(self):
        for shape, extents in (((3,), (0,)), ((2, 3), (0,)), ((2, 3), (0, 3)), ((2, 3), (2, 0)), ((2, 3), (0, 2)),
                               ((2, 3), (2, 1)), ((0, 3), (2,)), ((3,), (0, 3))):
            a, x = both(*shape)
            mask = np.zeros(extents, bool)
            try:
                want = x[mask]
            except IndexError:
                with self.assertRaises(IndexError):
                    a[kiln.asarray(mask)]
                continue
            got = a[kiln.asarray(mask)]
            self.assertEqual((got.shape, got.dtype), (want.shape, want.dtype))
            a[kiln.asarray(mask)] = 5
            self.assertEqual(a.tolist(), x.tolist())

    def test_write_through(self):
        a, x = both(4, 5)
        a[1:3, ::2] = 7
        x[1:3, ::2] = 7
        a[0] = kiln.arange(5)
        x[0] = np.arange(5)
        a[:, 1] = x[:, 1] * 2
        x[:, 1] = x[:, 1] * 2
        a[3, 3] += 100
        x[3, 3] += 100
        np.testing.assert_array_equal(np.asarray(a), x)

    def test_shapes(self):
        a, x = both(2, 3, 4)
        for got, want in ((a.T, x.T), (a.mT, x.swapaxes(1, 2)), (a.reshape(6, -1), x.reshape(6, 4)),
                          (a.transpose(1, 0, 2), x.transpose(1, 0, 2)), (a.ravel(), x.ravel()),
                          (kiln.flip(a, 1), np.flip(x, 1)), (kiln.flip(a), np.flip(x)),
                          (kiln.moveaxis(a, 0, -1), np.moveaxis(x, 0, -1)),
                          (kiln.expand_dims(a, -1), np.expand_dims(x, -1)),
                          (kiln.squeeze(a[:, :1], 1), x[:, 0]),
                          (kiln.broadcast_to(a, (5, 2, 3, 4)), np.broadcast_to(x, (5, 2, 3, 4)))):
            self.assertEqual(got.shape, want.shape)
            np.testing.assert_array_equal(np.asarray(got), want)
        with self.assertRaises(ValueError):
            a.T.reshape(-1, copy=False)
        with self.assertRaises(ValueError):
            a.reshape(5, 5)
        for axes in (0, -1, (0, 1), (-1, 0), ()):
            self.assertEqual(kiln.expand_dims(a, axes).shape, np.expand_dims(x, axes).shape)
        for bad in ((kiln.expand_dims, 9), (kiln.expand_dims, (0, 0)), (kiln.squeeze, 3), (kiln.squeeze, (0, -3)),
                    (kiln.flip, 3), (kiln.flip, (1, 1)), (kiln.moveaxis, 3, 0), (kiln.moveaxis, 0, -4),
                    (kiln.moveaxis, (0, 0), (0, 1)), (kiln.moveaxis, (0, 1), 0)):
            function, *given = bad
            with self.assertRaises(ValueError, msg=bad):
                getattr(np, function.__name__)(x[:1], *given)
            with self.assertRaises(ValueError, msg=bad):
                function(a[:1], *given)


class Operators(unittest.TestCase):
    def test_of_arrays_and_numbers(self):
        names = ("add sub mul truediv floordiv mod pow lt le eq ne gt ge").split()
        for name in names:
            f = getattr(operator, name)
            a, x = both(3, 4)
            b, y = both(4, low=1, high=4)
            for got, want in ((f(a, b), f(x, y)), (f(a, 2), f(x, 2)), (f(2, a), f(2, x)),
                              (f(a, 2.5), f(x, 2.5))):
                self.assertEqual(got.dtype, want.dtype, name)
                np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6, err_msg=name)
        for name in "and_ or_ xor lshift rshift".split():
            f = getattr(operator, name)
            (a, x), (b, y) = both(5, dtype="int32"), both(5, dtype="int32", high=5)
            np.testing.assert_array_equal(np.asarray(f(a, b)), f(x, y))

    def test_of_one_array(self):
        a, x = both(3)
        for f in (operator.neg, operator.pos, abs):
            np.testing.assert_array_equal(np.asarray(f(a)), f(x))
        i, n = both(3, dtype="int16")
        np.testing.assert_array_equal(np.asarray(~i), ~n)

    def test_in_place(self):
        a, x = both(3, 4)
        same = a
        a += 2
        a *= a
        x += 2
        x *= x
        self.assertIs(a, same)
        np.testing.assert_array_equal(np.asarray(a), x)
        with self.assertRaises(ValueError):
            a += kiln.ones((5, 3, 4), "float32")

    def test_become_numbers(self):
        self.assertEqual((int(kiln.array(3)), float(kiln.array([2.5])), complex(kiln.array(1j))),
                         (3, 2.5, 1j))
        self.assertEqual([10, 20, 30][kiln.array(1)], 20)
        for bad in (lambda: bool(kiln.ones(2)), lambda: int(kiln.ones(2)), lambda: len(kiln.ones(()))):
            with self.assertRaises((ValueError, TypeError)):
                bad()
        with self.assertRaises(TypeError):
            kiln.ones(2) + "text"


class Functions(unittest.TestCase):
    def test_are_numpys(self):
        a, x = both(5, dtype="float64")
        for name in ("sqrt", "exp", "log1p", "sin", "arctan", "tanh", "floor", "isfinite", "square"):
            np.testing.assert_allclose(np.asarray(getattr(kiln, name)(a)), getattr(np, name)(x),
                                       rtol=1e-14)
            np.testing.assert_allclose(getattr(kiln, name)(x), getattr(np, name)(x), rtol=1e-14)
        for name in ("hypot", "maximum", "arctan2", "logaddexp"):
            np.testing.assert_allclose(np.asarray(getattr(kiln, name)(a, 2)), getattr(np, name)(x, 2),
                                       rtol=1e-14)
        np.testing.assert_array_equal(np.asarray(kiln.where(a > 3, a, 0)), np.where(x > 3, x, 0))
        np.testing.assert_array_equal(np.asarray(kiln.clip(a, 2, None)), np.clip(x, 2, None))

    def test_reduce_over_no_axis(self):
        a, x = both(2, 3, dtype="uint8", low=0, high=3)
        for name in ("any", "all", "sum", "prod", "mean", "var", "max", "count_nonzero"):
            for keep in ({}, {"keepdims": True}):
                got, want = getattr(kiln, name)(a, axis=(), **keep), getattr(np, name)(x, axis=(), **keep)
                self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape), name)
                np.testing.assert_array_equal(np.asarray(got), want)
        np.testing.assert_array_equal(kiln.fuse(lambda v: kiln.sum(v, axis=()) + 1)(x), x.sum(axis=()) + 1)

    def test_reduce(self):
        a, x = both(3, 4, 5, dtype="int16")
        for name, axis, keep in itertools.product(("sum", "prod", "max", "argmin", "mean", "std",
                                                   "any"), (None, 0, -1), (False, True)):
            got = getattr(kiln, name)(a, axis=axis, keepdims=keep)
            want = getattr(np, name)(x, axis=axis, keepdims=keep)
            self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape), name)
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-14, err_msg=name)
        self.assertEqual(a.sum(axis=(0, 2)).tolist(), x.sum(axis=(0, 2)).tolist())
        self.assertEqual(kiln.sum(a, dtype="float32").dtype, "float32")

    def test_are_called_by_numpys(self):
        a, x = both(4)
        got = np.add(x, a)
        self.assertIsInstance(got, kiln.ndarray)
        np.testing.assert_array_equal(np.asarray(got), x + x)
        out = kiln.empty(4, "float32", "cpu")
        self.assertIs(np.sqrt(a, out=out), out)
        self.assertEqual(np.add.reduce(a).item(), x.sum())
        with self.assertRaises(TypeError):
            np.add.outer(a, a)


class Exchange(unittest.TestCase):
    def test_round_trips_share_memory(self):
        for name in NAMES:
            x = np.arange(6).astype(name).reshape(2, 3).T
            a = kiln.from_dlpack(x)
            np.testing.assert_array_equal(np.asarray(memoryview(a)), x)
            if name == "bool" and not hasattr(np, "exceptions"):
                continue  # NumPy before 1.25 takes no bool by DLPack
            y = np.from_dlpack(a)
            self.assertEqual((a._address, y.ctypes.data), (x.ctypes.data,) * 2)
            self.assertEqual((y.dtype, y.strides), (x.dtype, x.strides))
            np.testing.assert_array_equal(y, x)

    def test_keeps_what_it_shares_alive(self):
        import gc
        import weakref

        class Owner(np.ndarray):
            pass

        x = np.arange(5.0).view(Owner)
        gone = weakref.ref(x)
        a = kiln.asarray(x)
        v = a[1:]
        del x, a
        gc.collect()
        self.assertIsNotNone(gone())
        y = np.from_dlpack(v)
        del v
        gc.collect()
        self.assertIsNotNone(gone())
        np.testing.assert_array_equal(y, [1, 2, 3, 4])
        del y
        gc.collect()
        self.assertIsNone(gone())

    def test_capsules_are_used_once(self):
        a = kiln.arange(3)
        capsule = a.__dlpack__(max_version=(1, 0))
        b = kiln.from_dlpack(capsule)
        self.assertEqual(b._address, a._address)
        with self.assertRaisesRegex(kiln.ArgumentError, "was used"):
            kiln._kiln.from_dlpack(capsule)
        del a, b, capsule
        kiln.arange(3).__dlpack__()  # a capsule that nobody takes frees its tensor

    def test_deleters_are_called_from_any_thread(self):
        import threading
        import weakref

        class Owner(np.ndarray):
            pass

        x = np.arange(5.0).view(Owner)
        gone = weakref.ref(x)
        kept = [np.from_dlpack(kiln.asarray(x)), kiln.asarray(x)[1:], kiln.asarray(x).__dlpack__()]
        del x
        threads = [threading.Thread(target=kept.pop) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((kept, gone()), ([], None))

    def test_read_only_memory_stays_so(self):
        x = np.arange(3.0)
        x.flags.writeable = False
        a = kiln.asarray(x)
        with self.assertRaisesRegex(kiln.ArgumentError, "read-only"):
            a[0] = 1
        with self.assertRaises(BufferError):
            a.__dlpack__(copy=False)  # without a version, which could say that it is read-only
        self.assertFalse(np.asarray(a).flags.writeable)

    def test_what_cannot_be_shared_is_refused(self):
        a = kiln.arange(3, device="cpu")
        for keywords in ({"dl_device": (2, 0)}, {"dl_device": (4, 0)}):
            with self.assertRaises(BufferError):
                a.__dlpack__(**keywords)
        with self.assertRaises(TypeError):
            kiln.from_dlpack(object())
        with self.assertRaisesRegex(TypeError, "big-endian"):
            kiln.asarray(np.arange(3).astype(">i4"))

    def test_the_table_of_c_functions_is_offered(self):
        import ctypes
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        for name in ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"):
            table = get(getattr(kiln.ndarray, name), b"dlpack_exchange_api")
            self.assertEqual(list((ctypes.c_uint32 * 2).from_address(table)), [1, 3])



class Choosing(unittest.TestCase):
    def same(self, got, want):
        self.assertEqual(got.dtype, want.dtype)
        self.assertEqual(got.shape, want.shape)
        np.testing.assert_array_equal(np.asarray(got), want)

    def test_masks(self):
        names = NAMES  # each is six kernels
        if "KILN_TEST_ALL" not in os.environ:
            names = random.Random(os.environ.get("KILN_TEST_SEED")).sample(NAMES, 4)
        for name in names:
            a, x = both(4, 6, dtype=name, low=0, high=3)
            mask = x != 0
            self.same(a[a != 0], x[mask])
            self.same(a.T[kiln.asarray(mask).T], x.T[mask.T])
            self.same(a[mask], x[mask])
            a[mask] = 1
            x[mask] = 1
            self.same(a, x)
            a[~mask] = np.arange((~mask).sum()).astype(name)
            x[~mask] = np.arange((~mask).sum()).astype(name)
            self.same(a, x)
        with self.assertRaises(ValueError):
            a[mask] = [1, 2, 3]
        with self.assertRaises(IndexError):
            a[kiln.asarray([True, False])]
        a, x = both(4, 6)
        rows, all_but_one = [True, False, True, True], [[True] * 6] * 3 + [[False] + [True] * 5]
        for key in (rows, all_but_one, (rows, 1), (slice(None), [True, False] * 3)):
            self.same(a[key], x[key])
        for wrong in ([True, False], ([True, False], 1), [[True]], (slice(None), rows)):
            with self.assertRaisesRegex(IndexError, r"a mask of shape .* an array of shape \(4, 6\)"):
                a[wrong]
            with self.assertRaisesRegex(IndexError, "a mask of shape"):
                a[wrong] = 0
        for key in (rows, all_but_one, (rows, 1), np.array(rows)):
            a[key] = 5
            x[key] = 5
            self.same(a, x)

    def test_an_index_out_of_range_is_told(self):
        """Also where the index array goes before anybody waits for the result."""
        for made in (lambda: kiln.arange(6)[[7, 1]], lambda: kiln.arange(6)[kiln.from_dlpack(np.array([7, 1]))]):
            self.assertEqual(made().shape, (2,))
            with self.assertRaisesRegex(IndexError, "index 7 .* out of range for axis 0"):
                kiln.synchronize()
            kiln.synchronize()

    def test_an_index_out_of_range_is_told_to_those_who_read_the_memory(self):
        """On the cpu device nobody waits: memory is given away, and a zero would stand for the element."""
        ways = [np.asarray, memoryview, np.from_dlpack, lambda a: a.__array_interface__,
                lambda a: np.zeros(2).__setitem__(slice(None), a), lambda a: a.__dlpack__(max_version=(1, 0))]
        for way in ways if kiln.ones(1).device == "cpu" else []:
            made = kiln.arange(6)[[7, 1]]
            with self.assertRaisesRegex(IndexError, "index 7 .* out of range for axis 0"):
                way(made)
            self.assertEqual(np.asarray(made).tolist(), [0, 1])
        self.assertEqual(np.asarray(kiln.arange(3)).tolist(), [0, 1, 2])

    def test_places(self):
        a, x = both(5, 7, low=0, high=2)
        for got, want in zip(kiln.nonzero(a), np.nonzero(x)):
            self.same(got, want)
        self.same(kiln.flatnonzero(a), np.flatnonzero(x))
        self.same(kiln.argwhere(a), np.argwhere(x))
        self.same(kiln.compress(x > 0, a), x[x > 0])
        for mask in (x > 0, x[:, 0] > 0, x > 5, np.array(True)):
            for got, want in zip(kiln.partition_copy(a, mask), (x[mask], x[~mask])):
                self.same(got, want)
        with self.assertRaisesRegex(ValueError, "along axis 0: 4 elements, and the array has 5"):
            kiln.partition_copy(a, x[:4] > 0)


if __name__ == "__main__":
    unittest.main()
