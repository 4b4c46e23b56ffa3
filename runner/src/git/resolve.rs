//! From what a user wrote to a commit, and the default pair.

use super::command::Git;
use super::commit::{parse_sha, raw_parents};
use super::{GitError, Repository};
use crate::model::{PerSide, Sha};

/// Which two commits are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct PairRequest<'a> {
    /// `--base`.
    pub base: Option<&'a str>,
    /// `--head`; HEAD without it.
    pub head: Option<&'a str>,
    /// The config's default branch.
    pub default_branch: Option<&'a str>,
}

impl Repository {
    /// The commit that a name stands for: a branch, tag, sha or any expression git knows. A
    /// full or unique sha that the user's repository has lost is looked up in the mirror.
    pub async fn resolve(&self, name: &str) -> Result<Sha, GitError> {
        let Some(source) = &self.source else {
            return resolve_in(&self.mirror_git, name).await;
        };
        match resolve_in(&source.git, name).await {
            Err(GitError::NotFound { .. }) if is_hex(name) => {
                match resolve_in(&self.mirror_git, name).await {
                    Err(GitError::NotFound { name, .. }) => Err(GitError::NotFound {
                        hint: self.lost_hint().await?,
                        name,
                    }),
                    other => other,
                }
            }
            other => other,
        }
    }

    /// Base and head: as asked for, or HEAD against its merge-base with the default branch, or
    /// against its parent where HEAD is on the default branch.
    pub async fn pair(&self, request: PairRequest<'_>) -> Result<PerSide<Sha>, GitError> {
        let head = self.resolve(request.head.unwrap_or("HEAD")).await?;
        let base = match request.base {
            Some(base) => self.resolve(base).await?,
            None => self.default_base(&head, request.default_branch).await?,
        };
        Ok(PerSide { base, head })
    }

    async fn default_base(&self, head: &Sha, branch: Option<&str>) -> Result<Sha, GitError> {
        let mut git = self.source.as_ref().map_or(&self.mirror_git, |s| &s.git);
        let tips = default_tips(git, branch).await?;
        if !git.output(["cat-file", "-e", head.as_str()], b"").await?.ok {
            // The user's repository has lost it; the mirror has it, and gets the tips.
            for tip in &tips {
                self.fetch(tip).await?;
            }
            git = &self.mirror_git;
        }
        let mut best: Option<Sha> = None;
        for tip in &tips {
            let Some(fork) = git.ask(["merge-base", tip.as_str(), head.as_str()]).await? else {
                continue;
            };
            let fork = parse_sha(&fork)?;
            if fork == *head {
                return self.parent(git, head).await;
            }
            // Of a stale local branch and its remote, the later fork is the true one.
            best = Some(match best {
                Some(old) if !is_ancestor(git, &old, &fork).await? => old,
                _ => fork,
            });
        }
        match best {
            Some(fork) => Ok(fork),
            None if tips.is_empty() => self.parent(git, head).await,
            None => Err(GitError::NoBase {
                head: head.short().to_owned(),
                reason: "it shares no history with the default branch".to_owned(),
            }),
        }
    }

    async fn parent(&self, git: &Git, head: &Sha) -> Result<Sha, GitError> {
        let no_base = |reason: &str| GitError::NoBase {
            head: head.short().to_owned(),
            reason: reason.to_owned(),
        };
        let parent = raw_parents(git, head)
            .await?
            .into_iter()
            .next()
            .ok_or_else(|| no_base("it is a root commit"))?;
        if git
            .output(["cat-file", "-e", parent.as_str()], b"")
            .await?
            .ok
        {
            Ok(parent)
        } else {
            Err(no_base(
                "its parent is not here, the clone is shallow; `git fetch --deepen=1` gets it",
            ))
        }
    }

    async fn lost_hint(&self) -> Result<String, GitError> {
        let git = self.source.as_ref().map_or(&self.mirror_git, |s| &s.git);
        let shallow = git.ask(["rev-parse", "--is-shallow-repository"]).await?;
        Ok(if shallow.as_deref() == Some("true") {
            "; this clone is shallow, `git fetch --unshallow` may bring it".to_owned()
        } else {
            "; it may have been garbage-collected, or never fetched here".to_owned()
        })
    }
}

/// The tips of the default branch: the remote's and the local one, where they exist.
async fn default_tips(git: &Git, branch: Option<&str>) -> Result<Vec<Sha>, GitError> {
    let named = match branch {
        Some(branch) => vec![branch.to_owned()],
        None => {
            let origin = git
                .ask([
                    "symbolic-ref",
                    "--quiet",
                    "--short",
                    "refs/remotes/origin/HEAD",
                ])
                .await?;
            match origin.as_deref().and_then(|o| o.strip_prefix("origin/")) {
                Some(branch) => vec![branch.to_owned()],
                None => vec!["main".to_owned(), "master".to_owned()],
            }
        }
    };
    for name in &named {
        let mut tips = Vec::new();
        for full in [
            format!("refs/remotes/origin/{name}"),
            format!("refs/heads/{name}"),
        ] {
            let tip = git
                .ask([
                    "rev-parse",
                    "--verify",
                    "--quiet",
                    &format!("{full}^{{commit}}"),
                ])
                .await?;
            if let Some(tip) = tip {
                tips.push(parse_sha(&tip)?);
            }
        }
        if !tips.is_empty() {
            return Ok(tips);
        }
    }
    match branch {
        Some(branch) => Ok(vec![resolve_in(git, branch).await?]),
        None => Ok(Vec::new()),
    }
}

async fn is_ancestor(git: &Git, old: &Sha, new: &Sha) -> Result<bool, GitError> {
    let answer = git
        .output(
            ["merge-base", "--is-ancestor", old.as_str(), new.as_str()],
            b"",
        )
        .await?;
    Ok(answer.ok)
}

fn is_hex(name: &str) -> bool {
    name.len() >= 4 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

async fn resolve_in(git: &Git, name: &str) -> Result<Sha, GitError> {
    let commit = format!("{name}^{{commit}}");
    let output = git
        .output(["rev-parse", "--verify", "--end-of-options", &commit], b"")
        .await?;
    if output.stderr.contains("is ambiguous") {
        let candidates = candidates(git, name, &output.stderr).await?;
        if candidates.len() > 1 {
            return Err(GitError::Ambiguous {
                name: name.to_owned(),
                candidates,
            });
        }
    }
    if output.ok {
        // With warnings silenced, the last line is the name.
        let text = String::from_utf8_lossy(&output.stdout);
        let sha = parse_sha(text.lines().last().unwrap_or_default())?;
        // rev-parse believes in any full sha; only reading it shows whether it is there.
        if git.output(["cat-file", "-e", sha.as_str()], b"").await?.ok {
            return Ok(sha);
        }
    } else if !name.is_empty()
        && let Some(kind) = git
            .ask(["cat-file", "-t", "--end-of-options", name])
            .await?
    {
        let kind = if kind == "tag" {
            "tag of something else".to_owned()
        } else {
            kind
        };
        return Err(GitError::NotACommit {
            name: name.to_owned(),
            kind,
        });
    }
    Err(GitError::NotFound {
        name: name.to_owned(),
        hint: "; `git branch -a` and `git log` show what there is".to_owned(),
    })
}

/// The things an ambiguous name may be: the commits that git lists for a short sha, or the refs
/// of that name where they are not the same commit.
async fn candidates(git: &Git, name: &str, said: &str) -> Result<Vec<String>, GitError> {
    if said.contains("short object ID") {
        return Ok(said
            .lines()
            .filter_map(|line| line.strip_prefix("hint:"))
            .map(str::trim)
            .filter(|line| line.starts_with(|c: char| c.is_ascii_hexdigit()))
            .map(|line| format!("  {line}"))
            .collect());
    }
    let refs = git
        .ask([
            "for-each-ref",
            "--format=%(refname) %(objectname) %(*objectname)",
            &format!("refs/heads/{name}"),
            &format!("refs/tags/{name}"),
            &format!("refs/remotes/{name}"),
        ])
        .await?
        .unwrap_or_default();
    let mut found: Vec<(String, String)> = refs
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let full = words.next()?.to_owned();
            Some((full, words.next_back()?.to_owned()))
        })
        .collect();
    if found
        .iter()
        .all(|(_, sha)| Some(sha) == found.first().map(|(_, s)| s))
    {
        found.clear();
    }
    Ok(found
        .into_iter()
        .map(|(full, sha)| format!("  {full} ({sha})"))
        .collect())
}
