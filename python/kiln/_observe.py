"""What happens in kiln, told to files and tables (docs/profiling.md), and names for parts of a program.

    with kiln.timeline("run.json"), kiln.scope("first epoch"):
        ...
"""
import os

from . import _kiln


class _Observer:
    """Observes a device from its making to the end of its `with` block, or to close()."""

    _what = None

    def __init__(self, path=None, *, device=None):
        self._observer = _kiln.observe(self._what, None if path is None else str(path), device)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def flush(self):
        """Write what is known so far."""
        if self._observer is None:
            raise ValueError("the observer was closed")
        _kiln.observed(self._observer)

    def close(self):
        """Observe no longer; the file is written. A write that failed is an error."""
        if self._observer is not None:
            try:
                _kiln.observed(self._observer)
            finally:
                self._observer = None


class timeline(_Observer):
    """A timeline of the device's work in a JSON file that Perfetto and chrome://tracing read."""

    _what = "trace"

    def __init__(self, path, *, device=None):
        super().__init__(path, device=device)


def trace(x, offset=0, axis1=0, axis2=1, dtype=None, out=None, *, device=None):
    """NumPy's trace: the sum of a diagonal. Of a path it is timeline(path, device=device)."""
    if isinstance(x, (str, bytes, os.PathLike)):
        return timeline(os.fsdecode(x), device=device)
    from ._expressions import MADE
    if device is not None:
        raise TypeError("the sum of a diagonal is computed where its array is: device= is for timelines")
    return MADE["trace"](x, offset, axis1, axis2, dtype=dtype, out=out)


class memory_log(timeline):
    """Allocations and frees in a CSV file of RMM's form."""

    _what = "csv"


class memory_table(_Observer):
    """Who allocates: str() of it is a table by scope."""

    _what = "table"

    def __init__(self, *, device=None):
        super().__init__(device=device)
        self._text = ""

    def __str__(self):
        return self._text if self._observer is None else _kiln.observed(self._observer)

    def close(self):
        if self._observer is not None:
            self._text = str(self)
        super().close()


def cache_counters(device=None):
    """What the cache of kernels of a device has counted since it was opened, as a dictionary: "compiles" (kernels
    handed to a compiler), "hits" and "misses" of the disk, "stores" and so on, by the names that kiln/cache.h
    explains."""
    return _kiln.cache_counters(device)


class scope:
    """A name for what the calling thread does in a `with` block, in timelines and tables."""

    def __init__(self, label):
        self.label = label

    def __enter__(self):
        _kiln.label(self.label)
        return self

    def __exit__(self, *unused):
        _kiln.label(None)
