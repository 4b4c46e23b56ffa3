//! Which processes are the run's own: its children and what they started, by parents and by the
//! mark that every child of a run carries. All other processes are foreign.

use std::collections::HashMap;
use std::path::Path;

use crate::process::RUN_VARIABLE;

/// The deepest that a launch's processes are expected to be nested.
const DEEPEST: usize = 64;

/// Tells own processes from foreign ones.
#[derive(Debug)]
pub(super) struct Own {
    mark: Vec<u8>,
    root: u32,
    /// What was found before; cleared now and then, because numbers are used again.
    known: HashMap<u32, Standing>,
}

/// What a process is to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Own,
    Foreign,
    /// No such process here: it has ended, or is in another container.
    Unseen,
}

impl Own {
    /// This process, its descendants, and all that carry the run's mark.
    pub(super) fn of_run(run: &str) -> Own {
        Own {
            mark: format!("{RUN_VARIABLE}={run}").into_bytes(),
            root: std::process::id(),
            known: HashMap::new(),
        }
    }

    /// Forgets what was found.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// What a process is to the run.
    pub(super) fn standing(&mut self, pid: u32) -> Standing {
        if let Some(known) = self.known.get(&pid) {
            return *known;
        }
        let found = self.look(pid);
        // One that is not there may only just be starting.
        if found != Standing::Unseen {
            self.known.insert(pid, found);
        }
        found
    }

    fn look(&self, pid: u32) -> Standing {
        let mut next = pid;
        for _ in 0..DEEPEST {
            if next == self.root {
                return Standing::Own;
            }
            match stat_of(Path::new("/proc"), next) {
                Some(stat) if stat.parent > 1 => next = stat.parent,
                Some(_) => break,
                None if next == pid => return Standing::Unseen,
                None => break,
            }
        }
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        match environ.split(|byte| *byte == 0).any(|e| e == self.mark) {
            true => Standing::Own,
            false => Standing::Foreign,
        }
    }
}

/// What is read of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    /// The process that started it.
    pub(super) parent: u32,
    /// Processor time of itself and of those of its children that have ended, clock ticks.
    pub(super) ticks: u64,
}

/// Reads a process; `None` where it is not there.
pub(super) fn stat_of(proc: &Path, pid: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?;
    parse(&text)
}

fn parse(text: &str) -> Option<Stat> {
    // The name is in parentheses and may hold anything, parentheses too.
    let rest = text.rsplit_once(')')?.1;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    // utime, stime, cutime, cstime: fields 14 to 17 of proc_pid_stat(5), the state being the 3rd.
    let ticks = fields.get(11..15)?;
    let ticks = ticks.iter().map(|t| t.parse::<u64>().unwrap_or(0)).sum();
    Some(Stat { parent, ticks })
}

/// Processor time of a process and all that descend from it, clock ticks. Grows only, unless a
/// descendant left its parents.
pub(super) fn family_ticks(proc: &Path, root: u32) -> Option<u64> {
    let all: HashMap<u32, Stat> = std::fs::read_dir(proc)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, stat_of(proc, pid)?)))
        .collect();
    all.get(&root)?;
    let descends = |pid: u32| {
        let mut next = pid;
        for _ in 0..DEEPEST {
            if next == root {
                return true;
            }
            match all.get(&next) {
                Some(stat) => next = stat.parent,
                None => return false,
            }
        }
        false
    };
    let family = all.iter().filter(|(pid, _)| descends(**pid));
    Some(family.map(|(_, stat)| stat.ticks).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_name_may_hold_anything() {
        let text = "42 (a) b (c)) S 7 42 42 0 -1 0 0 0 0 0 10 20 3 4 20 0 1 0 5 6";
        let expected = Stat {
            parent: 7,
            ticks: 37,
        };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("42 (a S 7"), None);
        assert_eq!(parse("42 (a) S 7 1"), None);
    }

    #[test]
    fn children_are_own_and_the_first_process_is_not() {
        let mut child = Command::new("sleep")
            .arg("60")
            .stdin(Stdio::null())
            .spawn()
            .expect("sleep starts");
        let mut own = Own::of_run("no-such-run");
        assert_eq!(own.standing(child.id()), Standing::Own);
        assert_eq!(own.standing(std::process::id()), Standing::Own);
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        own.forget();
        assert_eq!(own.standing(child.id()), Standing::Unseen);
        if std::process::id() != 1 {
            assert_eq!(own.standing(1), Standing::Foreign);
        }
    }

    #[test]
    fn a_family_is_counted_and_others_are_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let process = |pid: u32, parent: u32, ticks: u64| {
            let place = folder.path().join(pid.to_string());
            std::fs::create_dir(&place).expect("a folder");
            let text = format!("{pid} (x) S {parent} 0 0 0 -1 0 0 0 0 0 {ticks} 0 0 0 20");
            std::fs::write(place.join("stat"), text).expect("a file");
        };
        process(1, 0, 1000);
        process(10, 1, 1);
        process(11, 10, 2);
        process(12, 11, 4);
        process(13, 1, 100);
        std::fs::create_dir(folder.path().join("self")).expect("a folder");
        assert_eq!(family_ticks(folder.path(), 10), Some(7));
        assert_eq!(family_ticks(folder.path(), 99), None);
    }
}
