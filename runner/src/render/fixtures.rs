//! Realistic records for the tests of comments, pages, summaries and documents, made after the
//! rounds of the sample campaign. The effects are computed from the fixtures' own samples.

use std::collections::BTreeMap;

use super::input::{CorrectionNote, LeverInput, LogExcerpt, RoundBench, RoundRow};
use crate::config::*;
use crate::model::*;

/// A record with the extras that a caller supplies.
pub(crate) struct Fixture {
    pub evidence: Evidence,
    pub judgement: Judgement,
    pub corrections: Vec<CorrectionNote>,
    pub machine: Vec<(String, String)>,
    pub toolchain: Vec<(String, String)>,
    pub previous: Vec<RoundRow>,
    pub logs: Vec<LogExcerpt>,
}

impl Fixture {
    pub fn input(&self) -> LeverInput<'_> {
        LeverInput {
            run_id: "41",
            evidence: &self.evidence,
            judgement: &self.judgement,
            corrections: &self.corrections,
            started_at: START,
            registered_at: UnixMillis(START.0 + 1_200),
            registration_sha256: "5f1c7d0b9a34e2f86655c0ffee00112233445566778899aabbccddeeff001122",
            machine: &self.machine,
            toolchain: &self.toolchain,
            previous_rounds: &self.previous,
            logs: &self.logs,
            replay_command: "runner replay 9d09a81c44aa0b1c2d3e4f506172839405162738",
        }
    }
}

/// 2026-09-03 14:02:11 UTC.
pub(crate) const START: UnixMillis = UnixMillis(1_788_444_131_000);

const SPLIT: &str = "void mmq_nb<8>(block_q4_K const*, block_q8 const*, float*, int)";
const WIDE: &str = "void mmq_wide<8>(block_q4_K const*, block_q8 const*, float*, int)";

fn sha(seed: u8) -> Sha {
    let text: String = (0..20u8)
        .map(|i| format!("{:02x}", seed.wrapping_mul(37) ^ i.wrapping_mul(11)))
        .collect();
    text.parse().expect("forty hex digits")
}

fn artifact(seed: u8) -> ArtifactHash {
    ArtifactHash(
        (0..32u8)
            .map(|i| format!("{:02x}", seed.wrapping_mul(29) ^ i.wrapping_mul(7)))
            .collect(),
    )
}

fn pairs(items: &[(&str, &str)]) -> Vec<(String, String)> {
    items
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}

fn config() -> Config {
    let shell = |line: &str| Probe::Command(CommandLine::Shell(line.to_owned()));
    Config {
        campaign: Campaign {
            name: "mmqr".to_owned(),
            title: "q4_K MMQ on GB10".to_owned(),
            default_branch: None,
        },
        toolchain: Toolchain {
            cuda: Cuda::Pinned("13.0".to_owned()),
            arch: vec!["sm_121".to_owned()],
        },
        device: Device {
            kind: DeviceKind::Cuda,
            index: 0,
        },
        build: Build {
            command: CommandLine::Shell("make -j engine".to_owned()),
            directory: ".".to_owned(),
            outputs: vec!["engine".to_owned()],
            runtime: vec![],
            env: BTreeMap::new(),
            timeout_s: 3600,
        },
        kernels: vec![],
        harness: None,
        parity: vec![Parity {
            name: "KD=8".to_owned(),
            probe: shell("./engine --selftest --kd 8"),
            figures: vec![],
            env: BTreeMap::new(),
            timeout_s: 600,
        }],
        identity: None,
        benches: vec![
            bench_config(
                "prefill",
                "tok/s",
                Better::Higher,
                Some(Bar::Relative { percent: 1.5 }),
            ),
            bench_config("decode", "ms", Better::Lower, None),
        ],
        claims: vec![],
        protocol: Protocol::Pairs(9),
        environment: Environment::default(),
        limits: Limits {
            output_bytes: 64 << 20,
            free_disk_bytes: 2 << 30,
        },
    }
}

fn bench_config(name: &str, unit: &str, better: Better, bar: Option<Bar>) -> Bench {
    Bench {
        name: name.to_owned(),
        probe: Probe::Command(CommandLine::Shell(format!("./engine --bench {name}"))),
        value: Some(Extract::Regex("([0-9.]+) tok/s".to_owned())),
        unit: unit.to_owned(),
        better,
        bar,
        env: BTreeMap::new(),
        timeout_s: 600,
        warmup: 1,
        inner: 8,
    }
}

fn commit(seed: u8, subject: &str, body: &str) -> CommitInfo {
    CommitInfo {
        sha: sha(seed),
        tree: sha(seed + 100),
        patch_id: Some(sha(seed + 50).to_string()),
        parent: Some(sha(seed.wrapping_sub(1))),
        subject: subject.to_owned(),
        message: format!("{subject}\n\n{body}"),
        author: "Ada Kernel".to_owned(),
        committed_at: UnixMillis(START.0 - 3_600_000),
    }
}

fn kernel(name: &str, registers: u32, static_smem: u32, opcodes: &[(&str, u64)]) -> sass::Kernel {
    let opcodes: BTreeMap<String, u64> =
        opcodes.iter().map(|(o, n)| ((*o).to_owned(), *n)).collect();
    sass::Kernel {
        symbol: "_Z6mmq_nb".to_owned(),
        name: name.to_owned(),
        arch: "sm_121".to_owned(),
        container: "engine#0".to_owned(),
        ledger: sass::Ledger {
            registers,
            static_smem,
            barriers: 1,
            max_threads: Some(256),
            code_bytes: 18_432,
            param_bytes: 40,
            ..sass::Ledger::default()
        },
        census: Some(sass::Census {
            total: opcodes.values().sum(),
            opcodes,
        }),
        code_hash: "c0de".to_owned(),
    }
}

fn occupancy(blocks: u32, dynamic: u32, limiters: &[sass::Limiter]) -> Option<LaunchOccupancy> {
    Some(LaunchOccupancy {
        launch: sass::Launch {
            threads: 256,
            dynamic_smem: dynamic,
        },
        from_launch_bound: false,
        occupancy: sass::Occupancy {
            blocks_per_sm: blocks,
            warps_per_sm: blocks * 8,
            max_warps_per_sm: 48,
            limiters: limiters.to_vec(),
        },
    })
}

fn code() -> CodeEvidence {
    let before = kernel(
        SPLIT,
        111,
        0,
        &[
            ("LDS.64", 32),
            ("LDS.128", 16),
            ("LDSM.16.M88.4", 72),
            ("IMMA.16832.S8.S8", 128),
            ("FFMA", 512),
            ("BAR.SYNC.DEFER_BLOCKING", 4),
        ],
    );
    let after = kernel(
        SPLIT,
        109,
        0,
        &[
            ("LDS.128", 32),
            ("LDSM.16.M88.4", 72),
            ("IMMA.16832.S8.S8", 128),
            ("FFMA", 508),
            ("BAR.SYNC.DEFER_BLOCKING", 4),
        ],
    );
    CodeEvidence {
        reports: PerSide::default(),
        delta: sass::Delta {
            changed: vec![(before, after)],
            unchanged: 14,
            ..sass::Delta::default()
        },
        occupancy: vec![KernelOccupancy {
            kernel: SPLIT.to_owned(),
            arch: "sm_121".to_owned(),
            base: occupancy(
                2,
                45_056,
                &[sass::Limiter::SharedMemory, sass::Limiter::Registers],
            ),
            head: occupancy(
                2,
                43_008,
                &[sass::Limiter::SharedMemory, sass::Limiter::Registers],
            ),
        }],
        runtime_files_changed: vec![],
    }
}

fn build(seed: u8) -> BuildEvidence {
    BuildEvidence {
        key: "k".to_owned(),
        cached: seed == 1,
        wall_ms: 41_230,
        failure: None,
        first_error: None,
        outputs: vec![OutputFile {
            path: "engine".to_owned(),
            artifact: artifact(seed),
            bytes: 4_200_000,
            executable: true,
        }],
        log: Some(artifact(seed + 1)),
    }
}

/// Samples whose pairs have the given effects, percent; `None` is a head launch that crashed.
pub(crate) fn bench_evidence(
    name: &str,
    centre: f64,
    better: Better,
    effects: &[Option<f64>],
) -> BenchEvidence {
    let sign = if better == Better::Higher { 1.0 } else { -1.0 };
    let mut samples = Vec::new();
    let mut at = START.0 + 60_000;
    let mut push = |role, pair: usize, slot, side, value: Option<f64>| {
        at += 4_100;
        samples.push(Sample {
            bench: name.to_owned(),
            side,
            role,
            pair: pair as u32,
            slot,
            attempt: 1,
            started_at: UnixMillis(at),
            wall_ms: 4_012.5,
            value,
            inner: vec![],
            failure: value.is_none().then_some(Failure::Signal { signal: 11 }),
            log: Some(artifact(pair as u8 + 40)),
        });
    };
    let head = |base: f64, effect: f64| base * (sign * effect / 100.0).exp();
    push(
        SampleRole::ThrowAway,
        0,
        0,
        Side::Base,
        Some(centre * 0.981),
    );
    push(
        SampleRole::ThrowAway,
        0,
        1,
        Side::Head,
        Some(head(centre * 0.981, 0.2)),
    );
    for (i, effect) in effects.iter().enumerate() {
        let base = centre * (1.0 + 0.002 * ((i * 7 % 5) as f64 - 2.0));
        let value = effect.map(|e| head(base, e));
        if i % 2 == 0 {
            push(SampleRole::Pair, i, 0, Side::Base, Some(base));
            push(SampleRole::Pair, i, 1, Side::Head, value);
        } else {
            push(SampleRole::Pair, i, 0, Side::Head, value);
            push(SampleRole::Pair, i, 1, Side::Base, Some(base));
        }
    }
    BenchEvidence {
        bench: name.to_owned(),
        samples,
        base_history: vec![],
        past_estimates: vec![],
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (n > 0).then(|| (values[(n - 1) / 2] + values[n / 2]) / 2.0)
}

/// Judges a bench's effects well enough for pictures: the Walsh averages' median and outer ends.
pub(crate) fn bench_judgement(
    taken: &BenchEvidence,
    (unit, better): (&str, Better),
    role: Role,
    bar: Option<Bar>,
    finding: Finding,
) -> BenchJudgement {
    let effects: Vec<f64> = super::view::valid_pair_effects(&taken.samples, better);
    let mut walsh: Vec<f64> = Vec::new();
    for i in 0..effects.len() {
        walsh.extend(effects[..=i].iter().map(|e| (e + effects[i]) / 2.0));
    }
    let estimate = median(&mut walsh);
    let trim = if effects.len() > 6 {
        effects.len() - 4
    } else {
        0
    };
    let values = |side: Side| -> Vec<f64> {
        let own = taken
            .samples
            .iter()
            .filter(|s| s.side == side && s.role == SampleRole::Pair);
        own.filter_map(|s| s.value).collect()
    };
    let planned = taken
        .samples
        .iter()
        .filter(|s| s.role == SampleRole::Pair)
        .count()
        / 2;
    BenchJudgement {
        bench: taken.bench.clone(),
        unit: unit.to_owned(),
        better,
        role,
        bar,
        bar_percent: match bar {
            Some(Bar::Relative { percent }) => Some(percent),
            Some(Bar::Absolute { value }) => {
                median(&mut values(Side::Base)).map(|b| 100.0 * (value / b).ln())
            }
            None => None,
        },
        pairs: effects.len() as u32,
        pairs_missing: (planned - effects.len()) as u32,
        pairs_positive: effects.iter().filter(|e| **e > 0.0).count() as u32,
        base_median: median(&mut values(Side::Base)),
        head_median: median(&mut values(Side::Head)),
        effect: estimate.map(|estimate| Effect {
            estimate,
            low: walsh[trim],
            high: walsh[walsh.len() - 1 - trim],
            coverage: 0.9609,
            min: effects.iter().copied().fold(f64::INFINITY, f64::min),
            max: effects.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }),
        finding,
    }
}

fn reason(weight: Weight, text: &str) -> Reason {
    Reason {
        weight,
        text: text.to_owned(),
    }
}

fn claim(text: &str, outcome: ClaimOutcome, expected: &str, observed: &str) -> ClaimEvidence {
    ClaimEvidence {
        text: text.to_owned(),
        source: Source::Trailer,
        outcome,
        expected: expected.to_owned(),
        observed: observed.to_owned(),
    }
}

fn gate(kind: GateKind, name: &str, side: Option<Side>, outcome: GateOutcome) -> GateEvidence {
    GateEvidence {
        kind,
        name: name.to_owned(),
        side,
        outcome,
        figures: vec![],
        failure: None,
        logs: vec![],
    }
}

fn round(
    id: &str,
    name: &str,
    lever: &str,
    verdict: Verdict,
    numbers: Option<(f64, f64, f64)>,
    resources: &str,
) -> RoundRow {
    let seed = id
        .bytes()
        .fold(7u8, |a, b| a.wrapping_mul(3).wrapping_add(b));
    RoundRow {
        run_id: id.to_owned(),
        round: Some(name.to_owned()),
        lever: lever.to_owned(),
        verdict,
        benches: numbers
            .map(|(estimate, low, high)| RoundBench {
                bench: "prefill".to_owned(),
                role: Role::Target,
                estimate: Some(estimate),
                interval: Some((low, high)),
                bar_percent: Some(1.5),
                pairs: 9,
                pairs_positive: if low > 0.0 { 9 } else { 4 },
            })
            .into_iter()
            .collect(),
        resources: resources.to_owned(),
        date: UnixMillis(START.0 - 86_400_000 * i64::from(60 - seed % 50)),
        head: sha(seed),
        link: None,
        corrected: id == "22",
        decision: None,
    }
}

/// The rounds before, oldest first.
pub(crate) fn history() -> Vec<RoundRow> {
    vec![
        round(
            "17",
            "r17",
            "warp remap 32 od x 64 tok",
            Verdict::Reverted,
            Some((0.94, -0.31, 1.62)),
            "mmq_wide<8> regs 141 -> 149",
        ),
        round(
            "22",
            "r22",
            "qa8 XOR swizzle",
            Verdict::Landed,
            Some((2.41, 1.93, 2.88)),
            "",
        ),
        round(
            "23",
            "r22",
            "d/ssum stream fold",
            Verdict::Reverted,
            Some((-19.6, -20.4, -18.9)),
            "mmq_nb<8> regs 111 -> 255, spills 0 -> 28 st + 28 ld",
        ),
        round(
            "30",
            "r31",
            "naive q-major d/ssum",
            Verdict::Inconclusive,
            Some((0.57, -0.12, 1.21)),
            "mmq_nb<8> regs 111 -> 110",
        ),
    ]
}

/// r31's region split: everything went well.
pub(crate) fn landed() -> Fixture {
    let bar = Some(Bar::Relative { percent: 1.5 });
    let effects = [2.31, 1.88, 2.64, 2.02, 2.47, 1.61, 2.95, 2.2, 2.38].map(Some);
    let decode_effects = [0.1, -0.2, 0.05, 0.12, -0.08, 0.2, -0.15, 0.02, 0.06].map(Some);
    let prefill = bench_evidence("prefill", 1311.8, Better::Higher, &effects);
    let decode = bench_evidence("decode", 23.41, Better::Lower, &decode_effects);
    let judged = vec![
        bench_judgement(
            &prefill,
            ("tok/s", Better::Higher),
            Role::Target,
            bar,
            Finding::ReachesBar,
        ),
        bench_judgement(
            &decode,
            ("ms", Better::Lower),
            Role::Guard,
            None,
            Finding::NoEffect,
        ),
    ];
    let mut parity = gate(
        GateKind::Parity,
        "KD=8",
        Some(Side::Head),
        GateOutcome::Passed,
    );
    parity.figures = vec![Figure {
        name: "nmse".to_owned(),
        value: Some(1.2e-9),
        max: 1e-6,
    }];
    Fixture {
        evidence: Evidence {
            config: config(),
            registration: registration(bar),
            commits: PerSide {
                base: commit(3, "mmq: keep scales in registers", ""),
                head: commit(
                    9,
                    "mmq_nb: region-split q-major d/ssum",
                    "The d and ssum streams are split by region so that every\nlane reads 16 bytes.\n\nRound: r31\nBar: prefill +1.5 %",
                ),
            },
            builds: PerSide {
                base: Some(build(1)),
                head: Some(build(2)),
            },
            code: Some(code()),
            revert: None,
            gates: vec![
                parity,
                gate(GateKind::Identity, "greedy-32", None, GateOutcome::Passed),
            ],
            claims: vec![
                claim(
                    "sass mmq_nb LDS.64 == 0",
                    ClaimOutcome::Holds,
                    "== 0",
                    "0 (was 32)",
                ),
                claim(
                    "sass mmq_nb LDS.128 == 32",
                    ClaimOutcome::Holds,
                    "== 32",
                    "32 (was 16)",
                ),
                claim(
                    "smem mmq_nb <= 43008",
                    ClaimOutcome::Holds,
                    "<= 43,008",
                    "43,008",
                ),
                claim(
                    "counter mmq_nb shared_ld_conflicts == 0",
                    ClaimOutcome::NotEvaluated {
                        reason: "needs hardware counters".to_owned(),
                    },
                    "== 0",
                    "",
                ),
            ],
            device: DeviceState::Present {
                name: "NVIDIA GB10".to_owned(),
                id: "GPU-1".to_owned(),
            },
            benches: vec![prefill, decode],
            faults: vec![],
            interrupted: false,
            decision: None,
        },
        judgement: Judgement {
            verdict: Verdict::Landed,
            headline: "prefill +2.28 % reaches its bar of +1.5 %, no guard is worse; keep it"
                .to_owned(),
            reasons: vec![
                reason(
                    Weight::Decisive,
                    "prefill: +2.28 % [+2.02, +2.55] with 9 of 9 pairs positive reaches the bar of +1.5 %",
                ),
                reason(
                    Weight::Note,
                    "nine fixed pairs miss a true +1.5 % effect in about one case of three",
                ),
            ],
            benches: judged,
            revert_verified: None,
        },
        corrections: vec![],
        machine: pairs(&[
            ("host", "spark-3"),
            ("GPU", "NVIDIA GB10 (sm_121), 48 SMs"),
            ("driver", "580.95.05"),
            ("CPU", "20 cores, aarch64"),
            ("kernel", "6.11.0-1016-nvidia"),
        ]),
        toolchain: pairs(&[("nvcc", "13.0.88 sha256:8f3a…"), ("g++", "13.3.0")]),
        previous: history(),
        logs: vec![],
    }
}

fn registration(bar: Option<Bar>) -> Registration {
    Registration {
        round: Some("r31".to_owned()),
        lever: "region-split q-major d/ssum".to_owned(),
        hypothesis: Some("fewer and wider shared-memory reads shorten the scale path".to_owned()),
        kind: RoundKind::Lever,
        bars: bar
            .map(|bar| RegisteredBar {
                bench: "prefill".to_owned(),
                bar,
                source: Source::Trailer,
                text: "prefill +1.5 %".to_owned(),
            })
            .into_iter()
            .collect(),
        claims: vec![
            RegisteredClaim {
                text: "sass mmq_nb LDS.64 == 0".to_owned(),
                source: Source::Trailer,
            },
            RegisteredClaim {
                text: "sass mmq_nb LDS.128 == 32".to_owned(),
                source: Source::Trailer,
            },
        ],
        retry_when: vec!["occupancy mmq_nb >= 3".to_owned()],
        errors: vec![],
    }
}

/// Below the bar; only the decision is missing.
pub(crate) fn sub_bar_pending() -> Fixture {
    let mut f = landed();
    let effects = [1.07, 0.49, 1.3, 0.88, 1.45, 2.38, 0.95, 1.02, 1.2].map(Some);
    let bar = Some(Bar::Relative { percent: 1.5 });
    let prefill = bench_evidence("prefill", 1311.8, Better::Higher, &effects);
    f.judgement.benches[0] = bench_judgement(
        &prefill,
        ("tok/s", Better::Higher),
        Role::Target,
        bar,
        Finding::BelowBar,
    );
    f.evidence.benches[0] = prefill;
    f.evidence.claims.truncate(3);
    f.judgement.verdict = Verdict::Inconclusive;
    f.judgement.headline = "prefill +1.09 % is real but below its bar of +1.5 %; mechanism confirmed and ledger not worse: `runner decide 41 --land --reason \"…\"` makes it LANDED (sub-bar)".to_owned();
    f.judgement.reasons = vec![
        reason(
            Weight::Decisive,
            "prefill: +1.09 % [+0.92, +1.34], 9 of 9 pairs positive, below the bar of +1.5 %",
        ),
        reason(Weight::Decisive, "no decision is recorded"),
    ];
    f
}

/// The mechanism was refuted before anything was measured.
pub(crate) fn failed_claim() -> Fixture {
    let mut f = landed();
    f.evidence.claims[0] = claim("sass mmq_nb LDS.64 == 0", ClaimOutcome::Fails, "== 0", "32");
    f.evidence.benches.clear();
    f.judgement.benches.clear();
    f.judgement.verdict = Verdict::Reverted;
    f.judgement.headline =
        "mechanism refuted: `sass mmq_nb LDS.64 == 0` fails, observed 32; nothing was measured"
            .to_owned();
    f.judgement.reasons = vec![reason(
        Weight::Decisive,
        "claim `sass mmq_nb LDS.64 == 0` fails: expected == 0, observed 32",
    )];
    f
}

/// A revert whose machine code equals the state before the experiment.
pub(crate) fn verified_revert() -> Fixture {
    let mut f = failed_claim();
    f.evidence.claims.clear();
    f.evidence.gates.clear();
    f.evidence.registration = Registration {
        lever: String::new(),
        ..Registration::default()
    };
    f.evidence.commits.head.subject = "Revert \"mmq: warp remap 32 od x 64 tok\"".to_owned();
    f.evidence.revert = Some(RevertEvidence {
        reverts: sha(3),
        before: Some(sha(2)),
        equal: Some(true),
        detail: vec![],
    });
    f.judgement.revert_verified = Some(true);
    f.judgement.headline =
        "verified revert: machine code equals the state before the experiment; nothing to measure"
            .to_owned();
    f.judgement.reasons = vec![reason(
        Weight::Decisive,
        "all 15 kernels and the host code are equal to those of the parent of the reverted commit",
    )];
    f.evidence.decision = Some(Decision {
        action: DecisionAction::Revert,
        reason: "confirms r17".to_owned(),
        by: "ada".to_owned(),
        at: START,
    });
    f
}

/// Both sides hold the same machine code.
pub(crate) fn no_change() -> Fixture {
    let mut f = failed_claim();
    f.evidence.claims.clear();
    f.evidence.gates.clear();
    f.evidence.code = Some(CodeEvidence {
        delta: sass::Delta {
            unchanged: 15,
            ..sass::Delta::default()
        },
        occupancy: vec![],
        ..code()
    });
    f.judgement.verdict = Verdict::NoChange;
    f.judgement.headline =
        "base and head hold the same machine code; nothing to measure".to_owned();
    // The judge may repeat its headline as the deciding reason; outputs say it once.
    f.judgement.reasons = vec![reason(Weight::Decisive, &f.judgement.headline.clone())];
    f
}

/// A head that does not build, with a hostile compiler message.
pub(crate) fn broken_build() -> Fixture {
    let mut f = failed_claim();
    let error = "kernels/mmq.cu(12): error: expected a `;` | <script>alert(1)</script> @everyone see https://evil.example/x #1\u{202e}";
    f.evidence.code = None;
    f.evidence.claims.clear();
    f.evidence.gates = vec![gate(
        GateKind::Parity,
        "KD=8",
        Some(Side::Head),
        GateOutcome::NotRun {
            reason: "head does not build".to_owned(),
        },
    )];
    f.evidence.registration.lever = "fold|pipe <img src=x onerror=alert(1)> @org/team".to_owned();
    let mut head = build(2);
    head.failure = Some(Failure::Exit { code: 2 });
    head.first_error = Some(error.to_owned());
    head.outputs.clear();
    f.logs = vec![LogExcerpt {
        artifact: head.log.clone().expect("a log"),
        text: format!(
            "nvcc -O3 mmq.cu\n\u{1b}[31m{error}\u{1b}[0m\n```\n</details><h1>owned</h1>\nmake: *** [engine] Error 2\n"
        ),
    }];
    f.evidence.builds.head = Some(head);
    f.judgement.verdict = Verdict::Broken;
    f.judgement.headline = format!("head does not build: {error}");
    f.judgement.reasons = vec![reason(
        Weight::Decisive,
        "the build of head ended with exit status 2; base builds",
    )];
    f
}

/// No device; the code was compared and the claims hold.
pub(crate) fn not_measured() -> Fixture {
    let mut f = failed_claim();
    f.evidence.claims[0].outcome = ClaimOutcome::Holds;
    f.evidence.claims[0].observed = "0".to_owned();
    f.evidence.device = DeviceState::Absent {
        reason: "no CUDA driver (libcuda.so.1 was not found)".to_owned(),
    };
    for gate in &mut f.evidence.gates {
        gate.outcome = GateOutcome::NotRun {
            reason: "no device".to_owned(),
        };
        gate.figures.clear();
    }
    f.judgement.verdict = Verdict::NotMeasured;
    f.judgement.headline = "no device at hand: the code was compared and 3 claims hold; run it on a machine with sm_121".to_owned();
    f.judgement.reasons = vec![reason(
        Weight::Decisive,
        "no CUDA driver (libcuda.so.1 was not found)",
    )];
    f
}

/// The machine is at fault, and a figure of the record was corrected.
pub(crate) fn env_invalid() -> Fixture {
    let mut f = landed();
    f.judgement.verdict = Verdict::EnvInvalid;
    f.judgement.headline =
        "base is outside its own history; repeat when the machine is quiet".to_owned();
    f.judgement.reasons = vec![reason(
        Weight::Decisive,
        "prefill: base's median 1,311.8 is outside 1,402.1 ± 28.0 of 6 earlier runs",
    )];
    f.evidence.faults = vec![Fault {
        stage: Stage::Measure,
        side: None,
        failure: Some(Failure::TimedOut { limit_s: 600 }),
        message: "the device did not become free".to_owned(),
    }];
    f.evidence.interrupted = true;
    f.corrections = vec![CorrectionNote {
        field: "prefill base median".to_owned(),
        old: "1,402".to_owned(),
        new: "1,311.8".to_owned(),
        reason: "wrong binary".to_owned(),
        by: "ada".to_owned(),
        at: START,
    }];
    f
}

/// Parity failed once and passed when run again; others failed, had no data, or were not run.
pub(crate) fn flaky_parity() -> Fixture {
    let mut f = landed();
    f.evidence.gates[0].outcome = GateOutcome::Flaky {
        first: "nmse 3.1e-6 is above 1e-6".to_owned(),
    };
    f.evidence.gates.push(gate(
        GateKind::Parity,
        "KD=4",
        Some(Side::Head),
        GateOutcome::Failed {
            reason: "exit status 1".to_owned(),
        },
    ));
    f.evidence.gates.push(gate(
        GateKind::Parity,
        "KD=2",
        Some(Side::Head),
        GateOutcome::NoData {
            reason: "printed no nmse".to_owned(),
        },
    ));
    f.evidence.gates.push(gate(
        GateKind::Parity,
        "KD=1",
        Some(Side::Base),
        GateOutcome::NotRun {
            reason: "head passes".to_owned(),
        },
    ));
    f.evidence.gates[3].figures = vec![
        Figure {
            name: "nmse".to_owned(),
            value: None,
            max: 1e-6,
        },
        Figure {
            name: "max".to_owned(),
            value: Some(f64::NAN),
            max: 1.0,
        },
    ];
    f.judgement.reasons.push(reason(
        Weight::Warning,
        "parity KD=8 is flaky: failed once, passed when run again",
    ));
    f
}

/// Two head launches crashed, one pair is far out, and the bar is absolute.
pub(crate) fn missing_samples() -> Fixture {
    let mut f = landed();
    let effects = [
        Some(2.31),
        None,
        Some(2.64),
        Some(-0.4),
        Some(96.0),
        None,
        Some(2.95),
        Some(2.2),
        Some(2.38),
    ];
    let bar = Some(Bar::Absolute { value: 1350.0 });
    let prefill = bench_evidence("prefill", 1311.8, Better::Higher, &effects);
    f.judgement.benches[0] = bench_judgement(
        &prefill,
        ("tok/s", Better::Higher),
        Role::Target,
        bar,
        Finding::Open,
    );
    f.evidence.benches[0] = prefill;
    f.judgement.verdict = Verdict::Inconclusive;
    f.judgement.headline = "the pairs on prefill do not settle it; it does not land".to_owned();
    f.logs = vec![LogExcerpt {
        artifact: artifact(41),
        text: "loading model\nSegmentation fault\n".to_owned(),
    }];
    f
}

/// Names from other alphabets and of great length.
pub(crate) fn unicode_names() -> Fixture {
    let mut f = landed();
    f.evidence.registration.lever = "Шаг τ — 並べ替え \u{200f}عربى ".to_owned() + &"x".repeat(300);
    f.evidence.config.campaign.title = "кампания «q4_K» & co".to_owned();
    f.evidence.benches[0].bench = "débit ⟨4k⟩".to_owned();
    f.judgement.benches[0].bench = "débit ⟨4k⟩".to_owned();
    if let Some(code) = &mut f.evidence.code {
        code.delta.changed[0].1.name =
            format!("void ядро<{}>(int)", "std::vector<int>, ".repeat(40));
    }
    f
}

/// Every kernel of a large binary changed.
pub(crate) fn many_kernels() -> Fixture {
    let mut f = landed();
    if let Some(code) = &mut f.evidence.code {
        code.delta.changed = (0..300u32)
            .map(|i| {
                let name = format!("void flash_attn_ext_f16<{i}, {}, (ggml_type)8, true>(char const*, float*, int)", i * 8);
                let census: Vec<(String, u64)> = (0..30u64).map(|o| (format!("OP{o}.X"), u64::from(i) + o)).collect();
                let shifted: Vec<(&str, u64)> = census.iter().map(|(o, n)| (o.as_str(), n + 1)).collect();
                let plain: Vec<(&str, u64)> = census.iter().map(|(o, n)| (o.as_str(), *n)).collect();
                (kernel(&name, 128, 1024, &plain), kernel(&name, 128 + i % 3, 1024 * (1 + i % 2), &shifted))
            })
            .collect();
        code.delta.host_changed = vec!["engine".to_owned()];
    }
    f.evidence.code.iter_mut().for_each(|c| {
        c.occupancy.push(KernelOccupancy {
            kernel: WIDE.to_owned(),
            arch: "sm_121".to_owned(),
            base: None,
            head: None,
        })
    });
    f
}

/// All of them, with the names of their snapshots.
pub(crate) fn all() -> Vec<(&'static str, Fixture)> {
    vec![
        ("landed", landed()),
        ("sub_bar_pending", sub_bar_pending()),
        ("failed_claim", failed_claim()),
        ("verified_revert", verified_revert()),
        ("no_change", no_change()),
        ("broken_build", broken_build()),
        ("not_measured", not_measured()),
        ("env_invalid", env_invalid()),
        ("flaky_parity", flaky_parity()),
        ("missing_samples", missing_samples()),
        ("unicode_names", unicode_names()),
        ("many_kernels", many_kernels()),
    ]
}
