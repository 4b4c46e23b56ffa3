//! Reads build logs: the first error, and errors that are the machine's.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::Failure;

/// The longest line that is quoted, characters.
const QUOTE: usize = 400;

/// How much of a log is read at either end, bytes: a build that prints gigabytes must not cost
/// minutes, and what ended it stands in its last lines.
const READ_AT_EITHER_END: usize = 4 << 20;

/// Errors of compilers, assemblers and linkers themselves.
static STRONG: LazyLock<Option<Regex>> = LazyLock::new(|| {
    any_of(&[
        // gcc, clang: file:line[:column]: error: …
        r"^\S.*?:\d+(:\d+)?: (fatal )?error: ",
        // nvcc's front end: file(line): error[ #123]: …
        r"^\S.*?\(\d+\): (catastrophic )?error\b.*: ",
        r"^(nvcc|ptxas|nvlink|fatbinary|cicc|cudafe\+\+)\b.*\b(error|fatal)[ \t]*:",
        r"^(nvcc|ptxas|nvlink|fatbinary|cicc|cudafe\+\+) (error|fatal)\b",
        r"^CMake Error",
        r"undefined reference to ",
        r"\bld(\.\w+)?: (cannot find|error:|.*: No such file)",
        r"^(\S*/)?(gcc|g\+\+|cc|c\+\+|cc1plus|clang|clang\+\+|ar|as): (fatal )?error: ",
        r"^error(\[\w+\])?: \S",
    ])
});

/// What is left when there is none of those.
static WEAK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    any_of(&[
        r"(?i:\berror[ \t]*:)",
        r"(command not found|: not found)[ \t\r]*$",
        r": No such file or directory|No rule to make target",
        r"^\S*make(\[\d+\])?: \*\*\* ",
        r"^ninja: build stopped|^FAILED:",
    ])
});

/// Compilers and build tools: that one of them is missing is the machine's fault.
static MISSING_TOOL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const TOOLS: &str = "nvcc|ptxas|gcc|g\\+\\+|cc|c\\+\\+|make|cmake|ninja|ld|ar";
    any_of(&[
        &format!(r"\b(?P<shell>{TOOLS}): (command )?not found[ \t\r]*$"),
        &format!(
            r"^\S*make(\[\d+\])?: (?P<make>{TOOLS}): (No such file or directory|Command not found|Permission denied)"
        ),
        &format!(r"cannot execute .?(?P<exec>{TOOLS})\b"),
        &format!(
            r"CMAKE_MAKE_PROGRAM is not set|No CMAKE_(?P<cmake>CUDA|CXX|C)_COMPILER could be found|^(?P<host>{TOOLS}): host compiler .* not found"
        ),
    ])
});

static COLOURS: LazyLock<Option<Regex>> = LazyLock::new(|| any_of(&["\x1b\\[[0-9;]*[A-Za-z]"]));

/// One expression for all of them, so that a log is read once; `^` and `$` are ends of lines.
fn any_of(patterns: &[&str]) -> Option<Regex> {
    let patterns: Vec<String> = patterns.iter().map(|p| format!("(?:{p})")).collect();
    Regex::new(&format!("(?m){}", patterns.join("|"))).ok()
}

/// The parts of a log that are read: all of it, or its two ends.
fn ends(log: &str) -> [&str; 2] {
    if log.len() <= 2 * READ_AT_EITHER_END {
        return [log, ""];
    }
    let end = log.floor_char_boundary(READ_AT_EITHER_END);
    let head = &log[..log[..end].rfind('\n').unwrap_or(end)];
    let rest = &log[log.ceil_char_boundary(log.len() - READ_AT_EITHER_END)..];
    [head, rest.split_once('\n').map_or(rest, |(_, tail)| tail)]
}

/// The line of `text` in which the byte `at` lies.
fn line_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[start..].lines().next().unwrap_or_default()
}

/// The compiler's first error in a build's log, on one line.
pub fn first_error(log: &str) -> Option<String> {
    let plain = ends(log).map(|part| match &*COLOURS {
        Some(colours) => colours.replace_all(part, ""),
        None => part.into(),
    });
    let find = |pattern: &Option<Regex>| {
        let pattern = pattern.as_ref()?;
        plain
            .iter()
            .find_map(|part| Some((part, pattern.find(part)?.start())))
    };
    let (part, at) = find(&STRONG).or_else(|| find(&WEAK))?;
    let mut text = line_at(part, at).trim().to_owned();
    if text.starts_with("CMake Error") {
        // CMake says where on the first line, and what on the next that is not empty.
        let mut what = part[at..].lines().skip(1).map(str::trim);
        if let Some(what) = what.find(|line| !line.is_empty()) {
            text = format!("{text} {what}");
        }
    }
    Some(text.chars().take(QUOTE).collect())
}

/// The failure of a build that is the machine's rather than the code's, if the log shows one.
pub(super) fn machine_failure(log: &str) -> Option<Failure> {
    let parts = ends(log);
    let says = |text| parts.iter().any(|part| part.contains(text));
    if says("No space left on device") || says("Disk quota exceeded") {
        return Some(Failure::DiskFull);
    }
    let pattern = MISSING_TOOL.as_ref()?;
    let (part, found) = parts
        .iter()
        .find_map(|part| Some((part, pattern.captures(part)?)))?;
    let line = line_at(part, found.get(0)?.start()).trim();
    let line: String = line.chars().take(QUOTE).collect();
    let tool = ["shell", "make", "exec", "cmake", "host"]
        .iter()
        .find_map(|name| found.name(name));
    Some(Failure::NotStarted {
        reason: match tool {
            Some(tool) => format!(
                "the build needs {}, which is not installed: {line}",
                tool.as_str()
            ),
            None => format!("the build needs a tool that is not installed: {line}"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_of_each_kind_is_found() {
        let cases = [
            (
                "nvcc -c a.cu\na.cu(12): warning #177-D: variable unused\n\na.cu(14): error: identifier \"foo\" is undefined\n\n1 error detected in the compilation of \"a.cu\".\nmake: *** [Makefile:3: a.o] Error 2",
                "a.cu(14): error: identifier \"foo\" is undefined",
            ),
            ("src/k.cu(7): error #20: no", "src/k.cu(7): error #20: no"),
            (
                "\x1b[01m\x1b[Kx.cpp:3:5:\x1b[m\x1b[K \x1b[01;31m\x1b[Kerror: \x1b[m\x1b[Kexpected ';'\nmake: *** [x.o] Error 1",
                "x.cpp:3:5: error: expected ';'",
            ),
            (
                "x.cpp:1:10: fatal error: nope.h: No such file or directory",
                "x.cpp:1:10: fatal error: nope.h: No such file or directory",
            ),
            (
                "ptxas error   : Entry function '_Z1kv' uses too much shared data (0x20000 bytes, 0xc000 max)\n",
                "ptxas error   : Entry function '_Z1kv' uses too much shared data (0x20000 bytes, 0xc000 max)",
            ),
            (
                "ptxas /tmp/x.ptx, line 9; error   : Unknown symbol 'f'\nptxas fatal   : Ptx assembly aborted due to errors",
                "ptxas /tmp/x.ptx, line 9; error   : Unknown symbol 'f'",
            ),
            (
                "nvcc fatal   : Unsupported gpu architecture 'compute_35'",
                "nvcc fatal   : Unsupported gpu architecture 'compute_35'",
            ),
            (
                "/usr/bin/ld: a.o: in function `main':\na.cpp:(.text+0x5): undefined reference to `f()'\ncollect2: error: ld returned 1 exit status",
                "a.cpp:(.text+0x5): undefined reference to `f()'",
            ),
            (
                "-- Configuring\nCMake Error at CMakeLists.txt:3 (find_package):\n\n  By not providing \"FindX.cmake\"",
                "CMake Error at CMakeLists.txt:3 (find_package): By not providing \"FindX.cmake\"",
            ),
            (
                "make: *** No rule to make target 'engine'.  Stop.",
                "make: *** No rule to make target 'engine'.  Stop.",
            ),
            (
                "/bin/sh: 1: frobnicate: not found",
                "/bin/sh: 1: frobnicate: not found",
            ),
        ];
        for (log, wanted) in cases {
            assert_eq!(first_error(log).as_deref(), Some(wanted));
        }
        assert_eq!(
            first_error("a.cu(1): warning #2: error-prone\nall is well\n"),
            None
        );
        assert_eq!(first_error(""), None);
    }

    #[test]
    fn the_machines_failures_are_told_from_the_codes() {
        assert_eq!(
            machine_failure("cc1plus: fatal error: write: No space left on device"),
            Some(Failure::DiskFull)
        );
        for log in [
            "/bin/sh: 1: nvcc: not found\nmake: *** [a] Error 127",
            "make: nvcc: No such file or directory",
            "sh: line 1: g++: command not found",
            "g++: fatal error: cannot execute 'ld'",
        ] {
            let failure = machine_failure(log);
            assert!(matches!(failure, Some(Failure::NotStarted { .. })), "{log}");
        }
        for log in [
            "/bin/sh: 1: ./generate.py: not found",
            "a.cu(14): error: nvcc is no type",
            "",
        ] {
            assert_eq!(machine_failure(log), None, "{log}");
        }
    }

    #[test]
    fn a_huge_log_is_read_at_its_ends_only() {
        let noise = "y\n".repeat(20 << 20);
        let log = format!("a.c:1:2: error: first\n{noise}b.c:3:4: error: last\n");
        assert_eq!(first_error(&log).as_deref(), Some("a.c:1:2: error: first"));
        let log = format!("{noise}b.c:3:4: error: last\n");
        assert_eq!(first_error(&log).as_deref(), Some("b.c:3:4: error: last"));
        let log = format!("{noise}cc: write: No space left on device");
        assert_eq!(machine_failure(&log), Some(Failure::DiskFull));
        // One line without an end, of characters that are wider than a byte.
        let line = "ü".repeat(10 << 20);
        assert_eq!(first_error(&line), None);
    }
}
