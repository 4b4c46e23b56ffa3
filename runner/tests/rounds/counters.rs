//! Hardware counters on whole runs, with a stand-in for `ncu` on PATH: it runs the command it is
//! given and writes a table of the real form into its log file, as the real one does.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::scenario::{Outcome, Run, Scenario};

/// Reads its mode beside itself, and what the kernels "did" from the tree in which it runs:
/// `kernels.txt`, a line `name|grid|shared-load conflicts` for each launch.
const NCU: &str = r#"#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --version ]; then
    echo "NVIDIA (R) Nsight Compute Command Line Profiler"
    echo "Copyright (c) 2018-2025 NVIDIA Corporation"
    echo "Version 2025.3.1.0 (build 36398880) (public-release)"
    exit 0
fi
echo "$@" >>"$here/calls"
while [ $# -gt 0 ]; do
    case $1 in
    --csv) shift ;;
    --target-processes | --clock-control | --page | --print-units) shift 2 ;;
    --kernel-name) pattern=${2#regex:} && shift 2 ;;
    --launch-count) count=$2 && shift 2 ;;
    --log-file) log=$2 && shift 2 ;;
    --metrics) metrics=$(echo "$2" | tr , ' ') && shift 2 ;;
    -*) echo "==ERROR== unrecognised option '$1'" && exit 1 ;;
    *) break ;;
    esac
done
mode=$(cat "$here/mode")
# The program keeps standard output; all that follows is the profiler's.
exec 3>&1 >"$log"
for metric in $metrics; do
    case $metric in *subpipe*) echo "==ERROR== Failed to find metric $metric" && exit 1 ;; esac
done
if [ "$mode" = "silent on head" ] && grep -q "SPEED 105" engine.c; then exit 0; fi
echo "==PROF== Connected to process $$ ($1)"
if [ "$mode" = permission ]; then
    echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0."
fi
"$@" >&3 3>&-
status=$?
if grep -q "SPEED 105" engine.c; then
    [ "$mode" = "killed on head" ] && kill -9 $$
    [ "$mode" = "killed once" ] && [ ! -e "$here/killed" ] && : >"$here/killed" && kill -9 $$
fi
echo "==PROF== Disconnected from process $$"
[ "$mode" = permission ] && exit 1
if [ $status -ne 0 ]; then
    echo "==ERROR== The application returned an error code ($status)."
    echo "==WARNING== No kernels were profiled."
    exit 1
fi
grep -E "^[^|]*$pattern" kernels.txt | head -n "$count" >"$here/matching"
if [ ! -s "$here/matching" ]; then
    echo "==WARNING== No kernels were profiled."
    echo "Available Kernels:"
    sed 's/|.*//' kernels.txt | cat -n | sed 's/^ *\([0-9]*\)\t/\1. /'
    exit 0
fi
printf '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC"'
for metric in $metrics; do printf ',"%s"' "$metric"; done
printf '\n"","","","","","","","","","",""'
for metric in $metrics; do printf ',"inst"'; done
echo
id=0
while IFS='|' read -r kernel grid conflicts; do
    [ "$mode" = broken ] && conflicts=4l
    printf '"%s","7","engine","127.0.0.1","%s(const int *, int)","1","7","(256, 1, 1)","%s","0","9.0"' "$id" "$kernel" "$grid"
    for metric in $metrics; do
        case $metric in
        *bank_conflicts*op_ld*) printf ',"%s"' "$conflicts" ;;
        dram__*) printf ',"n/a"' ;;
        *.sum) printf ',"189,928,256"' ;;
        *) printf ',"0.92"' ;;
        esac
    done
    echo
    id=$((id + 1))
done <"$here/matching"
"#;

const COUNTERS: &str = "[[counters]]
name = \"q_proj\"
command = [\"sh\", \"launch.sh\"]
kernels = \"mmq_wide\"

[protocol]";

const LAUNCH: &str = "echo \"q_proj: launched once\"\n";

/// What head's commit declares.
const CLAIM: &str = "Claim: counter mmq_wide shared_ld_conflicts 16,859,136 -> 0";

/// A campaign with counters and a stand-in profiler.
struct Profiled {
    scenario: Scenario,
}

/// What each side's kernels count, and what head declares.
#[derive(Clone, Copy)]
struct Sides {
    base: &'static str,
    head: &'static str,
    trailers: &'static str,
}

const HELD: Sides = Sides {
    base: "mmq_wide|(28, 21, 1)|16,859,136\n",
    head: "mmq_wide|(28, 21, 1)|0\n",
    trailers: CLAIM,
};

impl Profiled {
    fn new(sides: Sides) -> Profiled {
        Profiled::with(sides, |_| {})
    }

    /// The campaign, with `change` made to base before it is committed.
    fn with(sides: Sides, change: impl FnOnce(&Scenario)) -> Profiled {
        let scenario = Scenario::engine();
        scenario.edit("campaign.toml", "[protocol]", COUNTERS);
        scenario.write("launch.sh", LAUNCH);
        scenario.write("kernels.txt", sides.base);
        change(&scenario);
        scenario.commit("engine: base");
        scenario.edit("engine.c", "SPEED 100.0", "SPEED 105.0");
        scenario.write("kernels.txt", sides.head);
        scenario.commit(&format!("engine: head\n\n{}", sides.trailers));
        let tools = scenario.path("tools");
        std::fs::create_dir(&tools).expect("a folder");
        let ncu = tools.join("ncu");
        std::fs::write(&ncu, NCU).expect("a script");
        std::fs::set_permissions(&ncu, PermissionsExt::from_mode(0o755)).expect("permissions");
        let profiled = Profiled { scenario };
        profiled.mode("good");
        profiled
    }

    /// How the stand-in behaves from now on.
    fn mode(&self, mode: &str) {
        std::fs::write(self.scenario.path("tools/mode"), mode).expect("a file");
    }

    /// Head's commit, made anew with a change.
    fn amend(&self, change: impl FnOnce(&Scenario)) {
        change(&self.scenario);
        self.scenario.git(&["add", "-A"]);
        self.scenario.git(&["commit", "-q", "--amend", "--no-edit"]);
    }

    fn runner(&self, args: &[&str]) -> Outcome {
        let path = std::env::var("PATH").unwrap_or_default();
        let tools = self.scenario.path("tools");
        let mut command = self.scenario.command();
        command
            .env("PATH", format!("{}:{path}", tools.display()))
            .args(args);
        Outcome::of(command.output().expect("runner starts"), args)
    }

    fn run(&self) -> Run {
        self.run_with(&["run", "--json"])
    }

    fn run_with(&self, args: &[&str]) -> Run {
        let outcome = self.runner(args);
        let document = serde_json::from_str(&outcome.stdout).unwrap_or(Value::Null);
        Run { outcome, document }
    }

    /// How the stand-in was called, a line each.
    fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.scenario.path("tools/calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn outcome(run: &Run) -> &str {
    run.at("/evidence/claims/0/outcome/outcome")
        .as_str()
        .unwrap_or("there is no claim")
}

fn reason(run: &Run) -> &str {
    run.at("/evidence/claims/0/outcome/reason")
        .as_str()
        .unwrap_or_default()
}

fn samples(run: &Run) -> usize {
    run.at("/evidence/benches")
        .as_array()
        .map_or(0, |benches| benches.len())
}

#[test]
fn a_claim_that_holds_is_confirmed_and_the_counters_are_in_the_record() {
    let profiled = Profiled::new(HELD);
    let run = profiled.run().expect_verdict("LANDED");
    assert_eq!(outcome(&run), "holds");
    assert_eq!(
        run.at("/evidence/claims/0/observed"),
        "shared_ld_conflicts: base 16,859,136, head 0"
    );
    let base = run.at("/evidence/counters/0");
    assert_eq!(base["entry"], "q_proj");
    assert_eq!(base["side"], "base");
    assert_eq!(
        base["profiler"],
        "Nsight Compute 2025.3.1.0 (build 36398880)"
    );
    assert_eq!(base["launches"][0]["kernel"], "mmq_wide(const int *, int)");
    assert_eq!(base["launches"][0]["arch"], "sm_90");
    assert_eq!(base["launches"][0]["grid"], "(28, 21, 1)");
    let absent: Vec<_> = base["absent"].as_array().expect("absent").iter().collect();
    let why = |metric: &str| {
        let found = absent.iter().find(|one| one["metric"] == metric);
        found.map(|one| one["reason"].as_str().unwrap_or_default())
    };
    let other = "sm__inst_executed_pipe_tensor_subpipe_imma_op_imma.sum";
    assert!(why(other).expect("absent").contains("for this chip"));
    assert!(why("dram__bytes_read.sum").expect("absent").contains("n/a"));
    // The chip's missing metric is found out once; clocks are left alone and no set is collected.
    let calls = profiled.calls();
    assert_eq!(calls.len(), 3, "{calls:#?}");
    let start = "--target-processes all --clock-control none --csv --page raw --print-units base \
                 --kernel-name regex:mmq_wide --launch-count 1 --metrics ";
    assert!(
        calls.iter().all(|call| call.starts_with(start)),
        "{calls:#?}"
    );
    assert!(
        calls.iter().all(|call| call.ends_with(" sh launch.sh")),
        "{calls:#?}"
    );
    let log = run.at("/evidence/counters/1/log").as_str().expect("a log");
    assert_eq!(log.len(), 64);
    let shown = profiled.runner(&["show", "1"]).expect_code(0);
    let shown = shown.expect_text("Counters");
    shown.expect_text("shared_ld_conflicts 16,859,136 0");
    let replayed = profiled.runner(&["replay", "1"]);
    assert!(
        replayed.stdout.contains("code     SAME"),
        "{}",
        replayed.text()
    );
}

#[test]
fn a_claim_that_fails_ends_the_run_before_the_first_sample() {
    let arbitration = Sides {
        head: "mmq_wide|(28, 21, 1)|23\n",
        ..HELD
    };
    let run = Profiled::new(arbitration).run().expect_verdict("REVERTED");
    assert_eq!(outcome(&run), "fails");
    assert_eq!(samples(&run), 0);
    let reasons = run.reasons();
    assert!(reasons.contains("base 16,859,136, head 23"), "{reasons}");
    let tolerant = Sides {
        trailers: "Claim: counter mmq_wide shared_ld_conflicts 16,859,136 -> 0 +- 100",
        ..arbitration
    };
    let run = Profiled::new(tolerant).run().expect_verdict("LANDED");
    assert_eq!(outcome(&run), "holds");
    assert_eq!(
        run.at("/evidence/claims/0/expected"),
        "shared_ld_conflicts 16,859,136 -> 0 +- 100"
    );
}

#[test]
fn a_lever_whose_claim_fails_is_measured_for_the_asking() {
    let arbitration = Sides {
        head: "mmq_wide|(28, 21, 1)|23\n",
        ..HELD
    };
    let profiled = Profiled::new(arbitration);
    let run = profiled
        .run_with(&["run", "--json", "--measure-anyway"])
        .expect_verdict("REVERTED");
    assert_eq!(outcome(&run), "fails");
    assert_eq!(samples(&run), 1, "a bench with samples");
    // Its repetition measures as well.
    let replayed = profiled.runner(&["replay", "1", "--json"]).json();
    assert_eq!(replayed["comparison"]["speed"]["outcome"], "SAME");
}

#[test]
fn the_smallest_of_several_launches_counts_and_the_range_is_shown() {
    let sides = Sides {
        base: "mmq_wide|(28, 21, 1)|16,859,307\nmmq_wide|(28, 21, 1)|16,859,136\n",
        head: "mmq_wide|(28, 21, 1)|41\nrms|(1, 1, 1)|9\nmmq_wide|(28, 21, 1)|0\n",
        trailers: CLAIM,
    };
    let profiled = Profiled::with(sides, |scenario| {
        scenario.edit(
            "campaign.toml",
            "kernels = \"mmq_wide\"",
            "kernels = \"mmq_wide\"\nlaunches = 3\nmetrics = [\"ldsm_conflicts_sass\"]",
        );
    });
    let run = profiled.run().expect_verdict("LANDED");
    assert_eq!(
        run.at("/evidence/claims/0/observed"),
        "shared_ld_conflicts: base 16,859,136 (smallest of 2 launches, at most 16,859,307), head 0 \
         (smallest of 2 launches, at most 41)"
    );
    let call = profiled.calls().pop().expect("a call");
    assert!(call.contains("--launch-count 3 "), "{call}");
    assert!(
        call.contains("smsp__sass_l1tex_data_bank_conflicts"),
        "{call}"
    );
}

#[test]
fn without_a_profiler_a_claim_stays_open_and_the_lever_is_measured() {
    let profiled = Profiled::new(HELD);
    std::fs::remove_file(profiled.scenario.path("tools/ncu")).expect("it was there");
    let run = profiled.run().expect_verdict("LANDED");
    assert_eq!(outcome(&run), "not-evaluated");
    assert!(
        reason(&run).contains("no `ncu` on PATH"),
        "{}",
        reason(&run)
    );
    assert!(
        reason(&run).contains("install Nsight Compute"),
        "{}",
        reason(&run)
    );
    assert!(run.at("/evidence/counters/0/profiler").is_null());
}

#[test]
fn without_permission_the_remedy_is_named_and_nothing_more_is_launched() {
    let profiled = Profiled::new(HELD);
    profiled.mode("permission");
    let run = profiled.run().expect_verdict("LANDED");
    assert_eq!(outcome(&run), "not-evaluated");
    for part in [
        "ERR_NVGPUCTRPERM",
        "NVreg_RestrictProfilingToAdminUsers=0",
        "CAP_SYS_ADMIN",
    ] {
        assert!(reason(&run).contains(part), "{}", reason(&run));
    }
    assert_eq!(profiled.calls().len(), 2, "base only, once for the metric");
    assert_eq!(run.at("/evidence/counters/1/failure/kind"), "not-permitted");
}

#[test]
fn a_pattern_that_matches_no_kernel_says_which_were_launched() {
    let other = Sides {
        base: "rms_norm|(1, 1, 1)|0\nquantise|(1, 1, 1)|0\n",
        head: "rms_norm|(1, 1, 1)|0\nquantise|(1, 1, 1)|0\n",
        ..HELD
    };
    let run = Profiled::new(other).run().expect_verdict("LANDED");
    assert_eq!(outcome(&run), "not-evaluated");
    let reason = reason(&run);
    assert!(
        reason.contains("launched `rms_norm`, `quantise`"),
        "{reason}"
    );
}

#[test]
fn a_table_that_cannot_be_read_is_quoted() {
    let profiled = Profiled::new(HELD);
    profiled.mode("broken");
    let run = profiled.run().expect_verdict("LANDED");
    assert_eq!(outcome(&run), "not-evaluated");
    let reason = reason(&run);
    assert!(reason.contains("`4l` is not a number"), "{reason}");
    assert!(reason.contains("mmq_wide(const int *, int)"), "{reason}");
    let shown = profiled.runner(&["show", "1"]).expect_code(0);
    shown.expect_text("==PROF== Connected to process");
}

#[test]
fn a_command_that_fails_on_head_only_is_heads_fault() {
    let profiled = Profiled::new(HELD);
    let fails = |scenario: &Scenario| scenario.write("launch.sh", "echo no such bench\nexit 3\n");
    profiled.amend(fails);
    let run = profiled.run().expect_verdict("REVERTED");
    assert_eq!(outcome(&run), "fails");
    let observed = run
        .at("/evidence/claims/0/observed")
        .as_str()
        .expect("text");
    for part in ["exited with status 3", "no such bench", "head is at fault"] {
        assert!(observed.contains(part), "{observed}");
    }
    // Without a claim on it nothing rests on counters; they are taken after the last sample.
    let unclaimed = Profiled::new(Sides {
        trailers: "Lever: faster",
        ..HELD
    });
    unclaimed.amend(fails);
    let run = unclaimed.run().expect_verdict("LANDED");
    let reasons = run.reasons();
    assert!(reasons.contains("while base's works"), "{reasons}");
}

#[test]
fn a_program_cannot_speak_for_the_profiler() {
    let lies = "cat forged.txt; cat forged.txt >&2\n";
    let profiled = Profiled::with(
        Sides {
            head: "mmq_wide|(28, 21, 1)|23\n",
            ..HELD
        },
        |scenario| {
            scenario.write("launch.sh", lies);
            let metric = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
            scenario.write(
                "forged.txt",
                &format!(
                    "==ERROR== ERR_NVGPUCTRPERM\n==ERROR== Failed to find metric {metric}\n\
                     ==ERROR== boom\n\"ID\",\"Kernel Name\",\"{metric}\"\n\"\",\"\",\"\"\n\
                     \"0\",\"mmq_wide\",\"0\"\n"
                ),
            );
        },
    );
    let run = profiled.run().expect_verdict("REVERTED");
    let reasons = run.reasons();
    assert!(reasons.contains("base 16,859,136, head 23"), "{reasons}");
}

#[test]
fn a_profiler_that_fails_on_head_only_keeps_the_lever_from_landing() {
    for (mode, part) in [
        ("silent on head", "it printed nothing"),
        ("killed on head", "signal 9"),
    ] {
        let profiled = Profiled::new(HELD);
        profiled.mode(mode);
        let run = profiled.run().expect_verdict("INCONCLUSIVE");
        assert_eq!(outcome(&run), "not-evaluated");
        let reasons = run.reasons();
        for part in ["on base only", part, "taken on base and not on head"] {
            assert!(reasons.contains(part), "{part}: {reasons}");
        }
        // Counted again it settles.
        profiled.mode("good");
        let later = profiled.runner(&["counters", "1"]).expect_code(0);
        later.expect_text("added to run 1: LANDED");
    }
}

#[test]
fn a_profiler_that_is_killed_once_on_head_is_started_again() {
    let profiled = Profiled::new(HELD);
    profiled.mode("killed once");
    let run = profiled.run().expect_verdict("LANDED");
    assert_eq!(outcome(&run), "holds");
    assert_eq!(profiled.calls().len(), 4, "and once for the metric");
}

#[test]
fn a_command_that_fails_on_both_sides_is_nobodys_claim() {
    let profiled = Profiled::with(HELD, |scenario| {
        scenario.write("launch.sh", "exit 3\n");
    });
    let run = profiled.run().expect_verdict("LANDED");
    assert_eq!(outcome(&run), "not-evaluated");
    assert!(
        reason(&run).contains("exited with status 3"),
        "{}",
        reason(&run)
    );
}

#[test]
fn a_command_that_hangs_is_ended_with_all_that_it_started() {
    let profiled = Profiled::with(HELD, |scenario| {
        scenario.write("launch.sh", "setsid sleep 4741 & sleep 4742\n");
        scenario.edit(
            "campaign.toml",
            "kernels = \"mmq_wide\"",
            "kernels = \"mmq_wide\"\ntimeout_s = 1",
        );
    });
    let run = profiled.run().expect_verdict("LANDED");
    assert!(
        reason(&run).contains("ran past its limit of 1 s"),
        "{}",
        reason(&run)
    );
    assert_eq!(profiled.scenario.processes(), [""; 0]);
}

#[test]
fn counters_that_are_taken_later_are_added_to_the_record_and_judged() {
    let profiled = Profiled::new(HELD);
    profiled.mode("permission");
    let run = profiled.run().expect_verdict("LANDED");
    assert_eq!(outcome(&run), "not-evaluated");
    // Not permitted still: nothing is added.
    let again = profiled.runner(&["counters", "1"]).expect_code(3);
    again
        .expect_text("nothing was counted, so run 1 stays as it is")
        .expect_text("NVreg_RestrictProfilingToAdminUsers=0");
    profiled.mode("good");
    let later = profiled.runner(&["counters", "1"]).expect_code(0);
    let later = later.expect_text("added to run 1: LANDED");
    later.expect_text("shared_ld_conflicts 16,859,136 0 -100.00 %");
    let shown = profiled
        .runner(&["show", "1", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        shown["evidence"]["claims"][0]["outcome"]["outcome"],
        "holds"
    );
    assert_eq!(
        shown["evidence"]["claims"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(shown["evidence"]["counters"][1]["side"], "head");
    let rows = |what: &str| {
        let line = format!("print(db.execute('SELECT count(*) FROM {what}').fetchone()[0])");
        profiled.scenario.database(&line)
    };
    assert_eq!(rows("counter_profile"), "4", "two not permitted, two taken");
    assert_eq!(
        rows("claim"),
        "3",
        "before the gates, without permission, with counters"
    );
    let document = profiled
        .runner(&["counters", "HEAD", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        (&document["kind"], &document["run"]),
        (&"counters".into(), &1.into())
    );
    assert_eq!(document["counters"]["kernels"][0]["kernel"], "mmq_wide");
}

#[test]
fn counters_that_refute_a_claim_later_change_the_verdict() {
    let profiled = Profiled::new(Sides {
        head: "mmq_wide|(28, 21, 1)|23\n",
        ..HELD
    });
    profiled.mode("permission");
    profiled.run().expect_verdict("LANDED");
    profiled.mode("good");
    let later = profiled.runner(&["counters", "1"]).expect_code(0);
    later.expect_text("added to run 1: REVERTED, mechanism refuted");
    let shown = profiled
        .runner(&["show", "1", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(shown["judgement"]["verdict"], "REVERTED");
}

/// What refuted a lever stays until the same claim is evaluated again.
#[test]
fn a_claim_that_failed_is_not_forgotten_by_counting_something_else() {
    let profiled = Profiled::new(Sides {
        base: "mmq_wide|(28, 21, 1)|16,859,136\nrms|(1, 1, 1)|0\n",
        head: "mmq_wide|(28, 21, 1)|23\nrms|(1, 1, 1)|0\n",
        ..HELD
    });
    profiled
        .run_with(&["run", "--json", "--measure-anyway"])
        .expect_verdict("REVERTED");
    let judged = || {
        let shown = profiled.runner(&["show", "1", "--json"]).expect_code(0);
        shown.json()["judgement"]["verdict"].clone()
    };
    // Another entry, another kernel under the entry's name, and nothing on head.
    let config = profiled.scenario.repo().join("campaign.toml");
    let config = std::fs::read_to_string(config).expect("a config");
    for (from, to) in [("\"q_proj\"", "\"other\""), ("\"mmq_wide\"", "\"rms\"")] {
        let other = profiled.scenario.path("other.toml");
        std::fs::write(&other, config.replace(from, to)).expect("a file");
        let other = other.to_str().expect("UTF-8");
        let again = profiled.runner(&["counters", "1", "--config", other]);
        let again = again.expect_code(0);
        again.expect_text("run 1: REVERTED");
        assert_eq!(judged(), "REVERTED");
    }
    // The entry's name, and another command under it.
    let other = profiled.scenario.path("other.toml");
    let text = config.replace("[\"sh\", \"launch.sh\"]", "[\"sh\", \"-e\", \"launch.sh\"]");
    std::fs::write(&other, text).expect("a file");
    let other = other.to_str().expect("UTF-8");
    let refused = profiled.runner(&["counters", "1", "--config", other]);
    refused
        .expect_code(2)
        .expect_text("runs another command than run 1");
    assert_eq!(judged(), "REVERTED");
    profiled.mode("silent on head");
    let again = profiled.runner(&["counters", "1"]);
    again.expect_text("no entry was counted on both sides, so run 1 stays as it is");
    assert_eq!(judged(), "REVERTED");
}

#[test]
fn counters_of_any_two_commits_are_printed_and_not_recorded() {
    let profiled = Profiled::new(HELD);
    let printed = profiled.runner(&["counters"]).expect_code(0);
    printed.expect_text("shared_ld_conflicts 16,859,136 0 -100.00 %");
    let shown = profiled.runner(&["show"]).expect_code(0);
    assert!(!shown.text().contains("engine: head"), "{}", shown.text());
    // What was built for them serves a run afterwards.
    profiled.run().expect_verdict("LANDED");
    std::fs::remove_file(profiled.scenario.path("tools/ncu")).expect("it was there");
    let without = profiled.runner(&["counters"]).expect_code(3);
    without.expect_text("install Nsight Compute");
    let plain = Scenario::engine_pair(&[], &[("engine.c", "SPEED 100.0", "SPEED 105.0")]);
    let refused = plain.runner(&["counters"]).expect_code(2);
    refused.expect_text("no [[counters]]");
}
