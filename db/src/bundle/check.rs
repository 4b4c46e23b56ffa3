//! What can be known of a bundle's rows without the record: that they fit the schema, belong to
//! one run, and hold nothing else.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::schema::{Described, Role, Type};
use super::tables::Kind;
use super::{Result, Row, Rows, brief, malformed};

/// Text of people and programs; every other text is a name, and has no control characters.
const FREE_TEXT: [&str; 16] = [
    "author",
    "by",
    "expected",
    "failure",
    "first_error",
    "headline",
    "json",
    "message",
    "new_value",
    "observed",
    "old_value",
    "reason",
    "required_threads",
    "subject",
    "text",
    "title",
];

/// The longest name, bytes: a kernel's name with its template arguments may fill pages.
const NAME_BYTES: usize = 64 * 1024;

/// Rows that were checked, by table, with values of the columns' types.
#[derive(Debug)]
pub(super) struct Checked {
    tables: BTreeMap<&'static str, Vec<Row>>,
}

impl Checked {
    pub(super) fn rows(&self, table: &str) -> &[Row] {
        self.tables.get(table).map_or(&[], Vec::as_slice)
    }

    /// The only row of a table.
    fn only(&self, table: &str) -> Result<&Row> {
        match self.rows(table) {
            [row] => Ok(row),
            rows => malformed(format!(
                "the bundle has {} rows of {table}, and one run has exactly one",
                rows.len()
            )),
        }
    }

    pub(super) fn run(&self) -> Result<&Row> {
        self.only("run")
    }
}

/// Checks the rows; `artifacts` are the hashes that the bundle holds or says that it leaves out.
pub(super) fn check(
    tables: &[Rows],
    schema: &[Described],
    artifacts: &BTreeSet<&str>,
) -> Result<Checked> {
    let mut checked = Checked {
        tables: BTreeMap::new(),
    };
    for given in tables {
        let Some(table) = schema.iter().find(|table| table.name == given.table) else {
            return malformed(format!(
                "the bundle has rows of `{}`, which is no table of a run",
                brief(&Value::from(given.table.as_str()))
            ));
        };
        let rows: Result<Vec<Row>> = given.rows.iter().map(|row| typed(table, row)).collect();
        if checked.tables.insert(table.name, rows?).is_some() {
            return malformed(format!("the bundle has {} twice", table.name));
        }
    }
    for table in schema {
        unique(table, checked.rows(table.name))?;
    }
    belongs_together(&checked, schema)?;
    commits_are_needed(&checked)?;
    artifacts_are_needed(&checked, schema, artifacts)?;
    Ok(checked)
}

/// A row with its values as the columns have them.
fn typed(table: &Described, row: &Row) -> Result<Row> {
    let mut found = Row::new();
    for (name, value) in row {
        let column = table.column(name).filter(|column| match column.role {
            Role::OwnRun => false,
            Role::Id => matches!(table.kind, Kind::Known(_) | Kind::Build),
            _ => true,
        });
        let Some(column) = column else {
            return malformed(format!(
                "a row of {} has the column {}, which this program does not know",
                table.name,
                brief(&Value::from(name.as_str()))
            ));
        };
        if let Value::String(text) = value {
            sound_text(table, name, text)?;
        }
        found.insert(name.clone(), table.typed(column, value)?);
    }
    Ok(found)
}

fn sound_text(table: &Described, column: &str, text: &str) -> Result<()> {
    let free = FREE_TEXT.contains(&column) || column.ends_with("_json");
    let unsound = if free {
        text.contains('\0')
    } else {
        text.len() > NAME_BYTES || text.chars().any(char::is_control)
    };
    match unsound {
        false => Ok(()),
        true => malformed(format!(
            "a row of {} has text in {column} that is no name (control characters, or too long): {}",
            table.name,
            brief(&Value::from(text))
        )),
    }
}

/// No two rows may have the same key.
fn unique(table: &Described, rows: &[Row]) -> Result<()> {
    if matches!(table.kind, Kind::Log(_)) {
        return Ok(());
    }
    let mut keys: Vec<Vec<&str>> = vec![table.key.iter().map(String::as_str).collect()];
    if let Kind::Known(name) = table.kind {
        keys.push(vec![name]);
    }
    for key in keys {
        let mut seen = BTreeSet::new();
        for row in rows {
            let values: Vec<&Value> = key.iter().filter_map(|name| row.get(*name)).collect();
            let text = serde_json::to_string(&values).unwrap_or_default();
            if !seen.insert(text.clone()) {
                return malformed(format!(
                    "the bundle has two rows of {} with the key {}",
                    table.name,
                    brief(&Value::from(text))
                ));
            }
        }
    }
    Ok(())
}

/// One campaign, one run, and nothing that they do not refer to.
fn belongs_together(checked: &Checked, schema: &[Described]) -> Result<()> {
    let run = checked.run()?;
    let campaign = checked.only("campaign")?;
    if run.get("campaign") != campaign.get("name") {
        return malformed("the bundle's run is of another campaign than the bundle's");
    }
    let closes = |row: &&Row| {
        let kind = row.get("kind").and_then(Value::as_str);
        matches!(kind, Some("ended" | "interrupted"))
    };
    if checked.rows("run_event").iter().filter(closes).count() != 1 {
        return malformed("the bundle's run neither ended nor was it interrupted, or did so twice");
    }
    let mut used: HashMap<&str, BTreeSet<i64>> = HashMap::new();
    for table in schema {
        // What belongs to a build needs it; it is no reason for the build to be there.
        if table.kind == Kind::OfBuild {
            continue;
        }
        for column in &table.columns {
            let Role::Number(of) = column.role else {
                continue;
            };
            let values = checked.rows(table.name).iter();
            let numbers = values.filter_map(|row| row.get(&column.name)?.as_i64());
            used.entry(of).or_default().extend(numbers);
        }
    }
    for of in ["machine", "toolchain", "build"] {
        let there = numbers(checked.rows(of), "id");
        if there != used.remove(of).unwrap_or_default() {
            return malformed(format!(
                "the bundle's rows of {of} are not those that its run refers to"
            ));
        }
    }
    let builds = numbers(checked.rows("build"), "id");
    for table in schema.iter().filter(|table| table.kind == Kind::OfBuild) {
        if !numbers(checked.rows(table.name), "build_id").is_subset(&builds) {
            return malformed(format!(
                "the bundle has rows of {} of a build that it does not have",
                table.name
            ));
        }
    }
    Ok(())
}

fn numbers(rows: &[Row], column: &str) -> BTreeSet<i64> {
    rows.iter()
        .filter_map(|row| row.get(column)?.as_i64())
        .collect()
}

fn text<'r>(row: &'r Row, column: &str) -> Option<&'r str> {
    row.get(column)?.as_str()
}

/// The commits are the run's, its builds', and those whose packs are restored before theirs.
fn commits_are_needed(checked: &Checked) -> Result<()> {
    let commits: BTreeMap<&str, Option<&str>> = checked
        .rows("git_commit")
        .iter()
        .filter_map(|row| Some((text(row, "sha")?, text(row, "pack_base"))))
        .collect();
    let run = checked.run()?;
    let builds = checked.rows("build").iter();
    let mut open: Vec<&str> = builds.filter_map(|row| text(row, "commit_sha")).collect();
    open.extend(text(run, "base_sha"));
    open.extend(text(run, "head_sha"));
    let mut needed = BTreeSet::new();
    while let Some(sha) = open.pop() {
        if needed.insert(sha) {
            open.extend(commits.get(sha).copied().flatten());
        }
    }
    match commits.into_keys().collect::<BTreeSet<_>>() == needed {
        true => Ok(()),
        false => malformed("the bundle's commits are not those that its run and builds refer to"),
    }
}

/// Every content is referred to by a row, and every reference has its content or says that it is
/// left out.
fn artifacts_are_needed(
    checked: &Checked,
    schema: &[Described],
    artifacts: &BTreeSet<&str>,
) -> Result<()> {
    let mut needed = BTreeSet::new();
    for table in schema {
        for column in table.with_role(Role::Artifact) {
            debug_assert_eq!(column.kind, Type::Text);
            let rows = checked.rows(table.name).iter();
            needed.extend(rows.filter_map(|row| text(row, &column.name)));
        }
    }
    if let Some(missing) = needed.difference(artifacts).next() {
        return malformed(format!(
            "a row refers to the content {missing}, of which the bundle says nothing"
        ));
    }
    match artifacts.difference(&needed).next() {
        Some(extra) => malformed(format!("no row refers to the bundle's content {extra}")),
        None => Ok(()),
    }
}
