// What a library of matrix products computes: not a kernel of Toller's, but what one is compared with.
#include "device.h"
#include "shim.h"

void toller_shim_linear_f16(const uint16_t *x, const uint16_t *weight, const uint16_t *bias, const uint16_t *residual, uint16_t *out,
                            uint32_t rows, uint32_t outputs, uint32_t depth) {
    for (size_t row = 0; row < rows; ++row) {
        for (size_t column = 0; column < outputs; ++column) {
            const size_t at = row * outputs + column;
            float sum = 0;
            for (size_t i = 0; i < depth; ++i) sum += f16_to_f32(x[row * depth + i]) * f16_to_f32(weight[column * depth + i]);
            sum += f16_to_f32(bias[column]);
            if (residual != nullptr) sum += f16_to_f32(residual[at]);
            out[at] = f32_to_f16(sum);
        }
    }
}
