//! From the text of a `campaign.toml` to a [`Config`], or to everything that is wrong with it.
//!
//! Pure: no file access, no look at the machine. What a value means is decided here and in the
//! modules beside; how it is found in the document is `reader`'s part.

use toml::de::DeTable;

use super::diagnostic::{ConfigErrors, Sink, suggestion};
use super::reader::{Item, Section, Text};
use super::schema;
use super::values::{self, command, environment, globs, inside};
use super::{
    Build, Campaign, Config, Cuda, Device, DeviceKind, Environment, Harness, KernelFacts, Limits,
    Protocol, Toolchain, items,
};
use crate::claims::Claim;

/// The pinned toolchains that the runner can install.
pub const PINNED_CUDA: &[&str] = &["13.0"];

/// Pairs where `[protocol]` says nothing: the smallest number of PROTOCOL.md's table at which
/// the exact interval exists at its error level (at six pairs there is none yet).
pub const DEFAULT_PAIRS: u32 = 10;

/// The fewest pairs: a verdict never rests on single samples.
pub const LEAST_PAIRS: u32 = 3;

/// The longest time limit, seconds: a week.
const LONGEST_S: u64 = 7 * 24 * 3600;
/// The largest dynamic shared memory of a known GPU, bytes per block.
const MOST_SMEM: u64 = 227 * 1024;
const MOST_PAIRS: u64 = 1000;

/// Reads and checks a `campaign.toml`; `file_name` is what errors call it.
///
/// All errors are collected; where the text is not TOML, those of the syntax only.
pub fn parse(text: &str, file_name: &str) -> Result<Config, ConfigErrors> {
    let sink = Sink::new(file_name, text);
    let (document, syntax) = DeTable::parse_recoverable(text);
    for error in &syntax {
        let end = text.trim_end().len();
        let span = error.span().unwrap_or(end..end);
        sink.error(span, format!("not valid TOML: {}", error.message()));
    }
    if !sink.is_empty() {
        return Err(sink.into_errors());
    }
    let root = Section::new(&schema::ROOT, document.get_ref(), 0..0, &sink);
    match (config(&root), sink.is_empty()) {
        (Some(config), true) => Ok(config),
        (None, true) => {
            // A part was missing without a word about it; say at least that much.
            sink.error(0..0, "the file is incomplete");
            Err(sink.into_errors())
        }
        _ => Err(sink.into_errors()),
    }
}

/// Every section is read before any missing one ends the reading, so that all errors show.
fn config(root: &Section<'_>) -> Option<Config> {
    let campaign = required_section(root, &schema::CAMPAIGN).map(|s| (campaign(&s), claims(&s)));
    let toolchain = required_section(root, &schema::TOOLCHAIN).and_then(|s| toolchain(&s));
    let device = device(root, toolchain.as_ref());
    let build = required_section(root, &schema::BUILD).and_then(|s| build(&s));
    let kernels = kernels(root);
    let harness_section = root.section(&schema::HARNESS);
    let harness = harness_section.and_then(|s| harness(&s));
    let context = items::Context {
        root,
        harness: harness_section.is_some(),
    };
    let parity = items::parity(&context);
    let identity = items::identity(&context);
    let benches = items::benches(&context);
    let protocol = protocol(root);
    let environment = environment_section(root);
    let limits = limits(root);
    let (campaign, claims) = campaign?;
    Some(Config {
        campaign: campaign?,
        toolchain: toolchain?,
        device: device?,
        build: build?,
        kernels,
        harness,
        parity,
        identity,
        benches,
        claims,
        protocol: protocol?,
        environment,
        limits,
    })
}

fn required_section<'a>(root: &Section<'a>, schema: &'static schema::Table) -> Option<Section<'a>> {
    if root.get(schema.key()).is_none() && !root.misspelt(schema.key()) {
        root.sink.error_help(
            0..0,
            format!("the file has no {}", schema.title()),
            "`runner init --print` shows a complete file",
        );
    }
    root.section(schema)
}

fn campaign(section: &Section<'_>) -> Option<Campaign> {
    let name = section.required("name", "\"mmq\"");
    let title = section.get("title").and_then(|item| item.filled());
    let default_branch = section.get("default_branch").and_then(branch);
    let name = campaign_name(name?)?;
    Some(Campaign {
        title: title.map_or_else(|| name.clone(), Text::into_inner),
        name,
        default_branch,
    })
}

fn campaign_name(item: Item<'_>) -> Option<String> {
    let text = item.filled()?;
    let name = text.get_ref();
    let plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !plain || name.starts_with(['.', '-']) || name.len() > 64 {
        item.reject(
            format!("`{name}` will not do as a campaign's name"),
            "it is a key in the database and in addresses: at most 64 letters, digits, `-`, `_`, \
             `.`, beginning with a letter, digit or `_`",
        );
        return None;
    }
    Some(text.into_inner())
}

/// A branch name that git would take; one that begins with `-` would be read as an option.
fn branch(item: Item<'_>) -> Option<String> {
    let text = item.filled()?;
    let name = text.get_ref();
    let odd = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    if name.starts_with('-') || name.contains("..") || name.contains("@{") || name.contains(odd) {
        item.reject(
            format!("`{name}` is not the name of a branch"),
            "give it as `git branch` lists it, such as `main`",
        );
        return None;
    }
    Some(text.into_inner())
}

fn claims(section: &Section<'_>) -> Vec<String> {
    let Some(item) = section.get("claims") else {
        return Vec::new();
    };
    let mut claims = Vec::new();
    for text in item.list() {
        match text.get_ref().parse::<Claim>() {
            Ok(_) => claims.push(text.into_inner()),
            Err(error) => {
                let span = text.span();
                let literal = item.sink.text().get(span.clone()).unwrap_or_default();
                let plain = literal.get(1..literal.len().saturating_sub(1)) == Some(text.get_ref());
                let at = match plain {
                    true => {
                        let start = span.start + 1 + error.span.start;
                        start..start + error.span.len().max(1)
                    }
                    false => span,
                };
                let help = error
                    .help
                    .clone()
                    .unwrap_or_else(|| "`docs/claims.md` has the grammar with examples".to_owned());
                item.sink.error_help(
                    at,
                    format!("the claim cannot be read: {}", error.message),
                    help,
                );
            }
        }
    }
    claims
}

fn toolchain(section: &Section<'_>) -> Option<Toolchain> {
    let cuda = section.required("cuda", "\"13.0\"").and_then(cuda);
    let arch_item = section.get("arch");
    let system = cuda == Some(Cuda::System);
    let arch = arch_item
        .map(|item| archs(item, system))
        .unwrap_or_default();
    let cuda = cuda?;
    if arch_item.is_none() && cuda != Cuda::None {
        section.required("arch", "[\"sm_121\"]");
        return None;
    }
    Some(Toolchain { cuda, arch })
}

fn cuda(item: Item<'_>) -> Option<Cuda> {
    let text = item.text()?;
    match text.get_ref().as_str() {
        "system" => Some(Cuda::System),
        "none" => Some(Cuda::None),
        version if PINNED_CUDA.contains(&version) => Some(Cuda::Pinned(version.to_owned())),
        other => {
            let known = PINNED_CUDA.iter().copied().chain(["system", "none"]);
            item.reject(
                format!("`{other}` is not a toolchain that the runner knows"),
                suggestion(other, known),
            );
            None
        }
    }
}

fn archs(item: Item<'_>, system: bool) -> Vec<String> {
    let texts = match item.value.get_ref().is_str() {
        true => item.filled().into_iter().collect(),
        false => item.list(),
    };
    let empty = item
        .value
        .get_ref()
        .as_array()
        .is_some_and(|a| a.is_empty());
    if empty {
        item.reject("`arch` is empty", "name one, such as `[\"sm_121\"]`");
    }
    let mut archs: Vec<String> = Vec::new();
    for text in &texts {
        match values::arch(text, item, system) {
            Some(arch) if archs.contains(&arch) => item.sink.error_help(
                text.span(),
                format!("`{arch}` is listed twice"),
                "leave one of them out",
            ),
            Some(arch) => archs.push(arch),
            None => {}
        }
    }
    archs
}

fn device(root: &Section<'_>, toolchain: Option<&Toolchain>) -> Option<Device> {
    let default = match toolchain.map(|t| &t.cuda) {
        Some(Cuda::None) => DeviceKind::Cpu,
        _ => DeviceKind::Cuda,
    };
    let Some(section) = root.section(&schema::DEVICE) else {
        return Some(Device {
            kind: default,
            index: 0,
        });
    };
    let kinds = [("cuda", DeviceKind::Cuda), ("cpu", DeviceKind::Cpu)];
    let kind = match section.get("kind") {
        Some(item) => item.word(&kinds)?,
        None => default,
    };
    let index = match section.get("index") {
        Some(item) => item.integer(0..64, "the device's number as the driver counts, from 0")?,
        None => 0,
    };
    Some(Device {
        kind,
        index: index as u32,
    })
}

fn build(section: &Section<'_>) -> Option<Build> {
    let command = section.required("command", "\"make -j\"").and_then(command);
    let directory = section.get("directory").and_then(|item| {
        let text = item.filled()?;
        inside(&text, item).then(|| text.into_inner())
    });
    let outputs = section.required("outputs", "[\"engine\"]").map(|item| {
        if item
            .value
            .get_ref()
            .as_array()
            .is_some_and(|a| a.is_empty())
        {
            item.reject(
                "`outputs` is empty",
                "name what the build makes; every cubin inside is inspected",
            );
        }
        globs(item)
    });
    Some(Build {
        command: command?,
        directory: directory.unwrap_or_else(|| ".".to_owned()),
        outputs: outputs?,
        runtime: section.get("runtime").map(globs).unwrap_or_default(),
        env: environment(section, "env"),
        timeout_s: timeout(section, "timeout_s", 3600),
    })
}

/// A time limit in whole seconds.
pub(super) fn timeout(section: &Section<'_>, key: &'static str, default: u64) -> u64 {
    section
        .get(key)
        .and_then(|item| item.integer(1..LONGEST_S + 1, "a time limit in whole seconds"))
        .unwrap_or(default)
}

fn kernels(root: &Section<'_>) -> Vec<KernelFacts> {
    let mut kernels: Vec<KernelFacts> = Vec::new();
    for section in root.sections(&schema::KERNEL) {
        let name = section.required("name", "\"mmq_wide\"").and_then(|item| {
            let text = item.filled()?;
            values::pattern(&text, item)?;
            if kernels.iter().any(|k| k.name == *text.get_ref()) {
                item.reject(
                    format!("two `[[kernel]]` tables are called `{}`", text.get_ref()),
                    "only the first would count; merge them",
                );
                return None;
            }
            Some(text.into_inner())
        });
        let threads = section
            .get("threads")
            .and_then(|item| item.integer(1..1025, "threads per block"));
        let dynamic_smem = section.get("dynamic_smem").and_then(|item| {
            item.bytes(
                0..MOST_SMEM + 1,
                "dynamic shared memory per block, in bytes",
            )
        });
        if let Some(name) = name {
            kernels.push(KernelFacts {
                name,
                threads: threads.map(|n| n as u32),
                dynamic_smem: dynamic_smem.unwrap_or(0) as u32,
            });
        }
    }
    kernels
}

fn harness(section: &Section<'_>) -> Option<Harness> {
    let command = section
        .required("command", "[\"./engine\", \"--serve\"]")
        .and_then(command);
    let env = environment(section, "env");
    let start_timeout_s = timeout(section, "start_timeout_s", 300);
    Some(Harness {
        command: command?,
        env,
        start_timeout_s,
    })
}

fn protocol(root: &Section<'_>) -> Option<Protocol> {
    let Some(section) = root.section(&schema::PROTOCOL) else {
        return Some(Protocol::Pairs(DEFAULT_PAIRS));
    };
    let bounds = u64::from(LEAST_PAIRS)..MOST_PAIRS + 1;
    let meaning = "how many base and head samples are compared; a verdict never rests on single \
                   samples";
    let count = |key| -> Option<Option<u32>> {
        match section.get(key) {
            Some(item) => Some(Some(item.integer(bounds.clone(), meaning)? as u32)),
            None => Some(None),
        }
    };
    let (pairs, samples) = (count("pairs"), count("samples"));
    match (pairs?, samples?) {
        (Some(_), Some(_)) => {
            section.sink.error_help(
                section.span(),
                "`[protocol]` has both `pairs` and `samples`",
                "keep one: both say how many samples each side gets",
            );
            None
        }
        (Some(n), None) => Some(Protocol::Pairs(n)),
        (None, Some(n)) => Some(Protocol::Samples(n)),
        (None, None) => Some(Protocol::Pairs(DEFAULT_PAIRS)),
    }
}

fn environment_section(root: &Section<'_>) -> Environment {
    let Some(section) = root.section(&schema::ENVIRONMENT) else {
        return Environment::default();
    };
    let mut allow = Vec::new();
    for name in section.get("allow").map(|i| i.list()).unwrap_or_default() {
        match values::check_variable(name.get_ref()) {
            Ok(()) => allow.push(name.into_inner()),
            Err((message, help)) => section.sink.error_help(name.span(), message, help),
        }
    }
    Environment {
        allow,
        set: environment(&section, "set"),
    }
}

fn limits(root: &Section<'_>) -> Limits {
    let section = root.section(&schema::LIMITS);
    let bytes = |key, bounds, meaning, default| {
        section
            .and_then(|s| s.get(key))
            .and_then(|item| item.bytes(bounds, meaning))
            .unwrap_or(default)
    };
    Limits {
        output_bytes: bytes(
            "output_bytes",
            1024..(4 << 30) + 1,
            "the most that a command may print",
            64 << 20,
        ),
        free_disk_bytes: bytes(
            "free_disk_bytes",
            0..(1 << 50) + 1,
            "free disk that a run needs before it starts",
            2 << 30,
        ),
    }
}
