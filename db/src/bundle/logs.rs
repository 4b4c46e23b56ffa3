//! Judgements, decisions and corrections: rows without a key, of which the newest counts.

use serde_json::Value;

use super::merge::Merging;
use super::schema::{Described, bound, list, quoted, value_at};
use super::{Result, Row};
use crate::Conn;
use crate::error::Doing as _;

/// Adds the rows that are not here, in the bundle's order, at the end. What is here and was made
/// later than an added row is repeated after it, so that it still is the one that counts; `topic`
/// is the column by which rows count apart from each other.
pub(super) async fn merge(
    merging: &mut Merging<'_>,
    conn: &mut Conn,
    table: &Described,
    (rows, topic): (&[Row], Option<&str>),
) -> Result<()> {
    let stored = stored(merging, conn, table).await?;
    let mut unmatched = stored.clone();
    let mut added = Vec::new();
    for row in rows {
        let (here, absent) = merging.here(conn, table, row).await?;
        let is_same = |known: &Row| {
            let mut values = here.iter();
            values.all(|(name, value)| {
                absent.iter().any(|(column, _)| column == name) || known.get(name) == Some(value)
            })
        };
        match unmatched.iter().position(is_same) {
            Some(at) => drop(unmatched.remove(at)),
            None => {
                merging.insert(conn, table, row).await?;
                added.push(here);
            }
        }
    }
    let topic_of = |row: &Row| topic.and_then(|name| row.get(name)).cloned();
    let mut repeated = Vec::new();
    for row in &added {
        let newest = stored
            .iter()
            .rfind(|known| topic_of(known) == topic_of(row));
        let Some(newest) = newest.filter(|newest| time(newest) > time(row)) else {
            continue;
        };
        if !repeated.contains(newest) {
            repeat(conn, table, newest).await?;
            merging
                .notes
                .push(format!("a later {} that was here still counts", table.name));
            repeated.push(newest.clone());
        }
    }
    Ok(())
}

fn time(row: &Row) -> i64 {
    row.get("at").and_then(Value::as_i64).unwrap_or(i64::MIN)
}

/// The run's rows, oldest first, without their ids.
async fn stored(merging: &Merging<'_>, conn: &mut Conn, table: &Described) -> Result<Vec<Row>> {
    let names: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .filter(|name| *name != "id")
        .collect();
    let sql = format!(
        "SELECT {} FROM {} WHERE run_id = ? ORDER BY id",
        list(names.iter().copied()),
        quoted(table.name)
    );
    let run = Value::from(merging.own()?.0);
    let rows = bound(sql, [&run])
        .fetch_all(conn)
        .await
        .doing("look up what was concluded")?;
    rows.iter()
        .map(|row| {
            let values = names.iter().enumerate();
            values
                .map(|(at, name)| Ok(((*name).to_owned(), value_at(row, at)?)))
                .collect()
        })
        .collect()
}

async fn repeat(conn: &mut Conn, table: &Described, row: &Row) -> Result<()> {
    let marks = vec!["?"; row.len()].join(", ");
    let sql = format!(
        "INSERT INTO {} ({}) VALUES ({marks})",
        quoted(table.name),
        list(row.keys().map(String::as_str))
    );
    bound(sql, row.values())
        .execute(conn)
        .await
        .doing("repeat the conclusion that counts")?;
    Ok(())
}
