"""Random numbers that are functions of a key, as the language of expressions has them, and generators: docs/random.md.

The key is any integer and stands first; equal keys give equal numbers, on every device. Then come the shape and the
parameters, numbers or arrays. Results are kiln's arrays on the device of arrays among the arguments, else the default
one. A Generator has NumPy's names and arguments, and counts the draws itself."""
import os

from . import _kiln
from ._array import arange, arrays_of, asarray, has_no_memory, home_of, name_of
from ._expressions import _Call
from ._kernels import _graph
from ._standard import broadcast_shapes

#: The functions, and which of their arguments behind the key are arrays where lists stand for them.
FUNCTIONS = {
    "random": (), "uniform": (), "standard_normal": (), "normal": (), "standard_exponential": (), "exponential": (),
    "standard_gamma": (), "gamma": (), "integers": (), "random_bits": (), "bernoulli": (), "poisson": (),
    "binomial": (), "permutation": (), "choice": (), "shuffle": (0,), "multivariate_normal": (0, 1),
}
#: The parameters, and their defaults, of those that libkiln draws at once, by one kernel for all numbers (kiln/random.h).
PARAMETERS = {
    "random": (), "random_bits": (), "standard_normal": (), "standard_exponential": (), "exponential": (1.0,),
    "standard_gamma": (None,), "bernoulli": (None,), "poisson": (None,), "permutation": (None,), "uniform": (0.0, 1.0),
    "normal": (0.0, 1.0), "gamma": (None, 1.0), "integers": (None, None), "binomial": (None, None),
}


def _numbers(name, args, keywords):
    """The shape and the parameters of a draw at once; None where they are arrays, or not all of them are given."""
    shape, params = (args[:1], args) if name == "permutation" else (args[0], args[1:]) if args else ((), ())
    params = tuple(v.item() if hasattr(v, "item") and not getattr(v, "ndim", 0) and has_no_memory(v) else v for v in params)
    params += PARAMETERS.get(name, (None,))[len(params):]
    if name not in PARAMETERS or len(params) > len(PARAMETERS[name]) or not set(keywords) <= {"dtype"} or \
            not all(type(v) in (int, float) for v in params):
        return None
    return (shape,) if hasattr(shape, "__index__") else tuple(shape), params


def _draw(name, key, args, keywords, stream=None):
    """`key` is an integer, or the key and the number of the draw. They are inputs, so that all of them share kernels."""
    arrays, call = FUNCTIONS[name], _Call()
    pair = key if isinstance(key, tuple) else (key,)
    at_once = _numbers(name, args, keywords) if stream is None else None
    if at_once is not None and all(0 <= v.__index__() < 2**64 for v in pair):
        number, draw = (*pair, 0)[:2]
        dtype = keywords.get("dtype")
        return _kiln.drawn(name, number.__index__(), draw.__index__(), *at_once,
                           None if dtype is None else name_of(dtype), None)
    first = ", ".join(call.array(v.__index__()) for v in pair)
    texts = [f"({first})" if len(pair) > 1 else first]
    home = home_of((*args, *keywords.values()))
    texts += [call.array(asarray(v, device=home if isinstance(v, (list, tuple)) else None)) if k in arrays
              else call.text(v) for k, v in enumerate(args)]
    texts += [f"{word}={call.text(v)}" for word, v in keywords.items()]
    return _graph(f"{name}({', '.join(texts)})", tuple(call.names))(*call.arrays, stream=stream)


def _function(name):
    def function(key, *args, stream=None, **keywords):
        return _draw(name, key, args, keywords, stream)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(key, shape, ...) of docs/random.md."
    return function


globals().update({name: _function(name) for name in FUNCTIONS})

# ---- generators --------------------------------------------------------------------------------

_MASK = 2**32 - 1
_FOR_STREAM, _FOR_SPLIT = 0x73747265, 0x73706c69  # as src/graph/random.c derives keys


def _derive(key, number, draw, purpose):
    """The first two words of Philox 4x32-10 for a counter that no draw of an element has."""
    x, y, z, w = number & _MASK, number >> 32 & _MASK ^ purpose, draw & _MASK, draw >> 32 & _MASK ^ ~purpose & _MASK
    k0, k1 = key & _MASK, key >> 32 & _MASK
    for _ in range(10):
        p, q = 0xD2511F53 * x, 0xCD9E8D57 * z
        x, y, z, w = q >> 32 ^ y ^ k0, q & _MASK, p >> 32 ^ w ^ k1, p & _MASK
        k0, k1 = k0 + 0x9E3779B9 & _MASK, k1 + 0xBB67AE85 & _MASK
    return y << 32 | x


class Generator:
    """A place in the sequence of draws of one seed and stream: a struct kiln_random. `seed`, `stream` and `draw` are
    all of its state; a copy saves it. Methods have the names and the arguments of numpy.random.Generator, and give
    kiln's arrays, or numbers where no size and no array of parameters is given."""

    def __init__(self, seed=None, stream=0, draw=0):
        seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed
        self.seed, self.stream, self.draw = (v.__index__() % 2**64 for v in (seed, stream, draw))

    def __repr__(self):
        return f"kiln.random.Generator(seed={self.seed}, stream={self.stream}, draw={self.draw})"

    @property
    def key(self):
        """The key of the draws: with stream 0 it is the seed."""
        return self.seed if self.stream == 0 else _derive(self.seed, self.stream, 0, _FOR_STREAM)

    def split(self, count):
        """`count` generators that are independent of this one and of each other: a list."""
        made = [Generator(_derive(self.key, k, self.draw, _FOR_SPLIT)) for k in range(count)]
        self.jump(1)
        return made

    spawn = split

    def jump(self, draws):
        """Pass over draws at once."""
        self.draw = (self.draw + draws.__index__()) % 2**64

    def _one(self, name, size, params=(), dtype=None):
        arrays = [v for v in params if getattr(v, "ndim", 0) or isinstance(v, (list, tuple))]
        if size is None:
            shape = broadcast_shapes(*(asarray(v).shape for v in arrays)) if arrays else ()
        else:
            shape = (size,) if hasattr(size, "__index__") else tuple(size)
        home = home_of(params)
        params = [asarray(v, device=home) if isinstance(v, (list, tuple)) else v for v in params]
        drawn = _draw(name, (self.key, self.draw), (shape, *params), {} if dtype is None else {"dtype": dtype})
        self.jump(1)
        return drawn.item() if size is None and not arrays else drawn

    def random(self, size=None, dtype=None):
        return self._one("random", size, (), dtype)

    def uniform(self, low=0.0, high=1.0, size=None, dtype=None):
        return self._one("uniform", size, (low, high), dtype)

    def standard_normal(self, size=None, dtype=None):
        return self._one("standard_normal", size, (), dtype)

    def normal(self, loc=0.0, scale=1.0, size=None, dtype=None):
        return self._one("normal", size, (loc, scale), dtype)

    def standard_exponential(self, size=None, dtype=None):
        return self._one("standard_exponential", size, (), dtype)

    def exponential(self, scale=1.0, size=None, dtype=None):
        return self._one("exponential", size, (scale,), dtype)

    def standard_gamma(self, shape, size=None, dtype=None):
        return self._one("standard_gamma", size, (shape,), dtype)

    def gamma(self, shape, scale=1.0, size=None, dtype=None):
        return self._one("gamma", size, (shape, scale), dtype)

    def poisson(self, lam=1.0, size=None, dtype=None):
        return self._one("poisson", size, (lam,), dtype)

    def binomial(self, n, p, size=None, dtype=None):
        return self._one("binomial", size, (n, p), dtype)

    def bernoulli(self, p, size=None):
        return self._one("bernoulli", size, (p,))

    def random_bits(self, size=None, dtype=None):
        return self._one("random_bits", size, (), dtype)

    def integers(self, low, high=None, size=None, dtype=None, endpoint=False):
        """low <= r < high, or with `endpoint` r <= high; of one bound 0 <= r < low."""
        low, high = (0, low) if high is None else (low, high)
        if endpoint:
            high = (arrays_of((low, high))[1] if isinstance(high, (list, tuple)) else high) + 1
        return self._one("integers", size, (low, high), dtype)

    def permutation(self, x, axis=0):
        """The numbers below x, or the parts of an array along an axis, in random order."""
        whole = hasattr(x, "__index__") and not getattr(x, "ndim", 0)
        if not whole:
            x = asarray(x)
        order = _draw("permutation", (self.key, self.draw), (x.__index__() if whole else x.shape[axis],), {})
        self.jump(1)
        if whole:
            return order
        from ._sorting import take
        return take(x, order, axis=axis)

    def shuffle(self, x, axis=0):
        """An array of kiln's, in place."""
        x[...] = self.permutation(x, axis)

    def choice(self, a, size=None, replace=True, p=None, axis=0):
        """Numbers below a, or parts of an array along an axis, by the probabilities p."""
        whole = hasattr(a, "__index__") and not getattr(a, "ndim", 0)
        a = a.__index__() if whole else asarray(a)
        shape = (1,) if size is None else (size,) if hasattr(size, "__index__") else tuple(size)
        count = 1
        for n in shape:
            count *= n
        more = {} if p is None else {"p": asarray(p) if whole else arrays_of((a, p))[1]}
        found = _draw("choice", (self.key, self.draw), (a if whole else a.shape[axis], count, bool(replace)), more)
        self.jump(1)
        found = found[0] if size is None else found.reshape(shape)
        if whole:
            return found.item() if size is None else found
        from ._sorting import take
        return take(a, found, axis=axis)

    def multivariate_normal(self, mean, cov, size=None):
        shape = (1,) if size is None else (size,) if hasattr(size, "__index__") else tuple(size)
        count = 1
        for n in shape:
            count *= n
        drawn = _draw("multivariate_normal", (self.key, self.draw), (mean, cov, count), {})
        self.jump(1)
        return drawn[0] if size is None else drawn.reshape(shape + drawn.shape[1:])


def default_rng(seed=None):
    """A Generator; of a seed, or where none is given of the system's random bytes. A Generator stays what it is."""
    return seed if isinstance(seed, Generator) else Generator(seed)


__all__ = (*FUNCTIONS, "Generator", "default_rng")
