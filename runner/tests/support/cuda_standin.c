/* A stand-in for the CUDA driver, beside that of NVML (nvml_standin.c) and on the same state file:
 * one device on which the runner finds its card and the canary runs. Memory is host memory, a
 * launch copies at most, and a timed stretch takes as long as the state file says:
 *
 *   canary_compute_us, canary_copy_us     microseconds of one launch; by default 5000 and 100
 *   cuda_error CODE                       what opening a context answers instead
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500 };

enum { COMPUTE = 1, COPY = 2 };

static int last, launches;

static long number(const char *key, long otherwise) {
    const char *state = getenv("NVML_STANDIN_STATE");
    FILE *file = state ? fopen(state, "re") : NULL;
    char line[256];
    size_t length = strlen(key);
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, length) && line[length] == ' ') otherwise = atol(line + length);
    if (file) fclose(file);
    return otherwise;
}

CUresult cuInit(unsigned flags) { (void)flags; return SUCCESS; }
CUresult cuDriverGetVersion(int *version) { *version = 13000; return SUCCESS; }
CUresult cuDeviceGetCount(int *count) { *count = 1; return SUCCESS; }
CUresult cuDeviceGet(int *device, int index) { *device = index; return SUCCESS; }
CUresult cuDeviceTotalMem_v2(size_t *bytes, int d) { (void)d; *bytes = 64 << 20; return SUCCESS; }

CUresult cuDeviceGetName(char *name, int size, int d) {
    (void)d;
    snprintf(name, (size_t)size, "Stand-in");
    return SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, int d) {
    (void)d;
    switch (attribute) {
    case 16: *value = 4; break;          /* MULTIPROCESSOR_COUNT */
    case 38: *value = 1 << 20; break;    /* L2_CACHE_SIZE */
    case 75: *value = 9; break;          /* COMPUTE_CAPABILITY_MAJOR */
    case 97: *value = 100 << 10; break;  /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    default: *value = 0;
    }
    return SUCCESS;
}

/* GPU-00000000-1111-2222-3333-444444444444, as in the stand-in for NVML. */
CUresult cuDeviceGetUuid_v2(unsigned char *uuid, int d) {
    (void)d;
    static const unsigned char own[16] = {0,    0,    0,    0,    0x11, 0x11, 0x22, 0x22,
                                          0x33, 0x33, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44};
    memcpy(uuid, own, sizeof own);
    return SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR";
    return SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **name) {
    *name = error == 2 ? "out of memory" : "an error of the stand-in";
    return SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(void **context, int d) {
    (void)d;
    *context = &last;
    return (CUresult)number("cuda_error", SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(int d) { (void)d; return SUCCESS; }
CUresult cuCtxSetCurrent(void *context) { (void)context; return SUCCESS; }
CUresult cuCtxGetCurrent(void **context) { *context = &last; return SUCCESS; }
CUresult cuCtxSynchronize(void) { return SUCCESS; }
CUresult cuStreamSynchronize(void *stream) { (void)stream; return SUCCESS; }

CUresult cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    void *memory = malloc(bytes);
    *address = (uint64_t)(uintptr_t)memory;
    return memory ? SUCCESS : 2;
}

CUresult cuMemFree_v2(uint64_t address) { free((void *)(uintptr_t)address); return SUCCESS; }

CUresult cuMemsetD8Async(uint64_t address, unsigned char byte, size_t count, void *stream) {
    (void)stream;
    memset((void *)(uintptr_t)address, byte, count);
    return SUCCESS;
}

CUresult cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    (void)stream;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return SUCCESS;
}

CUresult cuModuleLoadData(void **module, const void *image) {
    *module = &last;
    return strstr(image, ".entry canary_copy") ? SUCCESS : INVALID_VALUE;
}

CUresult cuModuleUnload(void *module) { (void)module; return SUCCESS; }

CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
    (void)module;
    *function = (void *)(intptr_t)(strcmp(name, "canary_copy") ? COMPUTE : COPY);
    return strncmp(name, "canary_", 7) ? NOT_FOUND : SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, int attribute, void *function) {
    (void)function;
    *value = attribute == 0 ? 1024 : 0; /* MAX_THREADS_PER_BLOCK */
    return SUCCESS;
}

CUresult cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size) {
    size_t pointers = (size_t)(intptr_t)function; /* one for the arithmetic, two for the copy */
    *offset = 8 * index;
    *size = index < pointers ? 8 : 4;
    return index <= pointers ? SUCCESS : INVALID_VALUE;
}

CUresult cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned smem, void *stream, void **args,
                        void **extra) {
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)smem, (void)stream;
    (void)extra;
    last = (int)(intptr_t)function;
    launches++;
    if (last == COPY) {
        uint64_t from = *(uint64_t *)args[0], to = *(uint64_t *)args[1];
        memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, 16 * (size_t) * (int *)args[2]);
    }
    return SUCCESS;
}

/* An event holds how many launches there were. */
CUresult cuEventCreate(void **event, unsigned flags) {
    (void)flags;
    *event = calloc(1, sizeof(int));
    return SUCCESS;
}

CUresult cuEventRecord(void *event, void *stream) {
    (void)stream;
    *(int *)event = launches;
    return SUCCESS;
}

CUresult cuEventSynchronize(void *event) { (void)event; return SUCCESS; }
CUresult cuEventDestroy_v2(void *event) { free(event); return SUCCESS; }

CUresult cuEventElapsedTime_v2(float *ms, void *start, void *end) {
    int between = *(int *)end - *(int *)start;
    long us = last == COPY ? number("canary_copy_us", 100) : number("canary_compute_us", 5000);
    *ms = (float)(between * us) / 1000.0f;
    return SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, void *start, void *end) {
    return cuEventElapsedTime_v2(ms, start, end);
}
