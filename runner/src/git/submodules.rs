//! Submodules of a checkout, from the user's own copy where there is one (so that it works
//! offline), else from where `.gitmodules` says.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;

use super::GitError;
use super::checkout::Submodule;
use super::command::Git;
use super::commit::parse_sha;
use crate::model::Sha;

/// A worktree whose submodules are wanted.
#[derive(Debug)]
pub(super) struct Place {
    /// Git, in the worktree.
    pub git: Git,
    /// The worktree.
    pub directory: PathBuf,
    /// Its path in the outermost worktree, with a final `/`; empty for that.
    pub prefix: String,
    /// Where the user's repository keeps its copies of the submodules.
    pub modules: Option<PathBuf>,
    /// The URL that relative URLs are relative to.
    pub origin: Option<String>,
}

#[derive(Debug, Default)]
struct Declared {
    path: Option<String>,
    url: Option<String>,
}

/// Checks out the submodules, and theirs.
pub(super) fn update<'a>(
    place: Place,
    found: &'a mut Vec<Submodule>,
) -> Pin<Box<dyn Future<Output = Result<(), GitError>> + Send + 'a>> {
    Box::pin(async move {
        if !place.directory.join(".gitmodules").is_file() {
            return Ok(());
        }
        let links = gitlinks(&place.git).await?;
        for (name, declared) in declared(&place.git).await? {
            let (Some(path), Some(url)) = (declared.path, declared.url) else {
                continue;
            };
            let Some(commit) = links.get(&path) else {
                continue;
            };
            let url = absolute_url(place.origin.as_deref(), &url);
            let module = Module {
                name: &name,
                path: &path,
                url: &url,
                commit,
            };
            if !module.check_out(&place).await? {
                continue;
            }
            found.push(Submodule {
                path: format!("{}{path}", place.prefix),
                commit: commit.clone(),
            });
            let directory = place.directory.join(&path);
            let nested = Place {
                git: place.git.at(&directory),
                directory,
                prefix: format!("{}{path}/", place.prefix),
                modules: place.users_copy(&name).map(|copy| copy.join("modules")),
                origin: Some(url),
            };
            update(nested, found).await?;
        }
        Ok(())
    })
}

impl Place {
    fn users_copy(&self, name: &str) -> Option<PathBuf> {
        // A name is a path below `modules`, and comes from the commit under test.
        let inside = Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let copy = self.modules.as_ref()?.join(name);
        (inside && copy.join("HEAD").is_file()).then_some(copy)
    }
}

struct Module<'a> {
    name: &'a str,
    path: &'a str,
    url: &'a str,
    commit: &'a Sha,
}

impl Module<'_> {
    /// Checks the module out; false when it says of itself that it is not to be.
    async fn check_out(&self, place: &Place) -> Result<bool, GitError> {
        let copy = place.users_copy(self.name);
        let mut sources: Vec<String> = Vec::new();
        sources.extend(copy.map(|copy| copy.to_string_lossy().into_owned()));
        sources.push(self.url.to_owned());
        let directory = place.directory.join(self.path);
        let git = place.git.at(&directory);
        let mut said = String::new();
        for source in &sources {
            if directory.join(".git").exists() {
                git.text(["config", "remote.origin.url", source]).await?;
            }
            let output = self.update_from(place, source).await?;
            if output.ok {
                if !directory.join(".git").exists() {
                    return Ok(false);
                }
                detach(&git, &directory).await?;
                let head = parse_sha(&git.text(["rev-parse", "HEAD"]).await?)?;
                if head != *self.commit {
                    return Err(GitError::WrongCheckout {
                        wanted: self.commit.to_string(),
                        found: head.to_string(),
                        path: directory,
                    });
                }
                return Ok(true);
            }
            said = output.stderr;
        }
        Err(GitError::Submodule {
            path: format!("{}{}", place.prefix, self.path),
            url: self.url.to_owned(),
            commit: self.commit.to_string(),
            said,
        })
    }

    async fn update_from(
        &self,
        place: &Place,
        source: &str,
    ) -> Result<super::command::Output, GitError> {
        let mut settings = vec![
            format!("submodule.{}.url={source}", self.name),
            format!("submodule.{}.active=true", self.name),
        ];
        // Local paths are refused by default because a hostile `.gitmodules` may name them. The
        // user's own copy, and a neighbour of the user's local origin, are the user's choice.
        let users = place
            .users_copy(self.name)
            .is_some_and(|copy| copy == Path::new(source));
        let local_origin = place
            .origin
            .as_deref()
            .is_some_and(|origin| origin.starts_with('/'));
        if users || local_origin {
            settings.push("protocol.file.allow=always".to_owned());
        }
        place
            .git
            .with(settings)
            .output(
                [
                    "submodule",
                    "--quiet",
                    "update",
                    "--checkout",
                    "--",
                    self.path,
                ],
                b"",
            )
            .await
    }
}

/// Makes a submodule's checkout independent of where it lies: git links it with relative paths.
async fn detach(git: &Git, directory: &Path) -> Result<(), GitError> {
    let link = directory.join(".git");
    let admin = git.text(["rev-parse", "--absolute-git-dir"]).await?;
    std::fs::write(&link, format!("gitdir: {admin}\n")).map_err(GitError::io("write", &link))?;
    let config = format!("{admin}/config");
    git.output(["config", "-f", &config, "--unset", "core.worktree"], b"")
        .await?;
    Ok(())
}

/// The submodule commits in the index, by path.
async fn gitlinks(git: &Git) -> Result<BTreeMap<String, Sha>, GitError> {
    let staged = git.bytes(["ls-files", "--stage", "-z"], b"").await?;
    Ok(staged
        .split(|b| *b == 0)
        .filter_map(|entry| {
            let entry = std::str::from_utf8(entry).ok()?;
            let (facts, path) = entry.split_once('\t')?;
            let sha = facts.strip_prefix("160000 ")?.split(' ').next()?;
            Some((path.to_owned(), sha.parse().ok()?))
        })
        .collect())
}

async fn declared(git: &Git) -> Result<BTreeMap<String, Declared>, GitError> {
    let listed = git
        .ask([
            "config",
            "-z",
            "-f",
            ".gitmodules",
            "--get-regexp",
            r"^submodule\..*\.(path|url)$",
        ])
        .await?
        .unwrap_or_default();
    let mut modules: BTreeMap<String, Declared> = BTreeMap::new();
    for entry in listed.split('\0') {
        let Some((key, value)) = entry.split_once('\n') else {
            continue;
        };
        let Some((name, what)) = key
            .strip_prefix("submodule.")
            .and_then(|k| k.rsplit_once('.'))
        else {
            continue;
        };
        let module = modules.entry(name.to_owned()).or_default();
        match what {
            "path" => module.path = Some(value.to_owned()),
            _ => module.url = Some(value.to_owned()),
        }
    }
    Ok(modules)
}

/// What a URL of `.gitmodules` stands for, as git reads it: `./` and `../` are relative to the
/// origin.
fn absolute_url(origin: Option<&str>, url: &str) -> String {
    let Some(origin) = origin.filter(|_| url.starts_with("./") || url.starts_with("../")) else {
        return url.to_owned();
    };
    let mut base = origin.trim_end_matches('/').to_owned();
    let mut rest = url;
    let mut separator = '/';
    loop {
        if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else if let Some(after) = rest.strip_prefix("../") {
            rest = after;
            let cut = base.rfind('/').or_else(|| {
                separator = ':';
                base.rfind(':')
            });
            base.truncate(cut.unwrap_or(0));
        } else {
            break;
        }
    }
    format!("{base}{separator}{}", rest.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::absolute_url;

    #[test]
    fn relative_urls_are_relative_to_the_origin() {
        let cases = [
            ("https://h/a/b.git", "../c.git", "https://h/a/c.git"),
            ("https://h/a/b.git/", "../../x/c", "https://h/x/c"),
            ("git@h:a/b.git", "../c.git", "git@h:a/c.git"),
            ("git@h:b.git", "../c.git", "git@h:c.git"),
            ("/srv/b", "./c", "/srv/b/c"),
            ("/srv/b", "../c/", "/srv/c"),
            ("/srv/b", "https://h/c", "https://h/c"),
        ];
        for (origin, url, wanted) in cases {
            assert_eq!(absolute_url(Some(origin), url), wanted, "{origin} {url}");
        }
        assert_eq!(absolute_url(None, "../c"), "../c");
    }
}
