// Prints a 1 for each kernel that does with special values what it says.

#include "cuda_host.h"
#include "embed.cu"
#include "argmax.cu"
#include "quantise.cu"

static constexpr int kHidden = 512, kCount = 3000;
static int token = -1, best = -2;
static uint4 table[kHidden / 256 * 9];
static float4 row[kHidden / 4];
static float values[kCount];

static bool all_nan() {
    bool all = true;
    for (float4& v : row) {
        all = all && isnan(v.x) && isnan(v.y) && isnan(v.z) && isnan(v.w);
        v = make_float4(0, 0, 0, 0);
    }
    return all;
}

static void embed_blocks() { embed_q4k(&token, table, row, kHidden, 1.0f); }
static void embed_values() { embed_f32(&token, row, row, kHidden, 1.0f); }
static float4 four_blocks[4][8];
static uint32_t quantised[4][9];
static void quantise() { quantise_q8(four_blocks[0], quantised[0], 4); }

// Whether a block came out with this d and all else 0.
static bool only_d(const uint32_t (&block)[9], uint32_t d) {
    bool others = true;
    for (int i = 1; i < 9; ++i) others = others && block[i] == 0;
    return others && block[0] == d;
}

static void find_best() { argmax(values, &best, kCount); }

int main() {
    blockIdx.x = 0;
    host::run_block(embed_blocks);
    std::printf("%d\n", all_nan());
    host::run_block(embed_values);
    std::printf("%d\n", all_nan());
    for (float& v : values) v = -transformer::infinity();
    host::run_block(find_best);
    std::printf("%d\n", best == 0);
    const float inf = transformer::infinity();
    four_blocks[0][3].y = inf - inf;
    four_blocks[0][4].x = inf;
    four_blocks[1][7].w = -inf;
    four_blocks[2][0].z = 1e-37f;
    four_blocks[3][5].x = -127.0f;
    host::run_block(quantise);
    std::printf("%d\n", only_d(quantised[0], 0x7fff));
    std::printf("%d\n", only_d(quantised[1], 0x7c00));
    std::printf("%d\n", only_d(quantised[2], 0));
    std::printf("%d\n", quantised[3][0] == (0xff810000 | 0x3c00) && quantised[3][6] == 0x81);
}
