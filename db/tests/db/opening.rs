//! What is opened: fresh, old, newer, foreign, broken; by one and by several.

use db::{Db, Error};

use crate::world::{World, sha};

#[tokio::test]
async fn a_fresh_database_is_made_with_its_folder_and_the_promised_settings() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state/deep/roundhouse.db");
    let db = Db::open(&path).await.unwrap();
    assert_eq!(db.path(), path);
    let mut conn = db.read().await.unwrap();
    for (pragma, expected) in [
        ("journal_mode", "wal"),
        ("synchronous", "2"),
        ("foreign_keys", "1"),
        ("busy_timeout", "10000"),
        ("recursive_triggers", "1"),
    ] {
        let sql = format!("SELECT CAST({pragma} AS TEXT) FROM pragma_{pragma}");
        // The table-valued form names busy_timeout's column otherwise.
        let sql = sql.replace("CAST(busy_timeout", "CAST(timeout");
        let found: String = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_one(&mut *conn)
            .await
            .unwrap();
        assert_eq!(found, expected, "{pragma}");
    }
    assert!(db.integrity_check().await.unwrap().is_empty());
}

#[tokio::test]
async fn an_existing_database_must_exist() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.db");
    let error = Db::open_existing(&path).await.unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error:?}");
    assert!(!path.exists(), "looking must not make one");
}

#[tokio::test]
async fn what_was_committed_is_there_after_reopening_and_what_was_not_is_not() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let mut tx = world.db.write().await.unwrap();
    db::run_event_append(&mut tx, run, &crate::world::event("ended"))
        .await
        .unwrap();
    drop(tx);
    let path = world.db.path().to_owned();
    world.db.close().await;
    let db = Db::open_existing(&path).await.unwrap();
    let mut conn = db.read().await.unwrap();
    let found = db::run_get(&mut conn, run).await.unwrap().unwrap();
    assert_eq!(found.head_sha, sha(2));
    assert_eq!(found.seed.0, u64::MAX);
    assert_eq!(found.state, db::RunState::Open);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    let world = World::new().await;
    let path = world.db.path().to_owned();
    let mut tx = world.db.write().await.unwrap();
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9000, 'from the future', TRUE, x'00', 1)",
    )
    .execute(&mut *tx)
    .await
    .unwrap();
    tx.commit().await.unwrap();
    world.db.close().await;
    let before = std::fs::read(&path).unwrap();
    for error in [
        Db::open(&path).await.unwrap_err(),
        Db::open_existing(&path).await.unwrap_err(),
    ] {
        let Error::NewerSchema { found, known, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!((found, known), (9000, Db::known_schema()));
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.txt");
    let text = "these are my notes, not a database\n".repeat(100);
    std::fs::write(&path, &text).unwrap();
    let error = Db::open(&path).await.unwrap_err();
    assert!(matches!(error, Error::NotADatabase { .. }), "{error:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn another_programs_database_is_refused_and_left_alone() {
    use sqlx::{ConnectOptions, Connection};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("theirs.db");
    let mut theirs = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(true)
        .connect()
        .await
        .unwrap();
    sqlx::query("CREATE TABLE bookmark (url TEXT)")
        .execute(&mut theirs)
        .await
        .unwrap();
    theirs.close().await.unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Db::open(&path).await.unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error:?}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_damaged_file_is_reported_as_such() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    for pair in 0..200 {
        world.sample(run, "base", pair, 1.0).await;
    }
    let path = world.db.path().to_owned();
    world.db.close().await;
    let mut bytes = std::fs::read(&path).unwrap();
    // Everything but the first page, which tells what the file is.
    bytes[4096..].fill(0xA5);
    std::fs::write(&path, bytes).unwrap();
    let error = match Db::open_existing(&path).await {
        Err(error) => error,
        Ok(db) => {
            let mut conn = db.read().await.unwrap();
            db::samples_by_run(&mut conn, run).await.unwrap_err()
        }
    };
    assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let path = dir.path().join("file/roundhouse.db");
    let error = Db::open(&path).await.unwrap_err();
    assert!(matches!(error, Error::CannotOpen { .. }), "{error:?}");
    assert!(error.to_string().contains("file/roundhouse.db"), "{error}");
}

#[tokio::test]
async fn a_full_disk_is_recognised_and_nothing_half_written_stays() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let mut tx = world.db.write().await.unwrap();
    let pages: i64 = sqlx::query_scalar("PRAGMA page_count")
        .fetch_one(&mut *tx)
        .await
        .unwrap();
    // SQLite reports its own limit exactly as it reports a full disk.
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "PRAGMA max_page_count = {}",
        pages + 4
    )))
    .execute(&mut *tx)
    .await
    .unwrap();
    db::run_document_insert(&mut tx, run, "small", "{}")
        .await
        .unwrap();
    let large = format!("\"{}\"", "x".repeat(100_000));
    let error = db::run_document_insert(&mut tx, run, "large", &large)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error:?}");
    assert!(error.to_string().contains("free some space"), "{error}");
    drop(tx);
    let mut conn = world.db.read().await.unwrap();
    let small = db::run_document_get(&mut conn, run, "small").await.unwrap();
    assert_eq!(small, None);
}

#[tokio::test]
async fn a_read_only_database_is_recognised() {
    let world = World::new().await;
    let mut tx = world.db.write().await.unwrap();
    sqlx::query("PRAGMA query_only = ON")
        .execute(&mut *tx)
        .await
        .unwrap();
    let campaign = db::Campaign {
        name: "c".into(),
        title: "c".into(),
        created_at: 0,
    };
    let error = db::campaign_upsert(&mut tx, &campaign).await.unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
}

#[tokio::test]
async fn a_reader_sees_one_state_while_a_writer_goes_on() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let mut snapshot = world.db.read().await.unwrap();
    assert!(
        db::samples_by_run(&mut snapshot, run)
            .await
            .unwrap()
            .is_empty()
    );
    world.sample(run, "base", 0, 10.0).await;
    assert!(
        db::samples_by_run(&mut snapshot, run)
            .await
            .unwrap()
            .is_empty()
    );
    let mut later = world.db.read().await.unwrap();
    assert_eq!(db::samples_by_run(&mut later, run).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_reader_that_writes_onto_an_old_state_is_told_so() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let mut snapshot = world.db.read().await.unwrap();
    assert!(
        db::events_by_run(&mut snapshot, run)
            .await
            .unwrap()
            .is_empty()
    );
    world.event(run, "note").await;
    let error = db::run_event_append(&mut snapshot, run, &crate::world::event("ended"))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error:?}");
}

#[tokio::test]
async fn writers_of_one_process_take_turns() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let mut tasks = Vec::new();
    for worker in 0..6u32 {
        let db = world.db.clone();
        tasks.push(tokio::spawn(async move {
            for n in 0..20u32 {
                let mut tx = db.write().await?;
                let sample = crate::world::sample("base", worker * 100 + n, 1.0);
                db::sample_append(&mut tx, run, &sample).await?;
                tx.commit().await?;
            }
            Ok::<_, Error>(())
        }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let mut conn = world.db.read().await.unwrap();
    assert_eq!(db::samples_by_run(&mut conn, run).await.unwrap().len(), 120);
}
