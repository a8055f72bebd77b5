"""The exceptions of kiln: one class for each kind of failure, by the status that libkiln returned."""


class Error(Exception):
    """A failure. Its text holds the text at fault with a caret, where there is one.

    status   the status' name, as "KILN_ERR_SHAPE"
    detail   the text at fault with a caret, or None
    offset   the byte of that text (in UTF-8, counted from 0) that is wrong, or None
    log      the compiler's whole log, or None
    source   the generated source that did not compile, or None
    """

    status = None
    detail = None
    offset = None
    log = None
    source = None


class ArgumentError(Error, ValueError):
    """An argument, a shape or a definition is wrong."""


class DtypeError(Error, TypeError):
    """A dtype or a kind of argument is not the one required."""


class AxisError(ArgumentError, IndexError):
    """An axis or an index is out of range."""


class CompileError(ArgumentError):
    """The compiler refused a snippet."""


class OutOfMemory(Error, MemoryError):
    """The host or the device has no memory left."""


class DeviceError(Error, RuntimeError):
    """A device, a driver or a compiler is missing or has failed."""


class UnsupportedError(DeviceError, NotImplementedError):
    """What kiln does not do, or not on this device or in this build."""


class LinAlgError(ArgumentError):
    """A matrix is singular or not positive definite, or an iteration did not converge."""


class Warning(UserWarning):
    """What libkiln works around, such as a cache folder that cannot be used."""


#: By status, as kiln/error.h numbers them; None stands for all others.
CLASSES = {
    None: DeviceError,
    **dict.fromkeys((-1, -2, -5, -6, -11, -12, -13, -14, -15, -16, -27, -30, -31, -34),
                    ArgumentError),
    **dict.fromkeys((-7, -8, -9, -10), DtypeError),
    -17: type("RangeError", (ArgumentError, OverflowError),
              {"__doc__": "A number does not fit the dtype that it must take.",
               "__module__": "kiln"}),
    -28: UnsupportedError,
    -29: AxisError,
    -38: AxisError,
    -18: CompileError,
    -37: LinAlgError,
    -3: OutOfMemory,
    -4: OutOfMemory,
}
RangeError = CLASSES[-17]
