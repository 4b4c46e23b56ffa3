//! How a kernel is launched, as far as config and binary tell, and its occupancy then.

use regex::Regex;
use sass::{ComputeCapability, Kernel, Launch};

use super::InspectError;
use crate::config::KernelFacts;
use crate::model::LaunchOccupancy;

/// `[[kernel]]` entries with their patterns compiled.
#[derive(Debug, Default)]
pub struct LaunchFacts(Vec<(Regex, KernelFacts)>);

impl LaunchFacts {
    /// Compiles the entries' patterns.
    pub fn new(facts: &[KernelFacts]) -> Result<LaunchFacts, InspectError> {
        facts
            .iter()
            .map(|entry| match Regex::new(&entry.name) {
                Ok(pattern) => Ok((pattern, entry.clone())),
                Err(source) => Err(InspectError::Pattern {
                    pattern: entry.name.clone(),
                    source: Box::new(source),
                }),
            })
            .collect::<Result<_, _>>()
            .map(LaunchFacts)
    }

    /// The first entry whose pattern matches the demangled name.
    fn of(&self, kernel: &Kernel) -> Option<&KernelFacts> {
        self.0
            .iter()
            .find(|(pattern, _)| pattern.is_match(&kernel.name))
            .map(|(_, facts)| facts)
    }
}

/// The occupancy of a kernel on its own architecture. Threads come from the config, else from the
/// binary: the required block shape, else the launch bound. `None` when none of them tells, or
/// the calculator does not know the architecture.
pub fn kernel_occupancy(kernel: &Kernel, facts: &LaunchFacts) -> Option<LaunchOccupancy> {
    let cc: ComputeCapability = kernel.arch.parse().ok()?;
    let facts = facts.of(kernel);
    let configured = facts.and_then(|f| f.threads);
    let required = kernel
        .ledger
        .required_threads
        .map(|shape| shape.into_iter().fold(1u32, u32::saturating_mul));
    let launch = Launch {
        threads: configured.or(required).or(kernel.ledger.max_threads)?,
        dynamic_smem: facts.map_or(0, |f| f.dynamic_smem),
    };
    Some(LaunchOccupancy {
        launch,
        from_launch_bound: configured.is_none(),
        occupancy: sass::occupancy(cc, &kernel.ledger, launch)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sass::Ledger;

    fn kernel(arch: &str, ledger: Ledger) -> Kernel {
        Kernel {
            symbol: "k".to_owned(),
            name: "k(int)".to_owned(),
            arch: arch.to_owned(),
            container: String::new(),
            ledger,
            census: None,
            code_hash: String::new(),
        }
    }

    #[test]
    fn prefers_config_then_shape_then_bound() {
        let ledger = Ledger {
            required_threads: Some([32, 4, 2]),
            max_threads: Some(64),
            ..Ledger::default()
        };
        let bound = Ledger {
            required_threads: None,
            ..ledger.clone()
        };
        let facts = |threads| {
            LaunchFacts::new(&[KernelFacts {
                name: "k".to_owned(),
                threads,
                dynamic_smem: 512,
            }])
            .expect("a pattern")
        };
        let threads = |ledger: &Ledger, facts: &LaunchFacts| {
            kernel_occupancy(&kernel("sm_90a", ledger.clone()), facts)
                .map(|o| (o.launch.threads, o.launch.dynamic_smem, o.from_launch_bound))
        };
        assert_eq!(threads(&ledger, &facts(Some(96))), Some((96, 512, false)));
        assert_eq!(threads(&ledger, &facts(None)), Some((256, 512, true)));
        assert_eq!(
            threads(&bound, &LaunchFacts::default()),
            Some((64, 0, true))
        );
        assert_eq!(threads(&Ledger::default(), &facts(None)), None);
    }

    #[test]
    fn is_silent_about_unknown_architectures() {
        let ledger = Ledger {
            max_threads: Some(64),
            ..Ledger::default()
        };
        assert_eq!(
            kernel_occupancy(&kernel("sm_75", ledger), &LaunchFacts::default()),
            None
        );
    }
}
