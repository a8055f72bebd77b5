"""Random numbers that are functions of a key, as the language of expressions has them: docs/random.md.

The key is any integer and stands first; equal keys give equal numbers, on every device. Then come the shape and the
parameters, numbers or arrays. Results are kiln's arrays on the device of arrays among the arguments, else the default
one."""
from ._array import asarray
from ._expressions import _Call
from ._kernels import _graph

#: The functions, and which of their arguments behind the key are arrays where lists stand for them.
FUNCTIONS = {
    "random": (), "uniform": (), "standard_normal": (), "normal": (), "standard_exponential": (), "exponential": (),
    "standard_gamma": (), "gamma": (), "integers": (), "random_bits": (), "bernoulli": (), "poisson": (),
    "binomial": (), "permutation": (), "choice": (), "shuffle": (0,), "multivariate_normal": (0, 1),
}


def _function(name, arrays):
    def function(key, *args, stream=None, **keywords):
        call = _Call()
        texts = [call.array(key.__index__())]  # an input, so that all keys share the kernels
        texts += [call.array(asarray(v)) if k in arrays else call.text(v) for k, v in enumerate(args)]
        texts += [f"{word}={call.text(v)}" for word, v in keywords.items()]
        return _graph(f"{name}({', '.join(texts)})", tuple(call.names))(*call.arrays, stream=stream)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(key, shape, ...) of docs/random.md."
    return function


globals().update({name: _function(name, arrays) for name, arrays in FUNCTIONS.items()})
__all__ = tuple(FUNCTIONS)
