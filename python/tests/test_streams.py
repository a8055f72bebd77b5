"""CUDA streams of other libraries: how long they live, and how work on several is ordered. The library
is a stand-in for CuPy whose streams are made by the driver itself, so that the test runs on a GPU and on
the emulated one (docs/testing.md). Without a GPU it skips itself."""
import ctypes
import gc
import os
import subprocess
import sys
import types
import unittest
import weakref

import kiln

HAS_GPU = any(d["usable"] and d["id"].startswith("cuda") for d in kiln.devices())
destroyed = []


class Stream:
    """A stream that ends with its object, as CuPy's do."""
    current = None

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        context, device, made = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_void_p()
        assert self.driver.cuCtxGetCurrent(ctypes.byref(context)) == 0
        if not context.value:
            assert self.driver.cuInit(0) == 0
            assert self.driver.cuDeviceGet(ctypes.byref(device), 0) == 0
            assert self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
            assert self.driver.cuCtxPushCurrent_v2(context) == 0
        assert self.driver.cuStreamCreateWithPriority(ctypes.byref(made), 1, 0) == 0
        self.ptr = made.value

    def __enter__(self):
        Stream.current = self

    def __exit__(self, *unused):
        Stream.current = None

    def __del__(self):
        destroyed.append(self.ptr)
        self.driver.cuStreamDestroy_v2(ctypes.c_void_p(self.ptr))


class Null:
    ptr = 0


class ndarray:
    """What kiln reads of CuPy's arrays, over an array of kiln's."""

    def __init__(self, array):
        array = self.array = kiln.from_dlpack(array)
        self.data = types.SimpleNamespace(ptr=array._address, device_id=0)
        self.dtype = types.SimpleNamespace(str=array.__cuda_array_interface__["typestr"])
        self.shape, self.strides = array.shape, array.strides


ndarray.__module__ = "cupy"
cupy = types.ModuleType("cupy")
cupy.cuda = types.SimpleNamespace(
    get_current_stream=lambda device: Stream.current if Stream.current is not None else Null)
cupy.from_dlpack = ndarray


@unittest.skipIf(not HAS_GPU, "no GPU")
class Streams(unittest.TestCase):
    def setUp(self):
        self.real = sys.modules.get("cupy")
        sys.modules["cupy"] = cupy
        self.twice = kiln.ElementwiseKernel("T x", "T y", "y = x + x")
        self.x = ndarray(kiln.arange(1000, dtype="float32", device="cuda"))
        kiln.synchronize()

    def tearDown(self):
        del sys.modules["cupy"]
        if self.real is not None:
            sys.modules["cupy"] = self.real

    def check(self, result):
        self.assertIs(type(result), ndarray)
        kiln.synchronize()  # as with CuPy, nobody orders the array's stream and its reader's
        self.assertTrue(result.array.tolist() == [2.0 * k for k in range(1000)])

    def test_a_stream_lives_as_long_as_memory_calls_it_home(self):
        stream = Stream()
        address, gone = stream.ptr, weakref.ref(stream)
        with stream:
            made = self.twice(self.x)
        given = Stream()
        other = self.twice(self.x, stream=given)
        given_gone = weakref.ref(given)
        del stream, given
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertIsNotNone(given_gone())
        self.assertNotIn(address, destroyed)
        self.check(made)
        self.check(other)

    def test_many_streams_are_given_back(self):
        made = []
        before = len(destroyed)
        for _ in range(150):
            with Stream():
                made.append(self.twice(self.x))
        gc.collect()
        self.assertGreaterEqual(len(destroyed) - before, 80)
        for result in made:
            self.check(result)

    def test_arrays_of_kiln_are_ordered_with_the_stream(self):
        total = kiln.ElementwiseKernel("T x, T y", "T z", "z = x + y")
        own = kiln.zeros(1000, "float32", "cuda")
        for _ in range(20):
            with Stream():
                total(self.x, own, own)
            own += 1
        self.assertTrue(own.tolist() == [20.0 * k + 20 for k in range(1000)])

    def test_what_is_no_stream_is_refused(self):
        with self.assertRaisesRegex(TypeError, "no CUDA stream"):
            self.twice(self.x, stream="text")

    @unittest.skipIf(sum(d["usable"] and d["id"].startswith("cuda") for d in kiln.devices()) < 2,
                     "one GPU")
    def test_arrays_of_two_gpus_are_refused(self):
        other = ndarray(kiln.zeros(1000, "float32", "cuda:1"))
        other.data.device_id = 1
        total = kiln.ElementwiseKernel("T x, T y", "T z", "z = x + y")
        with self.assertRaisesRegex(ValueError, "argument 2 is on cuda:1, those before it on cuda:0"):
            total(self.x, other)
        with self.assertRaisesRegex(ValueError, "argument 2 is on the cpu, those before it on cuda:0"):
            total(self.x, kiln.zeros(1000, "float32", "cpu"))
        self.check(self.twice(self.x))

    def test_the_interpreter_ends_with_streams_in_use(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); import test_streams as t, kiln\n"
                "sys.modules['cupy'] = t.cupy\n"
                "twice = kiln.ElementwiseKernel('T x', 'T y', 'y = x + x')\n"
                "x = t.ndarray(kiln.ones(9, 'float32', device='cuda'))\n"
                "with t.Stream():\n"
                "    sys.kept = twice(x), twice, kiln.ones(3, device='cuda').__dlpack__()\n"
                "class Late:\n"
                "    def __del__(self): twice(x)\n"
                "sys.late = Late()\n")
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code,
                               os.path.dirname(os.path.abspath(__file__))],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
