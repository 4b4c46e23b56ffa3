// Prints the largest relative error of the kernels' exponential in units of 1e-9, then a 1 for each
// value outside its range that is as it says.

#include "cuda_host.h"
#include "transformer.cuh"

using transformer::exponential;

// The largest relative error over every 509th float of a sign, from 2^-30 to `end`.
static double worst(unsigned sign, float end) {
    double most = 0;
    for (unsigned bits = 0x30800000; bits < __float_as_uint(end); bits += 509) {
        const float x = __uint_as_float(bits | sign);
        most = fmax(most, fabs(exponential(x) / exp(static_cast<double>(x)) - 1));
    }
    return most;
}

int main() {
    const float inf = transformer::infinity();
    const double most = fmax(worst(0, 88.0f), worst(0x80000000, 87.0f));
    std::printf("%d\n", static_cast<int>(most * 1e9));
    std::printf("%d %d\n", exponential(-inf) == 0, exponential(-1e30f) == 0);
    std::printf("%d %d\n", exponential(inf) == inf, exponential(1e30f) == inf);
    std::printf("%d %d\n", exponential(0.0f) == 1, isnan(exponential(inf - inf)) != 0);
}
