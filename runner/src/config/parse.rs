//! From the text of a `campaign.toml` to a [`Config`], or to everything that is wrong with it.
//!
//! Pure: no file access, no look at the machine. What a value means is decided here and in the
//! modules beside; how it is found in the document is `reader`'s part.

use toml::de::DeTable;

use super::diagnostic::{ConfigErrors, Sink, suggestion};
use super::reader::{Item, Section, Text};
use super::schema;
use super::values;
use super::{Campaign, Config, Cuda, Device, DeviceKind, Toolchain, counters, items, sections};
use crate::claims::Claim;

/// The pinned toolchains that the runner can install.
pub const PINNED_CUDA: &[&str] = &["13.0"];

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
    let build = required_section(root, &schema::BUILD).and_then(|s| sections::build(&s));
    let kernels = sections::kernels(root);
    let harness_section = root.section(&schema::HARNESS);
    let harness = harness_section.and_then(|s| sections::harness(&s));
    let context = items::Context {
        root,
        harness: harness_section.is_some(),
    };
    let parity = items::parity(&context);
    let identity = items::identity(&context);
    let benches = items::benches(&context);
    let references = super::reference::references(root, &benches);
    let counters = counters::counters(root);
    let protocol = super::protocol::protocol(root);
    let machine = super::machine::machine(root);
    let anchor = sections::anchor(root);
    let environment = sections::environment_section(root);
    let limits = sections::limits(root);
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
        references,
        counters,
        claims,
        protocol: protocol?,
        machine,
        anchor,
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
