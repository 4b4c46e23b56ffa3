//! What makes two runs attempts at the same thing: the same code under the same registration.

use crate::model::{CommitInfo, PerSide, Sha};

/// What a run measured, and what was declared before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// Base's tree.
    pub base_tree: Sha,
    /// Head's tree.
    pub head_tree: Sha,
    /// Head's patch-id where head is base's child, so that it stands for the whole lever; blanks
    /// and the commit's message do not enter it.
    pub patch: Option<String>,
    /// SHA-256 of the effective config.
    pub config: String,
    /// SHA-256 of the registration.
    pub registration: String,
    /// The run whose verdict this one was declared to replace.
    pub confirms: Option<String>,
    /// How many samples were taken.
    pub samples: usize,
    /// Whether the run was cut short.
    pub interrupted: bool,
}

impl Registered {
    /// Of two commits, with what is known before the first sample.
    pub fn new(
        commits: &PerSide<CommitInfo>,
        config: &str,
        registration: &str,
        confirms: Option<String>,
    ) -> Registered {
        let PerSide { base, head } = commits;
        let is_child = head.parent.as_ref() == Some(&base.sha);
        Registered {
            base_tree: base.tree.clone(),
            head_tree: head.tree.clone(),
            patch: head.patch_id.clone().filter(|_| is_child),
            config: config.to_owned(),
            registration: registration.to_owned(),
            confirms,
            samples: 0,
            interrupted: false,
        }
    }

    /// Whether both are the same change to the same base: by head's tree, or by its patch-id.
    pub fn same_code(&self, other: &Registered) -> bool {
        let same_patch = self.patch.is_some() && self.patch == other.patch;
        self.base_tree == other.base_tree && (self.head_tree == other.head_tree || same_patch)
    }

    /// Whether the same was declared about the same code, so that both are attempts at it.
    pub fn same_registration(&self, other: &Registered) -> bool {
        self.same_code(other)
            && self.config == other.config
            && self.registration == other.registration
    }
}
