//! What travels in bundles: the lists of tables, and rows merged between databases.

use std::collections::{BTreeMap, BTreeSet};

use db::RunId;
use db::bundle::{BundleError, Incoming, NOT_AS_ROWS, Rows, TABLES};
use serde_json::{Value, json};

use crate::world::World;

/// A new table has to be put into one of the two lists: nothing is forgotten in silence.
#[tokio::test]
async fn every_table_travels_or_says_why_not() {
    let world = World::new().await;
    let mut conn = world.db.read().await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_schema
         WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> '_sqlx_migrations'",
    )
    .fetch_all(&mut *conn)
    .await
    .unwrap();
    for known in TABLES {
        assert!(
            tables.iter().any(|table| table == known.name),
            "there is no table {} (any more)",
            known.name
        );
    }
    for table in tables {
        let travels = TABLES.iter().filter(|known| known.name == table).count();
        let stays = NOT_AS_ROWS
            .iter()
            .filter(|(name, _)| *name == table)
            .count();
        assert_eq!(
            travels + stays,
            1,
            "{table} has to be in TABLES or in NOT_AS_ROWS of db/src/bundle/tables.rs, once"
        );
    }
}

/// A run with a build, samples and a judgement, closed.
async fn world_with_run() -> (World, RunId) {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    world.build(run, "base", "k").await;
    world.sample(run, "base", 0, 100.0).await;
    world.sample(run, "head", 0, 101.5).await;
    world.event(run, "ended").await;
    world.judge(run, "landed").await;
    (world, run)
}

struct Bundle {
    tables: Vec<Rows>,
    contents: BTreeSet<String>,
}

async fn gathered(world: &World, run: RunId) -> Bundle {
    let mut conn = world.db.read().await.unwrap();
    let tables = db::bundle::gather(&mut conn, run).await.unwrap();
    let contents = db::bundle::contents(&mut conn, &tables).await.unwrap();
    Bundle {
        tables,
        contents: contents.into_keys().collect(),
    }
}

/// Merges without the contents; the database is left as it was where that is refused.
async fn merged(world: &World, bundle: &Bundle) -> Result<BTreeMap<String, u64>, BundleError> {
    let mut tx = world.db.write().await.unwrap();
    for sha256 in &bundle.contents {
        db::bundle::artifact_absent(&mut tx, sha256, 1, 1)
            .await
            .unwrap();
    }
    let incoming = Incoming {
        tables: &bundle.tables,
        brought: &BTreeSet::new(),
        left_out: &bundle.contents,
    };
    let merged = db::bundle::merge(&mut tx, &incoming).await?;
    tx.commit().await.unwrap();
    Ok(merged.added)
}

fn rows<'b>(bundle: &'b mut Bundle, table: &str) -> &'b mut Vec<db::bundle::Row> {
    let found = bundle.tables.iter_mut().find(|rows| rows.table == table);
    &mut found.expect("the table").rows
}

#[tokio::test]
async fn rows_are_the_same_after_a_journey() {
    let (from, run) = world_with_run().await;
    let mut bundle = gathered(&from, run).await;
    let to = World::new().await;
    // Other numbers there: a run and a build of its own come first.
    let own = to.run(3, 4).await;
    to.build(own, "head", "another").await;
    rows(&mut bundle, "run")[0].insert("uuid".into(), json!("a run of its own"));
    let added = merged(&to, &bundle).await.unwrap();
    assert_eq!(added["sample"], 2);
    let there = gathered(&to, RunId(own.0 + 1)).await;
    assert_eq!(there.tables, bundle.tables);
    assert!(to.db.integrity_check().await.unwrap().is_empty());
    assert_eq!(merged(&to, &bundle).await.unwrap(), BTreeMap::new());
}

#[tokio::test]
async fn an_older_bundle_without_a_column_takes_its_default() {
    let (from, run) = world_with_run().await;
    let mut bundle = gathered(&from, run).await;
    rows(&mut bundle, "build")[0].remove("first_error");
    let to = World::new().await;
    merged(&to, &bundle).await.unwrap();
    assert_eq!(merged(&to, &bundle).await.unwrap(), BTreeMap::new());
}

#[tokio::test]
async fn a_build_of_a_bundle_is_no_build_of_this_machine() {
    let (from, run) = world_with_run().await;
    let to = World::new().await;
    merged(&to, &gathered(&from, run).await).await.unwrap();
    let mut conn = to.db.read().await.unwrap();
    let run = RunId(1);
    assert_eq!(db::builds_by_run(&mut conn, run).await.unwrap().len(), 1);
    assert!(db::builds_by_key(&mut conn, "k").await.unwrap().is_empty());
    assert!(db::build_usable(&mut conn, "k").await.unwrap().is_none());
}

/// Changes one thing of a bundle.
type Change = fn(&mut Bundle);

#[tokio::test]
async fn rows_that_do_not_fit_are_refused_and_nothing_is_stored() {
    let changes: [(&str, Change); 16] = [
        ("a column that nobody knows", |b| {
            rows(b, "sample")[0].insert("id; DROP TABLE run".into(), json!(1));
        }),
        ("the number of a run", |b| {
            rows(b, "sample")[0].insert("run_id".into(), json!(7));
        }),
        ("text for a number", |b| {
            rows(b, "sample")[0].insert("value".into(), json!("fast"));
        }),
        ("a number below zero", |b| {
            rows(b, "sample")[0].insert("value".into(), json!(-1.0));
        }),
        ("a number that is too large", |b| {
            rows(b, "sample")[0].insert("value".into(), json!(1e301));
        }),
        ("a list for a value", |b| {
            rows(b, "sample")[0].insert("bench".into(), json!(["a"]));
        }),
        ("a name with a control character", |b| {
            rows(b, "sample")[0].insert("bench".into(), json!("a\u{7}"));
        }),
        ("two rows with one key", |b| {
            let twice = rows(b, "sample")[0].clone();
            rows(b, "sample").push(twice);
        }),
        ("two runs", |b| {
            let mut other = rows(b, "run")[0].clone();
            other.insert("uuid".into(), json!("another"));
            rows(b, "run").push(other);
        }),
        ("a commit that nothing refers to", |b| {
            let mut other = rows(b, "git_commit")[0].clone();
            other.insert("sha".into(), json!("f".repeat(40)));
            rows(b, "git_commit").push(other);
        }),
        ("a build that nothing refers to", |b| {
            let mut other = rows(b, "build")[0].clone();
            other.insert("id".into(), json!(9));
            rows(b, "build").push(other);
        }),
        ("a machine that is not there", |b| {
            rows(b, "run")[0].insert("machine_id".into(), json!(9));
        }),
        ("the campaign of another run", |b| {
            rows(b, "campaign")[0].insert("name".into(), json!("another"));
        }),
        ("a run that did not end", |b| {
            rows(b, "run_event").clear();
        }),
        ("content that the bundle does not name", |b| {
            rows(b, "sample")[0].insert("log_artifact".into(), json!("0".repeat(64)));
        }),
        ("a table of no run", |b| {
            b.tables.push(Rows {
                table: "bundle_import".into(),
                rows: Vec::new(),
            });
        }),
    ];
    let (from, run) = world_with_run().await;
    let to = World::new().await;
    for (what, change) in changes {
        let mut bundle = gathered(&from, run).await;
        change(&mut bundle);
        let refused = merged(&to, &bundle).await;
        assert!(refused.is_err(), "{what}");
        let mut conn = to.db.read().await.unwrap();
        let count: i64 = sqlx::query_scalar(
            "SELECT (SELECT count(*) FROM campaign) + (SELECT count(*) FROM artifact)
                    + (SELECT count(*) FROM git_commit) + (SELECT count(*) FROM run)",
        )
        .fetch_one(&mut *conn)
        .await
        .unwrap();
        assert_eq!(count, 0, "{what}");
    }
    merged(&to, &gathered(&from, run).await).await.unwrap();
}

#[tokio::test]
async fn what_is_known_here_otherwise_is_named() {
    let (from, run) = world_with_run().await;
    let to = World::new().await;
    merged(&to, &gathered(&from, run).await).await.unwrap();
    let changes: [(&str, Change); 4] = [
        ("sample", |b| {
            rows(b, "sample")[1].insert("value".into(), json!(120.0));
        }),
        ("git_commit", |b| {
            rows(b, "git_commit")[0].insert("subject".into(), json!("another"));
        }),
        ("run", |b| {
            rows(b, "run")[0].insert("seed".into(), json!("1"));
        }),
        ("sample", |b| {
            rows(b, "sample").pop();
            let used = b.tables.iter().flat_map(|t| &t.rows);
            let used: BTreeSet<String> = used
                .flat_map(|row| row.values().filter_map(Value::as_str))
                .map(str::to_owned)
                .collect();
            b.contents.retain(|sha256| used.contains(sha256));
        }),
    ];
    for (table, change) in changes {
        let mut bundle = gathered(&from, run).await;
        change(&mut bundle);
        let refused = merged(&to, &bundle).await.unwrap_err().to_string();
        assert!(refused.contains(table), "{refused}");
        assert!(refused.contains("nothing was imported"), "{refused}");
    }
}

/// Every column of every table that the bundle has, with values that nobody would write.
#[tokio::test]
async fn no_value_anywhere_does_harm() {
    let (from, run) = world_with_run().await;
    let bundle = gathered(&from, run).await;
    let to = World::new().await;
    let mut tried = 0;
    for (at, table) in bundle.tables.iter().enumerate() {
        for column in table.rows[0].keys() {
            let long = "x".repeat(100_000);
            let of_no_type = [json!(true), json!([1]), json!({"a": 1}), json!(1u64 << 63)];
            let others = [
                json!(null),
                json!(-1),
                json!(i64::MAX),
                json!(1e308),
                json!(""),
                json!("a\u{0}b"),
                json!("'; DROP TABLE run; --"),
                json!(long),
            ];
            for (n, value) in of_no_type.iter().chain(&others).enumerate() {
                let mut tables = bundle.tables.clone();
                tables[at].rows[0].insert(column.clone(), value.clone());
                let changed = Bundle {
                    tables,
                    contents: bundle.contents.clone(),
                };
                let refused = unkept(&to, &changed).await.is_err();
                let fits_real = column.ends_with("_ms") || column == "value";
                assert!(
                    refused || n >= of_no_type.len() || (n == 3 && fits_real),
                    "{}.{column} took {value}",
                    table.table
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 500, "{tried}");
    let mut conn = to.db.read().await.unwrap();
    let runs: i64 = sqlx::query_scalar("SELECT count(*) FROM run")
        .fetch_one(&mut *conn)
        .await
        .unwrap();
    assert_eq!(runs, 0);
    drop(conn);
    assert!(to.db.integrity_check().await.unwrap().is_empty());
    merged(&to, &bundle).await.unwrap();
}

/// A merge whose transaction is dropped.
async fn unkept(world: &World, bundle: &Bundle) -> Result<(), BundleError> {
    let mut tx = world.db.write().await.unwrap();
    for sha256 in &bundle.contents {
        db::bundle::artifact_absent(&mut tx, sha256, 1, 1)
            .await
            .unwrap();
    }
    let incoming = Incoming {
        tables: &bundle.tables,
        brought: &BTreeSet::new(),
        left_out: &bundle.contents,
    };
    db::bundle::merge(&mut tx, &incoming).await.map(drop)
}
