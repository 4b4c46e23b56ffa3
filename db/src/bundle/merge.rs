//! A bundle's rows into the database: a new run as a whole, or what was added to a known one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::check::{Checked, check};
use super::find::{find, same};
use super::references::{Place, fill_originals, keep_waiting, note, run_of, waiting};
use super::schema::{Described, Role, bound, describe, list, quoted};
use super::tables::Kind;
use super::{Result, Row, Rows, brief, logs, malformed};
use crate::error::Doing as _;
use crate::{Conn, RunId};

/// What a bundle holds.
#[derive(Debug, Clone, Copy)]
pub struct Incoming<'a> {
    /// The rows.
    pub tables: &'a [Rows],
    /// The contents that it brings; each has its row of `artifact` already.
    pub brought: &'a BTreeSet<String>,
    /// The contents that it only names; each has its row of `artifact` already.
    pub left_out: &'a BTreeSet<String>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The run, here.
    pub run: RunId,
    /// Whether it was not here before.
    pub is_new: bool,
    /// How many rows were added to each table; empty where all of it was here.
    pub added: BTreeMap<String, u64>,
    /// What a person should know, a sentence each.
    pub notes: Vec<String>,
}

/// Adds the rows that are not here. What is here with another content is an error, and so is
/// anything that does not belong to the run: the caller then drops the transaction.
pub async fn merge(conn: &mut Conn, incoming: &Incoming<'_>) -> Result<Merged> {
    let schema = describe(conn).await?;
    let artifacts = incoming.brought.iter().chain(incoming.left_out);
    let artifacts: BTreeSet<&str> = artifacts.map(String::as_str).collect();
    let checked = check(incoming.tables, &schema, &artifacts)?;
    let uuid = match checked.run()?.get("uuid") {
        Some(Value::String(uuid)) => uuid.clone(),
        _ => return malformed("the bundle's run has no uuid"),
    };
    let mut merging = Merging {
        brought: incoming.brought,
        numbers: HashMap::new(),
        run: run_of(conn, &uuid).await?,
        is_new: false,
        new_builds: Vec::new(),
        added: BTreeMap::new(),
        notes: Vec::new(),
    };
    for table in &schema {
        merging.table(conn, table, &checked, &schema).await?;
    }
    let Some(run) = merging.run else {
        return malformed("the bundle has no run");
    };
    merging.mark_builds(conn, run).await?;
    let filled = fill_originals(conn, run, &uuid).await?;
    if filled > 0 {
        let note = "a replay that was here before has its original now";
        merging.notes.push(note.to_owned());
    }
    Ok(Merged {
        run,
        is_new: merging.is_new,
        added: merging.added,
        notes: merging.notes,
    })
}

/// A merge in progress.
pub(super) struct Merging<'a> {
    brought: &'a BTreeSet<String>,
    /// The row ids here, by table and number in the bundle.
    pub(super) numbers: HashMap<(&'static str, i64), i64>,
    run: Option<RunId>,
    is_new: bool,
    pub(super) new_builds: Vec<i64>,
    pub(super) added: BTreeMap<String, u64>,
    pub(super) notes: Vec<String>,
}

impl Merging<'_> {
    async fn table(
        &mut self,
        conn: &mut Conn,
        table: &Described,
        checked: &Checked,
        schema: &[Described],
    ) -> Result<()> {
        let rows = checked.rows(table.name);
        match table.kind {
            Kind::Known(column) => self.known(conn, table, rows, column).await,
            Kind::Commit => self.commits(conn, table, rows).await,
            Kind::Build => self.builds(conn, table, checked, schema).await,
            // With their build.
            Kind::OfBuild => Ok(()),
            Kind::Run => self.the_run(conn, table, checked.run()?).await,
            Kind::Observed | Kind::Grows => self.keyed(conn, table, rows).await,
            Kind::Log(topic) => logs::merge(self, conn, table, (rows, topic)).await,
        }
    }

    /// What runs refer to: stored at first sight, known by one column from then on.
    async fn known(
        &mut self,
        conn: &mut Conn,
        table: &Described,
        rows: &[Row],
        column: &str,
    ) -> Result<()> {
        for row in rows {
            let Some(key) = row.get(column) else {
                return malformed(format!("a row of {} has no {column}", table.name));
            };
            let known = Row::from_iter([(column.to_owned(), key.clone())]);
            let number = row.get("id").and_then(Value::as_i64);
            let here = match find(conn, table, &known).await?.first() {
                Some(rowid) => *rowid,
                None => self.insert(conn, table, row).await?,
            };
            if let Some(number) = number {
                self.numbers.insert((table.name, number), here);
            }
        }
        Ok(())
    }

    /// Commits, and their packs where the record has none and the bundle brings one.
    async fn commits(&mut self, conn: &mut Conn, table: &Described, rows: &[Row]) -> Result<()> {
        const PACK: [&str; 2] = ["pack_artifact", "pack_base"];
        for row in rows {
            let mut bare = row.clone();
            for name in PACK {
                bare.shift_remove(name);
            }
            let key = Row::from_iter(row.get("sha").map(|sha| ("sha".to_owned(), sha.clone())));
            match find(conn, table, &key).await?.first() {
                Some(rowid) => same(conn, table, *rowid, &bare).await?,
                None => drop(self.insert(conn, table, &bare).await?),
            }
        }
        for row in rows {
            let text = |name: &str| row.get(name).and_then(Value::as_str);
            let (Some(sha), Some(pack)) = (text("sha"), text("pack_artifact")) else {
                continue;
            };
            if !self.brought.contains(pack) {
                continue;
            }
            let pack = crate::CommitPack {
                artifact: pack.to_owned(),
                base: text("pack_base").map(str::to_owned),
            };
            if crate::commit_set_pack(conn, sha, &pack).await? {
                self.count("git_commit");
            }
        }
        Ok(())
    }

    async fn the_run(&mut self, conn: &mut Conn, table: &Described, row: &Row) -> Result<()> {
        match self.run {
            Some(run) => {
                let (mut row, absent) = self.here(conn, table, row).await?;
                for (name, _) in absent {
                    row.shift_remove(&name);
                }
                same(conn, table, run.0, &row).await
            }
            None => {
                let rowid = self.insert(conn, table, row).await?;
                self.run = Some(RunId(rowid));
                self.is_new = true;
                Ok(())
            }
        }
    }

    /// Rows with keys of their own.
    async fn keyed(&mut self, conn: &mut Conn, table: &Described, rows: &[Row]) -> Result<()> {
        let waits = waiting(conn, self.own()?, table.name).await?;
        for row in rows {
            if waits.contains(row) {
                continue;
            }
            // A run that was not here has no rows.
            if self.is_new {
                self.insert(conn, table, row).await?;
                continue;
            }
            let (here, absent) = self.here(conn, table, row).await?;
            let key = table.key.iter();
            let key = key.filter_map(|name| Some((name.clone(), here.get(name)?.clone())));
            let key: Row = key.collect();
            if key.len() != table.key.len() {
                return malformed(format!("a row of {} has no key", table.name));
            }
            let known = find(conn, table, &key).await?;
            if let Some(rowid) = known.first() {
                let mut here = here;
                for (name, _) in absent {
                    here.shift_remove(&name);
                }
                same(conn, table, *rowid, &here).await?;
            } else if table.kind == Kind::Grows {
                self.insert(conn, table, row).await?;
            } else {
                return malformed(format!(
                    "the record has this run without {} {}, and a run that ended takes no more of them; nothing was imported",
                    table.name,
                    brief(&Value::Object(key))
                ));
            }
        }
        if table.kind == Kind::Observed && !self.is_new {
            self.complete(conn, table, rows.len(), waits.len()).await?;
        }
        Ok(())
    }

    /// The record must not have more rows of a run than the bundle, where none are ever added.
    async fn complete(
        &self,
        conn: &mut Conn,
        table: &Described,
        there: usize,
        waiting: usize,
    ) -> Result<()> {
        let own = Row::from_iter([("run_id".to_owned(), Value::from(self.own()?.0))]);
        let here = find(conn, table, &own).await?.len() + waiting;
        match here == there {
            true => Ok(()),
            false => malformed(format!(
                "the record has {here} rows of {} for this run, the bundle has {there}; nothing \
                 was imported",
                table.name
            )),
        }
    }

    pub(super) fn own(&self) -> Result<RunId> {
        match self.run {
            Some(run) => Ok(run),
            None => malformed("the bundle has no run"),
        }
    }

    fn count(&mut self, table: &str) {
        *self.added.entry(table.to_owned()).or_default() += 1;
    }

    /// The row as this database has it, and the references to runs that are not here, by column.
    pub(super) async fn here(
        &self,
        conn: &mut Conn,
        table: &Described,
        row: &Row,
    ) -> Result<(Row, Vec<(String, String)>)> {
        let mut found = Row::new();
        let mut absent = Vec::new();
        for column in &table.columns {
            let name = &column.name;
            if column.role == Role::OwnRun {
                found.insert(name.clone(), Value::from(self.own()?.0));
                continue;
            }
            let Some(value) = row.get(name) else {
                continue;
            };
            let value = match (column.role, value) {
                (Role::Number(of), Value::Number(number)) => {
                    let number = number.as_i64().unwrap_or(i64::MIN);
                    match self.numbers.get(&(of, number)) {
                        Some(here) => Value::from(*here),
                        None => return malformed(format!("the bundle has no {of} {number}")),
                    }
                }
                (Role::OtherRun, Value::String(uuid)) => match run_of(conn, uuid).await? {
                    Some(run) => Value::from(run.0),
                    None => {
                        absent.push((name.clone(), uuid.clone()));
                        Value::Null
                    }
                },
                _ => value.clone(),
            };
            found.insert(name.clone(), value);
        }
        Ok((found, absent))
    }

    /// Stores a row; its rowid, or 0 where it has to wait for a run.
    pub(super) async fn insert(
        &mut self,
        conn: &mut Conn,
        table: &Described,
        row: &Row,
    ) -> Result<i64> {
        let (mut here, absent) = self.here(conn, table, row).await?;
        here.shift_remove("id");
        self.count(table.name);
        for (name, uuid) in &absent {
            let needed = table.column(name).is_some_and(|column| column.not_null);
            if needed {
                keep_waiting(conn, self.own()?, table.name, row).await?;
                self.notes.push(format!(
                    "its {} refers to run {uuid}, which is not here: it is kept and has no effect \
                     (bundles of earlier runs are imported first)",
                    table.name
                ));
                return Ok(0);
            }
        }
        let marks = vec!["?"; here.len()].join(", ");
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({marks})",
            quoted(table.name),
            list(here.keys().map(String::as_str))
        );
        let done = bound(sql, here.values())
            .execute(&mut *conn)
            .await
            .doing("store a row of a bundle")?;
        let rowid = done.last_insert_rowid();
        for (column, uuid) in &absent {
            let place = Place {
                table: table.name,
                column,
                row: rowid,
            };
            let of_run = match table.kind {
                Kind::Run => RunId(rowid),
                _ => self.own()?,
            };
            note(conn, place, of_run, uuid).await?;
            self.notes.push(format!(
                "its {}.{column} is run {uuid}, which is not here (yet)",
                table.name
            ));
        }
        Ok(rowid)
    }
}
