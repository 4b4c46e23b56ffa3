//! Every migration, applied to a database with rows from before it.
//!
//! `rows/NNNN.sql` fills what migration NNNN made. A new migration that makes or changes tables
//! brings its rows with it; [`OF_NO_ROWS`] lists those that have none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use db::Db;
use sqlx::migrate::Migrator;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

static MIGRATOR: Migrator = sqlx::migrate!("../migrations");

/// Migrations that make no tables: views, triggers, checks.
const OF_NO_ROWS: [i64; 4] = [6, 7, 9, 10];

fn rows_of(version: i64) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/db/rows/{version:04}.sql"))
}

/// A database as the program made it when `version` was its newest migration, with sample rows.
async fn database_of(version: i64, path: &Path) -> SqliteConnection {
    let mut conn = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .foreign_keys(true)
        .connect()
        .await
        .unwrap();
    MIGRATOR
        .run_direct(Some(version), &mut conn, false)
        .await
        .unwrap();
    for migration in MIGRATOR.iter().filter(|m| m.version <= version) {
        if OF_NO_ROWS.contains(&migration.version) {
            continue;
        }
        let path = rows_of(migration.version);
        let sql = std::fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("{}: {e}: a migration needs sample rows", path.display()));
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
            .execute(&mut conn)
            .await
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    conn
}

/// How many rows each table holds.
async fn counts(conn: &mut SqliteConnection) -> BTreeMap<String, i64> {
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_schema
         WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> '_sqlx_migrations'",
    )
    .fetch_all(&mut *conn)
    .await
    .unwrap();
    let mut found = BTreeMap::new();
    for table in tables {
        let sql = format!("SELECT count(*) FROM {table}");
        let count = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_one(&mut *conn)
            .await
            .unwrap();
        found.insert(table, count);
    }
    found
}

#[tokio::test]
async fn a_database_of_every_earlier_version_keeps_its_rows() {
    let versions: Vec<i64> = MIGRATOR.iter().map(|m| m.version).collect();
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    assert_eq!(versions.last(), Some(&Db::known_schema()));
    for version in versions {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("old.db");
        let mut old = database_of(version, &path).await;
        let before = counts(&mut old).await;
        assert!(before.values().all(|&n| n > 0), "{version}: {before:?}");
        old.close().await.unwrap();

        let db = Db::open_existing(&path)
            .await
            .unwrap_or_else(|e| panic!("from version {version}: {e}"));
        assert!(db.integrity_check().await.unwrap().is_empty(), "{version}");
        let mut conn = db.read().await.unwrap();
        let after = counts(&mut conn).await;
        for (table, count) in before {
            assert_eq!(
                after.get(&table),
                Some(&count),
                "{table} from version {version}"
            );
        }
    }
}

#[tokio::test]
async fn rows_of_the_first_version_are_read_by_this_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.db");
    database_of(5, &path).await.close().await.unwrap();
    let db = Db::open_existing(&path).await.unwrap();
    let mut conn = db.read().await.unwrap();
    let table = db::campaign_table(&mut conn, "mmqr", 10).await.unwrap();
    assert_eq!(table.len(), 1);
    assert_eq!(table[0].verdict.as_deref(), Some("reverted"));
    assert_eq!(table[0].judged_verdict.as_deref(), Some("landed"));
    let run = table[0].run_id;
    let samples = db::samples_by_run(&mut conn, run).await.unwrap();
    assert_eq!(samples[0].value, Some(1350.0));
    assert!(samples[1].value.is_none());
    let builds = db::builds_by_run(&mut conn, run).await.unwrap();
    let kernels = db::kernels_by_build(&mut conn, builds[0].build_id)
        .await
        .unwrap();
    assert_eq!(
        (kernels[0].registers, kernels[0].max_threads),
        (141, Some(256))
    );
}

#[tokio::test]
async fn a_migration_that_was_changed_after_it_was_applied_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.db");
    let mut conn = database_of(Db::known_schema(), &path).await;
    sqlx::query("UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 2")
        .execute(&mut conn)
        .await
        .unwrap();
    conn.close().await.unwrap();
    let error = Db::open_existing(&path).await.unwrap_err();
    assert!(matches!(error, db::Error::Migrate { .. }), "{error:?}");
}

/// `json_valid(NULL)` is 0 before SQLite 3.41, and the checks are then broken by every NULL.
#[tokio::test]
async fn checks_of_json_mean_the_same_in_every_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.db");
    database_of(8, &path).await.close().await.unwrap();
    let db = Db::open_existing(&path).await.unwrap();
    let mut conn = db.write().await.unwrap();
    let tables: Vec<String> =
        sqlx::query_scalar("SELECT sql FROM sqlite_schema WHERE type = 'table'")
            .fetch_all(&mut *conn)
            .await
            .unwrap();
    let columns: Vec<&str> = tables
        .iter()
        .flat_map(|sql| sql.split(",\n"))
        .filter(|column| column.contains("json_valid("))
        .collect();
    assert!(columns.len() > 10, "{columns:#?}");
    for column in columns {
        assert!(
            column.contains("NOT NULL") || column.contains("IS NULL OR json_valid("),
            "{column}"
        );
    }
    let insert = |census: &'static str| {
        sqlx::query(
            "INSERT INTO kernel
             SELECT build_id, seq + 100, name, symbol, arch, container, code_hash, registers,
                    spill_stores, spill_loads, stack_bytes, static_smem, barriers, max_threads,
                    NULL, param_bytes, code_bytes, ?
             FROM kernel LIMIT 1",
        )
        .bind(census)
    };
    insert("{\"LDS.64\": 2}").execute(&mut *conn).await.unwrap();
    let error = insert("{").execute(&mut *conn).await.unwrap_err();
    assert!(error.to_string().contains("CHECK"), "{error}");
}
