"""CuPy's words for errors of kiln's; its tests look for them."""
import kiln

_WORDS = {"KILN_ERR_SHAPE": "operands could not be broadcast together",
          "KILN_ERR_SIZE": "Specified 'size' can be used only if all of the ndarray are 'raw'.",
          "KILN_ERR_UNDECIDED_SIZE": "Loop size is undecided.",
          "KILN_ERR_NAME": "Invalid kernel name", "KILN_ERR_OUTPUT": "Out shape is mismatched"}


def in_cupys_words(function, args, kwargs):
    try:
        return function(*args, **kwargs)
    except kiln.ArgumentError as e:
        if e.status in _WORDS:
            raise ValueError(_WORDS[e.status]) from e
        raise


class Kernel:
    """A kernel of the class that `_class` names, which fails in CuPy's words."""

    def __init__(self, *args, **kwargs):
        self._kernel = in_cupys_words(self._class, args, kwargs)
        self._cached_codes = set()

    def __call__(self, *args, **kwargs):
        result = in_cupys_words(self._kernel, args, kwargs)
        self._cached_codes.add(self._kernel.source(*args, **kwargs))  # CuPy compiles one for each dtype
        return result

    def __getattr__(self, name):
        return getattr(self._kernel, name)
