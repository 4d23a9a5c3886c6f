// Products of the transformer through the shim against sums in f64: every type, tile and form. (The other
// steps are tested where they are driven, in crates/nn.)
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#define TOLLER_SHIM 1
#include "../../encoder.h"
#include "../device.h"
#include "../shim.h"
#include "check.h"

namespace {

// Memory that kernels may touch.
struct Memory {
    void *start;

    explicit Memory(size_t bytes) : start(toller_shim_allocate(bytes)) {}
    Memory(const Memory &) = delete;
    ~Memory() { toller_shim_free(start); }

    template <class T>
    T *as() const {
        return static_cast<T *>(start);
    }
};

// A type of states: its name, its bytes, how it rounds, and the error of a sum that it allows.
struct Type {
    const char *name;
    uint32_t bytes;
    double tolerance;
};
constexpr Type TYPES[] = {{"f16", 2, 2e-3}, {"bf16", 2, 2e-2}, {"f32", 4, 1e-5}};

void put(const Type &type, void *row, uint32_t column, float x) {
    if (type.bytes == 4) {
        static_cast<float *>(row)[column] = x;
    } else {
        const uint32_t pair = type.name[0] == 'f' ? f32_to_f16x2(x, 0) : f32_to_bf16x2(x, 0);
        static_cast<uint16_t *>(row)[column] = static_cast<uint16_t>(pair);
    }
}

float get(const Type &type, const void *row, uint32_t column) {
    if (type.bytes == 4) return static_cast<const float *>(row)[column];
    const uint16_t bits = static_cast<const uint16_t *>(row)[column];
    return type.name[0] == 'f' ? f16_to_f32(bits) : __uint_as_float(static_cast<uint32_t>(bits) << 16);
}

uint32_t padded(uint32_t width) { return (width + 7) / 8 * 8; }

// A matrix of random numbers that the type holds, with rows of `stride` bytes; the rest of a row is zero.
std::vector<float> fill(const Type &type, void *matrix, uint32_t rows, uint32_t width, uint32_t stride, uint64_t seed) {
    Random random(seed);
    std::vector<float> values(rows * width);
    std::memset(matrix, 0, static_cast<size_t>(rows) * stride);
    for (uint32_t row = 0; row < rows; ++row) {
        char *at = static_cast<char *>(matrix) + row * stride;
        for (uint32_t column = 0; column < width; ++column) {
            put(type, at, column, random.number());
            values[row * width + column] = get(type, at, column);
        }
    }
    return values;
}

toller_tensor_map map_of(const void *matrix, uint32_t rows, uint32_t row_bytes, uint32_t box_rows) {
    toller_tensor_map map;
    CHECK(toller_shim_tensor_map(&map, matrix, row_bytes, rows, row_bytes, box_rows) == 0, "%u rows of %u bytes", rows, row_bytes);
    return map;
}

// Launches a product by a tile of 128 rows, or with bulk copies (no stages) by two blocks. Returns the error.
std::string launch(const std::string &name, const toller_product_args &args, uint32_t tile_columns, uint32_t stages) {
    char error[1000] = "";
    if (stages == 0) {
        toller_product_tma_args mapped{};
        mapped.x = map_of(args.x, args.rows, args.depth_bytes, TOLLER_PRODUCT_TMA_ROWS);
        mapped.weight = map_of(args.weight, args.weight_rows, args.weight_stride, TOLLER_PRODUCT_TMA_COLUMNS);
        mapped.product = args;
        toller_shim_launch(name.c_str(), &mapped, sizeof(mapped), 2, 1, TOLLER_PRODUCT_TMA_THREADS, TOLLER_PRODUCT_SHARED_TMA, error,
                           sizeof(error));
    } else {
        const uint32_t blocks = (args.rows + 127) / 128 * ((args.weight_rows + tile_columns - 1) / tile_columns);
        toller_shim_launch(name.c_str(), &args, sizeof(args), blocks, 1, TOLLER_PRODUCT_THREADS,
                           TOLLER_PRODUCT_SHARED(tile_columns, stages), error, sizeof(error));
    }
    return error;
}

// Which rows are f32 where the type has two bytes: sums with a residual in bf16.
struct Wide {
    bool out, residual;
};
constexpr Wide NARROW = {false, false}, WIDE = {true, false}, WIDE_RESIDUAL = {false, true}, BOTH_WIDE = {true, true};

// x W^T + bias + residual, with `parts` parts of the weight.
void check_product(const Type &type, const char *tile, uint32_t tile_columns, uint32_t stages, uint32_t rows, uint32_t columns,
                   uint32_t depth, uint32_t parts, Wide asked) {
    const Wide wide = type.name[0] == 'b' ? asked : NARROW;
    const Type &out_type = wide.out ? TYPES[2] : type, &residual_type = wide.residual ? TYPES[2] : type;
    const uint32_t depth_bytes = padded(depth) * type.bytes, weight_rows = padded(columns);
    const uint32_t part_bytes = parts == 1 ? depth_bytes : (depth_bytes + 127) / 128 * 128, weight_stride = parts * part_bytes;
    const uint32_t stride = padded(columns) * out_type.bytes, residual_stride = padded(columns) * residual_type.bytes;
    const Memory x(rows * depth_bytes), weight(weight_rows * weight_stride), bias(weight_rows * 4), residual(rows * residual_stride),
        out(rows * stride);
    const auto of_x = fill(type, x.start, rows, depth, depth_bytes, 1);
    const auto of_residual = fill(residual_type, residual.start, rows, columns, residual_stride, 2);
    std::vector<double> of_weight(columns * depth, 0);
    std::memset(weight.start, 0, weight_rows * weight_stride);
    Random random(3);
    for (uint32_t row = 0; row < columns; ++row) {
        for (uint32_t part = 0; part < parts; ++part) {
            void *at = weight.as<char>() + row * weight_stride + part * part_bytes;
            for (uint32_t column = 0; column < depth; ++column) {
                put(type, at, column, random.number() / static_cast<float>(1 << 8 * part));
                of_weight[row * depth + column] += get(type, at, column);
            }
        }
    }
    std::memset(bias.start, 0, weight_rows * 4);
    for (uint32_t row = 0; row < columns; ++row) bias.as<float>()[row] = random.number();

    toller_product_args args{};
    args.x = x.start, args.weight = weight.start, args.bias = bias.as<float>(), args.residual = residual.start, args.out = out.start;
    args.rows = rows, args.weight_rows = weight_rows, args.columns = columns, args.depth_bytes = depth_bytes;
    args.weight_stride = weight_stride, args.stride = stride, args.residual_stride = residual_stride;
    args.activation = TOLLER_ACTIVATION_IDENTITY, args.is_wide = wide.out, args.residual_is_wide = wide.residual;
    const std::string name = std::string("toller_encoder_product_") + type.name + "_" + tile;
    const std::string wrong = launch(name, args, tile_columns, stages);
    CHECK(wrong.empty(), "%s", wrong.c_str());
    for (uint32_t row = 0; row < rows; ++row) {
        const void *at = out.as<char>() + row * stride;
        for (uint32_t column = 0; column < padded(columns); ++column) {
            const float found = get(out_type, at, column);
            if (column >= columns) {
                CHECK(found == 0, "%s: padding %g", name.c_str(), found);
                continue;
            }
            double expected = bias.as<float>()[column] + of_residual[row * columns + column], size = 1;
            for (uint32_t k = 0; k < depth; ++k) {
                const double product = of_x[row * depth + k] * of_weight[column * depth + k];
                expected += product, size += std::fabs(product);
            }
            // What is stored in f32 is rounded only in its sum.
            const double tolerance = wide.out ? 1e-5 : type.tolerance;
            CHECK(std::fabs(found - expected) <= tolerance * size, "%s, %u x %u: %g instead of %g", name.c_str(), row, column, found,
                  expected);
        }
    }
}

} // namespace

int main() {
    for (const Type &type : TYPES) {
        check_product(type, "64", 64, TOLLER_PRODUCT_STAGES, 130, 20, 70, 1, NARROW);
        // As many slices as stages, and more; rows of one warp, and of two.
        check_product(type, "few", 64, TOLLER_PRODUCT_STAGES_FEW, 1, 70, 64 * TOLLER_PRODUCT_STAGES_FEW, 1, NARROW);
        check_product(type, "few", 64, TOLLER_PRODUCT_STAGES_FEW, 33, 16, 600, 2, BOTH_WIDE);
        check_product(type, "128", 128, TOLLER_PRODUCT_STAGES, 3, 130, 200, 1, NARROW);
        if (type.bytes == 4) continue;
        check_product(type, "256", 256, TOLLER_PRODUCT_STAGES, 5, 264, 30, 1, NARROW);
        check_product(type, "64", 64, TOLLER_PRODUCT_STAGES, 9, 24, 70, 2, WIDE);
        check_product(type, "256", 256, TOLLER_PRODUCT_STAGES, 9, 256, 100, 2, WIDE_RESIDUAL);
        // Five tiles a block: slices are copied ahead into the next.
        check_product(type, "tma", 192, 0, 770, 300, 90, 1, NARROW);
        check_product(type, "tma", 192, 0, 9, 200, 100, 2, WIDE);
        check_product(type, "tma", 192, 0, 200, 200, 100, 2, BOTH_WIDE);
        // As deep as BERT's layers: each stage of a ring is used several times.
        check_product(type, "256", 256, TOLLER_PRODUCT_STAGES, 129, 264, 600, 1, NARROW);
        check_product(type, "tma", 192, 0, 70, 256, 600, 2, WIDE_RESIDUAL);
        check_product(type, "tma", 192, 0, 400, 400, 768, 1, NARROW);
    }
    std::puts("products are those of the definition");
}
