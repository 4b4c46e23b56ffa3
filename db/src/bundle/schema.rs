//! What the schema says about the tables that travel: columns, types, keys, references.

use std::collections::HashMap;

use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _, TypeInfo as _, ValueRef as _};

use super::tables::{Kind, TABLES};
use super::{Result, brief, malformed};
use crate::Conn;
use crate::error::Doing as _;

/// The type of a column of a STRICT table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Integer,
    Real,
    Text,
}

/// What a column's value stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Itself.
    Plain,
    /// The row's own number.
    Id,
    /// The run to which the row belongs; left out of bundles.
    OwnRun,
    /// Another run, by uuid in bundles.
    OtherRun,
    /// The number of a machine, toolchain or build: the one in the bundle, in bundles.
    Number(&'static str),
    /// Content, by hash.
    Artifact,
}

#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Type,
    pub(super) not_null: bool,
    pub(super) role: Role,
}

/// A table that travels, as this database has it.
#[derive(Debug, Clone)]
pub(super) struct Described {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) columns: Vec<Column>,
    /// The primary key's columns, in order.
    pub(super) key: Vec<String>,
}

impl Described {
    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The columns that are in bundles, of those that stand for something.
    pub(super) fn with_role(&self, role: Role) -> impl Iterator<Item = &Column> {
        self.columns
            .iter()
            .filter(move |column| column.role == role)
    }

    /// A value as the column has it: integers and reals are told apart by the column.
    pub(super) fn typed(&self, column: &Column, value: &Value) -> Result<Value> {
        let wrong = || {
            malformed(format!(
                "a row of {} has {} as {}, which is not of the column's type",
                self.name,
                brief(value),
                column.name
            ))
        };
        // In a bundle, another run is its uuid.
        let kind = match column.role {
            Role::OtherRun => Type::Text,
            _ => column.kind,
        };
        match (kind, value) {
            (_, Value::Null) => Ok(Value::Null),
            (Type::Text, Value::String(_)) => Ok(value.clone()),
            (Type::Integer, Value::Number(number)) if number.is_i64() => Ok(value.clone()),
            (Type::Real, Value::Number(number)) => match number.as_f64() {
                Some(real) if real.is_finite() => Ok(Value::from(real)),
                _ => wrong(),
            },
            _ => wrong(),
        }
    }
}

/// The tables that travel and that this database has, in the order of [`TABLES`].
pub(super) async fn describe(conn: &mut Conn) -> Result<Vec<Described>> {
    let mut found = Vec::new();
    for table in TABLES {
        let described = columns(conn, table.name).await?;
        if described.is_empty() {
            continue;
        }
        let mut key: Vec<(i64, String)> = described
            .iter()
            .filter(|(position, _)| *position > 0)
            .map(|(position, column)| (*position, column.name.clone()))
            .collect();
        key.sort();
        found.push(Described {
            name: table.name,
            kind: table.kind,
            columns: described.into_iter().map(|(_, column)| column).collect(),
            key: key.into_iter().map(|(_, name)| name).collect(),
        });
    }
    Ok(found)
}

/// A table's columns, each with its place in the primary key (0: not in it).
async fn columns(conn: &mut Conn, table: &'static str) -> Result<Vec<(i64, Column)>> {
    let reading = "read the schema";
    let references: Vec<(String, String)> =
        sqlx::query_as(r#"SELECT "from", "table" FROM pragma_foreign_key_list(?)"#)
            .bind(table)
            .fetch_all(&mut *conn)
            .await
            .doing(reading)?;
    let references: HashMap<String, String> = references
        .into_iter()
        .filter(|(_, parent)| role_of(parent).is_some())
        .collect();
    let rows: Vec<(String, String, bool, i64)> =
        sqlx::query_as(r#"SELECT name, type, "notnull", pk FROM pragma_table_info(?)"#)
            .bind(table)
            .fetch_all(&mut *conn)
            .await
            .doing(reading)?;
    rows.into_iter()
        .map(|(name, kind, not_null, position)| {
            let role = match name.as_str() {
                "run_id" => Role::OwnRun,
                "id" if position > 0 => Role::Id,
                _ => references
                    .get(&name)
                    .and_then(|parent| role_of(parent))
                    .unwrap_or(Role::Plain),
            };
            let kind = match kind.as_str() {
                "INTEGER" => Type::Integer,
                "REAL" => Type::Real,
                "TEXT" => Type::Text,
                other => return malformed(format!("{table}.{name} has the type {other}")),
            };
            let column = Column {
                name,
                kind,
                not_null,
                role,
            };
            Ok((position, column))
        })
        .collect()
}

fn role_of(parent: &str) -> Option<Role> {
    match parent {
        "run" => Some(Role::OtherRun),
        "machine" => Some(Role::Number("machine")),
        "toolchain" => Some(Role::Number("toolchain")),
        "build" => Some(Role::Number("build")),
        "artifact" => Some(Role::Artifact),
        _ => None,
    }
}

/// A name in SQL text. Names come from the schema, never from a bundle.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Column names for a SELECT or an INSERT.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<String> = names.into_iter().map(quoted).collect();
    all.join(", ")
}

/// Binds values in order.
pub(super) fn bound<'q>(
    sql: String,
    values: impl IntoIterator<Item = &'q Value>,
) -> sqlx::query::Query<'q, sqlx::Sqlite, sqlx::sqlite::SqliteArguments> {
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for value in values {
        query = match value {
            Value::Number(number) => match number.as_i64() {
                Some(integer) => query.bind(integer),
                None => query.bind(number.as_f64()),
            },
            Value::String(text) => query.bind(text.as_str()),
            _ => query.bind(None::<i64>),
        };
    }
    query
}

/// One value of a row that was read.
pub(super) fn value_at(row: &SqliteRow, at: usize) -> Result<Value> {
    let reading = "read a value";
    let raw = row.try_get_raw(at).doing(reading)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let kind = raw.type_info().name().to_owned();
    match kind.as_str() {
        "INTEGER" => Ok(Value::from(row.try_get::<i64, _>(at).doing(reading)?)),
        "REAL" => Ok(Value::from(row.try_get::<f64, _>(at).doing(reading)?)),
        "TEXT" => Ok(Value::from(row.try_get::<String, _>(at).doing(reading)?)),
        other => malformed(format!("a value of the type {other} does not travel")),
    }
}
