"""fuse(), RawKernel and RawModule. What is expected comes from the same function of NumPy's arrays."""
import copy
import io
import pickle
import unittest

import numpy as np

import kiln


def floats(*shape):
    return np.random.default_rng(5).standard_normal(shape)


class Fuse(unittest.TestCase):
    def check(self, function, *args):
        want_args = [v.copy() if isinstance(v, np.ndarray) else v for v in args]
        want = function(*want_args)
        fused = kiln.fuse(function)
        for _ in range(2):  # recorded, and run again
            got_args = [v.copy() if isinstance(v, np.ndarray) else v for v in args]
            got = fused(*got_args)
            pairs = zip(got, want) if isinstance(want, tuple) else [(got, want)]
            for g, w in list(pairs) + list(zip(got_args, want_args)):
                if isinstance(w, (np.ndarray, np.generic)):
                    self.assertEqual(g.dtype, w.dtype)
                    self.assertEqual(g.shape, w.shape)
                    np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)
                else:
                    self.assertIs(g, w) if w is None else self.assertEqual(g, w)

    def test_operators_and_functions(self):
        self.check(lambda x, y: np.sqrt(x * x + y * y) * np.exp(-x), floats(3, 4), floats(4))
        self.check(lambda x: (2 - x) / (1e-3 + abs(x)) ** 0.5 // 3 % 2, floats(5))
        self.check(lambda x: np.where(x > 0, x, -1.5), floats(7))
        self.check(lambda x: np.clip(x, -0.5, None) + x.clip(0, 1), floats(7))
        self.check(lambda x: (x < 0) & ~(x > -1) | (x == 0), floats(9))
        self.check(lambda n: (n << 2 ^ n) >> 1, np.arange(9))

    def test_numbers_of_all_kinds(self):
        self.check(lambda x: x * -2 + float("inf") - (-0.0), floats(3))
        self.check(lambda x: np.maximum(x, -1e-300) + 1e22 + True, floats(3))
        self.check(lambda x: x * (1 - 2j) + np.float64(3), floats(3))
        self.check(lambda x, a: x * a, floats(3), 2.5)

    def test_complex_numbers_keep_both_parts(self):
        parts = (0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, -np.nan, 5e-324, -1e308)
        numbers = [complex(re, im) for re in parts for im in parts]
        for k in range(0, len(numbers), 10):
            results = kiln.fuse(lambda x: tuple(kiln.where(x > 0, n, x) for n in numbers[k:k + 10]))(np.ones(1))
            for number, result in zip(numbers[k:k + 10], results):
                np.testing.assert_array_equal(np.asarray(result).view(float), [number.real, number.imag])
                np.testing.assert_array_equal(np.signbit(np.asarray(result).view(float)) & ~np.isnan([number.real, number.imag]),
                                              [np.signbit(v) & ~np.isnan(v) for v in (number.real, number.imag)])

    def test_reductions_and_views(self):
        self.check(lambda x: np.sum(x - x.mean(axis=1, keepdims=True), axis=0), floats(4, 5))
        self.check(lambda x: (x.max(), np.amin(x, axis=(0, 1)), x.std(axis=-1)), floats(4, 5))
        self.check(lambda x: x[1:, ::2].T.reshape(-1) + x[0, 0], floats(4, 6))
        self.check(lambda x: np.broadcast_to(x, (2, 3)) + np.expand_dims(x, 1)[0], floats(3))
        self.check(lambda x: x.astype(np.float32) * 2, floats(3))

    def test_several_results_and_none(self):
        self.check(lambda x: (x + 1, x), floats(3))
        self.check(lambda x: divmod(x, 2), floats(3))
        self.check(lambda x: None, floats(3))
        self.assertEqual((kiln.fuse(lambda x: ())(floats(3)), kiln.fuse(lambda x: [])(floats(3))), ((), []))

    def test_writes_to_its_arguments(self):
        def in_place(x, y):
            x += y
            x *= 2
            y[...] = x - 1
            return x
        self.check(in_place, floats(3, 4), floats(3, 4))

        def out(x, y):
            np.add(x, 1, out=y)
        self.check(out, floats(3), floats(3))

    def test_fills_its_arguments(self):
        def fill(x, y, n):
            x[...] = 1.5
            n[...] = y * 10
            n += 1
            np.copyto(y, x[0] + 1)
        self.check(fill, floats(3, 4), floats(4), np.arange(12).reshape(3, 4))

        def count(x, n):
            n += 2
            return x * n
        def keep(n, x):
            before = n
            n += 2
            return x * n + before
        self.check(keep, 3, floats(3))
        self.check(count, floats(3), 4)
        self.check(count, floats(3), np.int64(4))

    def test_facts_of_arguments_decide(self):
        def f(x, y):
            return x / 3 if x.dtype.kind == "f" else x * 3 + y.ndim + y.shape[0]
        fused = kiln.fuse(f)
        for x, y in ((floats(3), floats(3)), (np.arange(3), floats(3)), (np.arange(3), floats(2, 3)),
                     (floats(3), floats(3))):
            np.testing.assert_allclose(fused(x, y), f(x, y), rtol=1e-12)
        self.assertEqual(kiln.fuse(lambda x, n: x * 2 if n.dtype.kind == "i" else x)(floats(1), 3.0),
                         floats(1))
        fused = kiln.fuse(lambda x, n: n if n.dtype == "int64" and n.ndim == 0 and n.shape == () else x)
        self.assertEqual((fused(floats(1), 3), fused(floats(1), 3.5)), (3, floats(1)))
        self.assertEqual(kiln.fuse(lambda x: x.astype((x + np.float64(1)).dtype))(floats(3)).dtype, np.float64)

    def test_scalars_of_numpy_keep_their_dtypes(self):
        with np.errstate(over="ignore"):
            self.check(lambda x, y: (-x) * y, np.uint64(3), np.arange(3, dtype=np.uint64))
        for x in (np.int8(3), np.float16(0.1), np.float64(0.1)):
            self.check(lambda x, y: (-x) * y, x, np.arange(3))
            self.check(lambda y: y + x, np.arange(3, dtype=np.float32))
        self.check(lambda x, y: x - y, np.arange(3, dtype=np.int8), np.int16(2))

    def test_row_results_may_be_in_place(self):
        def normalise(x, mean):
            m = x.mean(axis=(0, 2))
            mean *= 0.9
            mean += 0.1 * m
            return x - m[None, :, None]
        self.check(normalise, floats(2, 3, 4), floats(3))

    def test_what_was_recorded_can_be_forgotten(self):
        calls = []
        fused = kiln.fuse(lambda x: calls.append(1) or x + 1)
        fused(floats(2)), fused(floats(2))
        fused.clear_cache()
        fused(floats(2))
        self.assertEqual(len(calls), 2)

    def test_rounds(self):
        self.check(lambda x: np.around(x * 10) + np.fix(x * 7), floats(9))

    def test_kernels_have_the_name(self):
        for name, function in (("chosen_name", kiln.fuse(kernel_name="chosen_name")(lambda x, y: x + y)),
                               ("double", kiln.fuse(kernel_name="double")(lambda x, y: x + y))):
            self.assertEqual(function(floats(3), 0.0).tolist(), floats(3).tolist())
            with self.assertRaisesRegex(ValueError, name):
                function(floats(3), floats(4))

    def test_arguments_that_are_no_arrays_decide(self):
        @kiln.fuse(kernel_name="chosen")
        def f(x, kind, flag=None):
            return x + 1 if kind == "up" else x - 1
        self.assertEqual(f(np.zeros(1), "up").tolist(), [1])
        self.assertEqual(f(np.zeros(1), "down").tolist(), [-1])

    def test_calls_itself_within_others(self):
        square = kiln.fuse(lambda x: x * x)
        self.check(lambda x: square(x) + kiln.sqrt(abs(x)) if isinstance(x, np.ndarray) else
                   square(x) + np.sqrt(abs(x)), floats(3))

    def test_what_is_written_gets_the_arrays_dtype(self):
        """By NumPy's rule "same_kind", for arguments and for what the function made itself."""
        def into(x, y, z):
            np.add(x, y, out=z)
            return z

        def copied(x, y, z):
            np.copyto(z, x)
            z += y
            return z

        def in_place(x, y, z):
            made = x * 1
            made += y
            return made
        for function in (into, copied, in_place):
            fused = kiln.fuse(function)
            for a, b in ("fd", "df", "hQ", "Qh", "Ff"):
                made = [(np.arange(4).astype(a), np.arange(4).astype(b), np.zeros(4, b)) for _ in range(2)]
                if function is not into:
                    made = [(x, z, y) for x, y, z in made]
                try:
                    want = function(*made[0])
                except TypeError:
                    with self.assertRaises(TypeError, msg=(function, a, b)):
                        fused(*made[1])
                    continue
                got = fused(*made[1])
                self.assertEqual(got.dtype, want.dtype, (function, a, b))
                np.testing.assert_array_equal(got, want, f"{function} {a} {b}")

    def test_what_is_written_is_read_by_another_name(self):
        def f(x, y):
            x += y
            x += y
        fused = kiln.fuse(f)
        for name in (lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: x[:1]):
            for make in (lambda: np.arange(16).reshape(4, 4), lambda: np.arange(8).reshape(4, 2)[:, ::2] + 1):
                got, want = make(), make()
                if name(got).shape in ((4, 4), got.shape, (1, got.shape[1])):
                    fused(got, name(got))
                    f(want, name(want))
                    np.testing.assert_array_equal(got, want)
        a = kiln.arange(6)
        fused(a, a)
        self.assertEqual(a.tolist(), [0, 4, 8, 12, 16, 20])
        for value in (3, 2.5, None, np.float32(1), np.empty(0), "text"):
            self.assertIsNone(kiln._kiln._extent(value))
        x = np.arange(12.0).reshape(3, 4)
        low = x.ctypes.data
        for view, span in ((x, (0, 96)), (x[:, 1], (8, 80)), (x[::-1, ::-2], (8, 96)), (x[1, 2], None)):
            self.assertEqual(kiln._kiln._extent(view), span and (low + span[0], low + span[1]))
            if span:
                self.assertEqual(kiln._kiln._extent(kiln.from_dlpack(view)), (low + span[0], low + span[1]))

    def test_facts_of_values(self):
        fused = kiln.fuse(lambda x, y: x.astype((x + y).dtype).reshape((x * y).sum(axis=0).shape))
        for a, b in ((np.float32, np.float64), (np.int32, np.int32)):
            got = fused(np.ones(3, a), np.ones((2, 3), b))
            self.assertEqual((got.dtype, got.shape), ((np.ones(1, a) + np.ones(1, b)).dtype, (3,)))

    def test_products_and_factors_are_steps(self):
        a, b, v = floats(3, 3) + 4 * np.eye(3, dtype=np.float32), floats(3, 3), floats(3)
        for function in (lambda x, y: np.maximum(x @ y + 1, 0) * 2,
                         lambda x, y: np.dot(x, y) - np.matmul(y, x),
                         lambda x, y: x.dot(y) + np.outer(y[0], x[1]),
                         lambda x, y: np.einsum("ij,kj->ik", x, y).sum(axis=0),
                         lambda x, y: np.linalg.solve(x, y) + np.linalg.inv(x),
                         lambda x, y: np.linalg.det(x) * np.linalg.matrix_power(y, 2),
                         lambda x, y: np.linalg.multi_dot([x, y, x]),
                         lambda x, y: abs(np.linalg.qr(x)[1]) + np.linalg.svd(y, full_matrices=False)[1]):
            np.testing.assert_allclose(np.asarray(kiln.fuse(function)(a, b)), function(a, b), rtol=2e-3, atol=1e-4)
        kilns = kiln.fuse(lambda x, y: kiln.linalg.solve(x, kiln.matmul(x, y)) + kiln.linalg.lu(x)[2])
        p, l, u = map(np.asarray, kiln.linalg.lu(kiln.asarray(a)))
        np.testing.assert_allclose(np.asarray(kilns(a, b)), b + u, rtol=2e-3, atol=1e-4)
        np.testing.assert_allclose(np.asarray(kiln.fuse(lambda x, y: y @ x)(a, v)), v @ a, rtol=1e-5)
        for function, word in ((lambda x: np.linalg.eig(x), "no numpy.linalg.eig"),
                               (lambda x: np.linalg.svd(x), "full_matrices=False"),
                               (lambda x: np.linalg.cholesky(x, upper=True), "with options|upper"),
                               (lambda x: kiln.linalg.cholesky(x, upper=True), "cholesky.. with options"),
                               (lambda x: kiln.linalg.tensordot(x, x, axes=1), "tensordot|ndim"),
                               (lambda x: x @ np.ones((3, 3)), "only arguments are arrays|unsupported")):
            with self.assertRaisesRegex(TypeError, word):
                kiln.fuse(function)(a)

    def test_indices_and_functions_of_numpy(self):
        x, i, v = np.arange(20.).reshape(5, 4) % 7, np.array([3, 0, -1]), np.array([3., -1, 2, -5, 0, 4])
        for function in (lambda x, i, v: x[i, 1:] * 2, lambda x, i, v: x[:, [0, 2]].sum(axis=0), lambda x, i, v: v[np.argsort(v)] + 1,
                         lambda x, i, v: np.concatenate([np.sort(x, axis=0, kind="stable"), x * 2], axis=1),
                         lambda x, i, v: np.pad(np.cumsum(v), 2, mode="reflect"), lambda x, i, v: v[v > 0] * 2,
                         lambda x, i, v: np.select([v > 2, v < 0], [v, -v], default=7.), lambda x, i, v: v[v > 0].sum()):
            want = function(x, i, v)
            np.testing.assert_array_equal(kiln.fuse(function)(x, i, v), want)

    def test_functions_of_kiln_that_are_expressions(self):
        x, v = np.arange(20.).reshape(5, 4) % 7, np.array([3.5, -1.5, 2, -5, 0, 4])
        for function in (lambda m: lambda x, v: m.pad(m.fix(v), 2, mode="edge"), lambda m: lambda x, v: m.vstack([x, 2 * x]),
                         lambda m: lambda x, v: m.select([v > 2, v < 0], [v, -v], default=7.)):
            np.testing.assert_array_equal(kiln.fuse(function(kiln))(x, v), function(np)(x, v))

    def test_what_cannot_be_recorded_is_told(self):
        for function, word in ((lambda x: x if x else -x, "no truth value"),
                               (lambda x: np.linalg.norm(x), "has no|truth|cannot"),
                               (lambda x: np.interp(x, x, x), "no numpy.interp"),
                               (lambda x: (x[x > 0], x), "only result"),
                               (lambda x: x + "a", "unsupported|ufunc"),
                               (lambda x: kiln.fuse(lambda y: y.sum(out=object()))(x), "out is an argument"),
                               (lambda x: np.around(x, 2), "no numpy.(a)?round"),
                               (lambda x: np.add(x, np.ones(3)), "only arguments are arrays")):
            with self.assertRaisesRegex(TypeError, word):
                kiln.fuse(function)(floats(3))


SOURCE = r"""
__constant__ float weights[3];
extern "C" __global__ void axpy(const float *x, float *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
template <typename T> __global__ void scale(T *x, T a)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] *= a * T(weights[1]);
}
"""
SIGNATURE = "raw const float32 x, raw float32 y, int32 n, float32 a"


class Raw(unittest.TestCase):
    def test_kernel(self):
        axpy = kiln.RawKernel(SOURCE, "axpy", signature=SIGNATURE)
        x, y = np.arange(10, dtype=np.float32), np.ones(10, np.float32)
        self.assertIsNone(axpy((1,), (32,), (x, y, 10, np.float32(2)), shared_mem=0))
        np.testing.assert_array_equal(y, 1 + 2 * x)
        with self.assertRaises(kiln.DtypeError):
            axpy((1,), (32,), (x.astype(np.float64), y, 10, 2))
        with self.assertRaises(TypeError):
            axpy((1,), (32,), (x, y))
        with self.assertRaises(ValueError):
            axpy((), (32,), (x, y, 10, 2))

    def test_module_has_variables_and_instances_of_templates(self):
        module = kiln.RawModule(code=SOURCE, options=("-std=c++17",),
                                name_expressions=["scale<double>"])
        weights = module.get_global("weights", "float32", "cpu")  # where calls with NumPy's arrays run
        weights[...] = kiln.array([1, 3, 5], "float32", device="cpu")
        x = np.ones(4)
        module.get_function("scale<double>", "raw float64 x, float64 a")((2,), (2,), (x, 2.0))
        np.testing.assert_array_equal(x, np.full(4, 6.0))
        weights = module.get_global("weights", "float32")  # of the device that has kiln's own arrays
        weights[...] = kiln.array([1, 4, 5], "float32")
        x = kiln.ones(4, "float64")
        module.get_function("scale<double>", "raw float64 x, float64 a")((2,), (2,), (x, 2.0))
        self.assertEqual(x.tolist(), [8.0] * 4)

    def test_words_of_name_expressions(self):
        """A word that stands in a name alone calls for its part of CuPy's header."""
        module = kiln.RawModule(code="""
            #include <cupy/complex.cuh>
            template <typename T> __global__ void twice(T *x) { x[threadIdx.x] += x[threadIdx.x]; }""",
                                name_expressions=("twice<complex<double>>", "twice<float>"))
        x = np.arange(4) * (1 + 2j)
        module.get_function("twice<complex<double>>")((1,), (4,), (x,))
        np.testing.assert_array_equal(x, np.arange(4) * (2 + 4j))

    def test_complex_numbers_of_cuda(self):
        kernel = kiln.RawKernel(r"""
            #include <cuComplex.h>
            extern "C" __global__ void f(const cuComplex *x, const cuFloatComplex *y, cuDoubleComplex s,
                                         cuComplex *z, float *m)
            {
                const int i = blockIdx.x * blockDim.x + threadIdx.x;
                const cuComplex q = cuCdivf(cuCmulf(x[i], y[i]), cuCsubf(y[i], cuConjf(x[i])));
                z[i] = cuCfmaf(cuCaddf(q, cuComplexDoubleToFloat(s)), make_cuFloatComplex(0.0f, 1.0f), x[i]);
                m[i] = cuCabsf(x[i]) + cuCrealf(y[i]) * cuCimagf(y[i]);
            }""", "f", translate_cucomplex=True)
        x, y = (floats(8).astype(np.complex64) + 1j * floats(8)[::-1].astype(np.complex64) for _ in "xy")
        y = y * np.complex64(2 - 1j)
        z, m = np.empty(8, np.complex64), np.empty(8, np.float32)
        kernel((2,), (4,), (x, y, 3 - 2j, z, m))
        np.testing.assert_allclose(z, (x * y / (y - x.conj()) + (3 - 2j)) * 1j + x, rtol=1e-5)
        np.testing.assert_allclose(m, abs(x) + y.real * y.imag, rtol=1e-5)

    def test_warnings_of_the_compiler(self):
        """A device's compiler speaks to the stream that compile() is given, whether it ran now or before."""
        source = "__global__ void careless(float *x) { int forgotten; x[0] = 1; }"
        for made in (kiln.RawKernel(source, "careless", options=("-Wall",)) if kiln.ones(1).device == "cpu" else
                     kiln.RawKernel(source, "careless"), kiln.RawModule(code=SOURCE)):
            log = io.StringIO()
            made.compile(log_stream=log)
            self.assertEqual("warning" in log.getvalue() and "forgotten" in log.getvalue(),
                             isinstance(made, kiln.RawKernel))
            made.compile()

    def test_attributes(self):
        kernel = kiln.RawKernel(SOURCE, "axpy")
        self.assertLessEqual({"max_threads_per_block", "num_regs", "shared_size_bytes", "local_size_bytes",
                              "const_size_bytes", "max_dynamic_shared_size_bytes", "ptx_version",
                              "binary_version", "cache_mode_ca", "preferred_shared_memory_carveout"},
                             set(kernel.attributes))
        self.assertGreaterEqual(kernel.max_threads_per_block, 256)
        self.assertEqual(kernel.attributes["max_threads_per_block"], kernel.max_threads_per_block)
        on_cpu = kiln.ones(1).device == "cpu"  # where there is nothing of the kind
        self.assertEqual((kernel.num_regs == 0, kernel.shared_size_bytes), (on_cpu, 0))
        with self.assertRaises(AttributeError):
            kernel.nothing

    def test_definitions_are_pickled(self):
        module = kiln.RawModule(code=SOURCE)
        x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
        for kernel in (kiln.RawKernel(SOURCE, "axpy", signature=SIGNATURE), module.get_function("axpy"),
                       module.get_function("axpy", SIGNATURE)):
            kernel((1,), (4,), (x, y, 4, np.float32(2)))
            again = pickle.loads(pickle.dumps(kernel))
            self.assertEqual((type(again), again.name), (type(kernel), "axpy"))
            self.assertIs(again.enable_cooperative_groups, False)
            again((1,), (4,), (x, y, 4, np.float32(2)))
        np.testing.assert_array_equal(y, 1 + 12 * x)
        self.assertIsInstance(pickle.loads(pickle.dumps(module)), kiln.RawModule)
        for kernel in (kiln.ElementwiseKernel("T x", "T y", "y = x + 1"),
                       kiln.ReductionKernel("T x", "T y", "x + T(0.25)", "a + b", "y = a", "0"),
                       kiln.Scan("T x", "T y", "x", "a + b", "y = a", "0"),
                       kiln.Row("T x", "T y", [kiln.Stage("x", "T", "max(a, b)", "m")], "y = x - m")):
            again = copy.deepcopy(kernel)
            np.testing.assert_array_equal(again(x), kernel(x))
            self.assertEqual(repr(again), repr(kernel))

    def test_pointers(self):
        class Pointer:
            def __init__(self, array):
                self.ptr, self.device_id = array.ctypes.data, -1
        x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
        kiln.RawKernel(SOURCE, "axpy")((1,), (4,), (Pointer(x), y, 4, np.float32(2)))
        np.testing.assert_array_equal(y, 1 + 2 * x)
        with self.assertRaisesRegex(TypeError, "neither an array nor a number"):
            kiln.RawKernel(SOURCE, "axpy")((1,), (4,), (object(), y, 4, np.float32(2)))

    def test_errors(self):
        with self.assertRaises(kiln.CompileError):
            kiln.RawModule(code="__global__ void f() { nothing; }").compile()
        with self.assertRaises(kiln.ArgumentError):
            kiln.RawKernel(SOURCE, "missing", signature=SIGNATURE)((1,), (1,), ())
        with self.assertRaises(TypeError):
            kiln.RawModule()


if __name__ == "__main__":
    unittest.main()
