// The results of the driver's functions, and their texts.
#pragma once

// The numbers of cuda.h.
enum Result : int {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    LAUNCH_FAILED = 719,
};

inline const char *name_of(int result) {
    switch (result) {
    case SUCCESS: return "no error";
    case INVALID_VALUE: return "invalid argument";
    case OUT_OF_MEMORY: return "out of memory";
    case NOT_INITIALIZED: return "initialization error";
    case NO_DEVICE: return "no CUDA-capable device is detected";
    case INVALID_DEVICE: return "invalid device ordinal";
    case INVALID_IMAGE: return "device kernel image is invalid";
    case INVALID_CONTEXT: return "invalid device context";
    case NO_BINARY_FOR_GPU: return "no kernel image is available for execution on the device";
    case INVALID_HANDLE: return "invalid resource handle";
    case NOT_FOUND: return "named symbol not found";
    case NOT_READY: return "device not ready";
    case LAUNCH_FAILED: return "unspecified launch failure";
    default: return "unknown error";
    }
}
