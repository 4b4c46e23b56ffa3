//! The marker of a lock that must be taken away: a file beside the device locks, held locked for
//! as long as its guardian lives. An empty file means that nothing is left to do.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::machine::lock;
use crate::model::UnixMillis;

/// The longest text about what a lock was for, characters.
const LONGEST_WHAT: usize = 100;

/// What a marker says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The card.
    pub uuid: String,
    /// What it was locked at, MHz.
    pub mhz: u32,
    /// The start of the machine in which that was: a restart takes every lock away.
    pub boot_id: String,
    /// The guardian.
    pub guardian: u32,
    /// What for, for people.
    pub what: String,
    /// Since when.
    pub since: UnixMillis,
}

/// A marker file that this process holds.
#[derive(Debug)]
pub struct Marker(File);

/// What is behind a marker's file.
#[derive(Debug)]
pub enum Found {
    /// No lock is left.
    Nothing,
    /// A guardian is at work.
    Held,
    /// A lock that nobody guards.
    LeftBehind(Marker, Mark),
}

/// Where the marker of a card is.
pub fn path(locks: &Path, uuid: &str) -> PathBuf {
    locks.join(format!(
        "{}.clocks",
        crate::machine::device::file_name(uuid)
    ))
}

impl Marker {
    /// Takes a marker's file, making it where there is none; `None` where somebody holds it.
    pub fn take(path: &Path) -> std::io::Result<Option<Marker>> {
        let file = lock::open(path, true)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Marker(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// What the file says; `None` where it is empty or cannot be understood.
    pub fn read(&mut self) -> Option<Mark> {
        const MOST: u64 = 64 * 1024;
        self.0.rewind().ok()?;
        let mut text = String::new();
        (&mut self.0).take(MOST).read_to_string(&mut text).ok()?;
        let mut mark: Mark = serde_json::from_str(&text).ok()?;
        // Any user of the machine can write there, and a terminal shows it.
        let plain = mark.what.chars().filter(|c| !c.is_control());
        mark.what = plain.take(LONGEST_WHAT).collect();
        Some(mark)
    }

    /// Writes it down. It need not outlast a failure of the machine: no lock does.
    pub fn write(&mut self, mark: &Mark) -> std::io::Result<()> {
        let text = serde_json::to_string(mark).map_err(std::io::Error::from)?;
        self.clear()?;
        self.0.write_all(text.as_bytes())
    }

    /// Says that nothing is left to do.
    pub fn clear(&mut self) -> std::io::Result<()> {
        self.0.set_len(0)?;
        self.0.rewind()
    }
}

/// Looks at a card's marker without making one.
pub fn look(path: &Path) -> std::io::Result<Found> {
    if !path.exists() {
        return Ok(Found::Nothing);
    }
    let Some(mut marker) = Marker::take(path)? else {
        return Ok(Found::Held);
    };
    Ok(match marker.read() {
        None => Found::Nothing,
        Some(mark) => Found::LeftBehind(marker, mark),
    })
}

/// The id of this start of the machine; `None` where the kernel does not say.
pub fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(what: &str) -> Mark {
        Mark {
            uuid: "GPU-1".to_owned(),
            mhz: 1500,
            boot_id: boot_id().expect("a boot id"),
            guardian: 1,
            what: what.to_owned(),
            since: UnixMillis(0),
        }
    }

    #[test]
    fn a_marker_is_held_by_one_and_says_what_is_left() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = path(folder.path(), "GPU-1/../x");
        assert_eq!(path, folder.path().join("GPU-1____x.clocks"));
        assert!(matches!(look(&path), Ok(Found::Nothing)));
        assert!(!path.exists(), "looking makes none");
        let mut marker = Marker::take(&path).expect("a file").expect("free");
        marker.write(&mark("run 1")).expect("written");
        assert!(matches!(look(&path), Ok(Found::Held)));
        drop(marker);
        let Ok(Found::LeftBehind(mut marker, found)) = look(&path) else {
            panic!("nothing was left");
        };
        assert_eq!(found, mark("run 1"));
        marker.clear().expect("cleared");
        drop(marker);
        assert!(matches!(look(&path), Ok(Found::Nothing)));
    }

    #[test]
    fn what_others_wrote_is_shown_without_control_characters() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = path(folder.path(), "GPU-1");
        let mut marker = Marker::take(&path).expect("a file").expect("free");
        let hostile = format!("\u{1b}[2J{}", "x".repeat(1000));
        marker.write(&mark(&hostile)).expect("written");
        let read = marker.read().expect("a mark").what;
        assert!(
            read.starts_with("[2Jxx") && read.len() == LONGEST_WHAT,
            "{read}"
        );
        std::fs::write(&path, "no JSON").expect("written");
        assert_eq!(marker.read(), None);
    }
}
