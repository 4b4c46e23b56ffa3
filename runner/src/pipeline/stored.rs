//! Builds that the record already holds.

use super::stages::Stages;
use crate::build::{BuildSource, Workbench};
use crate::model::{BuildEvidence, Side};

impl Stages<'_> {
    /// The stored build to use for a side: the one that was asked for; in a comparison also one
    /// that the record holds under the same key, where it is not at hand any more. `None` where
    /// the side is to be built, or taken from the cache.
    pub(super) async fn stored(
        &self,
        bench: &Workbench,
        side: Side,
        source: &BuildSource<'_>,
    ) -> anyhow::Result<Option<BuildEvidence>> {
        if let Some(stored) = self.options.stored_builds.get(side) {
            return Ok(Some(stored.clone()));
        }
        let compares = matches!(
            self.options.purpose,
            db::Purpose::Anchor | db::Purpose::Bisect
        );
        if !compares || self.options.rebuild {
            return Ok(None);
        }
        let key = bench.key_of(source);
        if bench.is_built(&key) {
            return Ok(None);
        }
        Ok(self.recorder.records().usable_build(&key).await?)
    }
}
