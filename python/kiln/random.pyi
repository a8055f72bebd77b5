from typing import Any, Protocol

from . import ndarray

class _Draw(Protocol):
    def __call__(self, key: int, *args: Any, stream: Any = ..., **keywords: Any) -> ndarray: ...

random: _Draw
uniform: _Draw
standard_normal: _Draw
normal: _Draw
standard_exponential: _Draw
exponential: _Draw
standard_gamma: _Draw
gamma: _Draw
integers: _Draw
random_bits: _Draw
bernoulli: _Draw
poisson: _Draw
binomial: _Draw
permutation: _Draw
choice: _Draw
shuffle: _Draw
multivariate_normal: _Draw
