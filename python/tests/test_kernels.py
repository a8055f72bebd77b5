"""Kernels of each family on NumPy's arrays and the cpu device. What is expected comes from NumPy."""
import threading
import unittest

import numpy as np

import kiln


def floats(*shape, dtype=np.float32):
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


class Elementwise(unittest.TestCase):
    axpy = kiln.ElementwiseKernel("T x, T y, T a", "T z", "z = a * x + y", "axpy")

    def test_complex_functions_of_infinite_and_undefined_parts(self):
        """Magnitudes, and which parts are NaN, are those of annex G of C99, as NumPy has them."""
        names = ("exp", "sinh", "cosh", "tanh", "sin", "cos", "tan", "asin", "acos", "atan", "asinh", "acosh", "atanh",
                 "log", "sqrt", "expm1")
        parts = (0.0, -0.0, 0.5, -3.0, 30.0, -3000.0, np.inf, -np.inf, np.nan)
        grid = np.array([complex(a, b) for a in parts for b in parts if not np.isfinite([a, b]).all()])
        kernel = kiln.ElementwiseKernel("T z", ", ".join(f"T r{k}" for k in range(len(names))),
                                        "; ".join(f"r{k} = {name}(z)" for k, name in enumerate(names)), "parts")
        for dtype in ("complex64", "complex128"):
            z = grid.astype(dtype)
            for name, got in zip(names, kernel(z)):
                with np.errstate(all="ignore"):  # NumPy's own expm1 differs from annex G
                    want = np.exp(z) - 1 if name == "expm1" else getattr(np, name)(z)
                for part in ("real", "imag"):
                    np.testing.assert_allclose(abs(getattr(got, part)), abs(getattr(want, part)), rtol=1e-5, atol=1e-12,
                                               err_msg=f"{name} {dtype} {part}")

    def test_makes_an_output_of_the_arguments_kind(self):
        x, y = floats(3, 4), floats(4)
        z = self.axpy(x, y, 2)
        self.assertIs(type(z), np.ndarray)
        self.assertEqual(z.dtype, np.float32)
        self.assertTrue(z.flags.writeable)
        np.testing.assert_array_equal(z, 2 * x + y)

    def test_writes_to_a_given_output_and_returns_it(self):
        x, z = floats(5, 6), np.zeros((5, 6), np.float32)
        self.assertIs(self.axpy(x, x, 0.5, z), z)
        np.testing.assert_array_equal(z, np.float32(1.5) * x)
        self.assertIs(self.axpy(x, x, 1, out=z), z)
        np.testing.assert_array_equal(z, x + x)

    def test_reads_strided_memory_without_a_copy(self):
        x = floats(6, 8)[::2, ::-2]
        z = np.zeros((8, 6), np.float32)[::2, ::2].T
        self.axpy(x, x.T.copy().T, 1, z)
        np.testing.assert_array_equal(z, x + x)

    def test_takes_each_dtype(self):
        double = kiln.ElementwiseKernel("T x", "T z", "z = x + x")
        for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                     "uint64", "float16", "float32", "float64", "complex64", "complex128"):
            x = np.arange(5).astype(name)
            z = double(x)
            self.assertEqual(z.dtype, x.dtype)
            np.testing.assert_array_equal(z, (x + x).astype(name), name)

    def test_returns_as_cupy_does(self):
        both = ("T x", "T y, T z", "y = x; z = -x")
        x = floats(3)
        y, z = kiln.ElementwiseKernel(*both)(x)
        np.testing.assert_array_equal(z, -x)
        self.assertIsNone(kiln.ElementwiseKernel(*both, no_return=True)(x))
        one = kiln.ElementwiseKernel("T x", "T y", "y = x", return_tuple=True)(x)
        self.assertIsInstance(one, tuple)
        np.testing.assert_array_equal(one[0], x)

    def test_size_decides_where_all_arrays_are_raw(self):
        reverse = kiln.ElementwiseKernel("raw T x", "T z", "z = x[n - 1 - i]")
        x = floats(7)
        np.testing.assert_array_equal(reverse(x, size=7, block_size=64), x[::-1])
        with self.assertRaisesRegex(ValueError, "block_size"):
            reverse(x, size=7, block_size=0)

    def test_float_and_int_are_numpys(self):
        k = kiln.ElementwiseKernel("float x, int k", "float z", "z = x * k")
        z = k(floats(3, dtype=np.float64), np.arange(3))
        self.assertEqual(z.dtype, np.float64)
        c = kiln.ElementwiseKernel("float x", "float z", "z = x", numpy_types=False)
        self.assertEqual(c(floats(3)).dtype, np.float32)

    def test_numbers_are_weak(self):
        k = kiln.ElementwiseKernel("T x, T a", "T z", "z = x * a")
        self.assertEqual(k(floats(2), 3).dtype, np.float32)
        self.assertEqual(k(floats(2), np.float64(3)).dtype, np.float32)
        self.assertEqual(k(np.arange(3, dtype=np.int8), True).dtype, np.int8)
        with self.assertRaises(OverflowError):
            k(np.arange(3, dtype=np.int8), 300)


class TextureObject:
    """What kiln reads of CuPy's class of this name."""
    ptr = 1 << 40


TextureObject.__module__ = "cupy.cuda.texture"


class Handles(unittest.TestCase):
    def test_a_texture_is_passed_as_its_handle(self):
        kernel = kiln.ElementwiseKernel("T x, U texture", "T y", "y = x + T(texture)")
        self.assertEqual(kernel(np.array([1.0, 2.0]), TextureObject()).tolist(),
                         [1.0 + (1 << 40), 2.0 + (1 << 40)])


class Errors(unittest.TestCase):
    def test_show_the_signature_with_a_caret(self):
        with self.assertRaises(kiln.DtypeError) as caught:
            kiln.ElementwiseKernel("T x, flaot y", "T z", "z = x")
        self.assertIn("did you mean", str(caught.exception))
        self.assertIn("\n     ^", str(caught.exception))
        self.assertEqual(caught.exception.status, "KILN_ERR_UNKNOWN_TYPE")
        self.assertIsInstance(caught.exception, TypeError)

    def test_show_the_snippet_with_a_caret(self):
        k = kiln.ElementwiseKernel("T x", "T z", "z = x + q")
        with self.assertRaises(kiln.CompileError) as caught:
            k(floats(2))
        self.assertIn("z = x + q\n        ^", str(caught.exception))
        self.assertIn("q", caught.exception.log)
        self.assertIn("kernel", caught.exception.source)

    def test_of_arguments_name_what_is_wrong(self):
        k = kiln.ElementwiseKernel("T x, T y", "T z", "z = x + y")
        read_only = np.zeros(3, np.float32)
        read_only.flags.writeable = False
        cases = (((floats(2), floats(3)), {}, ValueError, "do not broadcast"),
                 ((floats(2),), {}, TypeError, "takes 2 inputs"),
                 ((floats(2), "two"), {}, TypeError, "neither an array nor a number"),
                 ((floats(2), None), {}, TypeError, "neither an array nor a number"),
                 ((floats(2), floats(2), floats(3)), {}, ValueError, "z"),
                 ((floats(3), floats(3), read_only), {}, ValueError, "read-only"),
                 ((floats(3), floats(3, dtype=np.float64)), {}, TypeError, "float64"),
                 ((floats(3), floats(3).astype(">f4")), {}, TypeError, "big-endian"),
                 ((floats(3), np.array(["a", "b", "c"])), {}, TypeError, "no dtype"),
                 ((floats(3), floats(3)), {"axes": 1}, TypeError, "no keyword"),
                 ((floats(3), floats(3)), {"size": 3}, ValueError, "size"))
        for args, keywords, error, word in cases:
            with self.assertRaisesRegex(error, word):
                k(*args, **keywords)

    def test_of_definitions_are_told_when_they_are_made(self):
        with self.assertRaisesRegex(kiln.ArgumentError, "keyword of C"):
            kiln.ElementwiseKernel("T for", "T z", "z = 1")
        with self.assertRaises(TypeError):
            kiln.ElementwiseKernel("T x", "T z", 3)
        with self.assertRaisesRegex(kiln.ArgumentError, "there is no function"):
            kiln.eval("sqr(x)", x=floats(2))


class Reductions(unittest.TestCase):
    norm = kiln.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")

    def test_over_axes(self):
        x = floats(3, 4, 5, dtype=np.float64)
        for axis in (None, 0, -1, (0, 2)):
            for keepdims in (False, True):
                np.testing.assert_allclose(
                    self.norm(x, axis=axis, keepdims=keepdims),
                    np.sqrt((x * x).sum(axis=axis, keepdims=keepdims)), rtol=1e-14)

    def test_into_a_given_output(self):
        x, out = floats(3, 4), np.zeros(3, np.float32)
        self.assertIs(self.norm(x, axis=1, out=out), out)
        np.testing.assert_allclose(out, np.sqrt((x * x).sum(1)), rtol=1e-6)
        self.assertIs(self.norm(x, out, axis=1), out)

    def test_refuses_what_has_no_identity(self):
        largest = kiln.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None)
        self.assertEqual(largest(np.arange(5)), 4)
        with self.assertRaisesRegex(kiln.ArgumentError, "identity"):
            largest(floats(0))
        with self.assertRaises(IndexError):
            largest(floats(2), axis=5)


class Blocks(unittest.TestCase):
    def test_a_kernel_that_waits_for_its_block_is_warned_of(self):
        with self.assertWarnsRegex(kiln.Warning, "RawKernel"):
            kiln.ElementwiseKernel("T x", "T y", "__syncthreads(); y = x")


class Others(unittest.TestCase):
    def test_scan(self):
        total = kiln.Scan("T x", "T y", "x", "a + b", "y = a", "0")
        x = np.arange(12).reshape(3, 4)
        np.testing.assert_array_equal(total(x, axis=1), np.cumsum(x, 1))
        np.testing.assert_array_equal(total(x), np.cumsum(x))
        np.testing.assert_array_equal(total(x, axis=0, reverse=True),
                                      np.cumsum(x[::-1], 0)[::-1])
        np.testing.assert_array_equal(total(x, axis=1, exclusive=True), np.cumsum(x, 1) - x)

    def test_row(self):
        softmax = kiln.Row(
            "T x", "T y",
            [kiln.Stage("double(x)", "double", "max(a, b)", "m", identity="-INFINITY"),
             kiln.Stage("e", "double", "a + b", "s", identity="0", prep="e = exp(double(x) - m);")],
            "y = e / s", values=[("double", "e")])
        x = floats(4, 9, dtype=np.float64)
        e = np.exp(x - x.max(1, keepdims=True))
        np.testing.assert_allclose(softmax(x, axis=1), e / e.sum(1, keepdims=True), rtol=1e-14)

    def test_eval(self):
        x, y = floats(3, 4), floats(4)
        np.testing.assert_allclose(kiln.eval("sum(sqrt(x*x + y*y), axis=1)", x=x, y=y),
                                   np.sqrt(x * x + y * y).sum(1), rtol=1e-6)
        q, r = kiln.eval("divmod(n, k)", n=np.arange(7), k=3)
        np.testing.assert_array_equal(q, np.arange(7) // 3)
        np.testing.assert_array_equal(r, np.arange(7) % 3)


class Threads(unittest.TestCase):
    def test_share_a_kernel(self):
        k = kiln.ElementwiseKernel("T x, int32 a", "T z", "z = x * a + 17")
        x = np.arange(1000)
        wrong = []

        def work(a):
            for _ in range(50):
                if not (k(x, a) == x * a + 17).all():
                    wrong.append(a)

        threads = [threading.Thread(target=work, args=(a,)) for a in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
