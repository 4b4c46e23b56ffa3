//! Rows of the record that a bundle's rows are held against.

use serde_json::Value;

use super::schema::{Described, bound, list, quoted, value_at};
use super::{BundleError, Result, Row, brief};
use crate::Conn;
use crate::error::Doing as _;

/// The rowids of the rows that have these values.
pub(super) async fn find(conn: &mut Conn, table: &Described, values: &Row) -> Result<Vec<i64>> {
    let conditions: Vec<String> = values
        .keys()
        .map(|name| format!("{} IS ?", quoted(name)))
        .collect();
    let sql = format!(
        "SELECT rowid FROM {} WHERE {} ORDER BY rowid",
        quoted(table.name),
        conditions.join(" AND ")
    );
    let rows = bound(sql, values.values())
        .fetch_all(conn)
        .await
        .doing("look for a row of a bundle")?;
    let ids: Result<Vec<Value>> = rows.iter().map(|row| value_at(row, 0)).collect();
    Ok(ids?.iter().filter_map(Value::as_i64).collect())
}

/// Refuses a row that is here with other values.
pub(super) async fn same(
    conn: &mut Conn,
    table: &Described,
    rowid: i64,
    expected: &Row,
) -> Result<()> {
    let sql = format!(
        "SELECT {} FROM {} WHERE rowid = ?",
        list(expected.keys().map(String::as_str)),
        quoted(table.name)
    );
    let id = Value::from(rowid);
    let row = bound(sql, [&id])
        .fetch_one(conn)
        .await
        .doing("read a row to compare it")?;
    for (at, (column, there)) in expected.iter().enumerate() {
        let here = value_at(&row, at)?;
        if here != *there {
            let key = table.key.iter().filter(|name| *name != "run_id");
            let key: Vec<String> = key
                .filter_map(|name| Some(format!("{name} {}", brief(expected.get(name)?))))
                .collect();
            return Err(BundleError::Differs {
                what: format!("{} {}", table.name, key.join(", "))
                    .trim_end()
                    .to_owned(),
                column: column.clone(),
                here: brief(&here),
                there: brief(there),
            });
        }
    }
    Ok(())
}
