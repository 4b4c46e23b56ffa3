// Prints the shared-memory accesses of attention's warps, one a line: what it is, and where the 32
// lanes look, in bytes. A load and a store have 16 bytes a lane, a scatter 4.

#include "cuda_host.h"
#include "attention.cu"

using namespace transformer;

template <typename Address>
static void print(const char* what, int warp, Address address) {
    std::printf("%s", what);
    for (int lane = 0; lane < kWarp; ++lane) {
        threadIdx.x = static_cast<unsigned>(warp * kWarp + lane);
        std::printf(" %u", static_cast<unsigned>(address()));
    }
    std::printf("\n");
}

template <int HD>
static void print_all() {
    static AttentionTile<HD> tile;
    const auto offset = [](const void* at) {
        return static_cast<const char*>(at) - reinterpret_cast<const char*>(&tile);
    };
    for (int warp = 0; warp < kWarps; ++warp) {
        for (int i = 0; i < kSide<HD>; ++i) {
            for (int vector = 0; vector < kVectors<HD>; ++vector) {
                print("load", warp, [=] {
                    const int token = Place().row * kSide<HD> + i;
                    return offset(&tile.q[token][token_place<HD>(token, vector)]);
                });
                print("load", warp, [=] {
                    const int key = Place().column + 16 * i;
                    return offset(&tile.rows[key][key_place(key, vector)]);
                });
            }
            for (int j = 0; j < kSide<HD>; ++j) {
                print("scatter", warp, [=] {
                    const int token = Place().row * kSide<HD> + i, at = Place().column + 16 * j;
                    const int vector = token_place<HD>(token, at / 4);
                    return offset(&tile.weights[token][vector * 4 + at % 4]);
                });
            }
            for (int four = 0; four < kTile<HD> / 4; ++four) {
                print("load", warp, [=] {
                    const int token = Place().row * kSide<HD> + i;
                    return offset(&tile.weights[token][token_place<HD>(token, four) * 4]);
                });
            }
        }
        for (int part = 0; part < kParts<HD>; ++part) {
            print("load", warp, [=] { return offset(&tile.rows[0][Place().column + 16 * part]); });
        }
        for (int row = 0; row < kTile<HD>; row += kThreads / kVectors<HD>) {
            print("store", warp, [=] {
                const int key = row + threadIdx.x / kVectors<HD>;
                const int vector = threadIdx.x % kVectors<HD>;
                return offset(&tile.rows[key][key_place(key, vector)]);
            });
        }
    }
}

int main() {
    print_all<64>();
    print_all<128>();
    print_all<256>();
}
