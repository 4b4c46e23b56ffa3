//! Strings that name the place of a build, and their masking.

use std::borrow::Cow;

use crate::names;

/// The fewest digits of a commit that are taken for it.
const COMMIT_DIGITS: usize = 7;

/// What to take out of a file's data before it is hashed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostMask {
    /// Paths that differ between builds, as the worktree's; wherever their bytes occur.
    pub paths: Vec<String>,
    /// Full commit names in hex; they and their prefixes of seven digits or more count where
    /// no further hex digit stands next to them.
    pub commits: Vec<String>,
}

impl HostMask {
    /// `data` without module ids, paths and commits.
    pub(crate) fn apply<'a>(&self, data: &'a [u8]) -> Cow<'a, [u8]> {
        let mut out = names::normalise(data);
        let mut paths: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        // A path inside another one must not hide the longer one's end.
        paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
        for path in paths {
            out = replace(out, path.as_bytes(), b"<path>", |_, range| Some(range.end));
        }
        for commit in &self.commits {
            let commit = commit.as_bytes();
            if let Some(prefix) = commit.get(..COMMIT_DIGITS) {
                out = replace(out, prefix, b"<commit>", |text, range| {
                    commit_end(text, range, commit)
                });
            }
        }
        out
    }
}

/// Where the prefix of `commit` found at `range` ends, if it is one.
fn commit_end(text: &[u8], range: std::ops::Range<usize>, commit: &[u8]) -> Option<usize> {
    let digits_before = range.start > 0 && text[range.start - 1].is_ascii_hexdigit();
    let matching = text[range.start..]
        .iter()
        .zip(commit)
        .take_while(|(a, b)| a == b)
        .count();
    let end = range.start + matching;
    let digits_after = text.get(end).is_some_and(u8::is_ascii_hexdigit);
    (!digits_before && !digits_after).then_some(end)
}

/// Replaces each occurrence of `needle` for which `end` gives where the replaced part ends.
fn replace<'a>(
    text: Cow<'a, [u8]>,
    needle: &[u8],
    by: &[u8],
    end: impl Fn(&[u8], std::ops::Range<usize>) -> Option<usize>,
) -> Cow<'a, [u8]> {
    let mut out: Option<Vec<u8>> = None;
    let (mut copied, mut at) = (0, 0);
    while let Some(start) = find(&text, needle, at) {
        at = start + 1;
        if let Some(end) = end(&text, start..start + needle.len()) {
            let buffer = out.get_or_insert_with(Vec::new);
            buffer.extend_from_slice(&text[copied..start]);
            buffer.extend_from_slice(by);
            copied = end;
            at = end;
        }
    }
    match out {
        None => text,
        Some(mut buffer) => {
            buffer.extend_from_slice(&text[copied..]);
            Cow::Owned(buffer)
        }
    }
}

/// The first occurrence of `needle` at or after `from`; none for an empty needle.
fn find(text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let first = needle.first()?;
    let mut at = from;
    while at < text.len() {
        at += text[at..].iter().position(|b| b == first)?;
        if text[at..].starts_with(needle) {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        let mask = HostMask {
            paths: vec![
                "/tmp/wt".to_owned(),
                "/tmp/wt/deep".to_owned(),
                String::new(),
            ],
            commits: vec![
                "0123456789abcdef0123456789abcdef01234567".to_owned(),
                String::new(),
            ],
        };
        String::from_utf8_lossy(&mask.apply(text.as_bytes())).into_owned()
    }

    #[test]
    fn masks_paths() {
        assert_eq!(
            masked("a /tmp/wt/x.c /tmp/wt/deep/y"),
            "a <path>/x.c <path>/y"
        );
        assert_eq!(masked("/tmp/w"), "/tmp/w");
    }

    #[test]
    fn masks_commits_and_their_prefixes() {
        assert_eq!(masked("v1-3-g0123456-dirty"), "v1-3-g<commit>-dirty");
        assert_eq!(
            masked("0123456789abcdef0123456789abcdef01234567"),
            "<commit>"
        );
        assert_eq!(masked("012345 is too short"), "012345 is too short");
        assert_eq!(masked("01234567f is another"), "01234567f is another");
        assert_eq!(masked("f0123456 too"), "f0123456 too");
    }
}
