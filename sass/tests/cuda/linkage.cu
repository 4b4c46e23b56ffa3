// Kernels and data of every linkage: what nvcc names after the source's path, and what it does not.
#include <cstdio>
#include <cuda_fp16.h>

__constant__ float coef[64];
static __device__ int counter;
__device__ int visible[4] = {1, 2, 3, 4};

#ifdef OTHER
#define STEP 2
#else
#define STEP 1
#endif
#ifndef BOUND
#define BOUND 256
#endif
#ifndef TEXT
#define TEXT "hello %d\n"
#endif

static __global__ void stat(float* p) {
    p[threadIdx.x] *= coef[threadIdx.x];
    atomicAdd(&counter, STEP);
}

namespace {
__global__ void anon(int* p) {
    if (p[0] > 3) printf(TEXT, p[1]);
    p[2] = visible[p[3] & 3];
}
struct Tag {};
template <class T> __global__ void tpl(float* p) { p[0] = 1; }
}  // namespace

__global__ void __launch_bounds__(BOUND) bounded(float* p) {
    __shared__ float s[512];
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[511 - threadIdx.x] + sinf(p[3]);
}

__device__ __noinline__ float helper(float x) { return x * x + 1; }
__global__ void caller(float* p) { p[0] = helper(p[1]); }

extern "C" __global__ void dyn(float* p) {
    extern __shared__ float d[];
    d[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = d[threadIdx.x ^ 1];
}

int main() {
    float* p = nullptr;
    cudaMalloc(&p, 1024);
    stat<<<1, 1>>>(p);
    anon<<<1, 1>>>((int*)p);
    tpl<Tag><<<1, 1>>>(p);
    bounded<<<1, 1>>>(p);
    caller<<<1, 1>>>(p);
    dyn<<<1, 32, 128>>>(p);
    return 0;
}
