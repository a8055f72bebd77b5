"""Arrays of other libraries on the cpu device: those that are not installed are skipped. Also what
happens at a fork and at the interpreter's end."""
import ctypes
import functools
import os
import random
import subprocess
import sys
import threading
import types
import unittest

import numpy as np

import kiln

try:
    import torch
except ImportError:
    torch = None
try:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

axpy = kiln.ElementwiseKernel("T x, T y, T a", "T z", "z = a * x + y")


class Foreign:
    """An array that has an array interface and nothing else."""

    def __init__(self, x, **changed):
        self.x = x
        self.__array_interface__ = dict(x.__array_interface__, **changed)


class Interfaces(unittest.TestCase):
    def test_array_interface(self):
        x = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]
        z = axpy(Foreign(x), Foreign(x), 2)
        self.assertIsInstance(z, kiln.ndarray)
        np.testing.assert_array_equal(np.asarray(z), 3 * x)
        axpy(x, x, 1, Foreign(x))
        np.testing.assert_array_equal(x, 2 * np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2])

    def test_refusals_say_why(self):
        x = np.arange(4, dtype=np.float32)
        for changed, word in (({"typestr": ">f4"}, "big-endian"), ({"typestr": "<U4"}, "no dtype"),
                              ({"data": None}, "data"), ({"shape": (4, -1)}, "-1|negative|extent"),
                              ({"strides": (3,)}, "multiple"), ({"strides": (4, 4)}, "strides"),
                              ({"data": (x.ctypes.data + 1, False)}, "aligned|multiple")):
            with self.assertRaisesRegex((TypeError, ValueError), word):
                axpy(Foreign(x, **changed), x, 1)
        with self.assertRaisesRegex(ValueError, "read-only"):
            axpy(x, x, 1, Foreign(x, data=(x.ctypes.data, True)))

    def test_random_dictionaries_are_read_or_refused(self):
        """Entries that are missing, of other types or of numbers beyond 64 bits are exceptions of their
        kind; what is read is what NumPy reads."""
        draw = random.Random(5)
        x = np.arange(24, dtype=np.float32)
        odd = [None, 5, -1, 1.5, "f4", b"<f4", (), [], {}, (1,) * 40, 2**63, -2**63, 2**64, 2**70, (2**63,), (2**62, 4), (None, 1),
               (-1, False), (2**64 - 4, False), (2**70, 0), ("x", 0), "", "<", "<f", "<f99999999999999999999", "<f-4", ("a", "b")]
        read = 0
        for _ in range(3000):
            rank = draw.randrange(4)
            shape = tuple(draw.randrange(3) for axis in range(rank))
            facts = {"shape": shape, "strides": draw.choice([None, tuple(draw.randrange(3) * 4 for axis in range(rank))])}
            plain = draw.randrange(3) > 0
            if not plain:
                facts[draw.choice(["shape", "strides", "typestr", "data"])] = draw.choice(odd)
            foreign = Foreign(x, **facts)
            if not plain and draw.randrange(2) == 0:
                del foreign.__array_interface__[draw.choice(["shape", "typestr", "data"])]
            try:
                seen = kiln.asarray(foreign)
            except (TypeError, ValueError, OverflowError, MemoryError):
                self.assertFalse(plain)
                continue
            if plain:
                self.assertEqual(seen.tolist(), np.asarray(foreign).tolist())
                read += 1
        self.assertGreater(read, 1000)

    def test_types_that_are_made_at_run_time(self):
        for k in range(400):
            like = type(f"Like{k}", (np.ndarray,), {})
            self.assertEqual(kiln.asarray(np.arange(3).view(like)).tolist(), [0, 1, 2])

    def test_bytes_and_memoryviews(self):
        k = kiln.ElementwiseKernel("uint8 x", "uint8 z", "z = x + 1")
        self.assertEqual(k(b"abc").tolist(), list(b"bcd"))
        out = bytearray(3)
        k(b"abc", out)
        self.assertEqual(bytes(out), b"bcd")
        with self.assertRaisesRegex(ValueError, "read-only"):
            k(b"abc", b"abc")


@unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed")
class MlDtypes(unittest.TestCase):
    def test_round_trip(self):
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
            dtype = getattr(ml_dtypes, name)
            x = np.array([[0.5, -1.5, 3.0], [448.0, 0.0, -2.0]], dtype)
            a = kiln.asarray(x)
            self.assertEqual((a.dtype, a.dtype, a.shape), (name, dtype, (2, 3)))
            self.assertEqual(a.tolist(), x.astype(float).tolist())
            z = axpy(x, x, x.dtype.type(2))
            self.assertEqual(z.dtype, dtype)
            np.testing.assert_array_equal(z.astype(float), (3 * x.astype(np.float32)).astype(dtype).astype(float))
            self.assertEqual(kiln.finfo(a.dtype).max, float(ml_dtypes.finfo(dtype).max))
            self.assertEqual(kiln.finfo(a.dtype).eps, float(ml_dtypes.finfo(dtype).eps))
            self.assertEqual(kiln.finfo(a.dtype).smallest_normal, float(ml_dtypes.finfo(dtype).smallest_normal))


class Float8(unittest.TestCase):
    def test_conversions(self):
        x = kiln.asarray([0.3, 448.0, 464.0, 465.0, -1e9, 61440.0])
        self.assertEqual(str(x.astype("float8_e4m3fn").astype("float32").tolist()),
                         "[0.3125, 448.0, 448.0, nan, nan, nan]")
        self.assertEqual(x.astype(kiln.float8_e5m2).astype("float32").tolist(),
                         [0.3125, 448.0, 448.0, 448.0, -float("inf"), float("inf")])
        self.assertEqual((kiln.float8_e5m2.itemsize, kiln.finfo("float8_e4m3fn").bits), (1, 8))


def in_dlpack(dtype):
    """Whether this version of PyTorch exchanges tensors of the dtype."""
    try:
        torch.from_dlpack(torch.zeros(1).to(dtype))
        return True
    except (BufferError, RuntimeError):
        return False


NARROW = () if torch is None else tuple(
    filter(in_dlpack, (torch.float8_e4m3fn, torch.float8_e5m2)))


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Torch(unittest.TestCase):
    def test_round_trip(self):
        for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
                      torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
                      torch.complex128, *NARROW):
            x = torch.arange(6).to(dtype).reshape(2, 3).T
            a = kiln.from_dlpack(x)
            y = torch.from_dlpack(a)
            self.assertEqual((a._address, y.data_ptr()), (x.data_ptr(),) * 2)
            self.assertEqual((y.dtype, y.stride()), (x.dtype, x.stride()))

    def test_call(self):
        x = torch.arange(6.0).reshape(2, 3)
        z = axpy(x, x, 2)
        self.assertIs(type(z), torch.Tensor)
        self.assertTrue(torch.equal(z, 3 * x))
        self.assertIs(axpy(x, x, 1, z), z)
        self.assertTrue(torch.equal(z, 2 * x))

    def test_refusals_say_why(self):
        x = torch.arange(3.0)
        c = torch.ones(3, dtype=torch.complex64)
        for bad, word in ((x.clone().requires_grad_(), "requires grad"), (c.conj(), "conjugated"),
                          (c.conj().imag, "negated")):
            with self.assertRaisesRegex(BufferError, word):
                axpy(bad, bad, 1)
        with torch.no_grad():
            axpy(x.clone().requires_grad_(), x, 1)


@unittest.skipIf(jax is None, "JAX is not installed")
class Jax(unittest.TestCase):
    def test_call(self):
        x = jnp.arange(6.0).reshape(2, 3)
        z = axpy(x, x, 2)
        self.assertIsInstance(z, jax.Array)
        np.testing.assert_array_equal(np.asarray(z), 3 * np.asarray(x))
        self.assertEqual(axpy(x.astype("bfloat16"), x.astype("bfloat16"), 2).dtype, "bfloat16")

    def test_round_trip(self):
        for dtype in ("bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64"):
            x = jnp.arange(6).astype(dtype).reshape(2, 3)
            a = kiln.from_dlpack(x)
            self.assertEqual((a._address, str(a.dtype), a.shape), (x.unsafe_buffer_pointer(), dtype, (2, 3)))
            y = jnp.from_dlpack(a)
            self.assertEqual((y.dtype, y.tolist()), (x.dtype, x.tolist()))
            del a, x
            self.assertEqual(y.tolist(), np.arange(6).astype(bool if dtype == "bool" else float).reshape(2, 3).tolist())

    def test_is_never_written_to(self):
        x = jnp.arange(3.0)
        with self.assertRaisesRegex(ValueError, "never written to"):
            axpy(x, x, 1, x)
        a = kiln.asarray(x)
        with self.assertRaisesRegex(ValueError, "read-only"):
            a[0] = 5


class Tensor(ctypes.Structure):
    """DLPack's DLTensor."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Table(unittest.TestCase):
    """A library that gives its arrays by DLPack's table of C functions, as PyTorch 2.10 does."""

    def setUp(self):
        get, new = (getattr(ctypes.pythonapi, n) for n in ("PyCapsule_GetPointer", "PyCapsule_New"))
        get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p,
                                                       ctypes.c_void_p)
        ours = get(kiln.ndarray.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
        functions = list((ctypes.c_void_p * 5).from_address(ours + 16))
        self.reads, self.bits, self.refuse = 0, (2, 32), False

        @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
        def describe(obj, out):
            if self.refuse:
                return -1
            self.reads += 1
            x = obj.x
            obj.dims = (ctypes.c_int64 * 4)(*x.shape, *(s // 4 for s in x.strides))
            at = ctypes.addressof(obj.dims)
            cast = ctypes.POINTER(ctypes.c_int64)
            out[0] = Tensor(x.ctypes.data, (1, 0), 2, *self.bits, 1, ctypes.cast(at, cast),
                            ctypes.cast(at + 16, cast), 0)
            return 0

        self.describe = describe
        functions[3] = ctypes.cast(describe, ctypes.c_void_p).value
        self.table = (ctypes.c_void_p * 7)(1 | 3 << 32, None, *functions)
        self.capsule = new(ctypes.addressof(self.table), b"dlpack_exchange_api", None)

    def check(self, attributes):
        made = type("Library", (), attributes)
        x, z = made(), made()
        x.x = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]
        z.x = np.zeros((3, 2), np.float32)
        self.assertIs(axpy(x, 1, 2, z), z)
        np.testing.assert_array_equal(z.x, 2 * x.x + 1)
        self.assertEqual(self.reads, 2)
        self.assertEqual(axpy(x, 1, 2).tolist(), z.x.tolist())

    def test_is_read(self):
        self.check({"__dlpack_c_exchange_api__": self.capsule})

    def test_only_complex_tensors_are_asked_whether_they_are_conjugated(self):
        asked = []

        class Like:
            """What kiln asks of a tensor of PyTorch's."""
            requires_grad = False
            __dlpack_c_exchange_api__ = self.capsule

            def is_conj(self):
                asked.append("conj")
                return self.conj

            def is_neg(self):
                asked.append("neg")
                return False

        Like.__module__, Like.__qualname__ = "torch", "Tensor"
        real = sys.modules.get("torch")
        sys.modules["torch"] = types.SimpleNamespace(is_grad_enabled=lambda: True)
        try:
            x = Like()
            x.x, x.conj = np.arange(12, dtype=np.float32).reshape(3, 4), False
            out = np.zeros((3, 4), np.float32)
            axpy(x, 1, 2, out)
            self.assertEqual(asked, ["neg"])
            np.testing.assert_array_equal(out, 2 * x.x + 1)
            self.bits = 5, 64  # the float32 as complex64
            x.x = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]
            x.conj = True
            with self.assertRaisesRegex(BufferError, "conjugated"):
                axpy(x, 1, 2, np.zeros((3, 2), np.complex64))
            self.bits, self.refuse = (2, 32), True  # what the library refuses itself is told in kiln's words
            with self.assertRaisesRegex(BufferError, "conjugated"):
                axpy(x, 1, 2, out)
        finally:
            del sys.modules["torch"]
            if real is not None:
                sys.modules["torch"] = real

    def test_is_read_by_its_first_name(self):
        self.check({"__c_dlpack_exchange_api__": ctypes.addressof(self.table)})

    def test_of_another_major_version_is_left_alone(self):
        self.table[0] = 2
        x = type("Library", (), {"__dlpack_c_exchange_api__": self.capsule})()
        with self.assertRaises(AttributeError):  # __dlpack__() is asked instead
            axpy(x, 1, 2)
        self.assertEqual(self.reads, 0)


class Versioned(ctypes.Structure):
    """DLPack's DLManagedTensorVersioned."""
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)), ("flags", ctypes.c_uint64),
                ("tensor", Tensor)]


class Tensors(unittest.TestCase):
    """Tensors that reach the module as structs: deleters are called once, by success and by failure."""

    def setUp(self):
        self.deleted = 0
        self.dims = (ctypes.c_int64 * 2)(4, 1)
        self.x = np.arange(4, dtype=np.float32)
        dims = ctypes.cast(self.dims, ctypes.POINTER(ctypes.c_int64))
        strides = ctypes.cast(ctypes.addressof(self.dims) + 8, ctypes.POINTER(ctypes.c_int64))

        def delete(unused):
            self.deleted += 1

        self.made = Versioned((1, 0), None, Versioned._fields_[2][1](delete), 0,
                              Tensor(self.x.ctypes.data, (1, 0), 1, 2, 32, 1, dims, strides, 0))
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        table = get(kiln.ndarray.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
        places = (ctypes.c_void_p * 5).from_address(table + 16)
        pointer, code, obj = ctypes.c_void_p, ctypes.c_int, ctypes.py_object
        self.functions = list(places)
        self.allocate = ctypes.CFUNCTYPE(code, pointer, pointer, pointer, pointer)(places[0])
        self.give = ctypes.PYFUNCTYPE(code, obj, pointer)(places[1])
        self.take = ctypes.PYFUNCTYPE(code, pointer, pointer)(places[2])
        self.describe = ctypes.PYFUNCTYPE(code, obj, pointer)(places[3])
        self.stream = ctypes.PYFUNCTYPE(code, code, code, pointer)(places[4])

    def capsule(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.made), b"dltensor_versioned", None)

    def by_table(self):
        out = ctypes.c_void_p()
        self.take(ctypes.addressof(self.made), ctypes.addressof(out))
        made = ctypes.cast(out, ctypes.py_object).value
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(made))  # the reference that the table gave
        return made

    def test_the_table_gives_and_takes(self):
        a = self.by_table()
        self.assertEqual((a._address, a.tolist()), (self.x.ctypes.data, [0, 1, 2, 3]))
        seen, given, stream = Tensor(), ctypes.c_void_p(), ctypes.c_void_p(5)
        self.describe(a[::-1], ctypes.addressof(seen))
        self.assertEqual((seen.ndim, seen.code, seen.bits, seen.lanes), (1, 2, 32, 1))
        self.assertEqual(seen.data + seen.byte_offset, self.x.ctypes.data + 12)
        self.give(a, ctypes.addressof(given))
        given = Versioned.from_address(given.value)
        self.assertEqual((given.tensor.data, given.tensor.shape[0], given.tensor.strides[0]),
                         (self.x.ctypes.data, 4, 1))
        self.stream(1, 0, ctypes.addressof(stream))
        self.assertIsNone(stream.value)
        del a
        self.assertEqual(self.deleted, 0)
        given.deleter(ctypes.addressof(given))
        self.assertEqual(self.deleted, 1)
        with self.assertRaisesRegex(TypeError, "no array of kiln"):
            self.give(object(), ctypes.addressof(stream))

    def test_the_table_allocates(self):
        """Called without the GIL, as any thread of another library may."""
        failures, out = [], ctypes.c_void_p()

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
        def fail(context, kind, message):
            failures.append((context, kind.decode(), message.decode()))

        def make():
            return self.allocate(ctypes.addressof(self.made.tensor), ctypes.addressof(out), 77,
                                 ctypes.cast(fail, ctypes.c_void_p))

        self.made.tensor.data = None  # which is not read
        self.assertEqual((make(), failures), (0, []))
        made = Versioned.from_address(out.value)
        self.assertEqual((tuple(made.version), made.flags, made.tensor.ndim, made.tensor.shape[0],
                          made.tensor.strides[0], made.tensor.bits), ((1, 3), 0, 1, 4, 1, 32))
        ctypes.memset(made.tensor.data + made.tensor.byte_offset, 1, 16)
        made.deleter(out.value)
        for place, field, value, word in ((self.made.tensor, "lanes", 4, "vector"), (self.made.tensor, "ndim", -1, "axes|rank"),
                                          (self.made.tensor, "code", 9, "dtype"), (self.dims, 0, -3, "-3"),
                                          (self.made.tensor.device, 0, 12, "device")):
            old = place[field] if field == 0 else getattr(place, field)
            put = place.__setitem__ if field == 0 else lambda n, v: setattr(place, n, v)
            put(field, value)
            self.assertEqual((make(), out.value), (-1, None))
            context, kind, message = failures.pop()
            self.assertEqual((context, kind), (77, "RuntimeError"))
            self.assertRegex(message, word)
            put(field, old)
        self.assertEqual(make(), 0)
        Versioned.from_address(out.value).deleter(out.value)

    def test_are_deleted_by_other_threads(self):
        """Deleters, kiln's own and those that kiln calls, in threads that Python did not make them in."""
        def in_threads(*functions):
            threads = [threading.Thread(target=f) for f in functions]
            for t in threads:
                t.start()
            for t in threads:
                t.join()

        kept = [self.by_table()]
        views = [kept[0][k:] for k in range(3)]
        given = []
        for view in views:
            out = ctypes.c_void_p()
            self.give(view, ctypes.addressof(out))
            given.append(out.value)
        del view
        in_threads(views.clear, kept.clear)
        self.assertEqual(self.deleted, 0)
        self.assertEqual(kiln.from_dlpack(self.x).tolist(), [0, 1, 2, 3])
        # A call by ctypes has let the GIL go, as a thread of C has none.
        in_threads(*(functools.partial(Versioned.from_address(g).deleter, g) for g in given))
        self.assertEqual(self.deleted, 1)
        array = [self.by_table()]
        in_threads(array.clear)
        self.assertEqual(self.deleted, 2)

    def test_the_capsules_keywords(self):
        a = kiln.ones(3, device="cpu")
        for words in ({}, {"stream": None, "max_version": (1, 3), "dl_device": (1, 0), "copy": False},
                      {"copy": True}, {"max_version": (0, 8)}):
            self.assertEqual(kiln.from_dlpack(a.__dlpack__(**words)).tolist(), [1, 1, 1])
        fixed = kiln.asarray(b"abc")  # read-only, which a consumer that asks for no version is not told
        copy = kiln.from_dlpack(fixed.__dlpack__())
        copy[0] = 0
        self.assertEqual((copy.tolist(), fixed.tolist()), ([0, 98, 99], [97, 98, 99]))
        self.assertEqual(kiln.from_dlpack(fixed.__dlpack__(max_version=(1, 0)))._address, fixed._address)
        with self.assertRaisesRegex(BufferError, "read-only"):
            fixed.__dlpack__(copy=False)
        for words, error, text in (({"version": 1}, TypeError, "no argument 'version'"),
                                   ({"max_version": [1, 3]}, TypeError, "max_version"),
                                   ({"max_version": (1, "3")}, TypeError, "int"),
                                   ({"dl_device": (1,)}, TypeError, "dl_device"),
                                   ({"dl_device": (2**32 + 1, 0)}, OverflowError, "dl_device"),
                                   ({"dl_device": (2, 0)}, BufferError, "device"),
                                   ({"stream": "s"}, TypeError, "int")):
            with self.assertRaisesRegex(error, text):
                a.__dlpack__(**words)
        with self.assertRaisesRegex(TypeError, "keyword"):
            a.__dlpack__(None)
        with self.assertRaisesRegex(TypeError, "no argument 'dtype'"):
            kiln.from_dlpack(a, dtype="int8")

    def test_of_another_major_version_are_not_looked_at_by_the_table(self):
        asked = []

        @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
        def give(obj, out):
            out[0] = ctypes.addressof(self.made)
            return 0

        @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
        def stream(kind, number, out):
            asked.append(kind)
            return 0

        functions = list(self.functions)
        functions[1], functions[4] = (ctypes.cast(f, ctypes.c_void_p).value for f in (give, stream))
        table = (ctypes.c_void_p * 7)(1 | 3 << 32, None, *functions)
        library = type("Library", (), {"__c_dlpack_exchange_api__": ctypes.addressof(table), "table": table})
        self.assertEqual(kiln.from_dlpack(library()).tolist(), [0, 1, 2, 3])
        self.assertEqual((self.deleted, asked), (1, []))
        self.made.version[0], self.made.tensor.device[0] = 2, 2
        with self.assertRaisesRegex(kiln.Error, "DLPack 2.0"):
            kiln.from_dlpack(library())
        self.assertEqual((self.deleted, asked), (2, []))

    def test_of_another_major_version_are_only_deleted(self):
        self.made.version[0] = 2
        self.made.tensor.device[0] = 4  # which must not be looked at
        library = type("Library", (), {"__dlpack__": lambda s, **k: self.capsule(),
                                       "__dlpack_device__": lambda s: (1, 0)})()
        for use in (lambda: axpy(library, 1, 2), lambda: kiln.from_dlpack(library)):
            with self.assertRaisesRegex(kiln.Error, "DLPack 2.0"):
                use()
            self.assertEqual(self.deleted, 0)  # by the capsule, which was not used
        for count, use in enumerate((lambda: kiln.from_dlpack(self.capsule()), self.by_table)):
            with self.assertRaisesRegex(kiln.Error, "DLPack 2.0"):
                use()
            self.assertEqual(self.deleted, count + 1)

    def test_of_devices_that_are_none_are_deleted(self):
        for kind in (2, 13):
            for number in (-2**31, -2, -1, 16, 2**31 - 1):
                self.deleted = 0
                self.made.tensor.device[:] = kind, number
                with self.assertRaisesRegex(Exception, "cuda:|no capsule"):
                    kiln.from_dlpack(self.capsule())
                self.assertEqual(self.deleted, 1)
                like = type("Like", (), {"__dlpack__": lambda self, **_: None, "__dlpack_device__": lambda self: (kind, number)})()
                with self.assertRaisesRegex(kiln.Error, f"cuda:{number}"):
                    kiln.from_dlpack(like)
                with self.assertRaisesRegex(kiln.Error, f"cuda:{number}"):
                    axpy(like, self.x, 1)
        like = type("List", (), {"__dlpack__": lambda self, **_: None, "__dlpack_device__": lambda self: [1, 0]})()
        with self.assertRaisesRegex(TypeError, "tuple"):
            axpy(like, self.x, 1)

    def test_that_are_refused_are_deleted(self):
        for count, use in enumerate((lambda: kiln.from_dlpack(self.capsule()), self.by_table)):
            for place, field, value in ((self.made.tensor, "lanes", 4), (self.made.tensor, "bits", 4),
                                        (self.made.tensor, "ndim", -1),
                                        (self.made.tensor.device, 0, 4)):
                with self.subTest(count=count, field=field):
                    before = self.deleted
                    old = place[field] if field == 0 else getattr(place, field)
                    put = place.__setitem__ if field == 0 else lambda n, v: setattr(place, n, v)
                    put(field, value)
                    with self.assertRaises(kiln.Error):
                        use()
                    put(field, old)
                    self.assertEqual(self.deleted, before + 1)


def run(code):
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True,
                          timeout=120)
    return done.returncode, done.stdout, done.stderr


class Process(unittest.TestCase):
    def test_ends_with_live_arrays(self):
        code = ("import kiln, sys, numpy as np\n"
                "k = kiln.ElementwiseKernel('T x', 'T z', 'z = x + 1')\n"
                "sys.keep = [kiln.ones(3), kiln.asarray(np.ones(3)), k(np.ones(3)),"
                " kiln.ones(3).__dlpack__(), k]\n"
                "class Late:\n"
                "    def __del__(self): print(k(np.ones(2)).tolist())\n"
                "sys.late = Late()\n"
                "print('end')\n")
        status, out, err = run(code)
        self.assertEqual((status, out.splitlines()[0]), (0, "end"), err)

    def test_forks(self):
        code = ("import kiln, os, sys, warnings, numpy as np\n"
                "warnings.simplefilter('ignore')\n"
                "k = kiln.ElementwiseKernel('T x', 'T z', 'z = x + 1')\n"
                "kiln.set_default_device('cpu')\n"  # a GPU does not survive a fork
                "old = kiln.ones(2)\n"
                "k(np.ones(3))\n"
                "child = os.fork()\n"
                "if child == 0:\n"
                "    ok = kiln.default_device() == 'cpu' and k(np.ones(3)).tolist() == [2, 2, 2] and kiln.ones(2).tolist() == [1, 1]\n"
                "    try:\n"
                "        old + 1\n"
                "        ok = False\n"
                "    except kiln.Error as e:\n"
                "        ok = ok and 'fork' in str(e)\n"
                "    del old\n"
                "    os._exit(0 if ok else 3)\n"
                "print(os.waitpid(child, 0)[1], k(np.ones(3)).tolist(), (old + 1).tolist())\n")
        status, out, err = run(code)
        self.assertEqual((status, out), (0, "0 [2.0, 2.0, 2.0] [2.0, 2.0]\n"), err)

    def test_imports_little_and_no_numpy(self):
        """What takes time at an import is other packages: it loads none but a few of the standard library's."""
        code = ("import sys\n"
                "before = set(sys.modules)\n"
                "import kiln\n"
                "new = {m.split('.')[0] for m in set(sys.modules) - before} - {'kiln'}\n"
                "assert new <= sys.stdlib_module_names, new\n"
                "heavy = new & {'asyncio', 'ctypes', 'inspect', 'numpy', 'pathlib', 'sqlite3', 'subprocess', 'typing'}\n"
                "assert not heavy, heavy\n"
                "assert len(new) < 60, sorted(new)\n"
                "print(kiln.array([1, 2, 3]).sum().item())\n")
        status, out, err = run(code)
        self.assertEqual((status, out), (0, "6\n"), err)


if __name__ == "__main__":
    unittest.main()
