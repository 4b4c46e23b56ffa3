// What the card can do at most, to hold the kernels' figures against: int8 products by mma.sync,
// f32 multiply-adds, and bytes copied and read. Prints lines of CSV: what, value, unit.
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -o peaks scripts/gpu-peaks.cu && ./peaks

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}
#define CHECK(call) check(call, #call)

constexpr int kChains = 8;   // independent sums of a warp, enough to hide the latency
constexpr int kRounds = 20000;

__global__ void mma_int8(int* out) {
    int c[kChains][4] = {};
    uint32_t a[4], b[2];
    for (int i = 0; i < 4; ++i) a[i] = threadIdx.x * 2654435761u + i;
    for (int i = 0; i < 2; ++i) b[i] = threadIdx.x * 40503u + i;
    for (int round = 0; round < kRounds; ++round) {
#pragma unroll
        for (int chain = 0; chain < kChains; ++chain) {
            asm volatile(
                "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+r"(c[chain][0]), "+r"(c[chain][1]), "+r"(c[chain][2]), "+r"(c[chain][3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        }
    }
    int sum = 0;
    for (int chain = 0; chain < kChains; ++chain) sum += c[chain][0] + c[chain][3];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void ffma(float* out) {
    float c[2 * kChains];
    const float x = threadIdx.x * 1e-3f, y = 0.999f;
    for (int chain = 0; chain < 2 * kChains; ++chain) c[chain] = chain;
    for (int round = 0; round < kRounds; ++round) {
#pragma unroll
        for (int chain = 0; chain < 2 * kChains; ++chain) c[chain] = fmaf(c[chain], y, x);
    }
    float sum = 0;
    for (int chain = 0; chain < 2 * kChains; ++chain) sum += c[chain];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Four 16-byte loads of a thread are in flight at a time.
__global__ void read_all(const uint4* from, uint32_t* out, size_t count) {
    uint32_t sum = 0;
    for (size_t i = blockIdx.x * blockDim.x * 4 + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x * 4) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const size_t at = i + j * blockDim.x;
            if (at < count) {
                const uint4 v = from[at];
                sum ^= v.x ^ v.y ^ v.z ^ v.w;
            }
        }
    }
    if (sum == 0x12345) out[0] = sum;
}

// Median of nine, seconds, after two that do not count.
template <typename Run>
static double seconds(Run run) {
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    std::vector<float> ms;
    for (int n = 0; n < 11; ++n) {
        CHECK(cudaEventRecord(start));
        run();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float one;
        CHECK(cudaEventElapsedTime(&one, start, end));
        if (n >= 2) ms.push_back(one);
    }
    std::sort(ms.begin(), ms.end());
    return ms[ms.size() / 2] * 1e-3;
}

int main() {
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    const int sms = device.multiProcessorCount;
    const size_t bytes = size_t(2) << 30;
    uint4 *a, *b;
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMemset(a, 1, bytes));

    double best = 0;
    for (int warps : {8, 16}) {
        const double s = seconds([&] { mma_int8<<<sms * 2, warps * 32>>>((int*)b); });
        best = std::max(best, 2.0 * 16 * 8 * 32 * kChains * kRounds * warps * 2 * sms / s);
    }
    std::printf("mma.sync m16n8k32 s8,%.1f,TOPS\n", best / 1e12);
    double s = seconds([&] { ffma<<<sms * 8, 256>>>((float*)b); });
    std::printf("FFMA,%.1f,TFLOPS\n", 2.0 * 2 * kChains * kRounds * 256 * 8 * sms / s / 1e12);
    s = seconds([&] { CHECK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice)); });
    std::printf("copy (read and written),%.1f,GB/s\n", 2 * bytes / s / 1e9);
    s = seconds([&] { read_all<<<sms * 8, 256>>>(a, (uint32_t*)b, bytes / 16); });
    std::printf("read,%.1f,GB/s\n", bytes / s / 1e9);
    CHECK(cudaDeviceSynchronize());
}
