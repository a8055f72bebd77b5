is_hip = False
cudaChannelFormatKindFloat = cudaResourceTypeArray = cudaAddressModeClamp = 0
cudaFilterModePoint = cudaReadModeElementType = cudaDevAttrCooperativeLaunch = 0
CUDARuntimeError = type("CUDARuntimeError", (RuntimeError,), {})


def deviceGetAttribute(attribute, device):
    return 1


def getDeviceCount():
    return 1


def runtimeGetVersion():
    return 13000


def driverGetVersion():
    return 13000
