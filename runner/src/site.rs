//! The campaign's pages, written as static files that work from disk.
//!
//! Reads the record and writes files; what is on a page is decided in [`crate::render`].

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::record::{Records, now};
use crate::render::{
    IndexInput, RoundRow, index_page, json, lever_page, pages, standing_rounds, view,
};

/// A campaign as pages name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignName {
    /// Its key.
    pub name: String,
    /// Its title.
    pub title: String,
}

/// What was written.
#[derive(Debug)]
pub struct Site {
    /// The index page.
    pub index: PathBuf,
    /// How many rounds it lists.
    pub rounds: usize,
    /// The rounds as a JSON document; also written as `campaign.json`.
    pub document: String,
}

/// The campaign that is meant: the one named, else the repository's own as far as the database
/// has it, else the only one.
pub async fn choose(
    records: &Records,
    wanted: Option<&str>,
    own: Option<&str>,
) -> anyhow::Result<CampaignName> {
    let mut all = records.campaigns().await?;
    let own = own.filter(|own| all.iter().any(|(name, _)| name == own));
    let known: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    match wanted.or(own) {
        Some(wanted) => {
            all.retain(|(name, _)| name == wanted);
            if all.is_empty() {
                bail!(
                    "there is no campaign `{wanted}` in the database; there are: {}",
                    known.join(", ")
                );
            }
        }
        None if all.len() > 1 => {
            bail!(
                "the database holds several campaigns: name one with --campaign: {}",
                known.join(", ")
            )
        }
        None => {}
    }
    match all.into_iter().next() {
        Some((name, title)) => Ok(CampaignName { name, title }),
        None => bail!("the database holds no campaign yet: `runner run` books the first round"),
    }
}

/// Writes the index page, a page per judged run, and `campaign.json`. The index lists the
/// attempt that stands of each registration; the others' pages are linked from that one's.
pub async fn write(records: &Records, campaign: &CampaignName, out: &Path) -> anyhow::Result<Site> {
    let table = records.table(&campaign.name).await?;
    let rounds: Vec<RoundRow> = table
        .iter()
        .filter(|row| row.is_round())
        .filter_map(|row| row.round.clone())
        .collect();
    let rounds = standing_rounds(&rounds);
    for row in table.iter().filter(|row| row.round.is_some()) {
        let presentable = records.present(row.run).await?;
        let page = lever_page(&presentable.input())?;
        put(&out.join(pages::lever_path(&row.run.to_string())), &page)?;
    }
    let index = out.join("index.html");
    let drift = crate::anchor::views(&campaign.name, records).await?;
    let input = IndexInput {
        drift: &drift,
        campaign: &campaign.name,
        title: &campaign.title,
        rounds: &rounds,
        generated_at: now(),
    };
    put(&index, &index_page(&input)?)?;
    let document = json::campaign_document(&view::rounds_view(&rounds, None), &drift)?;
    put(&out.join("campaign.json"), &document)?;
    Ok(Site {
        index,
        rounds: rounds.len(),
        document,
    })
}

/// Writes a file whole or not at all.
fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let writing = || format!("writing {}", path.display());
    std::fs::create_dir_all(folder).with_context(writing)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(writing)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).with_context(writing)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file()
        .set_permissions(readable)
        .with_context(writing)?;
    file.persist(path).with_context(writing)?;
    Ok(())
}
