from cupy import _absent

NVRTCError = type("NVRTCError", (RuntimeError,), {})
__getattr__ = _absent.of("nvrtc")
