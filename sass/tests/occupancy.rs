//! The occupancy calculator against NVIDIA's `cuda_occupancy.h`, over the whole grid.

mod common;

use std::path::Path;

use sass::{ComputeCapability, Launch, Ledger, Limiter, occupancy};

/// Device properties of each capability, as CUDA reports them.
const DEVICES: [(u32, u32, u32, u32); 7] = [
    // major, minor, threads per SM, KiB of shared memory per SM
    (8, 0, 2048, 164),
    (8, 6, 1536, 100),
    (8, 9, 1536, 100),
    (9, 0, 2048, 228),
    (10, 0, 2048, 228),
    (12, 0, 1536, 100),
    (12, 1, 1536, 100),
];

fn threads() -> Vec<u32> {
    let mut all: Vec<u32> = (1..=32).map(|n| n * 32).collect();
    all.extend([1, 31, 33, 95, 100, 129, 500, 767, 769, 1000, 1023]);
    all
}

/// (static, dynamic) shared memory.
fn memory() -> Vec<(u32, u32)> {
    const K: u32 = 1024;
    let dynamic = [
        0,
        1,
        127,
        1000,
        K,
        3 * K,
        7 * K,
        16 * K,
        24 * K + 1,
        31 * K,
        47 * K,
        48 * K - 1,
        48 * K,
        48 * K + 1,
        49 * K,
        64 * K,
        75 * K,
        98 * K,
        99 * K,
        99 * K + 1,
        113 * K,
        163 * K,
        163 * K + 1,
        226 * K,
        227 * K,
        227 * K + 1,
        300 * K,
    ];
    let mut all: Vec<(u32, u32)> = dynamic.into_iter().map(|d| (0, d)).collect();
    for fixed in [1, 128, 4096, 47 * K, 48 * K] {
        all.extend([0, 896, K, 51 * K, 179 * K].map(|dynamic| (fixed, dynamic)));
    }
    all
}

const BARRIERS: [u32; 7] = [0, 1, 2, 3, 5, 8, 16];

const PROGRAM: &str = r#"
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include "cuda_occupancy.h"
// Reads the grid's axes from stdin: devices, threads, memory, barriers, each with its length
// before it; writes two bytes a point: blocks and limiting factors.
static std::vector<int> axis(int width) {
    int n; if (scanf("%d", &n) != 1) exit(2);
    std::vector<int> v(n * width);
    for (int& x : v) if (scanf("%d", &x) != 1) exit(2);
    return v;
}
int main() {
    auto devices = axis(4), threads = axis(1), memory = axis(2), barriers = axis(1);
    std::vector<unsigned char> out;
    for (size_t d = 0; d < devices.size(); d += 4) {
        cudaOccDeviceProp p;
        p.computeMajor = devices[d]; p.computeMinor = devices[d + 1];
        p.maxThreadsPerBlock = 1024; p.maxThreadsPerMultiprocessor = devices[d + 2];
        p.regsPerBlock = 65536; p.regsPerMultiprocessor = 65536; p.warpSize = 32;
        p.sharedMemPerBlock = 48 << 10;
        p.sharedMemPerMultiprocessor = (size_t)devices[d + 3] << 10;
        p.numSms = 1;
        p.sharedMemPerBlockOptin = ((size_t)devices[d + 3] - 1) << 10;
        p.reservedSharedMemPerBlock = 1024;
        for (int regs = 0; regs <= 255; regs++)
        for (int t : threads)
        for (size_t m = 0; m < memory.size(); m += 2)
        for (int b : barriers) {
            cudaOccFuncAttributes a;
            a.maxThreadsPerBlock = INT_MAX; a.numRegs = regs; a.sharedSizeBytes = memory[m];
            a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
            a.maxDynamicSharedSizeBytes = memory[m + 1];
            a.numBlockBarriers = b;
            cudaOccDeviceState s; cudaOccResult r;
            if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, t, memory[m + 1]) != CUDA_OCC_SUCCESS) return 3;
            int n = r.activeBlocksPerMultiprocessor;
            out.push_back(n);
            // limitingFactors keeps what limited before barriers were looked at, also where
            // barriers then limit more; the single limits tell what really does.
            out.push_back((r.blockLimitWarps == n) | (r.blockLimitRegs == n) << 1
                | (r.blockLimitSharedMem == n) << 2 | (r.blockLimitBlocks == n) << 3
                | (r.blockLimitBarriers == n) << 4);
        }
        fwrite(out.data(), 1, out.size(), stdout);
        out.clear();
    }
}
"#;

fn reference(folder: &Path) -> Vec<u8> {
    std::fs::write(folder.join("grid.cpp"), PROGRAM).expect("written");
    let include = format!("-I{}", common::cuda_include().display());
    common::run("g++", folder, &["-O2", &include, "-o", "grid", "grid.cpp"]);
    let mut axes = format!("{}", DEVICES.len());
    for (a, b, c, d) in DEVICES {
        axes += &format!(" {a} {b} {c} {d}");
    }
    axes += &format!(" {}", threads().len());
    threads().iter().for_each(|t| axes += &format!(" {t}"));
    axes += &format!(" {}", memory().len());
    memory()
        .iter()
        .for_each(|(s, d)| axes += &format!(" {s} {d}"));
    axes += &format!(" {}", BARRIERS.len());
    BARRIERS.iter().for_each(|b| axes += &format!(" {b}"));
    std::fs::write(folder.join("axes"), axes).expect("written");
    let out = std::process::Command::new(folder.join("grid"))
        .stdin(std::fs::File::open(folder.join("axes")).expect("opened"))
        .output()
        .expect("the reference runs");
    assert!(
        out.status.success(),
        "the reference ended with {}",
        out.status
    );
    out.stdout
}

fn factor(limiter: Limiter) -> u8 {
    match limiter {
        Limiter::Warps => 1,
        Limiter::Registers => 2,
        Limiter::SharedMemory => 4,
        Limiter::Blocks => 8,
        Limiter::Barriers => 16,
    }
}

#[test]
fn equals_cuda_occupancy_h_over_the_whole_grid() {
    let folder = common::folder();
    let expected = reference(folder.path());
    assert_eq!(expected.len(), 2 * 7 * 256 * 43 * 52 * 7);
    let per_device = expected.len() / DEVICES.len();
    std::thread::scope(|scope| {
        for ((major, minor, ..), part) in DEVICES.into_iter().zip(expected.chunks(per_device)) {
            scope.spawn(move || compare(ComputeCapability { major, minor }, part));
        }
    });
}

/// Compares all points of one capability.
fn compare(cc: ComputeCapability, expected: &[u8]) {
    let mut expected = expected.chunks_exact(2);
    let (threads, memory) = (threads(), memory());
    for registers in 0..=255 {
        for threads in threads.iter().copied() {
            for (static_smem, dynamic_smem) in memory.iter().copied() {
                for barriers in BARRIERS {
                    let ledger = Ledger {
                        registers,
                        static_smem,
                        barriers,
                        ..Ledger::default()
                    };
                    let launch = Launch {
                        threads,
                        dynamic_smem,
                    };
                    let ours = occupancy(cc, &ledger, launch).expect("a known capability");
                    let factors = ours.limiters.iter().map(|l| factor(*l)).sum::<u8>();
                    let theirs = expected.next().expect("as many points");
                    if [ours.blocks_per_sm as u8, factors] != theirs {
                        panic!("{cc} {ledger:?} {launch:?}: {ours:?}, reference {theirs:?}");
                    }
                }
            }
        }
    }
    assert!(expected.next().is_none());
}

#[test]
fn reads_architectures() {
    let parse = |text: &str| text.parse::<ComputeCapability>().map(|cc| cc.to_string());
    assert_eq!(parse("sm_121").as_deref(), Ok("12.1"));
    assert_eq!(parse("sm_90a").as_deref(), Ok("9.0"));
    assert_eq!(parse("sm_120f").as_deref(), Ok("12.0"));
    assert_eq!(parse("compute_86").as_deref(), Ok("8.6"));
    for text in [
        "", "sm_", "sm_9", "sm_90x", "sm_1210", "sm_a90", "90", "sm_٩٠",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn knows_its_limits() {
    let unknown = ComputeCapability { major: 7, minor: 5 };
    let launch = Launch {
        threads: 32,
        dynamic_smem: 0,
    };
    assert_eq!(occupancy(unknown, &Ledger::default(), launch), None);
    let cc = ComputeCapability {
        major: 12,
        minor: 1,
    };
    for threads in [0, 1025, u32::MAX] {
        let none = occupancy(
            cc,
            &Ledger::default(),
            Launch {
                threads,
                dynamic_smem: u32::MAX,
            },
        );
        let none = none.expect("a known capability");
        assert_eq!((none.blocks_per_sm, none.warps_per_sm), (0, 0));
        assert!(none.limiters.contains(&Limiter::Warps));
    }
    let eight_barriers = Ledger {
        barriers: 8,
        ..Ledger::default()
    };
    let limited = occupancy(cc, &eight_barriers, launch).expect("a known capability");
    assert_eq!(
        (limited.blocks_per_sm, limited.limiters),
        (3, vec![Limiter::Barriers])
    );
}
