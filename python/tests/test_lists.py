"""Lists and numbers beside arrays: they go to where the memory of the others is, whatever the default device is. Functions
are drawn, and their operands as lists or arrays, on each device there is; results are NumPy's, on that device."""
import os
import unittest

import numpy as np

import kiln

SEED = int(os.environ.get("KILN_TEST_SEED") or 1)
rng = np.random.default_rng(SEED)
GPUS = [d["id"] for d in kiln.devices() if d["usable"] and d["id"] != "cpu"]


def numbers(*shape):
    return rng.integers(1, 9, shape).astype(float)


def increasing(count):
    return np.cumsum(numbers(count))


#: The operands of each function, of which any may be a list; and how it is called of them.
FUNCTIONS = {
    "searchsorted": (lambda: (increasing(5), numbers(4)), None),
    "isin": (lambda: (numbers(6), numbers(3)), None),
    "digitize": (lambda: (numbers(6), increasing(3)), None),
    "histogram": (lambda: (numbers(9), increasing(4)), None),
    "histogram with weights": (lambda: (numbers(9), numbers(9)), lambda np, x, w: np.histogram(x, 3, weights=w)),
    "histogram2d": (lambda: (numbers(9), numbers(9), numbers(9)),
                    lambda np, x, y, w: np.histogram2d(x, y, [2, 3], weights=w)),
    "bincount": (lambda: (numbers(9), numbers(9)), lambda np, x, w: np.bincount(_whole(x), weights=w)),
    "concatenate": (lambda: (numbers(3), numbers(2)), lambda np, x, y: np.concatenate([x, y])),
    "stack": (lambda: (numbers(3), numbers(3)), lambda np, x, y: np.stack([x, y])),
    "lexsort": (lambda: (numbers(7), numbers(7)), lambda np, x, y: np.lexsort((x, y))),
    "add": (lambda: (numbers(3), numbers(2, 3)), None),
    "where": (lambda: (numbers(4) > 4, numbers(4), numbers(1)), None),
    "matmul": (lambda: (numbers(2, 3), numbers(3, 2)), None),
    "solve": (lambda: (numbers(3, 3) + 20 * np.eye(3), numbers(3, 1)), lambda np, a, b: np.linalg.solve(a, b)),
    "einsum": (lambda: (numbers(3), numbers(3)), lambda np, x, y: np.einsum("i,j->ij", x, y)),
    "average": (lambda: (numbers(5), numbers(5)), lambda np, x, w: np.average(x, weights=w)),
    "convolve": (lambda: (numbers(5), numbers(2)), None),
    "cross": (lambda: (numbers(3), numbers(3)), None),
    "append": (lambda: (numbers(3), numbers(2)), None),
    "compress": (lambda: (numbers(4) > 4, numbers(4)), None),
    "union1d": (lambda: (numbers(5), numbers(3)), None),
    "insert": (lambda: (numbers(4), numbers(2)), lambda np, x, v: np.insert(x, [1, 3], v)),
    "take": (lambda: (numbers(6), numbers(3) // 2), lambda np, x, i: np.take(x, _whole(i))),
    "meshgrid": (lambda: (numbers(2), numbers(3)), None),
}


def _whole(x):
    return [int(v) for v in x] if isinstance(x, list) else x.astype("int64")


class Lists(unittest.TestCase):
    def check(self, name, device):
        make, call = FUNCTIONS[name]
        call = call or (lambda module, *operands: getattr(module, name)(*operands))
        operands = make()
        want = call(np, *operands)
        which = rng.integers(0, 2, len(operands))  # one of them is an array at least
        which[rng.integers(len(operands))] = 1
        given = [x.tolist() if not w else x if device == "cpu" and rng.integers(2) else kiln.array(x, device=device)
                 for x, w in zip(operands, which)]
        got = call(kiln, *given)
        several = isinstance(want, (tuple, list))
        for one, other in zip(got, want, strict=True) if several else ((got, want),):
            self.assertEqual(getattr(one, "device", "cpu"), device)
            one = one.__array__() if isinstance(one, kiln.ndarray) else np.asarray(one)
            self.assertEqual(one.shape, np.shape(other))
            np.testing.assert_allclose(one, other, rtol=1e-12)

    @unittest.skipIf(kiln.default_device() == "cpu", "the default device is the only one")
    def test_on_the_cpu(self):
        for name in rng.permutation(list(FUNCTIONS))[:8]:
            for _ in range(3):
                with self.subTest(name, seed=SEED):
                    self.check(name, "cpu")

    @unittest.skipUnless(GPUS, "no GPU")
    def test_on_a_gpu(self):
        for name in rng.permutation(list(FUNCTIONS))[:2]:
            with self.subTest(name, seed=SEED):
                self.check(name, GPUS[0])

    def test_alone_they_go_to_the_default_device(self):
        self.assertEqual(kiln.concatenate([[1, 2], [3]]).device, kiln.default_device())
        self.assertEqual(kiln.asarray([1.5]).device, kiln.default_device())


if __name__ == "__main__":
    unittest.main()
