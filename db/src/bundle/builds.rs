//! A bundle's builds: known by everything that they hold, and marked as made elsewhere.

use serde_json::Value;

use super::check::Checked;
use super::find::find;
use super::merge::Merging;
use super::schema::Described;
use super::tables::Kind;
use super::{Result, Row, malformed};
use crate::error::Doing as _;
use crate::{Conn, RunId};

impl Merging<'_> {
    /// Builds: the same where all that they hold is the same.
    pub(super) async fn builds(
        &mut self,
        conn: &mut Conn,
        table: &Described,
        checked: &Checked,
        schema: &[Described],
    ) -> Result<()> {
        let parts: Vec<&Described> = schema
            .iter()
            .filter(|part| part.kind == Kind::OfBuild)
            .collect();
        for row in checked.rows("build") {
            let Some(number) = row.get("id").and_then(Value::as_i64) else {
                return malformed("a row of build has no number");
            };
            let mut content = self.here(conn, table, row).await?.0;
            content.shift_remove("id");
            let mut known = None;
            for candidate in find(conn, table, &content).await? {
                self.numbers.insert(("build", number), candidate);
                if self.holds(conn, &parts, checked, number).await? {
                    known = Some(candidate);
                    break;
                }
            }
            if known.is_none() {
                let here = self.insert(conn, table, row).await?;
                self.numbers.insert(("build", number), here);
                self.new_builds.push(here);
                for part in &parts {
                    for row in of_build(checked.rows(part.name), number) {
                        self.insert(conn, part, row).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the build here that has that number now holds exactly what the bundle's holds.
    async fn holds(
        &self,
        conn: &mut Conn,
        parts: &[&Described],
        checked: &Checked,
        number: i64,
    ) -> Result<bool> {
        let here = self.numbers.get(&("build", number)).copied();
        for part in parts {
            let key = Row::from_iter([("build_id".to_owned(), Value::from(here))]);
            let mut expected = 0;
            for row in of_build(checked.rows(part.name), number) {
                let (row, _) = self.here(conn, part, row).await?;
                if find(conn, part, &row).await?.len() != 1 {
                    return Ok(false);
                }
                expected += 1;
            }
            if find(conn, part, &key).await?.len() != expected {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Remembers which builds came from elsewhere.
    pub(super) async fn mark_builds(&self, conn: &mut Conn, run: RunId) -> Result<()> {
        for build in &self.new_builds {
            sqlx::query!(
                "INSERT INTO bundle_build (build_id, run_id) VALUES (?, ?)",
                build,
                run
            )
            .execute(&mut *conn)
            .await
            .doing("note a build that was made elsewhere")?;
        }
        Ok(())
    }
}

fn of_build(rows: &[Row], number: i64) -> impl Iterator<Item = &Row> {
    rows.iter()
        .filter(move |row| row.get("build_id").and_then(Value::as_i64) == Some(number))
}
