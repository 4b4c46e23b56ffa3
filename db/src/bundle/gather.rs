//! A run's rows from the database.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;
use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteRow;

use super::references::{Place, absent, uuid_of, waiting};
use super::schema::{Described, Role, describe, list, quoted, value_at};
use super::tables::Kind;
use super::{Result, Row, Rows, malformed};
use crate::error::Doing as _;
use crate::{Conn, RunId};

/// The builds of the run `?1`.
const BUILDS: &str = "SELECT build_id FROM run_build WHERE run_id = ?1";

/// The run's commits, those of its builds, and those whose packs are restored before theirs.
const COMMITS: &str = "WITH RECURSIVE needed (sha) AS (
        SELECT base_sha FROM run WHERE id = ?1
        UNION SELECT head_sha FROM run WHERE id = ?1
        UNION SELECT commit_sha FROM build
              WHERE id IN (SELECT build_id FROM run_build WHERE run_id = ?1)
        UNION SELECT g.pack_base FROM git_commit g JOIN needed n ON n.sha = g.sha
              WHERE g.pack_base IS NOT NULL)
    SELECT sha FROM needed";

/// The numbers that machines, toolchains and builds have in the bundle, by table and row id.
#[derive(Debug, Default)]
struct Numbers(HashMap<(&'static str, i64), i64>);

/// All rows of a run that travel, by table. Tables without rows are left out. The same record
/// gives the same rows in every database.
pub async fn gather(conn: &mut Conn, run: RunId) -> Result<Vec<Rows>> {
    let mut numbers = Numbers::default();
    let mut found = Vec::new();
    for table in describe(conn).await? {
        let mut rows = Vec::new();
        for stored in select(conn, &table, run).await? {
            rows.push(travelling(conn, &table, &stored, &mut numbers).await?);
        }
        rows.extend(waiting(conn, run, table.name).await?);
        if !rows.is_empty() {
            found.push(Rows {
                table: table.name.to_owned(),
                rows,
            });
        }
    }
    Ok(found)
}

/// The contents that rows refer to, each with the tables that do.
pub async fn contents(
    conn: &mut Conn,
    tables: &[Rows],
) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for table in describe(conn).await? {
        let rows = tables.iter().filter(|rows| rows.table == table.name);
        for row in rows.flat_map(|rows| &rows.rows) {
            for column in table.with_role(Role::Artifact) {
                if let Some(Value::String(sha256)) = row.get(&column.name) {
                    let users = found.entry(sha256.clone()).or_default();
                    users.insert(table.name.to_owned());
                }
            }
        }
    }
    Ok(found)
}

/// The table's rows of a run: all columns, then the rowid.
async fn select(conn: &mut Conn, table: &Described, run: RunId) -> Result<Vec<SqliteRow>> {
    let condition = match table.kind {
        Kind::Known("name") => "name = (SELECT campaign FROM run WHERE id = ?1)".to_owned(),
        Kind::Known(_) => {
            let column = format!("{}_id", table.name);
            format!(
                "id IN (SELECT {column} FROM run WHERE id = ?1
                        UNION SELECT {column} FROM build WHERE id IN ({BUILDS}))"
            )
        }
        Kind::Commit => format!("sha IN ({COMMITS})"),
        Kind::Build => format!("id IN ({BUILDS})"),
        Kind::OfBuild => format!("build_id IN ({BUILDS})"),
        Kind::Run => "id = ?1".to_owned(),
        Kind::Observed | Kind::Grows | Kind::Log(_) => "run_id = ?1".to_owned(),
    };
    // The same order in every database, whatever the row ids are there.
    let side = |id: &str| {
        format!("(SELECT min(u.side) FROM run_build u WHERE u.run_id = ?1 AND u.build_id = {id}), ")
    };
    let order = match table.kind {
        Kind::Known(column) => quoted(column),
        Kind::Build => format!("{}id", side("id")),
        Kind::OfBuild => {
            let key = table.key.iter().map(String::as_str);
            side("build_id") + &list(key.filter(|name| *name != "build_id"))
        }
        _ => list(table.key.iter().map(String::as_str)),
    };
    let columns = list(table.columns.iter().map(|column| column.name.as_str()));
    let sql = format!(
        "SELECT {columns}, rowid FROM {} WHERE {condition} ORDER BY {order}",
        quoted(table.name)
    );
    Ok(sqlx::query(AssertSqlSafe(sql))
        .bind(run)
        .fetch_all(conn)
        .await
        .doing("gather the rows of a run")?)
}

/// A row with its references as they are in bundles.
async fn travelling(
    conn: &mut Conn,
    table: &Described,
    stored: &SqliteRow,
    numbers: &mut Numbers,
) -> Result<Row> {
    let mut row = Row::new();
    for (at, column) in table.columns.iter().enumerate() {
        let value = value_at(stored, at)?;
        let value = match column.role {
            Role::Plain | Role::Artifact => value,
            Role::OwnRun => continue,
            Role::Id => match (table.kind, value.as_i64()) {
                (Kind::Known(_) | Kind::Build, Some(id)) => numbers.give(table.name, id),
                _ => continue,
            },
            Role::Number(of) => match value.as_i64() {
                Some(id) => numbers.of(of, id, table)?,
                None => Value::Null,
            },
            Role::OtherRun => {
                let Some(rowid) = value_at(stored, table.columns.len())?.as_i64() else {
                    return malformed(format!("a row of {} has no number", table.name));
                };
                let place = Place {
                    table: table.name,
                    column: &column.name,
                    row: rowid,
                };
                let uuid = match value.as_i64() {
                    Some(run) => uuid_of(conn, run).await?,
                    None => absent(conn, place).await?,
                };
                uuid.map_or(Value::Null, Value::String)
            }
        };
        row.insert(column.name.clone(), value);
    }
    Ok(row)
}

impl Numbers {
    /// The next number in the bundle, for a row of the table.
    fn give(&mut self, table: &'static str, id: i64) -> Value {
        let taken = self.0.keys().filter(|(of, _)| *of == table).count();
        let number = i64::try_from(taken).unwrap_or(i64::MAX).saturating_add(1);
        self.0.insert((table, id), number);
        Value::from(number)
    }

    /// The number that a row has in the bundle.
    fn of(&self, table: &'static str, id: i64, user: &Described) -> Result<Value> {
        match self.0.get(&(table, id)) {
            Some(number) => Ok(Value::from(*number)),
            None => malformed(format!(
                "a row of {} refers to a {table} that is neither the run's nor its builds'",
                user.name
            )),
        }
    }
}
