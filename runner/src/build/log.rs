//! Reads build logs: the first error, and errors that are the machine's.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::Failure;

/// The longest line that is quoted, characters.
const QUOTE: usize = 400;

/// Errors of compilers, assemblers and linkers themselves.
static STRONG: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compile(&[
        // gcc, clang: file:line[:column]: error: …
        r"^\S.*?:\d+(:\d+)?: (fatal )?error: ",
        // nvcc's front end: file(line): error[ #123]: …
        r"^\S.*?\(\d+\): (catastrophic )?error\b.*: ",
        r"^(nvcc|ptxas|nvlink|fatbinary|cicc|cudafe\+\+)\b.*\b(error|fatal)\s*:",
        r"^(nvcc|ptxas|nvlink|fatbinary|cicc|cudafe\+\+) (error|fatal)\b",
        r"^CMake Error",
        r"undefined reference to ",
        r"\bld(\.\w+)?: (cannot find|error:|.*: No such file)",
        r"^(\S*/)?(gcc|g\+\+|cc|c\+\+|cc1plus|clang|clang\+\+|ar|as): (fatal )?error: ",
        r"^error(\[\w+\])?: \S",
    ])
});

/// What is left when there is none of those.
static WEAK: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compile(&[
        r"(?i)\berror\s*:",
        r"command not found$|: not found$|: No such file or directory|No rule to make target",
        r"^\S*make(\[\d+\])?: \*\*\* ",
        r"^ninja: build stopped|^FAILED:",
    ])
});

/// Compilers and build tools: that one of them is missing is the machine's fault.
static MISSING_TOOL: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    const TOOLS: &str = r"(?P<tool>nvcc|ptxas|gcc|g\+\+|cc|c\+\+|make|cmake|ninja|ld|ar)";
    compile(&[
        &format!(r"\b{TOOLS}: (command )?not found$"),
        &format!(
            r"^\S*make(\[\d+\])?: {TOOLS}: (No such file or directory|Command not found|Permission denied)"
        ),
        &format!(r"cannot execute .?{TOOLS}\b"),
        &format!(
            r"CMAKE_MAKE_PROGRAM is not set|No CMAKE_(?P<tool2>CUDA|CXX|C)_COMPILER could be found|^{TOOLS}: host compiler .* not found"
        ),
    ])
});

static COLOURS: LazyLock<Vec<Regex>> = LazyLock::new(|| compile(&["\x1b\\[[0-9;]*[A-Za-z]"]));

fn compile(patterns: &[&str]) -> Vec<Regex> {
    patterns
        .iter()
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
}

/// The compiler's first error in a build's log, on one line.
pub fn first_error(log: &str) -> Option<String> {
    let plain = COLOURS.iter().fold(log.to_owned(), |log, colour| {
        colour.replace_all(&log, "").into_owned()
    });
    let lines: Vec<&str> = plain.lines().map(str::trim_end).collect();
    let find = |patterns: &[Regex]| {
        lines
            .iter()
            .position(|line| patterns.iter().any(|pattern| pattern.is_match(line)))
    };
    let at = find(&STRONG).or_else(|| find(&WEAK))?;
    let mut text = lines[at].trim().to_owned();
    if text.starts_with("CMake Error") {
        // CMake says where on the first line, and what on the next that is not empty.
        let what = lines[at + 1..].iter().map(|line| line.trim());
        if let Some(what) = what.clone().find(|line| !line.is_empty()) {
            text = format!("{text} {what}");
        }
    }
    Some(text.chars().take(QUOTE).collect())
}

/// The failure of a build that is the machine's rather than the code's, if the log shows one.
pub(super) fn machine_failure(log: &str) -> Option<Failure> {
    if log.contains("No space left on device") || log.contains("Disk quota exceeded") {
        return Some(Failure::DiskFull);
    }
    log.lines().find_map(|line| {
        let line = line.trim_end();
        let pattern = MISSING_TOOL.iter().find(|pattern| pattern.is_match(line))?;
        let found = pattern.captures(line)?;
        let tool = found.name("tool").or_else(|| found.name("tool2"));
        Some(Failure::NotStarted {
            reason: match tool {
                Some(tool) => format!(
                    "the build needs {}, which is not installed: {line}",
                    tool.as_str()
                ),
                None => format!("the build needs a tool that is not installed: {line}"),
            },
        })
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
}
