//! The types of tensors: how many values and bytes a block has.

/// How a tensor's values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TensorType {
    /// 32-bit floats.
    F32,
    /// 16-bit IEEE floats.
    F16,
    /// The upper 16 bits of 32-bit floats.
    Bf16,
    /// 4 bits and a scale for 32 values.
    Q4_0,
    /// 4 bits, a scale and a minimum for 32 values.
    Q4_1,
    /// 5 bits and a scale for 32 values.
    Q5_0,
    /// 5 bits, a scale and a minimum for 32 values.
    Q5_1,
    /// 8 bits and a scale for 32 values.
    Q8_0,
    /// 4 bits, with scales and minimums in two levels, for 256 values.
    Q4K,
    /// 5 bits, with scales and minimums in two levels, for 256 values.
    Q5K,
    /// 6 bits, with scales in two levels, for 256 values.
    Q6K,
}

/// Names of the types that exist and are not read, by number.
const OTHERS: [(u32, &str); 22] = [
    (9, "q8_1"),
    (10, "q2_K"),
    (11, "q3_K"),
    (15, "q8_K"),
    (16, "iq2_xxs"),
    (17, "iq2_xs"),
    (18, "iq3_xxs"),
    (19, "iq1_s"),
    (20, "iq4_nl"),
    (21, "iq3_s"),
    (22, "iq2_s"),
    (23, "iq4_xs"),
    (24, "i8"),
    (25, "i16"),
    (26, "i32"),
    (27, "i64"),
    (28, "f64"),
    (29, "iq1_m"),
    (34, "tq1_0"),
    (35, "tq2_0"),
    (39, "mxfp4"),
    (40, "nvfp4"),
];

impl TensorType {
    /// All types that are read.
    pub const ALL: [TensorType; 11] = [
        TensorType::F32,
        TensorType::F16,
        TensorType::Bf16,
        TensorType::Q4_0,
        TensorType::Q4_1,
        TensorType::Q5_0,
        TensorType::Q5_1,
        TensorType::Q8_0,
        TensorType::Q4K,
        TensorType::Q5K,
        TensorType::Q6K,
    ];

    /// Number in a file, name, values and bytes of a block.
    const fn facts(self) -> (u32, &'static str, u64, u64) {
        match self {
            TensorType::F32 => (0, "f32", 1, 4),
            TensorType::F16 => (1, "f16", 1, 2),
            TensorType::Bf16 => (30, "bf16", 1, 2),
            TensorType::Q4_0 => (2, "q4_0", 32, 2 + 16),
            TensorType::Q4_1 => (3, "q4_1", 32, 4 + 16),
            TensorType::Q5_0 => (6, "q5_0", 32, 2 + 4 + 16),
            TensorType::Q5_1 => (7, "q5_1", 32, 4 + 4 + 16),
            TensorType::Q8_0 => (8, "q8_0", 32, 2 + 32),
            TensorType::Q4K => (12, "q4_K", 256, 4 + 12 + 128),
            TensorType::Q5K => (13, "q5_K", 256, 4 + 12 + 32 + 128),
            TensorType::Q6K => (14, "q6_K", 256, 128 + 64 + 16 + 2),
        }
    }

    /// The type's number in a file.
    pub fn id(self) -> u32 {
        self.facts().0
    }

    /// The type's name.
    pub fn name(self) -> &'static str {
        self.facts().1
    }

    /// Values of a block.
    pub fn block_values(self) -> u64 {
        self.facts().2
    }

    /// Bytes of a block.
    pub fn block_bytes(self) -> u64 {
        self.facts().3
    }

    /// Bytes of so many values; `None` where they fill no whole number of blocks or overflow.
    pub fn bytes(self, values: u64) -> Option<u64> {
        if !values.is_multiple_of(self.block_values()) {
            return None;
        }
        (values / self.block_values()).checked_mul(self.block_bytes())
    }

    /// Finds a type by its number.
    pub fn find(id: u32) -> Option<TensorType> {
        TensorType::ALL.into_iter().find(|kind| kind.id() == id)
    }

    /// The name of any type by its number, whether it is read or not.
    pub(super) fn name_of(id: u32) -> &'static str {
        let other = OTHERS.iter().find(|(number, _)| *number == id);
        TensorType::find(id)
            .map(TensorType::name)
            .or(other.map(|(_, name)| *name))
            .unwrap_or("unknown")
    }

    /// The names of the types that are read, for messages.
    pub(super) fn names() -> String {
        TensorType::ALL.map(TensorType::name).join(", ")
    }
}

impl std::fmt::Display for TensorType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_meaning() {
        let read = TensorType::ALL.map(TensorType::id);
        let mut ids: Vec<u32> = read.into_iter().chain(OTHERS.map(|(id, _)| id)).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
        assert_eq!(TensorType::name_of(12), "q4_K");
        assert_eq!(TensorType::name_of(11), "q3_K");
        // Numbers 4 and 5 were taken out of the format.
        assert_eq!(TensorType::name_of(4), "unknown");
    }

    #[test]
    fn bytes_are_those_of_whole_blocks() {
        assert_eq!(TensorType::Q4K.bytes(512), Some(288));
        assert_eq!(TensorType::Q4K.bytes(511), None);
        assert_eq!(TensorType::F32.bytes(u64::MAX), None);
    }
}
