// Enough of CUDA to run the campaigns' kernels on a CPU, one block at a time.
//
// The threads of a block are fibers that run one after another; every point at which CUDA threads
// wait for each other is a switch to the next fiber. That is correct for code in which all threads
// of a block reach the same such points in the same order, and for no other.
//
// Arithmetic is that of IEEE 754 as on the device, as long as the compiler contracts nothing
// (-ffp-contract=off). HOST_THREADS is the size of a block, 256 where it is not given.

#pragma once

#include <math.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifndef HOST_THREADS
#define HOST_THREADS 256
#endif

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __restrict__

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }

inline dim3 threadIdx, blockIdx;

inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }

template <typename T>
T __ldg(const T* from) {
    return *from;
}

inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; ++i) {
        c += static_cast<int8_t>(a >> 8 * i) * static_cast<int8_t>(b >> 8 * i);
    }
    return c;
}

inline float __uint_as_float(unsigned bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline unsigned __float_as_uint(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }

struct __half {
    unsigned short bits;
};

inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
inline unsigned short __half_as_ushort(__half h) { return h.bits; }

inline __half __float2half_rn(float value) {
    const _Float16 rounded = static_cast<_Float16>(value);
    __half h;
    std::memcpy(&h, &rounded, sizeof h);
    return h;
}

struct __half2 {
    __half x, y;
};

inline float __half2float(__half h) {
    const int exponent = h.bits >> 10 & 31, fraction = h.bits & 1023;
    const float value = exponent ? ldexpf(1024.0f + fraction, exponent - 25)
                                 : ldexpf(static_cast<float>(fraction), -24);
    return h.bits >> 15 ? -value : value;
}

inline float __low2float(__half2 h) { return __half2float(h.x); }

namespace host {

inline constexpr unsigned kThreads = HOST_THREADS;
inline constexpr size_t kStack = 64 * 1024;

// The most that a block may have of it on any device that the kernels are for.
alignas(128) inline uint8_t dynamic_smem[99 * 1024];
// What the launch asked for.
inline size_t dynamic_bytes = 0;

inline ucontext_t scheduler, fibers[kThreads];
inline unsigned running;
inline void (*body)();

inline void yield() {
    swapcontext(&fibers[running], &scheduler);
    threadIdx.x = running;
}

inline bool finished[kThreads];

inline void start() {
    body();
    finished[running] = true;
}

// Runs a block of kThreads threads to its end.
inline void run_block(void (*kernel)()) {
    static char stacks[kThreads * kStack];
    body = kernel;
    // What a block finds in shared memory is not what the one before it left.
    std::memset(dynamic_smem, 0xff, sizeof dynamic_smem);
    for (unsigned t = 0; t < kThreads; ++t) {
        finished[t] = false;
        getcontext(&fibers[t]);
        fibers[t].uc_stack.ss_sp = stacks + t * kStack;
        fibers[t].uc_stack.ss_size = kStack;
        fibers[t].uc_link = &scheduler;
        makecontext(&fibers[t], start, 0);
    }
    for (bool all = false; !all;) {
        all = true;
        for (running = 0; running < kThreads; ++running) {
            if (finished[running]) continue;
            threadIdx.x = running;
            swapcontext(&scheduler, &fibers[running]);
            all = all && finished[running];
        }
    }
    for (size_t i = dynamic_bytes; i < sizeof dynamic_smem; ++i) {
        if (dynamic_smem[i] != 0xff) {
            std::fprintf(stderr, "byte %zu of dynamic shared memory is beyond its end\n", i);
            std::exit(2);
        }
    }
}

}  // namespace host

inline void __syncthreads() { host::yield(); }
inline void __syncwarp() { host::yield(); }

// Shared addresses are offsets from whatever address came first; 32 bits hold them.
namespace host {
inline const char* shared_base = nullptr;
}

inline size_t __cvta_generic_to_shared(const void* p) {
    const char* at = static_cast<const char*>(p);
    if (!host::shared_base) host::shared_base = at;
    return static_cast<size_t>(at - host::shared_base);
}

template <typename T>
T __shfl_xor_sync(unsigned, T value, int distance) {
    static T values[host::kThreads];
    const unsigned me = threadIdx.x;
    values[me] = value;
    host::yield();
    const T other = values[me ^ static_cast<unsigned>(distance)];
    host::yield();
    return other;
}

namespace host {

// ldmatrix.x4: lane l receives 4 bytes of each of four 8x16-byte matrices, row l / 4, bytes
// 4 * (l % 4) on; lanes 8m to 8m + 7 give the addresses of the rows of matrix m.
inline void ldmatrix_x4(uint32_t (&to)[4], uint32_t address) {
    static uint32_t addresses[kThreads];
    const unsigned me = threadIdx.x, warp = me & ~31u, lane = me & 31;
    addresses[me] = address;
    yield();
    for (unsigned m = 0; m < 4; ++m) {
        // An address may lie before the base.
        const char* row =
            shared_base + static_cast<int32_t>(addresses[warp + m * 8 + lane / 4]);
        std::memcpy(&to[m], row + lane % 4 * 4, 4);
    }
    yield();
}

// mma.m16n8k32, a of s8, b of s8 or u8, with the fragment layout of the PTX manual.
template <typename B>
void mma_16832(int32_t (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    static uint32_t as[kThreads][4], bs[kThreads][2];
    const unsigned me = threadIdx.x, warp = me & ~31u, lane = me & 31;
    std::memcpy(as[me], a, sizeof as[me]);
    bs[me][0] = b0;
    bs[me][1] = b1;
    yield();
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (unsigned quad = 0; quad < 8; ++quad) {
            // Values 4 * quad to 4 * quad + 3 of the row and the column.
            const uint32_t x = as[warp + row % 8 * 4 + quad % 4][row / 8 + quad / 4 * 2];
            const uint32_t y = bs[warp + column * 4 + quad % 4][quad / 4];
            for (int k = 0; k < 32; k += 8) {
                c[i] += static_cast<int8_t>(x >> k) * static_cast<B>(y >> k);
            }
        }
    }
    yield();
}

template <typename B>
void mma_16832_of_zero(int32_t (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    for (int32_t& sum : c) sum = 0;
    mma_16832<B>(c, a, b0, b1);
}

}  // namespace host
