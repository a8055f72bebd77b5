from cupy import _absent

CompileException = type("CompileException", (Exception,), {})
_cuda_hip_version = 13000
is_hip = False


def _run_cc(*args):
    return "release 13.0"


__getattr__ = _absent.of("cupy.cuda.compiler")
