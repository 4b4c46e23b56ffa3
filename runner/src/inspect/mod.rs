//! Inspects built files and compares the sides: [`sass`] made usable from asynchronous code, and
//! occupancy of the kernels that differ. It must not judge, print, or start anything but nvdisasm.

mod launch;

pub use launch::{LaunchFacts, kernel_occupancy};

use sass::{InspectInput, Options, Report};

use crate::config::KernelFacts;
use crate::model::{CodeEvidence, KernelOccupancy, PerSide};

/// Why an inspection gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// A file could not be inspected.
    #[error("could not inspect the files")]
    Files(#[source] sass::Error),
    /// The inspection ended by a panic, which is a fault of this program.
    #[error(
        "the inspection ended unexpectedly; please report this with the files that were inspected"
    )]
    Panicked(#[source] tokio::task::JoinError),
    /// A `[[kernel]]` entry's pattern is no regular expression.
    #[error("the name `{pattern}` of a [[kernel]] entry is not a regular expression")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: Box<regex::Error>,
    },
}

/// Inspects files on threads of their own, so that the caller's runtime is not blocked.
pub async fn inspect(inputs: Vec<InspectInput>, options: Options) -> Result<Report, InspectError> {
    tokio::task::spawn_blocking(move || sass::inspect_files(&inputs, &options))
        .await
        .map_err(InspectError::Panicked)?
        .map_err(InspectError::Files)
}

/// Compares the sides' reports, and computes the occupancy of the kernels that differ.
pub fn compare(
    reports: PerSide<Report>,
    facts: &[KernelFacts],
    runtime_files_changed: Vec<String>,
) -> Result<CodeEvidence, InspectError> {
    let facts = LaunchFacts::new(facts)?;
    let delta = sass::diff(&reports.base, &reports.head);
    Ok(CodeEvidence {
        occupancy: occupancies(&delta, &facts),
        reports,
        delta,
        runtime_files_changed,
    })
}

/// Occupancy of the kernels of a delta: added, removed, then changed ones, each in the delta's
/// order. Renamed kernels have the same code and launch attributes and are left out.
pub fn occupancies(delta: &sass::Delta, facts: &LaunchFacts) -> Vec<KernelOccupancy> {
    let of = |kernel| kernel_occupancy(kernel, facts);
    let entry = |kernel: &sass::Kernel, base, head| KernelOccupancy {
        kernel: kernel.name.clone(),
        arch: kernel.arch.clone(),
        base,
        head,
    };
    let added = delta.added.iter().map(|k| entry(k, None, of(k)));
    let removed = delta.removed.iter().map(|k| entry(k, of(k), None));
    let changed = delta
        .changed
        .iter()
        .map(|(old, new)| entry(new, of(old), of(new)));
    added.chain(removed).chain(changed).collect()
}

/// What differs, for people: names of kernels and files.
pub fn differences(delta: &sass::Delta) -> Vec<String> {
    let said = |what: &str, kernel: &sass::Kernel| format!("{} {what}", kernel.name);
    let added = delta.added.iter().map(|kernel| said("is new", kernel));
    let removed = delta
        .removed
        .iter()
        .map(|kernel| said("is missing", kernel));
    let renamed = delta
        .renamed
        .iter()
        .map(|(old, new)| format!("{} is called {}", old.name, new.name));
    let changed = delta
        .changed
        .iter()
        .map(|(_, kernel)| said("differs", kernel));
    let host = delta
        .host_changed
        .iter()
        .map(|file| format!("{file} differs outside its kernels"));
    added
        .chain(removed)
        .chain(renamed)
        .chain(changed)
        .chain(host)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sass::{Kernel, Ledger};

    fn kernel(name: &str, hash: &str, ledger: Ledger) -> Kernel {
        Kernel {
            symbol: name.to_owned(),
            name: name.to_owned(),
            arch: "sm_121".to_owned(),
            container: "engine#0".to_owned(),
            ledger,
            census: None,
            code_hash: hash.to_owned(),
        }
    }

    fn report(kernels: Vec<Kernel>) -> Report {
        Report {
            files: Vec::new(),
            kernels,
        }
    }

    #[test]
    fn compares_sides_with_launch_facts() {
        let registers = |registers| Ledger {
            registers,
            max_threads: Some(128),
            ..Ledger::default()
        };
        let reports = PerSide {
            base: report(vec![
                kernel("mmq_wide(float*)", "1", registers(64)),
                kernel("gone", "2", registers(32)),
            ]),
            head: report(vec![
                kernel("mmq_wide(float*)", "3", registers(128)),
                kernel("new", "4", Ledger::default()),
            ]),
        };
        let facts = [KernelFacts {
            name: "^mmq_".to_owned(),
            threads: Some(256),
            dynamic_smem: 1024,
        }];
        let evidence = compare(reports, &facts, vec!["prompt.txt".to_owned()]).expect("compared");
        let names: Vec<&str> = evidence
            .occupancy
            .iter()
            .map(|o| o.kernel.as_str())
            .collect();
        assert_eq!(names, ["new", "gone", "mmq_wide(float*)"]);
        let [new, gone, wide] = &evidence.occupancy[..] else {
            panic!("three kernels differ");
        };
        assert_eq!(
            (&new.base, &new.head),
            (&None, &None),
            "its launch is not known"
        );
        assert!(
            gone.base
                .as_ref()
                .is_some_and(|o| o.from_launch_bound && o.launch.threads == 128)
        );
        let blocks = |side: &Option<crate::model::LaunchOccupancy>| {
            side.as_ref().map(|o| {
                (
                    o.occupancy.blocks_per_sm,
                    o.launch.threads,
                    o.from_launch_bound,
                )
            })
        };
        assert_eq!(blocks(&wide.base), Some((4, 256, false)));
        assert_eq!(blocks(&wide.head), Some((2, 256, false)));
        assert_eq!(evidence.runtime_files_changed, ["prompt.txt"]);
    }

    #[test]
    fn names_a_bad_pattern() {
        let facts = [KernelFacts {
            name: "mmq(".to_owned(),
            threads: None,
            dynamic_smem: 0,
        }];
        let error = compare(PerSide::default(), &facts, Vec::new()).expect_err("a bad pattern");
        assert!(error.to_string().contains("mmq("), "{error}");
    }

    #[tokio::test]
    async fn reports_missing_files() {
        let input = InspectInput {
            path: "/nonexistent/engine".into(),
            name: "engine".to_owned(),
        };
        let error = inspect(vec![input], Options::default())
            .await
            .expect_err("no such file");
        let source = std::error::Error::source(&error)
            .expect("a reason")
            .to_string();
        assert!(source.contains("/nonexistent/engine"), "{source}");
    }
}
