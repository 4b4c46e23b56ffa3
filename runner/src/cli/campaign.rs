//! Which campaign is meant where none is named: the one of the repository at hand.

use std::path::{Path, PathBuf};

use super::Context;
use crate::config::Config;

impl Context {
    /// The name of the campaign that the repository's `campaign.toml` gives; `None` where there is
    /// no such file or it cannot be read. Looked for from the given folder up to the repository's.
    pub(super) fn own_campaign(&self) -> Option<String> {
        let file = campaign_file(&self.repo)?;
        Some(Config::from_file(&file).ok()?.campaign.name)
    }
}

fn campaign_file(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    for folder in folder.ancestors() {
        let file = folder.join("campaign.toml");
        if file.is_file() {
            return Some(file);
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_ends_at_the_repository() {
        let root = tempfile::tempdir().expect("a folder");
        let below = root.path().join("repo/src/kernels");
        std::fs::create_dir_all(&below).expect("a folder");
        std::fs::write(root.path().join("campaign.toml"), "").expect("a file");
        std::fs::create_dir(root.path().join("repo/.git")).expect("a folder");
        assert_eq!(campaign_file(&below), None, "another repository's");
        let own = root.path().join("repo/campaign.toml");
        std::fs::write(&own, "").expect("a file");
        let found = campaign_file(&below).expect("found");
        assert_eq!(found, own.canonicalize().expect("a path"));
    }
}
