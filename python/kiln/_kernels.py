"""The classes of kernels: CuPy's, with CuPy's order of arguments, and kiln's Scan and Row.

They check and order what they are given; a call goes straight to C (python/src/call.c)."""
import warnings

from . import _kiln

ELEMENTWISE, REDUCTION, SCAN, ROW, GRAPH, MODULE, RAW = range(7)


def _count(signature):
    """How many parameters a signature declares."""
    return signature.count(",") + 1 if signature.strip() else 0


def _texts(options):
    """Compiler options as a tuple of str."""
    return (options,) if isinstance(options, str) else tuple(options)


def _check(kernel, what):
    """Tell at once what is wrong with a definition. The cpu device refuses some snippets that are
    for CUDA only: those are told by a call."""
    try:
        kernel._check("cpu")
    except what as e:
        if e.status != "KILN_ERR_UNSUPPORTED":
            raise


def _remake(made, args, keywords):
    return made(*args, **keywords)


class _Picklable:
    """What is pickled, and copied, as the arguments that it was made from."""

    def __new__(cls, *args, **keywords):
        self = super().__new__(cls)
        self._made_from = args, keywords
        return self

    def __reduce__(self):
        return _remake, (type(self), *self._made_from)


class _Definition(_Picklable, _kiln.Kernel):
    """What the four families of definitions have in common."""

    def __init__(self, family, texts, inputs, outputs, options):
        from ._errors import Error
        for text in texts:
            if text is not None and not isinstance(text, str):
                raise TypeError(f"a text of a kernel is a str, not {type(text).__name__}")
        super().__init__(family, texts, _count(inputs), _count(outputs), options)
        self._texts = texts
        self._name = options.get("name")
        _check(self, Error)

    @property
    def name(self):
        return self._name

    def __repr__(self):
        return f"<kiln.{type(self).__name__} {self._name}>"


class ElementwiseKernel(_Definition):
    """A kernel from a signature and statements that are run for every element.

    The arguments are those of cupy.ElementwiseKernel: `float` and `int` in the signatures are
    NumPy's 64-bit types. A call takes the inputs, and the outputs where they are given:

        kernel(x, y)            returns a new array of x's kind
        kernel(x, y, z)         writes to z, and returns it
        kernel(x, size=n)       n elements, where all arrays are raw

    `stream` names the CUDA stream to run on; `out` the outputs. `block_size` is taken as CuPy takes
    it, and ignored: kiln chooses the size of blocks.
    """

    def __init__(self, in_params, out_params, operation, name="kernel", reduce_dims=True,
                 preamble="", no_return=False, return_tuple=False, *, loop_prep="", after_loop="",
                 options=(), numpy_types=True):
        if "__syncthreads" in f"{operation}{preamble}{loop_prep}{after_loop}":
            from ._errors import Warning
            warnings.warn(f"kernel \"{name}\" waits for its block, whose size kiln chooses whatever "
                          "block_size says: a RawKernel has the blocks that it is given", Warning,
                          stacklevel=2)
        super().__init__(ELEMENTWISE, (in_params, out_params, operation), in_params, out_params,
                         {"name": name, "preamble": preamble, "loop_prep": loop_prep,
                          "after_loop": after_loop, "options": _texts(options),
                          "keep_axes": not reduce_dims, "no_return": no_return,
                          "return_tuple": return_tuple, "numpy_types": numpy_types})
        self.in_params = in_params
        self.out_params = out_params
        self.operation = operation


class ReductionKernel(_Definition):
    """A reduction from a map, a reduce and a post map expression.

    The arguments are those of cupy.ReductionKernel. A call takes `axis`, `keepdims`, `out` and
    `stream`.
    """

    def __init__(self, in_params, out_params, map_expr, reduce_expr, post_map_expr, identity,
                 name="reduce_kernel", reduce_type=None, reduce_dims=True, preamble="",
                 options=(), *, numpy_types=True):
        del reduce_dims  # The results are the same; kiln merges axes where it can.
        identity = "" if identity is None else str(identity)
        super().__init__(REDUCTION, (in_params, out_params, map_expr, reduce_expr, post_map_expr,
                                     identity), in_params, out_params,
                         {"name": name, "preamble": preamble, "reduce_type": reduce_type,
                          "options": _texts(options), "numpy_types": numpy_types})
        self.in_params = in_params
        self.out_params = out_params
        self.map_expr = map_expr
        self.reduce_expr = reduce_expr
        self.post_map_expr = post_map_expr
        self.identity = identity


class Scan(_Definition):
    """Running results along an axis, from the texts that a ReductionKernel has.

    A call takes `axis` (None: all elements as one sequence), `exclusive`, `reverse`, `out`,
    `stream`.
    """

    def __init__(self, in_params, out_params, map_expr, reduce_expr, post_map_expr, identity="",
                 name="scan_kernel", reduce_type=None, preamble="", options=(), *,
                 numpy_types=True):
        identity = "" if identity is None else str(identity)
        super().__init__(SCAN, (in_params, out_params, map_expr, reduce_expr, post_map_expr,
                                identity), in_params, out_params,
                         {"name": name, "preamble": preamble, "reduce_type": reduce_type,
                          "options": _texts(options), "numpy_types": numpy_types})


class Stage:
    """One reduction over each row of a Row; see kiln_row_stage in kiln/row.h."""

    __slots__ = ("prep", "map", "type", "reduce", "identity", "result", "post")

    def __init__(self, map, type, reduce, result, identity=None, prep=None, post=None):
        self.prep = prep
        self.map = map
        self.type = type
        self.reduce = reduce
        self.identity = identity
        self.result = result
        self.post = post

    def _tuple(self):
        return tuple(getattr(self, name) for name in self.__slots__)


class Row(_Definition):
    """A row program: reductions over each row, whose results the same row uses, in one pass.

    `stages` are Stage objects, `values` pairs of a C++ type and a name. A call takes `axis` (None:
    the whole array is one row), `keepdims`, `out` and `stream`.
    """

    def __init__(self, in_params, out_params, stages, operation="", name="row_kernel", preamble="",
                 options=(), *, row_outputs="", row_post="", values=(), numpy_types=True):
        outputs = ", ".join(t for t in (out_params, row_outputs) if t.strip())
        super().__init__(ROW, (in_params, out_params, operation), in_params, outputs,
                         {"name": name, "preamble": preamble, "options": _texts(options),
                          "stages": tuple(s._tuple() for s in stages),
                          "values": tuple(tuple(v) for v in values),
                          "row_outputs": row_outputs or None, "row_post": row_post or None,
                          "numpy_types": numpy_types})


class _Graph(_kiln.Kernel):
    """The graph of an expression; docs/expressions.md has the language."""

    def __init__(self, text, names, name="kiln_graph"):
        super().__init__(GRAPH, (text,), len(names), 0, {"name": name, "names": tuple(names)})
        self._check("cpu")


_graphs = {}


def _graph(text, names, title="kiln_graph"):
    """The graph of an expression over these names, for messages called `title`; kept."""
    key = (text, names, title)
    found = _graphs.get(key)
    if found is None:
        if len(_graphs) >= 4096:
            _graphs.clear()
        found = _graphs[key] = _Graph(text, names, title if title.isidentifier() else "kiln_graph")
    return found


def _bool_name(name, value):
    """A name as the expression language declares it: `bool m` may be a mask."""
    if isinstance(value, _kiln.Array):
        return f"bool {name}" if value.dtype.kind == "b" else name
    return f"bool {name}" if str(getattr(value, "dtype", "")) in ("bool", "torch.bool") else name


def eval(expression, *, out=None, stream=None, **arrays):
    """Compute a NumPy expression over named arrays and numbers, in as few kernels as possible.

        kiln.eval("sum(sqrt(x*x + y*y), axis=1)", x=x, y=y)
    """
    names = tuple(_bool_name(name, value) for name, value in arrays.items())
    return _graph(expression, names)(*arrays.values(), out=out, stream=stream)


def _compile(kernel, log_stream, device):
    device = device or _kiln.default_device()
    kernel._check(device)
    if log_stream is not None:
        log_stream.write(kernel._log(device))


class RawModule(_Picklable):
    """A module of CUDA C++ source, or of a file with source, PTX, a cubin or a fatbin.

    The arguments are cupy.RawModule's; `backend` and `jitify` are taken and ignored. On the cpu
    device a source is compiled as C++ (docs/modules.md).
    """

    def __init__(self, code=None, *, path=None, options=(), backend="nvrtc",
                 translate_cucomplex=False, enable_cooperative_groups=False,
                 name_expressions=None, jitify=False):
        del backend, translate_cucomplex, jitify  # CuPy's headers are kiln's own text.
        if (code is None) == (path is None):
            raise TypeError("a RawModule has either `code` or `path`")
        self._cooperative = self.enable_cooperative_groups = enable_cooperative_groups
        self._kernels = {}
        self._module = _kiln.Kernel(MODULE, (code, None if path is None else str(path)), 0, 0,
                                    {"options": _texts(options),
                                     "names": tuple(name_expressions or ())})

    def get_function(self, name, signature=None):
        """A kernel by its name in the source, or one of the name expressions. A signature, in kiln's
        grammar, makes calls check dtypes as well as sizes."""
        key = name, signature
        if key not in self._kernels:
            self._kernels[key] = _Function(self, name, signature, self._cooperative)
        return self._kernels[key]

    def get_global(self, name, dtype="uint8", device=None):
        """A variable of the module, as an array over its own memory. Each device has its own variables;
        None: those of the device that calls without arrays use."""
        return self._module._symbol(name, str(dtype), device)

    def compile(self, log_stream=None, *, device=None):
        """Compile for a device now; None: the one that calls without arrays use. The compiler's warnings
        are written to `log_stream`."""
        _compile(self._module, log_stream, device)


_ATTRIBUTES = frozenset((
    "max_threads_per_block", "num_regs", "shared_size_bytes", "local_size_bytes", "const_size_bytes",
    "max_dynamic_shared_size_bytes", "binary_version", "ptx_version", "cache_mode_ca",
    "preferred_shared_memory_carveout"))


class _Function(_Picklable, _kiln.Kernel):
    """A kernel of a module; called as CuPy's: kernel(grid, block, args, shared_mem=0). What the driver
    knows of it is a dictionary, `attributes`, and attributes by the same names: num_regs and so on."""

    def __init__(self, module, name, signature, cooperative):
        super().__init__(RAW, (name, signature), 0, 0,
                         {"module": module._module, "cooperative": cooperative})
        self.name = name
        self.enable_cooperative_groups = cooperative

    @property
    def attributes(self):
        """For the device that calls without arrays use; it is compiled for that."""
        return self._attributes(_kiln.default_device())

    def __getattr__(self, name):
        if name in _ATTRIBUTES:
            return self.attributes[name]
        raise AttributeError(f"a kernel of a module has no {name}")

    def __call__(self, grid, block, args, *, shared_mem=0, stream=None):
        super().__call__(*args, grid=grid, block=block, shared_mem=shared_mem, stream=stream)


class RawKernel(_Function):
    """A kernel of CUDA C++ source, with cupy.RawKernel's arguments."""

    def __init__(self, code, name, options=(), backend="nvrtc", translate_cucomplex=False, *,
                 enable_cooperative_groups=False, jitify=False, signature=None):
        plain = name.isidentifier()
        module = RawModule(code, options=options, backend=backend,
                           translate_cucomplex=translate_cucomplex, jitify=jitify,
                           name_expressions=None if plain else (name,))
        super().__init__(module, name, signature, enable_cooperative_groups)
        self.code = code

    def compile(self, log_stream=None, *, device=None):
        """Compile for a device now; None: the one that calls without arrays use. The compiler's warnings
        are written to `log_stream`."""
        _compile(self, log_stream, device)
