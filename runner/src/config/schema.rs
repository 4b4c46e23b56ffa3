//! Which keys `campaign.toml` may hold. `docs/campaign-toml.md` is held to this list by a test.

/// The keys of one table.
#[derive(Debug)]
pub(super) struct Table {
    /// The table's path as a header would name it; empty for the document itself.
    pub(super) path: &'static str,
    /// Whether it is an array of tables.
    pub(super) repeated: bool,
    /// Its keys.
    pub(super) keys: &'static [&'static str],
    /// Keys that a later version will know.
    pub(super) reserved: &'static [&'static str],
}

impl Table {
    /// The key under which the table stands in the one above.
    pub(super) fn key(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// The table as a person would name it.
    pub(super) fn title(&self) -> String {
        match (self.path, self.repeated) {
            ("", _) => "the file".to_owned(),
            (path, true) => format!("`[[{path}]]`"),
            (path, false) => format!("`[{path}]`"),
        }
    }
}

macro_rules! table {
    ($name:ident, $path:literal, $repeated:literal, [$($key:literal),* $(,)?]
        $(, later [$($later:literal),*])?) => {
        pub(super) static $name: Table = Table {
            path: $path,
            repeated: $repeated,
            keys: &[$($key),*],
            reserved: &[$($($later),*)?],
        };
    };
}

table!(ROOT, "", false, [
    "campaign", "toolchain", "device", "build", "kernel", "harness", "parity", "identity",
    "bench", "reference", "counters", "protocol", "machine", "anchor", "environment", "limits",
], later ["ruler", "variant"]);
table!(
    CAMPAIGN,
    "campaign",
    false,
    ["name", "title", "default_branch", "claims"]
);
table!(TOOLCHAIN, "toolchain", false, ["cuda", "arch"]);
table!(DEVICE, "device", false, ["kind", "index"]);
table!(
    BUILD,
    "build",
    false,
    [
        "command",
        "directory",
        "outputs",
        "runtime",
        "env",
        "timeout_s"
    ]
);
table!(KERNEL, "kernel", true, ["name", "threads", "dynamic_smem"]);
table!(
    HARNESS,
    "harness",
    false,
    ["command", "env", "start_timeout_s"]
);
table!(
    PARITY,
    "parity",
    true,
    ["name", "command", "harness", "figures", "env", "timeout_s"]
);
table!(FIGURE, "parity.figures", true, ["name", "value", "max"]);
table!(
    IDENTITY,
    "identity",
    false,
    [
        "command",
        "harness",
        "drop_lines",
        "tokens",
        "count",
        "env",
        "timeout_s",
    ]
);
table!(
    BENCH,
    "bench",
    true,
    [
        "name",
        "command",
        "harness",
        "value",
        "unit",
        "better",
        "bar",
        "env",
        "timeout_s",
        "warmup",
        "inner",
        "output",
        "floor",
    ]
);
table!(
    FLOOR,
    "bench.floor",
    false,
    ["bytes", "operations", "work", "best_possible"]
);
table!(
    REFERENCE,
    "reference",
    true,
    [
        "name",
        "bench",
        "command",
        "harness",
        "value",
        "commit",
        "version",
        "files",
        "env",
        "timeout_s"
    ]
);
table!(
    COUNTERS,
    "counters",
    true,
    [
        "name",
        "command",
        "kernels",
        "launches",
        "metrics",
        "env",
        "timeout_s"
    ]
);
table!(VALUE, "value", false, ["regex", "json", "format", "select"]);
table!(
    PROTOCOL,
    "protocol",
    false,
    ["pairs", "samples", "sequential", "smallest_worthwhile"]
);
table!(
    MACHINE,
    "machine",
    false,
    [
        "lock_clocks",
        "sm_clock",
        "drain_s",
        "drain_cpu",
        "canary",
        "canary_since",
        "max_foreign_cpu",
        "peak_bandwidth",
        "peak_operations",
    ]
);
table!(ANCHOR, "anchor", false, ["after_landing"]);
table!(ENVIRONMENT, "environment", false, ["allow", "set"]);
table!(LIMITS, "limits", false, ["output_bytes", "free_disk_bytes"]);

/// Every table of the file.
#[cfg(test)]
pub(super) static ALL: &[&Table] = &[
    &ROOT,
    &CAMPAIGN,
    &TOOLCHAIN,
    &DEVICE,
    &BUILD,
    &KERNEL,
    &HARNESS,
    &PARITY,
    &FIGURE,
    &IDENTITY,
    &BENCH,
    &FLOOR,
    &REFERENCE,
    &COUNTERS,
    &VALUE,
    &PROTOCOL,
    &MACHINE,
    &ANCHOR,
    &ENVIRONMENT,
    &LIMITS,
];
