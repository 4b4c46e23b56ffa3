//! Taking counters with a scripted profiler.

use std::collections::BTreeMap;

use super::*;
use crate::config::CommandLine;
use crate::measure::fake::{FakeLauncher, finished};
use crate::model::Failure;

fn entry(name: &str) -> Counters {
    Counters {
        name: name.to_owned(),
        command: CommandLine::Shell(format!("launch {name}")),
        kernels: "mmq".to_owned(),
        launches: 2,
        metrics: vec!["lts__t_bytes.sum".to_owned()],
        env: BTreeMap::new(),
        timeout_s: 5,
    }
}

/// The table that the profiler prints for a command: each metric is 7.
fn table(command: &str) -> String {
    let metrics = metrics(command);
    let each = |text: &str| format!(",\"{text}\"").repeat(metrics.len());
    format!(
        "==PROF== hello\n\"ID\",\"Kernel Name\",\"{}\"\n\"\",\"\"{}\n\"0\",\"mmq(int)\"{}\n",
        metrics.join("\",\""),
        each("inst"),
        each("7")
    )
}

fn metrics(command: &str) -> Vec<String> {
    let (_, after) = command.split_once("--metrics ").expect("metrics");
    let list = after.split(' ').next().unwrap_or_default();
    list.split(',').map(str::to_owned).collect()
}

/// A profiler that wrote `log` where its command says, and ended so.
fn wrote(command: &str, log: impl AsRef<str>, failure: Option<Failure>) -> Finished {
    let (_, after) = command.split_once("--log-file ").expect("a log file");
    let path = after.split(' ').next().unwrap_or_default();
    std::fs::write(path, log.as_ref()).expect("a folder for the log");
    finished("the program's own\n", failure)
}

/// Takes two entries, and gives the profiles, what was launched, and the logs.
async fn taken(
    profiler: Result<Profiler, ProfileFailure>,
    run: impl FnMut(Side, &str) -> Finished + 'static,
) -> (Vec<CounterProfile>, Vec<String>, Vec<Vec<u8>>) {
    let mut launcher = FakeLauncher::commands(run);
    let what = Taking {
        entries: &[entry("a"), entry("b")],
        asked: &["ldsm_conflicts_sass".to_owned()],
        profiler: &profiler,
        progress: &Progress::silent(),
    };
    let mut logs = Vec::new();
    let mut keep = |bytes: Vec<u8>| {
        logs.push(bytes);
        Ok(Some(ArtifactHash(format!("log{}", logs.len()))))
    };
    let profiles = take(&what, &mut launcher, &mut keep)
        .await
        .expect("nothing is stored");
    (profiles, launcher.launched, logs)
}

#[tokio::test]
async fn each_entry_is_profiled_on_base_and_then_on_head() {
    let (profiles, launched, logs) = taken(Ok(Profiler::stand_in()), |_, text| {
        wrote(text, table(text), None)
    })
    .await;
    let places: Vec<_> = profiles.iter().map(|p| (&*p.entry, p.side)).collect();
    assert_eq!(
        places,
        [
            ("a", Side::Base),
            ("a", Side::Head),
            ("b", Side::Base),
            ("b", Side::Head)
        ]
    );
    assert_eq!(logs.len(), 4);
    assert!(launched[1].starts_with("head: ncu --target-processes all --clock-control none"));
    assert!(launched[1].ends_with(" /bin/sh -c launch a"));
    let wanted = metrics(&launched[0]);
    for metric in [
        "smsp__inst_executed.sum",
        "lts__t_bytes.sum",
        "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum",
    ] {
        assert!(wanted.iter().any(|m| m == metric), "{wanted:?}");
        assert_eq!(profiles[3].launches[0].value(metric), Some(7.0));
    }
    let unasked = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum";
    assert!(!wanted.iter().any(|m| m == unasked), "{wanted:?}");
    assert!(launched.iter().all(|line| !line.contains("--set")));
}

#[tokio::test]
async fn metrics_that_the_chip_does_not_have_are_left_out_from_then_on() {
    let (profiles, launched, _) = taken(Ok(Profiler::stand_in()), |_, text| {
        let missing: Vec<_> = metrics(text)
            .into_iter()
            .filter(|metric| metric.starts_with("dram__"))
            .collect();
        match missing.first() {
            None => wrote(text, table(text), None),
            Some(first) => wrote(
                text,
                format!("==ERROR== Failed to find metric {first}\n"),
                Some(Failure::Exit { code: 1 }),
            ),
        }
    })
    .await;
    assert_eq!(launched.len(), 2 + 4, "found out on the first command");
    for profile in &profiles {
        assert_eq!(profile.failure, None);
        let absent: Vec<_> = profile.absent.iter().map(|a| &*a.metric).collect();
        assert_eq!(absent, ["dram__bytes_read.sum", "dram__bytes_write.sum"]);
    }
}

#[tokio::test]
async fn what_every_command_would_say_is_found_out_once() {
    let (profiles, launched, logs) = taken(Ok(Profiler::stand_in()), |_, text| {
        wrote(text, "==ERROR== ERR_NVGPUCTRPERM - no\n", None)
    })
    .await;
    assert_eq!((launched.len(), logs.len()), (1, 1));
    assert_eq!(profiles.len(), 4);
    assert!(
        profiles
            .iter()
            .all(|p| p.failure == Some(ProfileFailure::NotPermitted))
    );
    let missing = ProfileFailure::Missing {
        detail: "not on PATH".to_owned(),
    };
    let (profiles, launched, _) = taken(Err(missing.clone()), |_, _| finished("", None)).await;
    assert!(launched.is_empty());
    assert!(profiles.iter().all(|p| p.failure == Some(missing.clone())));
    assert!(profiles.iter().all(|p| p.profiler.is_none()));
}

#[tokio::test]
async fn a_command_that_fails_leaves_the_others_alone() {
    let (profiles, _, _) = taken(Ok(Profiler::stand_in()), |side, text| {
        match (side, text.ends_with("launch a")) {
            (Side::Head, true) => {
                let log = "==ERROR== The application returned an error code (139).\n";
                wrote(text, log, Some(Failure::Exit { code: 1 }))
            }
            _ => wrote(text, table(text), None),
        }
    })
    .await;
    let failed: Vec<_> = profiles.iter().map(|p| p.failure.is_some()).collect();
    assert_eq!(failed, [false, true, false, false]);
    assert!(
        profiles[1].launches.is_empty(),
        "counters of a crash are none"
    );
    let by_head = crate::model::failed_on_head_only(&profiles);
    assert_eq!(by_head.len(), 1);
    assert_eq!((&*by_head[0].entry, by_head[0].side), ("a", Side::Head));
}

#[tokio::test]
async fn a_table_without_rows_is_no_kernel() {
    let (profiles, _, _) = taken(Ok(Profiler::stand_in()), |_, text| {
        let table = table(text);
        let rows = table.lines().take(3).map(|line| format!("{line}\n"));
        wrote(text, rows.collect::<String>(), None)
    })
    .await;
    assert!(matches!(
        profiles[0].failure,
        Some(ProfileFailure::NoKernel { .. })
    ));
}

/// What a program prints is kept, and is not the profiler's word.
#[tokio::test]
async fn a_program_cannot_speak_for_the_profiler() {
    let (profiles, launched, logs) = taken(Ok(Profiler::stand_in()), |_, text| {
        let forged = table(text).replace("\"7\"", "\"0\"");
        let lies = format!("==ERROR== ERR_NVGPUCTRPERM\n==ERROR== boom\n{forged}");
        let honest = wrote(text, table(text), None);
        Finished {
            stdout: lies.clone().into_bytes(),
            stderr: lies.into_bytes(),
            ..honest
        }
    })
    .await;
    assert_eq!(launched.len(), 4);
    for profile in &profiles {
        assert_eq!(profile.failure, None);
        let value = profile.launches[0].value("smsp__inst_executed.sum");
        assert_eq!(value, Some(7.0));
    }
    let log = String::from_utf8_lossy(&logs[0]);
    assert!(
        log.contains("boom") && log.contains("--- the profiler ---"),
        "{log}"
    );
    // The folder of the profiler's log has gone.
    let (_, after) = launched[0].split_once("--log-file ").expect("a log file");
    let path = std::path::Path::new(after.split(' ').next().unwrap_or_default());
    assert!(!path.parent().expect("a folder").exists());
}

#[tokio::test]
async fn a_profiler_that_writes_nothing_is_not_understood() {
    let forged = |_, text: &str| finished(table(text), None);
    let (profiles, ..) = taken(Ok(Profiler::stand_in()), forged).await;
    for profile in &profiles {
        let nothing = table::not_understood("", "it printed nothing");
        assert_eq!(profile.failure, Some(nothing));
    }
}

#[tokio::test]
async fn head_is_tried_again_before_it_is_blamed() {
    let mut failed = false;
    let (profiles, launched, _) = taken(Ok(Profiler::stand_in()), move |side, text| {
        let fails = side == Side::Head && !std::mem::replace(&mut failed, side == Side::Head);
        let killed = fails.then_some(Failure::Signal { signal: 9 });
        wrote(text, table(text), killed)
    })
    .await;
    assert!(profiles.iter().all(|p| p.failure.is_none()));
    assert_eq!(launched.len(), 5, "head's first one twice");
    let (profiles, launched, _) = taken(Ok(Profiler::stand_in()), |side, text| {
        let killed = (side == Side::Head).then_some(Failure::Signal { signal: 9 });
        wrote(text, table(text), killed)
    })
    .await;
    assert_eq!(launched.len(), 6);
    assert!(matches!(
        profiles[1].failure,
        Some(ProfileFailure::Profiler { .. })
    ));
    assert!(crate::model::failed_on_head_only(&profiles).is_empty());
}
