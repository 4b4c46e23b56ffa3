//! What the campaign's commands and claims need: programs that are there, and counters that are
//! taken. Starts nothing.

use super::Finding;
use crate::config::{CommandLine, Config};
use crate::model::Registration;

/// Programs that commands start by name and that are not on PATH. A path (`./bench`) may be of
/// something that is still to be built, and a shell line is the shell's business.
pub(super) fn programs(config: &Config) -> Option<Finding> {
    let absent = |program: &str| which::which(program).is_err();
    let counters = config.counters.iter();
    let counters = counters.map(|c| (format!("counters {}", c.name), &c.command));
    let mut missing: Vec<String> = config
        .commands()
        .into_iter()
        .chain(counters)
        .filter_map(|(user, command)| {
            let CommandLine::Argv(words) = command else {
                return None;
            };
            let program = words.first()?;
            // A run puts `runner` itself on its PATH.
            let by_name = !program.contains('/') && program != "runner";
            (by_name && absent(program)).then(|| format!("`{program}` of {user}"))
        })
        .collect();
    missing.dedup();
    if missing.is_empty() {
        return None;
    }
    Some(Finding::warn(
        "programs",
        format!("not on PATH: {}", missing.join(", ")),
        "install them, or name them by a path in the repository such as `./bench`; folders of an \
         installed toolchain count as well",
    ))
}

/// Claims of HEAD on counters, where no `[[counters]]` takes any.
pub(super) fn counter_claims(registration: &Registration, config: &Config) -> Option<Finding> {
    if !config.counters.is_empty() {
        return None;
    }
    let named = crate::claims::counters_named(&registration.claims);
    if named.is_empty() {
        return None;
    }
    Some(Finding::warn(
        "counters",
        format!(
            "HEAD claims something about {}, and campaign.toml has no [[counters]]: such claims \
             are not evaluated",
            named.join(", ")
        ),
        "add a [[counters]] whose command launches the kernel (docs/counters.md)",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        let text = format!(
            "[campaign]\nname = \"c\"\n[toolchain]\ncuda = \"system\"\narch = [\"sm_90\"]\n[build]\ncommand = [\"make\"]\noutputs = [\"k\"]\n{text}"
        );
        crate::config::parse(&text, "campaign.toml").expect("a valid config")
    }

    #[test]
    fn programs_that_are_not_there_are_named_with_their_users() {
        let bench = |name: &str, command: &str| {
            format!(
                "[[bench]]\nname = \"{name}\"\ncommand = {command}\nunit = \"us\"\nbetter = \"lower\"\nvalue = {{ regex = '([0-9.]+)' }}\n"
            )
        };
        let fine = [
            bench("a", "[\"sh\", \"x\"]"),
            bench("b", "[\"./built/later\"]"),
            bench("c", "\"no-such-program | tail\""),
            bench("d", "[\"runner\", \"harness\"]"),
        ];
        assert_eq!(programs(&config(&fine.concat())), None);
        let missing = bench("e", "[\"no-such-program-7\"]");
        let found = programs(&config(&missing)).expect("a finding");
        assert!(
            found.found.contains("`no-such-program-7` of bench e"),
            "{found:?}"
        );
    }
}
