// A stand-in for the part of NVIDIA's cuBLASLt that Toller calls: linear layers in f16. It is in the library of the
// stand-in for the driver, under a second name.
//
// It refuses all other descriptions, and descriptions that are not destroyed. An algorithm holds the shape and the
// residual that it was chosen for, so that it is used for no other.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver/stand_in.h"
#include "shim/shim.h"

namespace {

// The numbers of cublasLt.h.
enum Status { OK = 0, REFUSED = 7, FAILED = 13 };
enum Type { F32 = 0, F16 = 2, SUMS_IN_F32 = 68 };
enum OfOperation { TRANSPOSES_A = 3, EPILOGUE = 7, BIAS = 8 };
enum OfPreference { WORKSPACE = 1, REDUCTIONS = 3, ALIGNMENT_A = 5, ALIGNMENT_D = 8 };
constexpr uint32_t TRANSPOSED = 1, ADDS_BIAS = 4, ALIGNMENT = 16;

struct Operation {
    uint32_t transposes_a, epilogue;
    uint64_t bias;
};

struct Layout {
    uint64_t rows, columns;
};

struct Preference {
    uint64_t workspace;
    uint32_t reductions, alignments;
};

struct Algorithm {
    uint64_t outputs, depth, magic, unused[5];
};

struct Choice {
    Algorithm algorithm;
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

constexpr uint64_t MAGIC = 0x746f6c6c65720001;

// Descriptions that were made and not destroyed.
int alive = 0;

template <class T>
Status make(T **made, T value) {
    *made = new T(value);
    alive += 1;
    return OK;
}

template <class T>
Status destroy(T *made) {
    delete made;
    alive -= 1;
    return OK;
}

template <class T>
Status set(T *field, const void *value, size_t bytes) {
    if (bytes != sizeof(T)) return REFUSED;
    std::memcpy(field, value, bytes);
    return OK;
}

// Whether the layouts fit weight, states and results, and the operation is a linear layer's.
bool is_linear(const Operation &operation, const Layout &weight, const Layout &x, const Layout &c, const Layout &out) {
    return operation.transposes_a == TRANSPOSED && operation.epilogue == ADDS_BIAS && weight.rows == x.rows && out.rows == weight.columns &&
           out.columns == x.columns && c.rows == out.rows && c.columns == out.columns && weight.rows % 8 == 0 && out.rows % 8 == 0;
}

} // namespace

#define API extern "C" __attribute__((visibility("default"))) Status

API cublasLtCreate(int **handle) { return make(handle, 0); }

API cublasLtDestroy(int *handle) {
    destroy(handle);
    if (alive == 0) return OK;
    std::fprintf(stderr, "stand-in: %d descriptions of cuBLASLt were not destroyed\n", alive);
    std::_Exit(99);
}

API cublasLtMatmulDescCreate(Operation **operation, int compute, int scale) {
    return compute == SUMS_IN_F32 && scale == F32 ? make(operation, Operation{0, 1, 0}) : REFUSED;
}

API cublasLtMatmulDescSetAttribute(Operation *operation, int attribute, const void *value, size_t bytes) {
    switch (attribute) {
    case TRANSPOSES_A: return set(&operation->transposes_a, value, bytes);
    case EPILOGUE: return set(&operation->epilogue, value, bytes);
    case BIAS: return set(&operation->bias, value, bytes);
    default: return REFUSED;
    }
}

API cublasLtMatmulDescDestroy(Operation *operation) { return destroy(operation); }

API cublasLtMatrixLayoutCreate(Layout **layout, int type, uint64_t rows, uint64_t columns, int64_t stride) {
    return type == F16 && stride == int64_t(rows) ? make(layout, Layout{rows, columns}) : REFUSED;
}

API cublasLtMatrixLayoutDestroy(Layout *layout) { return destroy(layout); }

API cublasLtMatmulPreferenceCreate(Preference **preference) { return make(preference, Preference{0, ~0u, 0}); }

API cublasLtMatmulPreferenceSetAttribute(Preference *preference, int attribute, const void *value, size_t bytes) {
    if (attribute == WORKSPACE) return set(&preference->workspace, value, bytes);
    if (attribute == REDUCTIONS) return set(&preference->reductions, value, bytes);
    uint32_t alignment = 0;
    if (attribute < ALIGNMENT_A || attribute > ALIGNMENT_D || set(&alignment, value, bytes) != OK) return REFUSED;
    preference->alignments += alignment == ALIGNMENT;
    return OK;
}

API cublasLtMatmulPreferenceDestroy(Preference *preference) { return destroy(preference); }

API cublasLtMatmulAlgoGetHeuristic(int *, const Operation *operation, const Layout *weight, const Layout *x, const Layout *c,
                                   const Layout *out, const Preference *preference, int wanted, Choice *choices, int *found) {
    if (!is_linear(*operation, *weight, *x, *c, *out) || preference->reductions != 0 || preference->alignments != 4 || wanted < 1) {
        return REFUSED;
    }
    choices[0] = {{out->rows, weight->rows, MAGIC, {}}, size_t(preference->workspace), OK, 1, {}};
    *found = 1;
    return OK;
}

API cublasLtMatmul(int *, const Operation *operation, const float *alpha, const uint16_t *weight, const Layout *of_weight,
                   const uint16_t *x, const Layout *of_x, const float *beta, const uint16_t *c, const Layout *of_c, uint16_t *out,
                   const Layout *of_out, const Algorithm *algorithm, void *workspace, size_t workspace_bytes, void *stream) {
    const auto *bias = reinterpret_cast<const uint16_t *>(operation->bias);
    const uint64_t outputs = of_out->rows, rows = of_out->columns, depth = of_weight->rows;
    const auto owns = [](const void *matrix, uint64_t numbers) {
        return reinterpret_cast<uint64_t>(matrix) % ALIGNMENT == 0 && stand_in::owns(matrix, numbers * sizeof(uint16_t));
    };
    const bool is_right = is_linear(*operation, *of_weight, *of_x, *of_c, *of_out) && *alpha == 1 && (*beta == 0 || *beta == 1) &&
                          algorithm->magic == MAGIC && algorithm->outputs == outputs && algorithm->depth == depth &&
                          stand_in::owns(workspace, workspace_bytes) && owns(weight, outputs * depth) && owns(x, rows * depth) &&
                          owns(bias, outputs) && owns(c, rows * outputs) && owns(out, rows * outputs);
    if (!is_right) return REFUSED;
    const uint16_t *residual = *beta == 1 ? c : nullptr;
    const Result queued = stand_in::queue(stream, [=] {
        toller_shim_linear_f16(x, weight, bias, residual, out, uint32_t(rows), uint32_t(outputs), uint32_t(depth));
        return SUCCESS;
    });
    return queued == SUCCESS ? OK : FAILED;
}
