//! What runs refer to: campaigns, commits, machines, toolchains. Each is stored once.

use crate::error::{Doing, Result};
use crate::{Conn, MachineId, ToolchainId};

/// A campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Campaign {
    /// Its key.
    pub name: String,
    /// Its title for pages.
    pub title: String,
    /// When it was first seen.
    pub created_at: i64,
}

/// Stores a campaign; an existing one takes the new title.
pub async fn campaign_upsert(conn: &mut Conn, campaign: &Campaign) -> Result<()> {
    sqlx::query!(
        "INSERT INTO campaign (name, title, created_at) VALUES (?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET title = excluded.title",
        campaign.name,
        campaign.title,
        campaign.created_at
    )
    .execute(conn)
    .await
    .doing("store a campaign")?;
    Ok(())
}

/// All campaigns, by name.
pub async fn campaigns(conn: &mut Conn) -> Result<Vec<Campaign>> {
    sqlx::query_as!(
        Campaign,
        "SELECT name, title, created_at FROM campaign ORDER BY name"
    )
    .fetch_all(conn)
    .await
    .doing("list the campaigns")
}

/// A commit as it was when it was first measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its full name.
    pub sha: String,
    /// Its tree.
    pub tree: String,
    /// Its stable patch-id; `None` for merges and roots.
    pub patch_id: Option<String>,
    /// The first parent.
    pub parent: Option<String>,
    /// The message's first line.
    pub subject: String,
    /// The whole message.
    pub message: String,
    /// The author's name.
    pub author: String,
    /// Committer time.
    pub committed_at: i64,
    /// The artefact that holds the commit itself.
    pub pack_artifact: Option<String>,
    /// The commit whose pack has to be restored first; `None` for a pack that is whole.
    pub pack_base: Option<String>,
}

/// Stores a commit once; a known one without a pack takes the given one.
pub async fn commit_upsert(conn: &mut Conn, commit: &Commit) -> Result<()> {
    sqlx::query!(
        "INSERT INTO git_commit (sha, tree, patch_id, parent, subject, message, author,
                                 committed_at, pack_artifact, pack_base)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (sha) DO NOTHING",
        commit.sha,
        commit.tree,
        commit.patch_id,
        commit.parent,
        commit.subject,
        commit.message,
        commit.author,
        commit.committed_at,
        commit.pack_artifact,
        commit.pack_base
    )
    .execute(&mut *conn)
    .await
    .doing("store a commit")?;
    match &commit.pack_artifact {
        Some(pack) => {
            let pack = CommitPack {
                artifact: pack.clone(),
                base: commit.pack_base.clone(),
            };
            commit_set_pack(conn, &commit.sha, &pack).await.map(drop)
        }
        None => Ok(()),
    }
}

/// Where a commit itself is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPack {
    /// The artefact.
    pub artifact: String,
    /// The commit whose pack has to be restored first; `None` for a pack that is whole.
    pub base: Option<String>,
}

/// Adds the pack to a commit that has none; whether it was added.
pub async fn commit_set_pack(conn: &mut Conn, sha: &str, pack: &CommitPack) -> Result<bool> {
    let done = sqlx::query!(
        "UPDATE git_commit SET pack_artifact = ?, pack_base = ?
         WHERE sha = ? AND pack_artifact IS NULL",
        pack.artifact,
        pack.base,
        sha
    )
    .execute(conn)
    .await
    .doing("store a commit's pack")?;
    Ok(done.rows_affected() > 0)
}

/// One commit, by its full name.
pub async fn commit_get(conn: &mut Conn, sha: &str) -> Result<Option<Commit>> {
    let found = commits_by_prefix(conn, sha).await?;
    Ok(found.into_iter().find(|commit| commit.sha == sha))
}

/// The known commits whose name begins with `prefix` (base sides included), by name; at most 100.
pub async fn commits_by_prefix(conn: &mut Conn, prefix: &str) -> Result<Vec<Commit>> {
    sqlx::query_as!(
        Commit,
        "SELECT sha, tree, patch_id, parent, subject, message, author, committed_at,
                pack_artifact, pack_base
         FROM git_commit WHERE sha >= ?1 AND sha < ?1 || 'g' ORDER BY sha LIMIT 100",
        prefix
    )
    .fetch_all(conn)
    .await
    .doing("look up a commit")
}

/// A machine or toolchain: a JSON document and the fingerprint by which it is the same again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprinted {
    /// SHA-256 over what makes it this one.
    pub fingerprint: String,
    /// The whole description, as it was when first seen.
    pub json: String,
}

/// The id of a machine; stored at first sight.
pub async fn machine_id(conn: &mut Conn, machine: &Fingerprinted) -> Result<MachineId> {
    sqlx::query!(
        "INSERT INTO machine (fingerprint, json) VALUES (?, ?) ON CONFLICT DO NOTHING",
        machine.fingerprint,
        machine.json
    )
    .execute(&mut *conn)
    .await
    .doing("store a machine")?;
    sqlx::query_scalar!(
        r#"SELECT id AS "id: MachineId" FROM machine WHERE fingerprint = ?"#,
        machine.fingerprint
    )
    .fetch_one(conn)
    .await
    .doing("look up a machine")
}

/// A machine by its id.
pub async fn machine_get(conn: &mut Conn, id: MachineId) -> Result<Option<Fingerprinted>> {
    sqlx::query_as!(
        Fingerprinted,
        "SELECT fingerprint, json FROM machine WHERE id = ?",
        id
    )
    .fetch_optional(conn)
    .await
    .doing("look up a machine")
}

/// The id of a toolchain; stored at first sight.
pub async fn toolchain_id(conn: &mut Conn, toolchain: &Fingerprinted) -> Result<ToolchainId> {
    sqlx::query!(
        "INSERT INTO toolchain (fingerprint, json) VALUES (?, ?) ON CONFLICT DO NOTHING",
        toolchain.fingerprint,
        toolchain.json
    )
    .execute(&mut *conn)
    .await
    .doing("store a toolchain")?;
    sqlx::query_scalar!(
        r#"SELECT id AS "id: ToolchainId" FROM toolchain WHERE fingerprint = ?"#,
        toolchain.fingerprint
    )
    .fetch_one(conn)
    .await
    .doing("look up a toolchain")
}

/// A toolchain by its id.
pub async fn toolchain_get(conn: &mut Conn, id: ToolchainId) -> Result<Option<Fingerprinted>> {
    sqlx::query_as!(
        Fingerprinted,
        "SELECT fingerprint, json FROM toolchain WHERE id = ?",
        id
    )
    .fetch_optional(conn)
    .await
    .doing("look up a toolchain")
}
