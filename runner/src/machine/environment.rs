//! The record of the machine that a run happened on.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::gpu::{self, Gpu};

/// A machine as it presents itself. Readings that are not there are absent, never zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Host name; in a container, often a new one each time.
    pub hostname: String,
    /// Hash of `/etc/machine-id` (the id itself is nobody's business), or of the host name.
    pub machine_id: String,
    /// The distribution.
    pub os: Option<String>,
    /// The kernel's release.
    pub kernel: String,
    /// Processor architecture.
    pub arch: String,
    /// Processor model, with counts where there are several kinds of cores.
    pub cpu: String,
    /// Logical processors.
    pub cpus: u32,
    /// Frequency governors in use.
    pub governor: Option<String>,
    /// Highest frequency of the fastest processor, kHz.
    pub cpu_max_khz: Option<u64>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// The kind of container, where there is a sign of one.
    pub container: Option<String>,
    /// NVIDIA's kernel driver.
    pub driver: Option<String>,
    /// The CUDA devices.
    pub gpus: Vec<Gpu>,
    /// Why there are none.
    pub no_gpu: Option<String>,
    /// SHA-256, hex, over what changes only when the machine does: processor, memory to the
    /// GiB, devices with VBIOS and ECC mode, driver, kernel and machine id.
    pub fingerprint: String,
}

impl Environment {
    /// Reads the machine.
    pub fn read() -> Environment {
        let names = rustix::system::uname();
        let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
        let hostname = text(names.nodename());
        let (gpus, no_gpu) = match gpu::probe() {
            Ok(gpus) => (gpus, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        let mut environment = Environment {
            machine_id: machine_id(&hostname),
            os: read("/etc/os-release").and_then(|text| quoted(&text, "PRETTY_NAME")),
            kernel: text(names.release()),
            arch: std::env::consts::ARCH.to_owned(),
            cpu: cpu_model(&read("/proc/cpuinfo").unwrap_or_default()),
            cpus: std::thread::available_parallelism()
                .ok()
                .and_then(|n| u32::try_from(n.get()).ok())
                .unwrap_or(1),
            governor: governors(),
            cpu_max_khz: max_khz(),
            memory_bytes: read("/proc/meminfo").and_then(|text| mem_total(&text)),
            container: container(),
            driver: read("/proc/driver/nvidia/version").and_then(|text| driver_version(&text)),
            gpus,
            no_gpu,
            fingerprint: String::new(),
            hostname,
        };
        // A container may hide the kernel's word.
        environment.driver = environment.driver.take().or_else(|| {
            let cards = environment.gpus.iter().filter_map(|gpu| gpu.card.as_ref());
            cards.filter_map(|card| card.driver.clone()).next()
        });
        environment.fingerprint = environment.take_fingerprint();
        environment
    }

    fn take_fingerprint(&self) -> String {
        let gpus: Vec<_> = self
            .gpus
            .iter()
            .map(|gpu| (&gpu.uuid, &gpu.name, &gpu.driver_version))
            .collect();
        // Not the link's present generation, which falls when nothing runs; nor the power limit,
        // which is a setting: it is shown where records differ.
        let cards: Vec<_> = self
            .gpus
            .iter()
            .filter_map(|gpu| gpu.card.as_ref())
            .map(|card| (&card.vbios, card.ecc))
            .collect();
        let stable = (
            &self.machine_id,
            &self.arch,
            &self.cpu,
            self.cpus,
            self.memory_bytes.map(|bytes| bytes >> 30),
            &self.kernel,
            &self.driver,
            gpus,
        );
        // Without a card nothing is added, so that other machines stay the ones they were.
        let stable = match cards.is_empty() {
            true => serde_json::to_string(&stable),
            false => serde_json::to_string(&(&stable, &cards)),
        };
        // Plain text and numbers: this cannot fail.
        let text = stable.unwrap_or_default();
        hex::encode(Sha256::digest(text.as_bytes()))
    }

    /// What differs from another record, a line each, for people.
    pub fn differences(&self, now: &Environment) -> Vec<String> {
        let facts = |e: &Environment| -> BTreeMap<&'static str, String> {
            let option = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
            let number = |value: Option<u64>| value.map_or("unknown".to_owned(), |v| v.to_string());
            let gpus = e.gpus.iter();
            let gpus: Vec<_> = gpus
                .map(|gpu| format!("{} {}", gpu.name, gpu.uuid))
                .collect();
            let cards: Vec<String> = e
                .gpus
                .iter()
                .filter_map(|gpu| Some(gpu.card.as_ref()?.words()))
                .collect();
            let cuda = e.gpus.first().map(|gpu| gpu.driver_version.clone());
            BTreeMap::from([
                ("machine", e.machine_id.clone()),
                ("os", option(&e.os)),
                ("kernel", e.kernel.clone()),
                ("architecture", e.arch.clone()),
                ("processor", format!("{} x {}", e.cpus, e.cpu)),
                ("governor", option(&e.governor)),
                ("highest frequency, kHz", number(e.cpu_max_khz)),
                (
                    "memory, GiB",
                    number(e.memory_bytes.map(|bytes| bytes >> 30)),
                ),
                ("container", option(&e.container)),
                ("driver", option(&e.driver)),
                ("CUDA of the driver", option(&cuda)),
                ("cards", cards.join("; ")),
                (
                    "devices",
                    if gpus.is_empty() {
                        "none".to_owned()
                    } else {
                        gpus.join(", ")
                    },
                ),
            ])
        };
        let after = facts(now);
        facts(self)
            .into_iter()
            .filter(|(name, value)| after.get(name) != Some(value))
            .map(|(name, value)| {
                let now = after.get(name).map_or("unknown", String::as_str);
                format!("{name}: {value} -> {now}")
            })
            .collect()
    }
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn machine_id(hostname: &str) -> String {
    let id = read("/etc/machine-id").filter(|id| !id.trim().is_empty());
    let id = id.unwrap_or_else(|| hostname.to_owned());
    hex::encode(&Sha256::digest(format!("roundhouse {}", id.trim()).as_bytes())[..8])
}

fn quoted(text: &str, key: &str) -> Option<String> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    Some(value.trim_matches('"').to_owned())
}

/// x86 names its processor; ARM gives numbers, per core and possibly of several kinds.
fn cpu_model(cpuinfo: &str) -> String {
    let field = |line: &str, key: &str| -> Option<String> {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    };
    if let Some(model) = cpuinfo.lines().find_map(|line| field(line, "model name")) {
        return model;
    }
    let mut implementer = String::new();
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for line in cpuinfo.lines() {
        if let Some(value) = field(line, "CPU implementer") {
            implementer = value;
        } else if let Some(part) = field(line, "CPU part") {
            *kinds
                .entry(format!("implementer {implementer} part {part}"))
                .or_default() += 1;
        }
    }
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, n)| format!("{n} x {kind}"))
        .collect();
    if kinds.is_empty() {
        "unknown".to_owned()
    } else {
        kinds.join(" + ")
    }
}

fn mem_total(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn driver_version(text: &str) -> Option<String> {
    // NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build …
    let line = text.lines().find(|line| line.starts_with("NVRM version"))?;
    let version =
        |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    line.split_whitespace().find(version).map(str::to_owned)
}

/// Readings of every processor from its `cpufreq` folder.
fn cpufreq(name: &str) -> Vec<String> {
    let policies = std::fs::read_dir("/sys/devices/system/cpu/cpufreq");
    policies
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|policy| Some(read(policy.path().join(name))?.trim().to_owned()))
        .collect()
}

fn governors() -> Option<String> {
    let mut all = cpufreq("scaling_governor");
    all.sort();
    all.dedup();
    (!all.is_empty()).then(|| all.join(", "))
}

fn max_khz() -> Option<u64> {
    cpufreq("cpuinfo_max_freq")
        .iter()
        .filter_map(|khz| khz.parse().ok())
        .max()
}

fn container() -> Option<String> {
    if Path::new("/.dockerenv").exists() {
        return Some("docker".to_owned());
    }
    if Path::new("/run/.containerenv").exists() {
        return Some("podman".to_owned());
    }
    let groups = read("/proc/1/cgroup").unwrap_or_default();
    ["kubepods", "docker", "lxc", "containerd"]
        .into_iter()
        .find(|kind| groups.contains(kind))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Card;

    #[test]
    fn this_machine_is_read_quickly_and_the_same_twice() {
        let clock = std::time::Instant::now();
        let one = Environment::read();
        assert!(clock.elapsed() < std::time::Duration::from_secs(2));
        let two = Environment::read();
        assert_eq!(one.fingerprint, two.fingerprint);
        assert!(one.memory_bytes.is_some_and(|bytes| bytes > 1 << 28));
        assert_ne!(one.cpu, "");
        assert!(one.differences(&two).is_empty());
        let mut other = two;
        other.kernel = "9.9.9".into();
        assert_eq!(one.differences(&other).len(), 1);
        assert_ne!(other.take_fingerprint(), one.fingerprint);
        other.kernel.clone_from(&one.kernel);
        other.hostname = "another-container".into();
        assert_eq!(other.take_fingerprint(), one.fingerprint);
    }

    /// Base is held against its history on the same machine: what falls and rises by itself must
    /// not make another one of it.
    #[test]
    fn a_card_is_known_by_its_firmware_and_not_by_its_link_or_limit() {
        let with = |card: Option<Card>| {
            let mut machine = Environment::read();
            machine.gpus = vec![Gpu {
                index: 0,
                name: "G".into(),
                uuid: "GPU-1".into(),
                cc: (12, 1),
                driver_version: "13.0".into(),
                sm_count: 48,
                memory_bytes: 1,
                card,
            }];
            machine
        };
        let card = Card {
            vbios: Some("96.00".into()),
            power_limit_mw: Some(700_000),
            ecc: Some(true),
            ..Card::default()
        };
        let known = with(Some(card.clone()));
        let mut idle = card.clone();
        idle.pcie.generation = Some(1);
        idle.power_limit_mw = Some(500_000);
        let idle = with(Some(idle));
        assert_eq!(idle.take_fingerprint(), known.take_fingerprint());
        assert_eq!(
            known.differences(&idle),
            ["cards: VBIOS 96.00, 700 W, ECC on -> VBIOS 96.00, 500 W, ECC on"]
        );
        let flashed = with(Some(Card {
            vbios: Some("96.01".into()),
            ..card
        }));
        assert_ne!(flashed.take_fingerprint(), known.take_fingerprint());
        assert_ne!(with(None).take_fingerprint(), known.take_fingerprint());
    }

    #[test]
    fn processors_of_both_kinds_are_named() {
        assert_eq!(cpu_model("processor : 0\nmodel name\t: Xeon\n"), "Xeon");
        let gb10 = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd85\n\n\
                    processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd87\n\n\
                    processor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd87\n";
        assert_eq!(
            cpu_model(gb10),
            "1 x implementer 0x41 part 0xd85 + 2 x implementer 0x41 part 0xd87"
        );
        assert_eq!(cpu_model(""), "unknown");
    }

    #[test]
    fn system_files_are_read() {
        assert_eq!(
            mem_total("MemTotal:       1024 kB\nMemFree: 1 kB"),
            Some(1 << 20)
        );
        assert_eq!(mem_total("nothing"), None);
        let open =
            "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build";
        assert_eq!(driver_version(open).as_deref(), Some("580.95.05"));
        assert_eq!(
            quoted("NAME=x\nPRETTY_NAME=\"Debian 12\"\n", "PRETTY_NAME").as_deref(),
            Some("Debian 12")
        );
    }
}
