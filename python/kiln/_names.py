"""NumPy's arguments that the functions of this package have under other names or not at all: names of arrays, words
that change no result here, and `out`, `dtype` and `casting`, for which one way serves all."""
import functools

from ._dtypes import as_dtype

#: For each function NumPy's names of its first parameters; behind `|` arguments that change no result, since sorts
#: are stable and their results sorted; `>` before the name of a function: it takes `out`.
TABLE = """
sort: a | kind order stable        argsort: a | kind order stable     unique: ar | sorted
partition: a kth | kind order      argpartition: a kth | kind order   lexsort: keys
>median: a | overwrite_input       nanmedian: a | overwrite_input     searchsorted: a v
>quantile: a q | overwrite_input   nanquantile: a q | overwrite_input
>percentile: a q | overwrite_input nanpercentile: a q | overwrite_input
isin: element test_elements | assume_unique kind                      intersect1d: ar1 ar2 | assume_unique
setxor1d: ar1 ar2 | assume_unique  setdiff1d: ar1 ar2                 union1d: ar1 ar2
in1d: ar1 ar2 | assume_unique      histogram: a                       digitize: x bins
trace: a                           histogram_bin_edges: a | weights   >take: a indices
take_along_axis: arr indices       extract: condition arr             nonzero: a
flatnonzero: a                     argwhere: a                        tile: A reps
repeat: a repeats                  roll: a                            squeeze: a
split: ary indices_or_sections     array_split: ary indices_or_sections
hsplit: ary indices_or_sections    vsplit: ary indices_or_sections    dsplit: ary indices_or_sections
diff: a                            tril: m                            triu: m
flip: m                            moveaxis: a                        expand_dims: a
>outer: a b                        kron: a b                          inner: a b
>concatenate: arrays               >stack: arrays                     cumsum: a
cumprod: a                         >compress: condition a             eye: N M | order
count_nonzero: a
transpose: a                       meshgrid: | copy
"""

_WORDS = ("quicksort", "mergesort", "heapsort", "stable", "introselect", "sort", "table")

#: Where a kind stands among arguments without a name.
_KIND_AT = {"sort": 2, "argsort": 2, "partition": 3, "argpartition": 3}


def _rows():
    for row in filter(None, (part.strip() for line in TABLE.splitlines() for part in _parts(line))):
        name, _, rest = row.partition(":")
        names, _, idle = rest.partition("|")
        yield name.lstrip(">"), names.split(), idle.split(), name.startswith(">")


def _parts(line):
    """The rows of a line: a name with a colon begins each."""
    words, parts = line.split(), []
    for word in words:
        if word.endswith(":"):
            parts.append(word)
        else:
            parts[-1] += " " + word
    return parts


def _check(function, name, value):
    if name == "kind" and value is not None and value not in _WORDS:
        raise ValueError(f"{function}(): kind is {', '.join(_WORDS)}, not {value!r}")
    if name == "order" and value is not None and value not in ("C", "K", "A"):
        raise ValueError(f"{function}(): arrays have no fields to order by, and are in C-order")


def named(function, names, idle, takes_out):
    """The function, which takes NumPy's names as well."""
    title = function.__name__
    most = _KIND_AT.get(title, 1 << 30)

    @functools.wraps(function)
    def called(*args, **keywords):
        if len(args) > most:
            _check(title, "kind", args[most])
            args = args[:most]
        if not keywords:
            return function(*args)
        for name in names[len(args):]:
            if name not in keywords:
                break
            args += (keywords.pop(name),)
        for name in idle:
            if name in keywords:
                _check(title, name, keywords.pop(name))
        out = keywords.pop("out", None) if takes_out else None
        result = function(*args, **keywords)
        if out is None:
            return result
        if tuple(out.shape) != tuple(result.shape):
            raise ValueError(f"{title}(): out has shape {tuple(out.shape)}, and the result {tuple(result.shape)}")
        out[...] = result
        return out
    return called


def give_names(functions):
    """Replace those functions of a dictionary that stand in the table."""
    for name, names, idle, takes_out in _rows():
        functions[name] = named(functions[name], names, idle, takes_out)


_ORDER = "buifc"


def cast(arrays, dtype, casting):
    """Arrays as a dtype, where NumPy's rule allows it."""
    from ._standard import can_cast
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise ValueError(f"casting is \"no\", \"equiv\", \"safe\", \"same_kind\" or \"unsafe\", not {casting!r}")
    if dtype is None:
        return arrays
    to, rank = as_dtype(dtype), _ORDER.index
    for a in arrays:
        allowed = a.dtype == to or casting == "unsafe" or casting == "safe" and can_cast(a.dtype, to) or \
            casting == "same_kind" and rank(a.dtype.kind) <= rank(to.kind)
        if not allowed:
            raise TypeError(f"{a.dtype.name} is not cast to {to.name} by the rule \"{casting}\"")
    return [a.astype(to, copy=False) for a in arrays]
