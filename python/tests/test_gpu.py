"""Arrays of PyTorch, CuPy and JAX on a GPU: values, streams, CUDA graphs, refusals. Whatever is not
there is skipped; KILN_DEVICE does not matter, as calls run where their arrays are."""
import os
import unittest

import numpy as np

import kiln

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
HAS_GPU = any(d["usable"] and d["id"].startswith("cuda") for d in kiln.devices())


def library(name):
    if not HAS_GPU:
        return None
    try:
        return __import__(name)
    except ImportError:
        return None


torch, cupy, jax = library("torch"), library("cupy"), library("jax")
axpy = kiln.ElementwiseKernel("T x, T y, T a", "T z", "z = a * x + y", "axpy")
norm = kiln.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2")


@unittest.skipIf(torch is None, "no GPU, or no PyTorch")
class Torch(unittest.TestCase):
    def test_outputs_made_and_given(self):
        x = torch.arange(6.0, device="cuda").reshape(2, 3)
        z = axpy(x, x, 2)
        self.assertEqual((type(z), z.device.type), (torch.Tensor, "cuda"))
        self.assertTrue(torch.equal(z, 3 * x))
        self.assertTrue(torch.allclose(norm(x, axis=1), x.norm(dim=1)))
        b = torch.randn(5, 7, device="cuda", dtype=torch.bfloat16)
        out = torch.empty(7, 5, device="cuda", dtype=torch.bfloat16).T
        self.assertIs(axpy(b, b, 1, out), out)
        self.assertTrue(torch.equal(out, b + b))

    def test_runs_on_the_current_stream(self):
        stream = torch.cuda.Stream()
        x = torch.zeros(1 << 20, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            x.fill_(3.0)
            z = axpy(x, x, 1) + 1
        stream.synchronize()
        self.assertTrue((z == 7).all())

    def test_outputs_outlive_their_memory_of_before(self):
        """Memory of a result that is dropped while a stream still reads it is not reused before."""
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            a = axpy(torch.ones(1 << 20, device="cuda"), torch.ones(1 << 20, device="cuda"), 1)
            torch.cuda._sleep(100_000_000)
            kept = a + 0
            del a
        for _ in range(8):
            other = kiln.full((1 << 20,), 5.0, "float32", "cuda")
        stream.synchronize()
        self.assertTrue((kept == 2).all())
        self.assertEqual(other[0].item(), 5)

    def test_in_a_graph(self):
        x = torch.randn(1 << 20, device="cuda")
        z = torch.empty_like(x)
        axpy(x, x, 2.0, z)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            axpy(x * 2, x, 2.0, z)
            after = z + 1
        x.fill_(1.0)
        graph.replay()
        torch.cuda.synchronize()
        self.assertTrue((after == 6).all())

    def test_refuses_to_allocate_in_a_graph(self):
        x = torch.ones(1 << 20, device="cuda")
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                axpy(x, x, 2.0)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            z = torch.empty_like(x)
            with self.assertRaisesRegex(kiln.Error, "being captured"):
                axpy(x, x, 2.0)
            axpy(x, x, 2.0, z)
        graph.replay()
        torch.cuda.synchronize()
        self.assertTrue((z == 3).all())

    def test_in_a_training_loop(self):
        class Square(torch.autograd.Function):
            forward_kernel = kiln.ElementwiseKernel("T x", "T y", "y = x * x")
            backward_kernel = kiln.ElementwiseKernel("T x, T g", "T y", "y = 2 * x * g")

            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return Square.forward_kernel(x.detach())

            @staticmethod
            def backward(ctx, g):
                return Square.backward_kernel(*ctx.saved_tensors, g.contiguous())

        w = torch.tensor([3.0, -2.0], device="cuda", requires_grad=True)
        for _ in range(50):
            loss = Square.apply(w).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad = None
        self.assertLess(loss.item(), 1e-6)

    def test_refusals_say_why(self):
        x = torch.ones(3, device="cuda")
        c = torch.ones(3, device="cuda", dtype=torch.complex64).conj()
        for bad, error, word in ((x.clone().requires_grad_(), BufferError, "requires grad"),
                                 (c, BufferError, "conjugated"), (c.imag, BufferError, "negated"),
                                 (torch.ones(3), ValueError, "on the cpu"),
                                 (np.ones(3, np.float32), ValueError, "on the cpu")):
            with self.assertRaisesRegex(error, word):
                axpy(x, bad, 1)

    def test_round_trip(self):
        x = torch.arange(6.0, device="cuda").reshape(2, 3).T
        a = kiln.from_dlpack(x)
        y = torch.from_dlpack(a)
        self.assertEqual((a._address, y.data_ptr()), (x.data_ptr(),) * 2)
        self.assertEqual((y.stride(), a.device), (x.stride(), "cuda:0"))
        self.assertEqual((a + 1).tolist(), (x + 1).tolist())


@unittest.skipIf(cupy is None, "no GPU, or no CuPy")
class Cupy(unittest.TestCase):
    def test_outputs_made_and_given(self):
        x = cupy.arange(6, dtype=cupy.float32).reshape(2, 3)
        z = axpy(x, x, 2)
        self.assertIs(type(z), cupy.ndarray)
        self.assertTrue((z == 3 * x).all())
        out = cupy.empty((3, 2), cupy.float32).T
        self.assertIs(axpy(x, x, 1, out), out)
        self.assertTrue((out == 2 * x).all())
        for name in "?bhilqBHILQefdFD":
            a = cupy.arange(5).astype(name)
            self.assertTrue((kiln.ElementwiseKernel("T x", "T z", "z = x")(a[::2]) == a[::2]).all())

    def test_streams(self):
        x = cupy.arange(1 << 20, dtype=cupy.float32)
        stream = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.Device().synchronize()
        with stream:
            z = axpy(x, x, 2) + 1
        stream.synchronize()
        self.assertTrue((z == 3 * x + 1).all())
        out = cupy.empty_like(x)
        axpy(x, x, 1, out, stream=stream)
        stream.synchronize()
        self.assertTrue((out == 2 * x).all())


@unittest.skipIf(jax is None or torch is None, "no GPU, or no JAX and PyTorch")
class Jax(unittest.TestCase):
    def test_alone_and_with_tensors(self):
        import jax.numpy as jnp
        x = jnp.arange(1 << 16) * 1.0
        z = axpy(x, x, 2)
        self.assertIsInstance(z, jax.Array)
        np.testing.assert_array_equal(np.asarray(z), 3.0 * np.arange(1 << 16))
        y = torch.arange(1 << 16, device="cuda", dtype=torch.float32)
        out = torch.empty_like(y)
        axpy(x, y, 2, out)
        self.assertTrue(torch.equal(out, 3 * y))


@unittest.skipIf(not HAS_GPU, "no GPU")
class Own(unittest.TestCase):
    def test_arrays(self):
        a = kiln.arange(12, dtype="float32", device="cuda").reshape(3, 4)
        b = a.T * 2 + 1
        want = np.arange(12, dtype=np.float32).reshape(3, 4).T * 2 + 1
        np.testing.assert_array_equal(np.asarray(b), want)
        self.assertEqual(b.to_device("cpu").device, "cpu")
        self.assertEqual(kiln.asarray(want, device="cuda").tolist(), want.tolist())
        with self.assertRaisesRegex(ValueError, "on the cpu"):
            axpy(a, np.ones(4, np.float32), 1)
        self.assertEqual(a.__dlpack_device__(), (2, 0))
        self.assertEqual(np.from_dlpack(a, device="cpu").tolist() if np.__version__ >= "2.1" else
                         np.asarray(a).tolist(), np.asarray(a).tolist())


if __name__ == "__main__":
    unittest.main()
