//! Builds: attempts to make one side, what came out, and the kernels in it.

use crate::error::{Doing, Result};
use crate::{BuildId, Conn, MachineId, RunId, ToolchainId};

/// A build attempt to store, after it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBuild {
    /// The cache key: tree, effective build config, toolchain.
    pub key: String,
    /// The tree that was built.
    pub tree: String,
    /// The commit from which it was built.
    pub commit_sha: String,
    /// The effective build config.
    pub config_json: String,
    /// The toolchain; `None` for a campaign without one.
    pub toolchain_id: Option<ToolchainId>,
    /// The machine on which it was built.
    pub machine_id: MachineId,
    /// When it began.
    pub started_at: i64,
    /// How long it took, milliseconds.
    pub wall_ms: i64,
    /// Why it failed; `None` when it succeeded.
    pub failure_json: Option<String>,
    /// The compiler's first error line.
    pub first_error: Option<String>,
    /// The build's log.
    pub log_artifact: Option<String>,
    /// The inspection report over its outputs.
    pub report_artifact: Option<String>,
}

/// A stored build attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// Its id.
    pub id: BuildId,
    /// As in [`NewBuild`].
    pub key: String,
    /// As in [`NewBuild`].
    pub tree: String,
    /// As in [`NewBuild`].
    pub commit_sha: String,
    /// As in [`NewBuild`].
    pub config_json: String,
    /// As in [`NewBuild`].
    pub toolchain_id: Option<ToolchainId>,
    /// As in [`NewBuild`].
    pub machine_id: MachineId,
    /// As in [`NewBuild`].
    pub started_at: i64,
    /// As in [`NewBuild`].
    pub wall_ms: i64,
    /// As in [`NewBuild`].
    pub failure_json: Option<String>,
    /// As in [`NewBuild`].
    pub first_error: Option<String>,
    /// As in [`NewBuild`].
    pub log_artifact: Option<String>,
    /// As in [`NewBuild`].
    pub report_artifact: Option<String>,
}

/// Stores a build attempt.
pub async fn build_insert(conn: &mut Conn, new: &NewBuild) -> Result<BuildId> {
    let done = sqlx::query!(
        "INSERT INTO build (key, tree, commit_sha, config_json, toolchain_id, machine_id,
                            started_at, wall_ms, failure_json, first_error, log_artifact,
                            report_artifact)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        new.key,
        new.tree,
        new.commit_sha,
        new.config_json,
        new.toolchain_id,
        new.machine_id,
        new.started_at,
        new.wall_ms,
        new.failure_json,
        new.first_error,
        new.log_artifact,
        new.report_artifact
    )
    .execute(conn)
    .await
    .doing("store a build")?;
    Ok(BuildId(done.last_insert_rowid()))
}

async fn builds_select(
    conn: &mut Conn,
    id: Option<BuildId>,
    key: Option<&str>,
) -> Result<Vec<Build>> {
    sqlx::query_as!(
        Build,
        r#"SELECT id AS "id: BuildId", key, tree, commit_sha, config_json,
                  toolchain_id AS "toolchain_id: ToolchainId",
                  machine_id AS "machine_id: MachineId", started_at, wall_ms, failure_json,
                  first_error, log_artifact, report_artifact
           FROM build
           WHERE id = ?1
              OR (key = ?2 AND id NOT IN (SELECT build_id FROM bundle_build))
           ORDER BY id DESC"#,
        id,
        key
    )
    .fetch_all(conn)
    .await
    .doing("look up a build")
}

/// One build attempt.
pub async fn build_get(conn: &mut Conn, id: BuildId) -> Result<Option<Build>> {
    Ok(builds_select(conn, Some(id), None).await?.pop())
}

/// All attempts under a key that were made here, the newest first. What came in a bundle is no
/// build of this machine, whatever key it claims.
pub async fn builds_by_key(conn: &mut Conn, key: &str) -> Result<Vec<Build>> {
    builds_select(conn, None, Some(key)).await
}

/// The newest attempt under a key that was made here and succeeded, and whose outputs and report
/// are all still in the store.
pub async fn build_usable(conn: &mut Conn, key: &str) -> Result<Option<Build>> {
    let id = sqlx::query_scalar!(
        r#"SELECT b.id AS "id: BuildId" FROM build b
           WHERE b.key = ? AND b.failure_json IS NULL
             AND b.id NOT IN (SELECT build_id FROM bundle_build)
             AND NOT EXISTS (SELECT 1 FROM build_output o JOIN artifact a ON a.sha256 = o.artifact
                             WHERE o.build_id = b.id AND a.lost_at IS NOT NULL)
             AND NOT EXISTS (SELECT 1 FROM artifact a
                             WHERE a.sha256 = b.report_artifact AND a.lost_at IS NOT NULL)
           ORDER BY b.id DESC LIMIT 1"#,
        key
    )
    .fetch_optional(&mut *conn)
    .await
    .doing("look up a build")?;
    match id {
        Some(id) => build_get(conn, id).await,
        None => Ok(None),
    }
}

/// A built file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildOutput {
    /// Path relative to the worktree.
    pub path: String,
    /// Its content.
    pub artifact: String,
    /// Its size, bytes.
    pub bytes: i64,
    /// Whether it may be executed.
    pub executable: bool,
}

/// Stores a build's outputs.
pub async fn build_outputs_insert(
    conn: &mut Conn,
    build: BuildId,
    outputs: &[BuildOutput],
) -> Result<()> {
    for output in outputs {
        sqlx::query!(
            "INSERT INTO build_output (build_id, path, artifact, bytes, executable)
             VALUES (?, ?, ?, ?, ?)",
            build,
            output.path,
            output.artifact,
            output.bytes,
            output.executable
        )
        .execute(&mut *conn)
        .await
        .doing("store a built file")?;
    }
    Ok(())
}

/// A build's outputs, by path.
pub async fn outputs_by_build(conn: &mut Conn, build: BuildId) -> Result<Vec<BuildOutput>> {
    sqlx::query_as!(
        BuildOutput,
        r#"SELECT path, artifact, bytes, executable AS "executable: bool"
           FROM build_output WHERE build_id = ? ORDER BY path"#,
        build
    )
    .fetch_all(conn)
    .await
    .doing("list built files")
}

/// What the disassembler printed for one cubin of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildListing {
    /// File, member and image in which the cubin was found, as in [`Kernel::container`].
    pub container: String,
    /// The listing.
    pub artifact: String,
}

/// Stores a build's listings.
pub async fn build_listings_insert(
    conn: &mut Conn,
    build: BuildId,
    listings: &[BuildListing],
) -> Result<()> {
    for listing in listings {
        sqlx::query!(
            "INSERT INTO build_listing (build_id, container, artifact) VALUES (?, ?, ?)",
            build,
            listing.container,
            listing.artifact
        )
        .execute(&mut *conn)
        .await
        .doing("store a disassembly")?;
    }
    Ok(())
}

/// A build's listings, by container.
pub async fn listings_by_build(conn: &mut Conn, build: BuildId) -> Result<Vec<BuildListing>> {
    sqlx::query_as!(
        BuildListing,
        "SELECT container, artifact FROM build_listing WHERE build_id = ? ORDER BY container",
        build
    )
    .fetch_all(conn)
    .await
    .doing("list disassemblies")
}

/// A kernel in a build's outputs, with its ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The demangled name.
    pub name: String,
    /// The mangled symbol.
    pub symbol: String,
    /// The architecture, for example `sm_121`.
    pub arch: String,
    /// File, member and image in which it was found.
    pub container: String,
    /// Identity of the compiled code.
    pub code_hash: String,
    /// Registers per thread.
    pub registers: u32,
    /// Instructions that store a spilled register.
    pub spill_stores: u32,
    /// Instructions that reload one.
    pub spill_loads: u32,
    /// Stack frame, bytes per thread.
    pub stack_bytes: u32,
    /// Static shared memory, bytes per block.
    pub static_smem: u32,
    /// Named barriers.
    pub barriers: u32,
    /// The most threads per block.
    pub max_threads: Option<u32>,
    /// The required block shape as a JSON array of three.
    pub required_threads: Option<String>,
    /// Size of the parameters, bytes.
    pub param_bytes: u32,
    /// Size of the machine code, bytes.
    pub code_bytes: i64,
    /// Instructions by opcode; `None` when no disassembler was at hand.
    pub census_json: Option<String>,
}

/// Stores a build's kernels in the given order.
pub async fn kernels_insert(conn: &mut Conn, build: BuildId, kernels: &[Kernel]) -> Result<()> {
    for (seq, kernel) in (0i64..).zip(kernels) {
        sqlx::query!(
            "INSERT INTO kernel (build_id, seq, name, symbol, arch, container, code_hash,
                                 registers, spill_stores, spill_loads, stack_bytes, static_smem,
                                 barriers, max_threads, required_threads, param_bytes,
                                 code_bytes, census_json)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            build,
            seq,
            kernel.name,
            kernel.symbol,
            kernel.arch,
            kernel.container,
            kernel.code_hash,
            kernel.registers,
            kernel.spill_stores,
            kernel.spill_loads,
            kernel.stack_bytes,
            kernel.static_smem,
            kernel.barriers,
            kernel.max_threads,
            kernel.required_threads,
            kernel.param_bytes,
            kernel.code_bytes,
            kernel.census_json
        )
        .execute(&mut *conn)
        .await
        .doing("store a kernel")?;
    }
    Ok(())
}

/// A build's kernels, in the order in which they were stored.
pub async fn kernels_by_build(conn: &mut Conn, build: BuildId) -> Result<Vec<Kernel>> {
    sqlx::query_as!(
        Kernel,
        r#"SELECT name, symbol, arch, container, code_hash, registers AS "registers: u32",
                  spill_stores AS "spill_stores: u32", spill_loads AS "spill_loads: u32",
                  stack_bytes AS "stack_bytes: u32", static_smem AS "static_smem: u32",
                  barriers AS "barriers: u32", max_threads AS "max_threads: u32",
                  required_threads, param_bytes AS "param_bytes: u32", code_bytes, census_json
           FROM kernel WHERE build_id = ? ORDER BY seq"#,
        build
    )
    .fetch_all(conn)
    .await
    .doing("list a build's kernels")
}

/// Which build served as a side of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunBuild {
    /// `base` or `head`.
    pub side: String,
    /// The build.
    pub build_id: BuildId,
    /// Whether it was there before the run.
    pub cached: bool,
}

/// Stores which build serves as a side of a run.
pub async fn run_build_insert(conn: &mut Conn, run: RunId, build: &RunBuild) -> Result<()> {
    sqlx::query!(
        "INSERT INTO run_build (run_id, side, build_id, cached) VALUES (?, ?, ?, ?)",
        run,
        build.side,
        build.build_id,
        build.cached
    )
    .execute(conn)
    .await
    .doing("store which build a run uses")?;
    Ok(())
}

/// The builds of a run, base first.
pub async fn builds_by_run(conn: &mut Conn, run: RunId) -> Result<Vec<RunBuild>> {
    sqlx::query_as!(
        RunBuild,
        r#"SELECT side, build_id AS "build_id: BuildId", cached AS "cached: bool"
           FROM run_build WHERE run_id = ? ORDER BY side"#,
        run
    )
    .fetch_all(conn)
    .await
    .doing("look up a run's builds")
}
