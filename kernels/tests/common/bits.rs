//! Known answers to the bit: what the kernels around the products make of the catalogue's cases,
//! the same on a CPU and on a device of any architecture.
//!
//! A change of a kernel's arithmetic, or of a case's operands, changes an answer; the tests print
//! the new one.

/// The seed of the cases.
pub const SEED: u64 = 11;

/// The names of cases with the digests of their outputs.
pub const BITS: &[(&str, u64)] = &[
    ("quantise", 0x1268_9a5a_b31d_d489),
    ("weights", 0xfbf9_090b_9a6b_9943),
    ("embed", 0xda80_e649_7988_2f7c),
    ("embed f32", 0xfa44_56de_b66b_e5c9),
    ("rms_norm", 0x3a27_4048_d64d_e1ba),
    ("rope", 0x016d_1a12_28c8_bb05),
    ("rope interleaved", 0x721e_4a7d_11ca_b4f2),
    ("attention", 0x19df_9ca5_df46_daa8),
    ("attention ragged", 0xc7c0_0df6_c669_e28b),
    ("attention window", 0xd0da_6e29_c8b0_67d6),
    ("attention decode", 0xc85d_e5aa_ca30_9ac8),
    ("attention decode hd64", 0xa824_2e9f_3040_049a),
    ("attention decode window", 0xf924_c51c_676a_c814),
    ("swiglu", 0x9adb_15a9_cec4_873c),
    ("geglu", 0x011f_08a3_407f_4649),
    ("add", 0xa8c9_9d44_df0d_5be9),
    ("matvec", 0x2e2e_38db_2e5f_492b),
    ("matvec ragged", 0x4e6c_7125_fefe_0604),
    ("matmul f32", 0x8074_7c8d_44e2_fc2d),
    ("argmax", 0xb980_8801_b81f_bf95),
    ("argmax negative", 0x6137_7c9c_77da_ba37),
    ("argmax nan", 0x994f_7665_3e2a_3951),
];

/// FNV-1a, 64 bits wide.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
