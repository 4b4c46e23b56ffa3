//! Opening the database: settings, checks of what the file is, migrations.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection, Sqlite, SqliteConnection, Transaction};

use crate::Conn;
use crate::error::{Doing, Error, Result, classify, is_busy, is_not_a_database};

/// What marks a file as this program's database: `ROUN` in SQLite's `application_id`.
pub const APPLICATION_ID: i64 = 0x524F_554E;

/// How long a connection waits for another one's write to end.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections of one process: a writer, and readers beside it.
const CONNECTIONS: u32 = 4;

/// The migrations that this program knows.
pub(crate) static MIGRATOR: Migrator = sqlx::migrate!("../migrations");

/// The database. Cheap to clone; clones share the connections.
#[derive(Debug, Clone)]
pub struct Db {
    pool: SqlitePool,
    path: PathBuf,
}

impl Db {
    /// Opens the database, makes it (and its folder) where there is none, and brings an older
    /// one to the current schema. Safe while other processes do the same.
    pub async fn open(path: &Path) -> Result<Db> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| Error::CannotOpen {
                path: path.to_owned(),
                source: e.into(),
            })?;
        }
        open_with(path, &MIGRATOR, true).await
    }

    /// Opens a database that must be there; brings an older one to the current schema.
    pub async fn open_existing(path: &Path) -> Result<Db> {
        if !path.exists() {
            return Err(Error::Missing {
                path: path.to_owned(),
            });
        }
        open_with(path, &MIGRATOR, false).await
    }

    /// The newest schema version that this program knows.
    pub fn known_schema() -> i64 {
        newest(&MIGRATOR)
    }

    /// Where the database lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins to write (`BEGIN IMMEDIATE`): waits up to 10 s for other writers, then sees and
    /// changes the newest state. Keep it short; it keeps others from writing.
    pub async fn write(&self) -> Result<Tx> {
        let tx = self.pool.begin_with("BEGIN IMMEDIATE").await;
        Ok(Tx(tx.doing("begin to write")?))
    }

    /// Begins to read: all queries through it see the state as it was at the first one.
    pub async fn read(&self) -> Result<Snapshot> {
        Ok(Snapshot(self.pool.begin().await.doing("begin to read")?))
    }

    /// What SQLite's integrity check and foreign-key check find wrong; empty when all is well.
    /// Reads the whole file.
    pub async fn integrity_check(&self) -> Result<Vec<String>> {
        let mut conn = self.read().await?;
        let mut found: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check")
            .fetch_all(&mut *conn)
            .await
            .doing("check the database's integrity")?;
        found.retain(|line| line != "ok");
        let dangling: Vec<(String, Option<i64>, String, i64)> =
            sqlx::query_as("PRAGMA foreign_key_check")
                .fetch_all(&mut *conn)
                .await
                .doing("check the database's references")?;
        found.extend(dangling.into_iter().map(|(table, row, parent, _)| {
            let row = row.map_or_else(|| "?".to_owned(), |r| r.to_string());
            format!("row {row} of {table} refers to a row of {parent} that is not there")
        }));
        Ok(found)
    }

    /// Closes all connections. Not needed for safety: everything committed is on disk.
    pub async fn close(self) {
        self.pool.close().await;
    }
}

/// A transaction that writes; rolled back when dropped.
#[derive(Debug)]
pub struct Tx(Transaction<'static, Sqlite>);

impl Tx {
    /// Makes everything done through it permanent, in one piece: on return it is on disk.
    pub async fn commit(self) -> Result<()> {
        self.0.commit().await.doing("write to the disk")
    }
}

impl Deref for Tx {
    type Target = Conn;
    fn deref(&self) -> &Conn {
        &self.0
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0
    }
}

/// A state of the database to read from.
#[derive(Debug)]
pub struct Snapshot(Transaction<'static, Sqlite>);

impl Deref for Snapshot {
    type Target = Conn;
    fn deref(&self) -> &Conn {
        &self.0
    }
}

impl DerefMut for Snapshot {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0
    }
}

/// The settings of every connection.
fn options(path: &Path, create: bool) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(create)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        // A committed sample survives a loss of power, too.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        // So that `INSERT OR REPLACE` meets the triggers against deletion.
        .pragma("recursive_triggers", "ON")
}

/// Opens with a given set of migrations (tests have others).
pub(crate) async fn open_with(path: &Path, migrator: &Migrator, create: bool) -> Result<Db> {
    if path.exists() {
        inspect(path, migrator).await?;
    }
    let options = options(path, create);
    let mut first = connect_patiently(path, &options).await?;
    let checked = prepare_schema(path, migrator, &mut first).await;
    first.close().await.doing("close the first connection")?;
    checked?;
    let pool = SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(2 * BUSY_TIMEOUT)
        .test_before_acquire(false)
        .connect_lazy_with(options);
    Ok(Db {
        pool,
        path: path.to_owned(),
    })
}

/// Looks at the file without changing it, so that another program's database, or a newer one, is
/// left as it is.
async fn inspect(path: &Path, migrator: &Migrator) -> Result<()> {
    let untouched = SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY_TIMEOUT);
    let mut conn = connect_patiently(path, &untouched).await?;
    let found = schema_version(path, &mut conn).await;
    conn.close().await.doing("close the first connection")?;
    refuse_newer(path, found?, newest(migrator))
}

fn refuse_newer(path: &Path, found: i64, known: i64) -> Result<()> {
    if found <= known {
        return Ok(());
    }
    Err(Error::NewerSchema {
        path: path.to_owned(),
        found,
        known,
    })
}

/// Connects, repeating while another process is making the same database: the switch to a
/// write-ahead log does not wait by itself.
async fn connect_patiently(
    path: &Path,
    options: &SqliteConnectOptions,
) -> Result<SqliteConnection> {
    const STEP: Duration = Duration::from_millis(20);
    let mut waited = Duration::ZERO;
    loop {
        match SqliteConnection::connect_with(options).await {
            Ok(conn) => return Ok(conn),
            Err(e) if is_busy(&e) && waited < BUSY_TIMEOUT => {
                tokio::time::sleep(STEP).await;
                waited += STEP;
            }
            Err(e) => return Err(opening_error(path, e)),
        }
    }
}

/// What a failure to connect or to read the first page says about the file.
fn opening_error(path: &Path, error: sqlx::Error) -> Error {
    if is_not_a_database(&error) {
        return Error::NotADatabase {
            path: path.to_owned(),
        };
    }
    match classify("open the database", error) {
        Error::Sql { source, .. } => Error::CannotOpen {
            path: path.to_owned(),
            source: source.into(),
        },
        other => other,
    }
}

/// Refuses what is not ours or newer than us; migrates what is older.
async fn prepare_schema(path: &Path, migrator: &Migrator, conn: &mut Conn) -> Result<()> {
    let known = newest(migrator);
    let found = schema_version(path, conn).await?;
    refuse_newer(path, found, known)?;
    let migrated = if found == known {
        // Applies nothing; compares the applied migrations with the known ones.
        migrator.run_direct(None, conn, false).await
    } else {
        migrate(migrator, conn).await
    };
    migrated.map_err(|e| migrate_error(path, known, e))
}

/// Applies what is missing, all or nothing, while no other process writes.
async fn migrate(migrator: &Migrator, conn: &mut Conn) -> Result<(), MigrateError> {
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    migrator.run_direct(None, &mut *tx, false).await?;
    tx.commit().await?;
    Ok(())
}

/// Full disks and the like stay recognisable when they happen while migrating.
fn migrate_error(path: &Path, known: i64, error: MigrateError) -> Error {
    let path = path.to_owned();
    match error {
        MigrateError::Execute(e) | MigrateError::ExecuteMigration(e, _) => {
            match classify("bring the database to this program's schema", e) {
                Error::Sql { source, .. } => Error::Migrate {
                    path,
                    source: Box::new(MigrateError::Execute(source)),
                },
                recognised => recognised,
            }
        }
        // Another process with a newer program was faster than this one.
        MigrateError::VersionMissing(found) => Error::NewerSchema { path, found, known },
        source => Error::Migrate {
            path,
            source: Box::new(source),
        },
    }
}

fn newest(migrator: &Migrator) -> i64 {
    migrator.iter().map(|m| m.version).max().unwrap_or(0)
}

/// The newest applied migration; 0 for an empty file.
async fn schema_version(path: &Path, conn: &mut Conn) -> Result<i64> {
    let reading = "read the database's schema version";
    let application: i64 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut *conn)
        .await
        .map_err(|e| opening_error(path, e))?;
    let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE type = 'table'")
        .fetch_one(&mut *conn)
        .await
        .map_err(|e| opening_error(path, e))?;
    match (application, tables) {
        (APPLICATION_ID, _) => {
            let newest: Option<i64> =
                sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations")
                    .fetch_one(&mut *conn)
                    .await
                    .doing(reading)?;
            Ok(newest.unwrap_or(0))
        }
        (0, 0) => Ok(0),
        _ => Err(Error::Foreign {
            path: path.to_owned(),
        }),
    }
}
