//! Which kernels a pattern matches, by their demangled names.

use std::sync::LazyLock;

use regex::Regex;

use super::ast::KernelPattern;

/// A pattern made ready to match.
#[derive(Debug)]
pub(super) enum Matcher {
    Exact(String),
    Glob(Regex),
    Regex(Regex),
}

impl Matcher {
    /// `Err` with the reason where a pattern built by hand does not compile.
    pub(super) fn new(pattern: &KernelPattern) -> Result<Self, regex::Error> {
        Ok(match pattern {
            KernelPattern::Exact(name) => Matcher::Exact(normalise(name)),
            KernelPattern::Glob(glob) => {
                let parts: Vec<String> = glob
                    .split('*')
                    .map(|part| regex::escape(&normalise(part)))
                    .collect();
                Matcher::Glob(Regex::new(&format!("^(?s:{})$", parts.join(".*")))?)
            }
            KernelPattern::Regex(regex) => Matcher::Regex(Regex::new(regex)?),
        })
    }

    pub(super) fn matches(&self, demangled: &str) -> bool {
        match self {
            Matcher::Regex(regex) => regex.is_match(demangled),
            Matcher::Exact(name) => views(demangled).iter().any(|view| view == name),
            Matcher::Glob(glob) => views(demangled).iter().any(|view| glob.is_match(view)),
        }
    }
}

/// The name of a function without return type and parameters:
/// `void ns::mmq<8>(int*)` gives `ns::mmq<8>`.
pub(super) fn function_name(demangled: &str) -> &str {
    let mut start = 0;
    for (i, c, depth) in depths(demangled) {
        if depth > 0 {
            continue;
        }
        match c {
            '(' if !is_part_of_name(demangled, i) => return &demangled[start..i],
            ' ' => start = i + 1,
            _ => {}
        }
    }
    &demangled[start..]
}

/// Whether the parenthesis at `at` is `(anonymous namespace)::` or `operator()`.
fn is_part_of_name(demangled: &str, at: usize) -> bool {
    let after = &demangled[at..];
    let group = depths(after)
        .find(|(i, c, depth)| *i > 0 && *c == ')' && *depth == 0)
        .map_or(after.len(), |(i, _, _)| i + 1);
    after[group..].starts_with("::")
        || (group == 2 && demangled[..at].ends_with("operator") && after[group..].starts_with('('))
}

/// Each character with the number of brackets open around it; a bracket itself counts as
/// outside. Angle brackets inside parentheses are comparisons, and are not counted.
fn depths(text: &str) -> impl Iterator<Item = (usize, char, usize)> + '_ {
    let mut open: Vec<char> = Vec::new();
    text.char_indices().map(move |(i, c)| {
        let top = open.last().copied();
        let closes = matches!(
            (top, c),
            (Some('('), ')') | (Some('<'), '>') | (Some('{'), '}')
        );
        if closes {
            open.pop();
        }
        let depth = open.len();
        if matches!(c, '(' | '{') || (c == '<' && top != Some('(')) {
            open.push(c);
        }
        (i, c, depth)
    })
}

/// Every way to name a function: with and without namespaces, with and without the template
/// arguments at its end; all normalised.
fn views(demangled: &str) -> Vec<String> {
    let name = function_name(demangled);
    let bytes = name.as_bytes();
    let mut starts = vec![0];
    let mut arguments = None;
    for (i, c, depth) in depths(name) {
        if depth > 0 {
            continue;
        }
        if c == ':' && i > 0 && bytes[i - 1] == b':' {
            starts.push(i + 1);
            arguments = None;
        } else if c == '<' && arguments.is_none() {
            arguments = Some(i);
        }
    }
    let mut views = Vec::new();
    for start in starts {
        views.push(normalise(&name[start..]));
        if let Some(end) = arguments.filter(|end| *end > start) {
            views.push(normalise(&name[start..end]));
        }
    }
    views
}

/// Removes what demanglers write differently: blanks, casts before template arguments
/// (`(int)8`), integer suffixes (`8u`), `true` for `1`.
fn normalise(name: &str) -> String {
    static CAST: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"\((?:bool|char|signedchar|(?:unsigned)?(?:char|short|int|long(?:long)?))\)(-?\d)",
        )
        .expect("the pattern is constant and tested")
    });
    static SUFFIX: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(\d+)(?:u|l|ul|ll|ull)\b").expect("the pattern is constant and tested")
    });
    static BOOL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(?:(true)|false)\b").expect("the pattern is constant and tested")
    });
    let compact: String = name.chars().filter(|c| !c.is_whitespace()).collect();
    let compact = CAST.replace_all(&compact, "$1");
    let compact = SUFFIX.replace_all(&compact, "$1");
    BOOL.replace_all(
        &compact,
        |found: &regex::Captures<'_>| {
            if found.get(1).is_some() { "1" } else { "0" }
        },
    )
    .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: KernelPattern, name: &str) -> bool {
        Matcher::new(&pattern).expect("it compiles").matches(name)
    }

    fn exact(pattern: &str, name: &str) -> bool {
        matches(KernelPattern::Exact(pattern.into()), name)
    }

    #[test]
    fn function_names_lose_return_type_and_parameters() {
        for (demangled, name) in [
            ("mmq_nb", "mmq_nb"),
            ("mmq_nb(float const*, int)", "mmq_nb"),
            ("void mmq<8, 4>(int*)", "mmq<8, 4>"),
            ("(anonymous namespace)::k(int)", "(anonymous namespace)::k"),
            (
                "void ns::(anonymous namespace)::k<(int)8>(int)",
                "ns::(anonymous namespace)::k<(int)8>",
            ),
            (
                "void f<std::vector<int> >(void (*)(int), int)",
                "f<std::vector<int> >",
            ),
            ("void f<(2>1)>(int)", "f<(2>1)>"),
            (
                "main::{lambda(int)#1}::operator()(int) const",
                "main::{lambda(int)#1}::operator()",
            ),
            ("std::pair<int, int> f<int>(int)", "f<int>"),
            ("", ""),
            ("(", ""),
            (">>)(", ">>)"),
        ] {
            assert_eq!(function_name(demangled), name, "{demangled}");
        }
    }

    #[test]
    fn what_a_name_leaves_out_is_not_compared() {
        let name = "void ns::inner::mmq<(int)8, (bool)1>(float const*)";
        for pattern in [
            "mmq",
            "inner::mmq",
            "ns::inner::mmq",
            "mmq<8, true>",
            "mmq<8,1>",
            "ns::inner::mmq<(int)8, (bool)1>",
        ] {
            assert!(exact(pattern, name), "{pattern}");
        }
        for pattern in ["mm", "mmq<8>", "mmq<4, true>", "ns::mmq", "mmq<", "q"] {
            assert!(!exact(pattern, name), "{pattern}");
        }
        assert!(!exact("mmq", "mmq_nb(int)"));
        assert!(exact(
            "(anonymous namespace)::k",
            "(anonymous namespace)::k(int)"
        ));
        assert!(exact("k", "(anonymous namespace)::k(int)"));
        assert!(exact("f<8>", "void f<8u>(int)"));
    }

    #[test]
    fn globs_and_regexes() {
        let glob = |glob: &str, name: &str| matches(KernelPattern::Glob(glob.into()), name);
        assert!(glob("mmq_*", "mmq_nb(int)"));
        assert!(glob("*", "anything<int>(int)"));
        assert!(glob("mmq<*,4>", "void mmq<8, 4>(int*)"));
        assert!(!glob("mmq_*", "xmmq_nb(int)"));
        assert!(!glob("mmq.*", "mmqx(int)"));
        let regex = |regex: &str, name: &str| matches(KernelPattern::Regex(regex.into()), name);
        assert!(regex(r"^mmq_nb\(", "mmq_nb(int)"));
        assert!(regex("nb", "mmq_nb(int)"));
        assert!(!regex("^nb", "mmq_nb(int)"));
    }
}
