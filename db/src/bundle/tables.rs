//! Which tables travel with a run, in the order in which rows are stored, and which do not.

/// How a table's rows belong to a run, and what may be added to them later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What runs refer to, known by the column given; a known one stays as it is.
    Known(&'static str),
    /// Commits, by their name; their packs may be filled in.
    Commit,
    /// Builds, known by everything that they hold.
    Build,
    /// What belongs to a build; complete with it.
    OfBuild,
    /// The run itself, by its uuid.
    Run,
    /// What was observed; complete when the run ends.
    Observed,
    /// What may be added under a new key after the run ended.
    Grows,
    /// What is added at the end, the newest counts: `None`, or the column that tells which.
    Log(Option<&'static str>),
}

/// A table that travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    pub(super) kind: Kind,
}

const fn table(name: &'static str, kind: Kind) -> Table {
    Table { name, kind }
}

/// The tables that travel. Rows are stored in this order: what is referred to comes first, and a
/// run is closed after what a closed run takes no more of.
pub const TABLES: [Table; 29] = [
    table("campaign", Kind::Known("name")),
    table("git_commit", Kind::Commit),
    table("machine", Kind::Known("fingerprint")),
    table("toolchain", Kind::Known("fingerprint")),
    table("build", Kind::Build),
    table("build_output", Kind::OfBuild),
    table("build_listing", Kind::OfBuild),
    table("kernel", Kind::OfBuild),
    table("run", Kind::Run),
    table("confirmation", Kind::Observed),
    table("bench_plan", Kind::Observed),
    table("run_build", Kind::Observed),
    table("run_artifact", Kind::Grows),
    table("run_document", Kind::Grows),
    table("gate", Kind::Observed),
    table("gate_log", Kind::Observed),
    table("sample", Kind::Observed),
    table("sample_state", Kind::Observed),
    table("sample_facts", Kind::Observed),
    table("canary_reading", Kind::Observed),
    table("claim", Kind::Grows),
    table("counter_profile", Kind::Grows),
    table("counter_launch", Kind::Grows),
    table("counter_value", Kind::Grows),
    table("run_event", Kind::Grows),
    table("noise_profile", Kind::Grows),
    table("judgement", Kind::Log(None)),
    table("decision", Kind::Log(None)),
    table("correction", Kind::Log(Some("field"))),
];

/// The tables whose rows do not travel as such, and why.
pub const NOT_AS_ROWS: [(&str, &str); 10] = [
    (
        "artifact",
        "travels as content, or as a hash and a size where the content is left out",
    ),
    (
        "bundle_import",
        "says from where this database got a run; the next one writes its own",
    ),
    (
        "bundle_build",
        "says which builds this database got from others",
    ),
    (
        "run_reference",
        "travels as the uuid in the column that it stands for",
    ),
    (
        "bundle_waiting",
        "travels among the rows of the table that it stands for",
    ),
    (
        "anchor",
        "a series of one database: its order is by local numbers",
    ),
    (
        "anchor_run",
        "the place of a run in a series of one database",
    ),
    ("publication", "what this database posts, and has posted"),
    (
        "publication_event",
        "what became of what this database posts",
    ),
    ("publication_object", "what this database has posted"),
];
