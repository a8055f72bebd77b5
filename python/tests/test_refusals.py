"""Arrays that a call must not take, each with its own message: nothing crashes, nothing is kept, and the
next call works. PyTorch is a stand-in with the facts that kiln looks at, so that its refusals are tested
where it is not installed; test_interop.py and test_gpu.py use the real one."""
import gc
import multiprocessing
import sys
import types
import unittest
import weakref

import numpy as np

import kiln

HAS_GPU = any(d["usable"] and d["id"].startswith("cuda") for d in kiln.devices())
axpy = kiln.ElementwiseKernel("T x, T y, T a", "T z", "z = a * x + y")


class Tensor:
    """What kiln reads of a tensor, over an array of NumPy's."""

    def __init__(self, x, requires_grad=False, conj=False, neg=False):
        self.x, self.requires_grad, self.conj, self.neg = x, requires_grad, conj, neg

    def is_conj(self):
        return self.conj

    def is_neg(self):
        return self.neg

    def __dlpack__(self, **keywords):
        return self.x.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


Tensor.__module__ = "torch"
grad = types.SimpleNamespace(enabled=True)
torch = types.ModuleType("torch")
torch.is_grad_enabled = lambda: grad.enabled
torch.from_dlpack = kiln.from_dlpack


class Owner(np.ndarray):
    pass


class Refusals(unittest.TestCase):
    def setUp(self):
        self.x = np.arange(4, dtype=np.float32)

    def refuses(self, word, error, *args, **keywords):
        """The call raises, keeps none of its arrays, and leaves a working kernel behind."""
        with self.assertRaisesRegex(error, word):
            axpy(*args, **keywords)
        np.testing.assert_array_equal(axpy(self.x, self.x, 2), 3 * self.x)

    def test_tensors(self):
        real = sys.modules.get("torch")
        sys.modules["torch"] = torch
        try:
            x = np.ones(4, np.float32)
            for facts, word in (({"requires_grad": True}, "requires grad.*detach"),
                                ({"conj": True}, "conjugated view.*resolve_conj"),
                                ({"neg": True}, "negated view.*resolve_neg")):
                self.refuses(word, BufferError, Tensor(x, **facts), x, 1)
                self.refuses(word, BufferError, x, x, 1, Tensor(x, **facts))
            grad.enabled = False  # as within torch.no_grad()
            self.assertEqual(axpy(Tensor(x, requires_grad=True), x, 1).tolist(), [2] * 4)
        finally:
            grad.enabled = True
            del sys.modules["torch"]
            if real is not None:
                sys.modules["torch"] = real

    def test_outputs_that_cannot_be_written(self):
        z = np.zeros(4, np.float32)
        z.flags.writeable = False
        self.refuses("read-only", ValueError, self.x, self.x, 1, z)
        flat = kiln.broadcast_to(kiln.zeros(1, "float32", device="cpu"), (4,))
        self.refuses("`z` was broadcast and cannot be written", ValueError, self.x, self.x, 1, flat)
        self.assertEqual(z.tolist(), [0] * 4)

    def test_dtypes(self):
        x = self.x
        self.refuses("`y`. has dtype float64, but T is float32", TypeError, x, x.astype("f8"), 1)
        self.refuses("T is float64, bound by argument 4 .`z`", TypeError, x, x, 1, np.zeros(4))
        self.refuses('no dtype for elements of type "<M8', TypeError, np.zeros(4, "M8[s]"), x, 1)
        self.refuses('no dtype for elements of format "O"', TypeError, np.array([None] * 4), x, 1)

    def test_shapes(self):
        short = np.ones(3, np.float32)
        self.refuses("shapes do not broadcast together", ValueError, self.x, short, 1)
        self.refuses("`z` has shape .3,., but the inputs", ValueError, self.x, self.x, 1, short)

    @unittest.skipIf(not HAS_GPU, "no GPU")
    def test_devices(self):
        y = kiln.ones(4, "float32", device="cuda")
        self.refuses("argument 2 is on the cpu, those before it on cuda:0", ValueError, y, self.x, 1)
        self.refuses("argument 2 is on cuda:0, those before it on the cpu", ValueError, self.x, y, 1)

    def test_what_was_refused_is_not_kept(self):
        x = np.ones(4, np.float32).view(Owner)
        z = np.zeros(5, np.float32).view(Owner)
        gone = weakref.ref(x), weakref.ref(z)
        with self.assertRaises(ValueError):
            axpy(x, x, 1, z)
        del x, z
        gc.collect()
        self.assertEqual((gone[0](), gone[1]()), (None, None))

    def test_capsules(self):
        capsule = self.x.__dlpack__()
        kept = kiln.from_dlpack(capsule)
        with self.assertRaisesRegex(kiln.ArgumentError, "was used"):
            kiln.from_dlpack(capsule)
        self.assertEqual(kept.tolist(), self.x.tolist())


def batch(k):
    """What a worker of a data loader does: a call in a process that was forked after others."""
    return axpy(np.full(3, k, np.float32), np.ones(3, np.float32), 2).tolist()


class Loader(unittest.TestCase):
    @unittest.skipUnless("fork" in multiprocessing.get_all_start_methods(), "no fork")
    def test_workers_are_forked(self):
        first = batch(1)
        with multiprocessing.get_context("fork").Pool(2) as workers:
            made = workers.map(batch, range(6))
        self.assertEqual(made, [[2.0 * k + 1] * 3 for k in range(6)])
        self.assertEqual(batch(1), first)


if __name__ == "__main__":
    unittest.main()
