import types

from cupy import _absent
from . import _compiler_cache, compiler, memory, runtime, texture  # noqa: F401


class Device:
    """The one device: the cpu."""
    id = 0

    def __init__(self, number=0):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def synchronize(self):
        pass


device = types.SimpleNamespace(get_compute_capability=lambda: "90", Device=Device)
nvrtc = types.SimpleNamespace(getVersion=lambda: (13, 0))
driver = types.SimpleNamespace(get_build_version=lambda: 13000, _is_cuda_python=lambda: False,
                               CUDADriverError=RuntimeError)


def get_nvcc_path():
    return "nvcc"


def get_current_stream():
    return types.SimpleNamespace(synchronize=lambda: None)


__getattr__ = _absent.of("cupy.cuda")
