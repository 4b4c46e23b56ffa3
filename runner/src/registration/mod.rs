//! From commit message and config to the registration.
//!
//! Pure: no git, no clock. Nothing is guessed: a trailer that looks like one of ours and cannot
//! be read becomes an error of the registration, and the run stops before its first sample.

mod trailers;

use crate::claims::Claim;
use crate::config::{Bench, Config, bar_text, canonical, parse_bar, suggestion};
use crate::model::{RegisteredBar, RegisteredClaim, Registration, RoundKind, Source};

use trailers::{Paragraph, Trailer};

/// The trailers that the runner reads. Keys are compared without regard to case.
pub const KEYS: &[&str] = &[
    "Round",
    "Lever",
    "Hypothesis",
    "Bar",
    "Claim",
    "Retry-When",
    "Kind",
    "Identity",
];

/// Other people's trailers, some of them a letter away from ours.
const FOREIGN: &[&str] = &[
    "signed-off-by",
    "co-authored-by",
    "reviewed-by",
    "acked-by",
    "tested-by",
    "reported-by",
    "suggested-by",
    "change-id",
    "closes",
    "fixes",
    "fixed",
    "refs",
    "link",
    "cc",
    "bug",
    "see-also",
    "level",
    "find",
    "found",
];

/// Reads what a head commit declares. Errors are in [`Registration::errors`].
pub fn from_commit(message: &str, config: &Config) -> Registration {
    let mut reader = Reader {
        config,
        registration: Registration::default(),
        lever: None,
        kind: None,
    };
    for paragraph in trailers::paragraphs(message) {
        reader.paragraph(&paragraph);
    }
    reader.finish(trailers::subject(message))
}

/// Whether a message declares anything by trailers.
pub fn declares(message: &str, config: &Config) -> bool {
    let found = from_commit(message, config);
    let by_trailer = |source: Source| source == Source::Trailer;
    found.round.is_some()
        || found.hypothesis.is_some()
        || !found.retry_when.is_empty()
        || !found.errors.is_empty()
        || found.bars.iter().any(|bar| by_trailer(bar.source))
        || found.claims.iter().any(|claim| by_trailer(claim.source))
}

impl Registration {
    /// SHA-256 of the canonical JSON of the registration, lower-case hex; stored with the time
    /// before the first sample.
    pub fn sha256(&self) -> String {
        canonical::canonical_sha256(self)
    }
}

struct Reader<'c> {
    config: &'c Config,
    registration: Registration,
    lever: Option<String>,
    kind: Option<RoundKind>,
}

impl<'c> Reader<'c> {
    fn error(&mut self, trailer: &Trailer, what: impl std::fmt::Display) {
        let text = format!("`{}: {}`: {what}", trailer.key, trailer.value);
        if !self.registration.errors.contains(&text) {
            self.registration.errors.push(text);
        }
    }

    fn paragraph(&mut self, paragraph: &Paragraph) {
        if !paragraph.block {
            self.strays(paragraph);
            return;
        }
        let ours = paragraph.trailers.iter().any(|t| key_of(&t.key).is_some());
        for trailer in &paragraph.trailers {
            match key_of(&trailer.key) {
                Some(key) => self.trailer(key, trailer),
                // In an earlier paragraph a lone `Rounds: …` is prose.
                None if paragraph.last || ours => self.slip(trailer),
                None => {}
            }
        }
    }

    /// Bars and claims amid other text are not trailers for git, and would be lost in silence.
    fn strays(&mut self, paragraph: &Paragraph) {
        for trailer in &paragraph.trailers {
            if matches!(trailer.key.as_str(), "Bar" | "Claim") {
                self.error(
                    trailer,
                    "it stands in a paragraph with other text, where git sees no trailer; put \
                     trailers into a paragraph of their own, and indent lines that continue one",
                );
            }
        }
    }

    /// A key that is near one of ours is a slip; others belong to other people.
    fn slip(&mut self, trailer: &Trailer) {
        if let Some(key) = near_key(&trailer.key) {
            self.error(
                trailer,
                format!(
                    "there is no trailer `{}`; did you mean `{key}`?",
                    trailer.key
                ),
            );
        }
    }

    fn trailer(&mut self, key: &str, trailer: &Trailer) {
        if trailer.value.is_empty() {
            self.error(trailer, "it is empty; fill it in or leave it out");
            return;
        }
        match key {
            "Round" => self.once(trailer, |r| &mut r.registration.round),
            "Lever" => self.once(trailer, |r| &mut r.lever),
            "Hypothesis" => self.once(trailer, |r| &mut r.registration.hypothesis),
            "Retry-When" => {
                let conditions = &mut self.registration.retry_when;
                if !conditions.contains(&trailer.value) {
                    conditions.push(trailer.value.clone());
                }
            }
            "Bar" => self.bar(trailer),
            "Claim" => self.claim(trailer),
            "Kind" => self.kind(trailer),
            _ => self.identity(trailer),
        }
    }

    /// A trailer that may stand once; the same again, as squash merges have it, is no harm.
    fn once(&mut self, trailer: &Trailer, slot: fn(&mut Self) -> &mut Option<String>) {
        match slot(self) {
            empty @ None => *empty = Some(trailer.value.clone()),
            Some(first) if *first == trailer.value => {}
            Some(first) => {
                let first = first.clone();
                self.error(
                    trailer,
                    format!(
                        "there is already `{}: {first}`; a commit is one lever of one round, so \
                         keep one",
                        trailer.key
                    ),
                );
            }
        }
    }

    fn bar(&mut self, trailer: &Trailer) {
        let Some((bench, text)) = self.bench_of(trailer) else {
            return;
        };
        let bar = match parse_bar(text, &bench.unit, bench.better) {
            Ok(bar) => bar,
            Err(error) => {
                self.error(trailer, error);
                return;
            }
        };
        let bars = &mut self.registration.bars;
        match bars.iter().find(|known| known.bench == bench.name) {
            None => bars.push(RegisteredBar {
                bench: bench.name.clone(),
                bar,
                source: Source::Trailer,
                text: text.to_owned(),
            }),
            Some(known) if known.bar == bar => {}
            Some(known) => {
                let first = known.text.clone();
                self.error(
                    trailer,
                    format!("`{}` already has the bar `{first}`; keep one", bench.name),
                );
            }
        }
    }

    /// The bench that a `Bar:` names, and the rest of its text.
    fn bench_of<'t>(&mut self, trailer: &'t Trailer) -> Option<(&'c Bench, &'t str)> {
        let value = trailer.value.as_str();
        let config = self.config;
        let named = config
            .benches
            .iter()
            .filter_map(|bench| {
                let rest = value.strip_prefix(bench.name.as_str())?;
                let apart = rest
                    .starts_with(|c: char| c.is_whitespace() || "<>\u{2264}\u{2265}+".contains(c));
                (apart || rest.is_empty()).then_some((bench, rest.trim()))
            })
            .max_by_key(|(bench, _)| bench.name.len());
        if let Some((bench, "")) = named {
            self.error(
                trailer,
                format!(
                    "it names no bar; write `{0}: {1} +1.5%` or a value to reach in {2}",
                    trailer.key, bench.name, bench.unit
                ),
            );
            return None;
        }
        if named.is_none() {
            let end = value
                .find(['<', '>', '=', '\u{2264}', '\u{2265}', '+', ' ', '\t'])
                .unwrap_or(value.len());
            let word = value[..end].trim();
            let names = config.benches.iter().map(|bench| bench.name.as_str());
            self.error(
                trailer,
                match word {
                    "" => "it names no bench; write `Bar: BENCH +1.5%`".to_owned(),
                    word => format!(
                        "there is no bench `{word}` in campaign.toml; {}",
                        suggestion(word, names)
                    ),
                },
            );
        }
        named
    }

    fn claim(&mut self, trailer: &Trailer) {
        if let Err(error) = trailer.value.parse::<Claim>() {
            self.error(trailer, error);
            return;
        }
        let claim = RegisteredClaim {
            text: trailer.value.clone(),
            source: Source::Trailer,
        };
        if !self.registration.claims.contains(&claim) {
            self.registration.claims.push(claim);
        }
    }

    fn kind(&mut self, trailer: &Trailer) {
        const KINDS: &[&str] = &["lever", "measured", "analysed"];
        let kind = match trailer.value.to_lowercase().as_str() {
            "lever" => RoundKind::Lever,
            "measured" => RoundKind::Measured,
            "analysed" | "analyzed" => RoundKind::Analysed,
            other => {
                self.error(
                    trailer,
                    format!(
                        "`{other}` is not a kind; {}",
                        suggestion(other, KINDS.iter().copied())
                    ),
                );
                return;
            }
        };
        match self.kind {
            Some(first) if first != kind => {
                self.error(trailer, "there is already another `Kind:`; keep one");
            }
            _ => self.kind = Some(kind),
        }
    }

    fn identity(&mut self, trailer: &Trailer) {
        match trailer.value.to_lowercase().as_str() {
            "bytes" => {}
            "tolerance" => self.error(
                trailer,
                "identity within a tolerance is not supported yet; outputs are compared byte by \
                 byte",
            ),
            other => self.error(
                trailer,
                format!(
                    "`{other}` is not an identity class; {}",
                    suggestion(other, ["bytes"])
                ),
            ),
        }
    }

    fn finish(mut self, subject: String) -> Registration {
        let mut registration = std::mem::take(&mut self.registration);
        registration.lever = self.lever.unwrap_or(subject);
        registration.kind = self.kind.unwrap_or_default();
        if registration.kind != RoundKind::Lever && !registration.bars.is_empty() {
            registration.errors.push(
                "`Kind:` says that there is no lever, but there is a `Bar:`; keep one of them"
                    .to_owned(),
            );
        }
        if registration.bars.is_empty() && registration.kind == RoundKind::Lever {
            registration.bars = self.config.benches.iter().filter_map(file_bar).collect();
        }
        for text in &self.config.claims {
            if !registration.claims.iter().any(|claim| claim.text == *text) {
                registration.claims.push(RegisteredClaim {
                    text: text.clone(),
                    source: Source::File,
                });
            }
        }
        registration
    }
}

/// A bench's bar in `campaign.toml`.
fn file_bar(bench: &Bench) -> Option<RegisteredBar> {
    let bar = bench.bar?;
    Some(RegisteredBar {
        bench: bench.name.clone(),
        bar,
        source: Source::File,
        text: bar_text(bar, &bench.unit, bench.better),
    })
}

fn key_of(key: &str) -> Option<&'static str> {
    KEYS.iter().copied().find(|k| k.eq_ignore_ascii_case(key))
}

/// The key of ours that a misspelt one is near to, if it is.
fn near_key(key: &str) -> Option<&'static str> {
    let lower = key.to_ascii_lowercase();
    if FOREIGN.contains(&lower.as_str()) {
        return None;
    }
    let plain = |key: &str| key.to_ascii_lowercase().replace(['-', '_'], "");
    let word = plain(key);
    let aliases = [
        ("retry", "Retry-When"),
        ("retryif", "Retry-When"),
        ("hypo", "Hypothesis"),
    ];
    let alias = aliases.iter().find(|(alias, _)| *alias == word);
    let by_alias = alias.map(|(_, key)| *key);
    let near = |key: &&&str| {
        let limit = if key.len() >= 8 { 3 } else { 1 };
        strsim::damerau_levenshtein(&plain(key), &word) <= limit
    };
    by_alias.or_else(|| KEYS.iter().find(near).copied())
}

#[cfg(test)]
mod tests;
