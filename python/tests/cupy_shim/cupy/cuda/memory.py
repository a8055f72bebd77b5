from cupy import _absent

__getattr__ = _absent.of("cupy.cuda.memory")
