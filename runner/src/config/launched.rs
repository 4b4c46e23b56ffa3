//! The commands that a run of a config launches, wherever they stand in it.

use super::{CommandLine, Config, Probe};

impl Config {
    /// The commands that gates and benches run, and the harness's, each with what it is of:
    /// `bench prefill`. Probes that ask the harness have none of their own.
    pub fn commands(&self) -> Vec<(String, &CommandLine)> {
        let parity = self.parity.iter();
        let parity = parity.map(|parity| (format!("parity {}", parity.name), &parity.probe));
        let identity = self.identity.iter();
        let identity = identity.map(|identity| ("identity".to_owned(), &identity.probe));
        let benches = self.benches.iter();
        let benches = benches.map(|bench| (format!("bench {}", bench.name), &bench.probe));
        let probes = parity.chain(identity).chain(benches);
        let commands = probes.filter_map(|(user, probe)| match probe {
            Probe::Command(command) => Some((user, command)),
            Probe::Harness(_) => None,
        });
        let harness = self.harness.iter();
        let harness = harness.map(|harness| ("the harness".to_owned(), &harness.command));
        commands.chain(harness).collect()
    }
}
