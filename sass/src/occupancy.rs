//! The occupancy calculator: how many blocks of a kernel fit on one SM, and what limits them.
//!
//! The figures and rules are those of NVIDIA's `cuda_occupancy.h` with opt-in shared memory and
//! no carve-out preference; a test compares the two over the whole grid. It does not model
//! carve-outs that a program asks for, clusters, or Blackwell's virtual resources.

use crate::{Launch, Ledger, Limiter, Occupancy};

const WARP: u32 = 32;
const MAX_THREADS_PER_BLOCK: u32 = 1024;
const MAX_REGISTERS_PER_THREAD: u32 = 255;
const REGISTERS_PER_SM: u32 = 65_536;
/// Registers are given to a warp in units of this many.
const REGISTER_UNIT: u32 = 256;
const SUB_PARTITIONS: u32 = 4;
/// Shared memory is given to a block in units of this many bytes.
const SMEM_UNIT: u64 = 128;
/// Shared memory that the driver reserves in each block, bytes.
const SMEM_RESERVED: u64 = 1024;

/// A compute capability, for example 12.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// 12 in 12.1.
    pub major: u32,
    /// 1 in 12.1.
    pub minor: u32,
}

/// The text does not name an architecture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an architecture; write it as nvcc does, for example `sm_121` or `sm_90a`")]
pub struct UnknownArch(pub String);

impl std::str::FromStr for ComputeCapability {
    type Err = UnknownArch;

    /// Reads `sm_121`, `sm_90a`, `sm_120f` (`compute_…` too).
    fn from_str(text: &str) -> Result<Self, UnknownArch> {
        let number = text
            .strip_prefix("sm_")
            .or_else(|| text.strip_prefix("compute_"))
            .map(|rest| rest.strip_suffix(['a', 'f']).unwrap_or(rest))
            .filter(|rest| {
                (2..=3).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_digit())
            })
            .and_then(|rest| rest.parse::<u32>().ok())
            .ok_or_else(|| UnknownArch(text.to_owned()))?;
        Ok(ComputeCapability {
            major: number / 10,
            minor: number % 10,
        })
    }
}

impl std::fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What one SM of a compute capability holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmLimits {
    /// Warp slots.
    pub warps: u32,
    /// Block slots.
    pub blocks: u32,
    /// Shared memory, bytes.
    pub smem: u64,
    /// The most shared memory a block may have with opt-in, bytes.
    pub smem_per_block: u64,
    /// Named barriers; `None` where they never limit.
    pub barriers: Option<u32>,
}

impl ComputeCapability {
    /// The limits of an SM; `None` for a capability that is not in the table.
    pub fn sm_limits(self) -> Option<SmLimits> {
        const K: u64 = 1024;
        let limits = |warps, blocks, smem, barriers| SmLimits {
            warps,
            blocks,
            smem: smem * K,
            smem_per_block: (smem - 1) * K,
            barriers,
        };
        match (self.major, self.minor) {
            (8, 0) => Some(limits(64, 32, 164, None)),
            (8, 6) => Some(limits(48, 16, 100, None)),
            (8, 9) => Some(limits(48, 24, 100, None)),
            (9, 0) | (10, 0) => Some(limits(64, 32, 228, Some(64))),
            (12, 0 | 1) => Some(limits(48, 24, 100, Some(24))),
            _ => None,
        }
    }
}

/// Blocks of the kernel with this `ledger`, launched like this, on one SM of capability `cc`.
///
/// `None` when the capability is not in the table. Zero blocks mean that the launch fails; the
/// limiters then name what is exceeded. The kernel's own launch bound is ignored, as CUDA's
/// occupancy functions ignore it.
pub fn occupancy(cc: ComputeCapability, ledger: &Ledger, launch: Launch) -> Option<Occupancy> {
    let sm = cc.sm_limits()?;
    let warps = launch.threads.div_ceil(WARP).max(1);
    let valid = (1..=MAX_THREADS_PER_BLOCK).contains(&launch.threads);
    let limits = [
        (Limiter::Warps, if valid { sm.warps / warps } else { 0 }),
        (Limiter::Blocks, sm.blocks),
        (Limiter::Registers, by_registers(ledger.registers, warps)),
        (
            Limiter::SharedMemory,
            by_smem(&sm, ledger.static_smem, launch.dynamic_smem),
        ),
        (Limiter::Barriers, by_barriers(&sm, ledger.barriers)),
    ];
    let blocks = limits.iter().map(|(_, n)| *n).min().unwrap_or(0);
    Some(Occupancy {
        blocks_per_sm: blocks,
        warps_per_sm: blocks * warps,
        max_warps_per_sm: sm.warps,
        limiters: limits
            .into_iter()
            .filter(|(_, n)| *n == blocks)
            .map(|(limiter, _)| limiter)
            .collect(),
    })
}

/// Registers are given out per warp, in each sub-partition on its own.
fn by_registers(registers: u32, warps: u32) -> u32 {
    if registers > MAX_REGISTERS_PER_THREAD {
        return 0;
    }
    let per_warp = (registers * WARP).next_multiple_of(REGISTER_UNIT);
    if per_warp == 0 {
        return u32::MAX;
    }
    // The launch check assumes that every sub-partition gets as many warps as the fullest.
    let assumed = u64::from(per_warp) * u64::from(warps).next_multiple_of(SUB_PARTITIONS.into());
    if assumed > REGISTERS_PER_SM.into() {
        return 0;
    }
    let warps_per_partition = REGISTERS_PER_SM / SUB_PARTITIONS / per_warp;
    warps_per_partition * SUB_PARTITIONS / warps
}

fn by_smem(sm: &SmLimits, fixed: u32, dynamic: u32) -> u32 {
    let allocated =
        (u64::from(fixed) + SMEM_RESERVED + u64::from(dynamic)).next_multiple_of(SMEM_UNIT);
    if allocated > sm.smem_per_block + SMEM_RESERVED {
        return 0;
    }
    // The quotient is at most 228 K / 1 K.
    u32::try_from(sm.smem / allocated).unwrap_or(u32::MAX)
}

fn by_barriers(sm: &SmLimits, used: u32) -> u32 {
    match sm.barriers {
        Some(pool) if used > 0 => pool / used,
        _ => u32::MAX,
    }
}
