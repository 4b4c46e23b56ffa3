// The canary's two fixed works. `canary.ptx` is made from this file:
//     nvcc -ptx -arch=compute_80 canary.cu
// and then lowered to PTX 7.0, so that every driver that knows sm_80 takes it.

// Eight chains of multiply-adds in each thread: arithmetic only, nothing from memory.
extern "C" __global__ void canary_compute(float *out, int steps) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    float chain[8];
#pragma unroll
    for (int n = 0; n < 8; n++) chain[n] = (float)(thread + n);
    for (int step = 0; step < steps; step++) {
#pragma unroll
        for (int n = 0; n < 8; n++) chain[n] = fmaf(chain[n], 0.999f, 0.5f);
    }
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < 8; n++) sum += chain[n];
    out[thread] = sum;
}

// A copy of `count` times 16 bytes by the whole grid.
extern "C" __global__ void canary_copy(const uint4 *from, uint4 *to, int count) {
    const int stride = gridDim.x * blockDim.x;
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < count; n += stride) to[n] = from[n];
}
