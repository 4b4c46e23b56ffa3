//! The grammar as tables and properties; the evaluation as scenarios.

use proptest::prelude::*;

use super::*;
use crate::config::KernelFacts;
use crate::model::{
    ClaimEvidence, ClaimOutcome, LaunchOccupancy, PerSide, RegisteredClaim, Side, Source,
};

fn parse(text: &str) -> Claim {
    match text.parse() {
        Ok(claim) => claim,
        Err(error) => panic!("{text}: {error}"),
    }
}

#[test]
fn claims_and_how_they_are_written_back() {
    for (text, back) in [
        ("sass mmq_nb LDS.64 == 0", "sass mmq_nb LDS.64 == 0"),
        ("census mmq_nb LDS.64 32 -> 0", "sass mmq_nb LDS.64 32 -> 0"),
        (
            "sass ldsm_check LDSM unchanged",
            "sass ldsm_check LDSM unchanged",
        ),
        (
            "smem mmq_nb 45,056 -> 43,008",
            "smem mmq_nb 45,056 -> 43,008",
        ),
        ("smem mmq_nb 44 KiB -> 42K", "smem mmq_nb 45,056 -> 43,008"),
        ("smem mmq_nb 44K\u{2192}42K", "smem mmq_nb 45,056 -> 43,008"),
        ("  regs   mmq_nb   not above base ", "regs mmq_nb <= base"),
        ("regs k not above 141", "regs k <= 141"),
        ("regs k not below base", "regs k >= base"),
        ("regs k base - 2", "regs k == base - 2"),
        ("regs k <= base + 2", "regs k <= base + 2"),
        ("regs k down", "regs k down"),
        ("spills /^mmq_/ == 0", "spills /^mmq_/ == 0"),
        ("spills /a\\/b/ == 0", "spills /a\\/b/ == 0"),
        ("occupancy mmq_* >= 2", "occupancy mmq_* >= 2"),
        ("barriers k@sm_121 != 1", "barriers k @sm_121 != 1"),
        ("stack k @sm_90a < 1K", "stack k @sm_90a < 1,024"),
        (
            "instructions k -5.8% +- 0.5%",
            "instructions k -5.8% +- 0.5%",
        ),
        ("instructions k +5% \u{b1} 1 %", "instructions k +5% +- 1%"),
        ("unchanged mmq<8, 4>", "unchanged mmq<8, 4>"),
        ("unchanged \"a b\"", "unchanged \"a b\""),
        ("unchanged \"plain\"", "unchanged plain"),
        (
            "unchanged (anonymous namespace)::k",
            "unchanged (anonymous namespace)::k",
        ),
        (
            "counter k shared_ld_conflicts 524,288 -> 0",
            "counter k shared_ld_conflicts 524,288 -> 0",
        ),
        (
            "counter k shared_ld_conflicts 524,288 -> 0 \u{b1} 100",
            "counter k shared_ld_conflicts 524,288 -> 0 +- 100",
        ),
        (
            "counter k smsp__inst_executed.sum base+-0.5 %",
            "counter k smsp__inst_executed.sum == base +- 0.5%",
        ),
        ("smem k == 44 KiB +- 1K", "smem k == 45,056 +- 1,024"),
        ("regs k base + 2 +- 1", "regs k == base + 2 +- 1"),
        ("live k <= 120", "live k <= 120"),
    ] {
        let claim = parse(text);
        assert_eq!(claim.to_string(), back, "{text}");
        assert_eq!(parse(back), claim, "{text}");
    }
}

#[test]
fn wrong_claims_say_where_and_what_to_write() {
    for (text, column, parts) in [
        ("", 1, &["begins with"][..]),
        ("sas k LDS == 0", 1, &["`sas`", "did you mean `sass`?"]),
        ("regs <= 3", 6, &["kernel should be named"]),
        ("regs k <= ", 11, &["number should stand"]),
        ("regs k = 3", 8, &["`=`", "`==`"]),
        ("regs k", 7, &["ends before"]),
        ("regs k 3", 8, &["`== 3`"]),
        ("regs k <= -3", 11, &["never negative"]),
        ("regs k <= 3 KiB", 13, &["without a unit"]),
        ("smem k <= 3 parsecs", 13, &["`parsecs`", "`KiB`"]),
        ("smem k <= 45,05", 11, &["`45,056`"]),
        ("regs k unchangd", 8, &["did you mean `unchanged`?"]),
        ("regs k not over base", 12, &["`above`"]),
        ("regs k -5%", 8, &["tolerance", "`-5% +- 0.5%`"]),
        ("regs k -5", 8, &["percent", "`base -5`"]),
        ("regs k <= base - 5%", 19, &["percentage"]),
        ("regs k <= 3 and more", 13, &["left over"]),
        ("sass k == 0", 8, &["opcode should be named"]),
        ("sass k lds.64 == 0", 8, &["`LDS.64`"]),
        ("sass k LDS. == 0", 8, &["`LDS`"]),
        ("counter k <= 3", 11, &["counter should be named"]),
        (
            "counter k shared_ld_conflict == 0",
            11,
            &["not a counter", "`shared_ld_conflicts`"],
        ),
        ("counter k duration down", 11, &["is a time", "`Bar:`"]),
        ("counter k gpu__time_duration.sum down", 11, &["is a time"]),
        ("counter k qqq == 0", 11, &["docs/counters.md"]),
        ("regs k <= 3 +- 1", 12, &["beside `<=`"]),
        ("regs k != 3 +- 1%", 12, &["beside `!=`"]),
        ("regs k == 3 +- ", 16, &["number should stand"]),
        ("regs k == 0 +- 1%", 16, &["percentage of 0", "`+- N`"]),
        ("regs k 9 -> 0 +- 0.1 %", 18, &["percentage of 0"]),
        ("regs k 0 -> 9 +- 0.1%", 18, &["percentage of 0"]),
        ("regs k == 9 +- 100%", 16, &["100 % or more"]),
        ("regs k base +- 250%", 16, &["100 % or more"]),
        ("regs k unchanged +- 3", 18, &["left over"]),
        ("regs k @121 <= 3", 9, &["`@sm_121`"]),
        ("regs k<= 3", 7, &["not closed", "blank"]),
        ("regs \"k <= 3", 6, &["does not end"]),
        ("regs \"\" <= 3", 6, &["empty"]),
        ("regs /k <= 3", 6, &["does not end"]),
        ("regs // <= 3", 6, &["empty"]),
        ("regs /(/ <= 3", 6, &["not a regular expression"]),
        ("regs a\\b <= 3", 6, &["quotes"]),
        ("unchanged k == 0", 13, &["left over"]),
        ("µ", 1, &["not a metric"]),
    ] {
        let error = text.parse::<Claim>().expect_err(text);
        assert_eq!(error.column(), column, "{text}: {error}");
        for part in parts {
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}

#[test]
fn the_caret_stands_under_the_fault() {
    let error = "regs k = 3".parse::<Claim>().expect_err("wrong");
    assert_eq!(
        error.with_caret(),
        "column 8: `=` is not a comparison (did you mean `==`?)\n  regs k = 3\n         ^"
    );
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (0u32..5000).prop_map(f64::from),
        (0u64..1 << 50).prop_map(|n| n as f64),
        (0u32..1_000_000).prop_map(|n| f64::from(n) / 1000.0),
    ]
}

fn metric() -> impl Strategy<Value = Metric> {
    prop_oneof![
        "[A-Z][A-Z0-9]{0,6}(\\.[A-Za-z0-9_]{1,5}){0,3}".prop_map(|opcode| Metric::Sass { opcode }),
        "[a-z]{1,4}__[a-z_]{1,8}(\\.[a-z_]{1,5}){0,2}".prop_map(|name| Metric::Counter { name }),
        proptest::sample::select(vec!["shared_ld_conflicts", "instructions", "stall_barrier"])
            .prop_map(|name| Metric::Counter {
                name: name.to_owned()
            }),
        Just(Metric::Registers),
        Just(Metric::Spills),
        Just(Metric::Stack),
        Just(Metric::SharedMemory),
        Just(Metric::Occupancy),
        Just(Metric::Barriers),
        Just(Metric::Instructions),
        Just(Metric::Live),
    ]
}

fn kernel() -> impl Strategy<Value = KernelPattern> {
    prop_oneof![
        "[ -~µ]{1,12}"
            .prop_filter("a name", |name| !name.trim().is_empty())
            .prop_map(KernelPattern::Exact),
        "[a-z_]{0,4}\\*[a-z_:<,]{0,3}\\*?"
            .prop_filter("closed", |glob| !glob.contains('<')
                && !glob.starts_with(':'))
            .prop_map(KernelPattern::Glob),
        "[a-z^.]{1,5}(/[a-z]{1,3}\\\\\\(){0,2}".prop_map(KernelPattern::Regex),
    ]
}

fn tolerance() -> impl Strategy<Value = Tolerance> {
    prop_oneof![
        Just(Tolerance::Exact),
        number().prop_map(Tolerance::Absolute),
        (0..1000u16).prop_map(|n| Tolerance::Percent(f64::from(n) / 10.0)),
    ]
}

/// A tolerance that may stand behind these values: no percentage of 0.
fn allowed(within: Tolerance, values: &[Operand]) -> Tolerance {
    match within {
        Tolerance::Percent(_) if values.contains(&Operand::Number(0.0)) => Tolerance::Exact,
        within => within,
    }
}

fn relation() -> impl Strategy<Value = Relation> {
    let comparison = prop_oneof![
        Just(Comparison::Equal),
        Just(Comparison::NotEqual),
        Just(Comparison::Less),
        Just(Comparison::AtMost),
        Just(Comparison::More),
        Just(Comparison::AtLeast),
    ];
    let operand = prop_oneof![
        number().prop_map(Operand::Number),
        (number(), any::<bool>()).prop_map(|(n, minus)| Operand::Base {
            offset: if minus { -n } else { n }
        }),
    ];
    prop_oneof![
        (comparison, operand, tolerance()).prop_map(|(op, with, within)| Relation::Compare {
            op,
            with,
            within: match op {
                Comparison::Equal => allowed(within, &[with]),
                _ => Tolerance::Exact,
            },
        }),
        (number(), number(), tolerance()).prop_map(|(from, to, within)| Relation::Transition {
            from,
            to,
            within: allowed(within, &[from, to].map(Operand::Number)),
        }),
        Just(Relation::Unchanged),
        Just(Relation::Down),
        Just(Relation::Up),
        (number(), number(), any::<bool>()).prop_map(|(n, tolerance, minus)| Relation::Change {
            percent: if minus { -n } else { n },
            tolerance,
        }),
    ]
}

fn claim() -> impl Strategy<Value = Claim> {
    let arch = proptest::option::of("sm_[1-9][0-9]{1,2}[a-z]?");
    (metric(), kernel(), arch, relation(), 0..10u8).prop_map(
        |(metric, kernel, arch, relation, code)| match code {
            0 => Claim {
                metric: Metric::Code,
                kernel,
                arch,
                relation: Relation::Unchanged,
            },
            _ => Claim {
                metric,
                kernel,
                arch,
                relation,
            },
        },
    )
}

proptest! {
    #[test]
    fn every_claim_reads_back_as_it_was_written(claim in claim()) {
        let text = claim.to_string();
        match text.parse::<Claim>() {
            Ok(read) => prop_assert_eq!(read, claim, "{}", text),
            Err(error) => prop_assert!(false, "{}: {}", text, error),
        }
    }

    #[test]
    fn the_parser_never_panics(text in "\\PC{0,40}") {
        if let Err(error) = text.parse::<Claim>() {
            error.with_caret();
        }
    }

    #[test]
    fn near_claims_never_panic_and_read_back(
        metric in "(sass|census|regs|smem|unchanged|counter) ",
        kernel in "(k|\"k |/k|k\\*|f<8, 4>|\\(a b\\)::k|µ|k@sm_9)",
        rest in "[ =<>+\\-.,0-9%Kbase LDS±→@/\"\\\\]{0,24}",
    ) {
        let text = format!("{metric}{kernel}{rest}");
        match text.parse::<Claim>() {
            Ok(claim) => prop_assert_eq!(parse(&claim.to_string()), claim),
            Err(error) => { error.with_caret(); }
        }
    }
}

// --- evaluation ---

fn kernel_with(name: &str, arch: &str, change: impl FnOnce(&mut sass::Kernel)) -> sass::Kernel {
    let mut kernel = sass::Kernel {
        symbol: name.to_owned(),
        name: name.to_owned(),
        arch: arch.to_owned(),
        container: "engine#0".to_owned(),
        ledger: sass::Ledger::default(),
        census: Some(sass::Census::default()),
        code_hash: "same".to_owned(),
    };
    change(&mut kernel);
    kernel
}

fn count(kernel: &mut sass::Kernel, opcodes: &[(&str, u64)]) {
    let census = kernel.census.get_or_insert_default();
    for (opcode, n) in opcodes {
        census.opcodes.insert((*opcode).to_owned(), *n);
        census.total += n;
    }
}

fn report(kernels: Vec<sass::Kernel>) -> sass::Report {
    sass::Report {
        files: Vec::new(),
        kernels,
    }
}

/// r31: scale reads become LDS.128, two registers and 2 KiB less.
fn r31() -> PerSide<sass::Report> {
    PerSide {
        base: report(vec![kernel_with("mmq_nb(int)", "sm_121", |k| {
            k.ledger.registers = 111;
            k.ledger.static_smem = 45_056;
            k.code_hash = "before".into();
            count(k, &[("LDS.64", 32), ("LDS.128", 16), ("FFMA", 952)]);
        })]),
        head: report(vec![kernel_with("mmq_nb(int)", "sm_121", |k| {
            k.ledger.registers = 109;
            k.ledger.static_smem = 43_008;
            k.code_hash = "after".into();
            count(k, &[("LDS.128", 32), ("FFMA", 910)]);
        })]),
    }
}

fn occupancy(side: Side, _: &sass::Kernel) -> Option<LaunchOccupancy> {
    Some(LaunchOccupancy {
        launch: sass::Launch {
            threads: 256,
            dynamic_smem: 0,
        },
        from_launch_bound: true,
        occupancy: sass::Occupancy {
            blocks_per_sm: if side == Side::Base { 1 } else { 2 },
            warps_per_sm: 16,
            max_warps_per_sm: 48,
            limiters: Vec::new(),
        },
    })
}

fn evaluate_one(
    text: &str,
    reports: &PerSide<sass::Report>,
    facts: &[KernelFacts],
) -> ClaimEvidence {
    let context = ClaimContext {
        reports,
        facts: PerSide {
            base: facts,
            head: facts,
        },
        occupancy: &occupancy,
        counters: CounterFacts::Unavailable("there is no profiler"),
    };
    let claims = [RegisteredClaim {
        text: text.to_owned(),
        source: Source::Trailer,
    }];
    evaluate(&claims, &context).remove(0)
}

#[track_caller]
fn holds(text: &str, reports: &PerSide<sass::Report>) -> String {
    let evidence = evaluate_one(text, reports, &[]);
    assert_eq!(evidence.outcome, ClaimOutcome::Holds, "{evidence:?}");
    evidence.observed
}

#[track_caller]
fn fails(text: &str, reports: &PerSide<sass::Report>) -> String {
    let evidence = evaluate_one(text, reports, &[]);
    assert_eq!(evidence.outcome, ClaimOutcome::Fails, "{evidence:?}");
    evidence.observed
}

#[track_caller]
fn open(text: &str, reports: &PerSide<sass::Report>) -> String {
    match evaluate_one(text, reports, &[]).outcome {
        ClaimOutcome::NotEvaluated { reason } => reason,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn the_claims_of_r31_hold_and_say_what_was_seen() {
    let reports = r31();
    let evidence = evaluate_one("sass mmq_nb LDS.64 == 0", &reports, &[]);
    assert_eq!(evidence.outcome, ClaimOutcome::Holds);
    assert_eq!(evidence.expected, "LDS.64 == 0");
    assert_eq!(evidence.observed, "LDS.64: base 32, head 0");
    for claim in [
        "sass mmq_nb LDS.64 32 -> 0",
        "sass mmq_nb LDS.128 16 -> 32",
        "sass mmq_nb LDS down",
        "smem mmq_nb 45,056 -> 43,008",
        "regs mmq_nb not above base",
        "regs mmq_nb base - 2",
        "regs mmq_nb 111 -> 109",
        "spills mmq_nb == 0",
        "occupancy mmq_nb >= 2",
        "occupancy mmq_nb up",
        "instructions mmq_nb -5.8% +- 0.05%",
        "barriers mmq_nb unchanged",
        "regs mmq_nb != 111",
    ] {
        holds(claim, &reports);
    }
    for claim in [
        "sass mmq_nb LDS.64 31 -> 0",
        "sass mmq_nb LDS.64 32 -> 1",
        "smem mmq_nb unchanged",
        "regs mmq_nb >= base",
        "regs mmq_nb base - 1",
        "regs mmq_nb up",
        "occupancy mmq_nb down",
        "instructions mmq_nb -6.8% +- 0.5%",
        "unchanged mmq_nb",
        "spills mmq_nb > 0",
    ] {
        fails(claim, &reports);
    }
    let observed = fails("instructions mmq_nb -6.8% +- 0.5%", &reports);
    assert!(observed.ends_with(" (-5.80 %)"), "{observed}");
}

#[test]
fn a_kernel_that_does_not_exist_fails_and_the_nearest_is_named() {
    let reports = r31();
    assert_eq!(
        fails("regs mmq_bn <= 255", &reports),
        "no kernel matches; nearest: `mmq_nb`"
    );
    assert_eq!(
        fails("regs other <= 255", &reports),
        "no kernel matches; there is `mmq_nb`"
    );
    assert!(fails("regs mmq_nb @sm_90 <= 255", &reports).contains("there for sm_121"));
    // A kernel may be a library's, so a claim on counters stays open until launches were watched.
    let evidence = evaluate_one("counter mmq_bn instructions down", &reports, &[]);
    assert!(matches!(
        evidence.outcome,
        ClaimOutcome::NotEvaluated { .. }
    ));
    assert!(evidence.observed.contains("nearest: `mmq_nb`"));
    let empty = PerSide::default();
    assert!(fails("regs mmq_nb <= 255", &empty).contains("no compiled kernel"));
}

#[test]
fn a_misspelt_opcode_does_not_hold_by_not_occurring() {
    let reports = r31();
    assert_eq!(
        fails("sass mmq_nb LSD.64 == 0", &reports),
        "no instruction is called `LSD`; nearest: `LDS`"
    );
    holds("sass mmq_nb STL == 0", &reports);
    let observed = holds("sass mmq_nb LDS.46 == 0", &reports);
    assert!(observed.contains("occurs in no kernel"), "{observed}");
}

#[test]
fn what_the_reports_do_not_hold_is_not_evaluated() {
    let mut reports = r31();
    assert!(open("counter mmq_nb conflicts 5 -> 0", &reports).contains("profiler"));
    assert!(open("live mmq_nb <= 100", &reports).contains("how often a kernel ran"));
    reports.head.kernels[0].census = None;
    assert!(open("sass mmq_nb LDS.64 == 0", &reports).contains("disassembler"));
    assert!(open("instructions mmq_nb down", &reports).contains("disassembler"));
    holds("regs mmq_nb <= 109", &reports);

    let mut reports = r31();
    reports.base.kernels[0].census = None;
    holds("sass mmq_nb LDS.64 == 0", &reports);
    assert!(open("sass mmq_nb LDS.64 32 -> 0", &reports).starts_with("base: "));
}

#[test]
fn a_claim_holds_only_if_it_holds_for_every_kernel_and_architecture() {
    let kernels = |regs: [u32; 3]| {
        report(vec![
            kernel_with("mmq_a(int)", "sm_121", |k| k.ledger.registers = regs[0]),
            kernel_with("mmq_b(int)", "sm_121", |k| k.ledger.registers = regs[1]),
            kernel_with("mmq_a(int)", "sm_90", |k| k.ledger.registers = regs[2]),
        ])
    };
    let reports = PerSide {
        base: kernels([100, 100, 100]),
        head: kernels([90, 90, 101]),
    };
    let observed = fails("regs mmq_a not above base", &reports);
    assert!(
        observed.starts_with("sm_90 regs: base 100, head 101"),
        "{observed}"
    );
    holds("regs mmq_a @sm_121 not above base", &reports);
    let observed = fails("regs * down", &reports);
    assert!(
        observed.contains("mmq_a sm_90 regs: base 100, head 101"),
        "{observed}"
    );
    holds("regs mmq_b down", &reports);
}

#[test]
fn many_kernels_are_summed_up_with_the_failing_ones_first() {
    let side = |regs: u32| {
        let kernels = (0..10).map(|i| {
            kernel_with(&format!("k{i}()"), "sm_121", |k| {
                k.ledger.registers = if i == 7 { 200 } else { regs + i };
            })
        });
        report(kernels.collect())
    };
    let reports = PerSide {
        base: side(50),
        head: side(40),
    };
    let observed = fails("regs k* <= 100", &reports);
    assert!(
        observed.starts_with("k7 regs: base 200, head 200; "),
        "{observed}"
    );
    assert!(observed.ends_with("and 6 more"), "{observed}");
}

#[test]
fn unchanged_notices_changed_added_and_removed_kernels() {
    let mut reports = r31();
    assert_eq!(fails("unchanged mmq_nb", &reports), "other machine code");
    reports.head.kernels[0].code_hash = "before".into();
    assert_eq!(holds("unchanged mmq_nb", &reports), "same machine code");
    reports
        .base
        .kernels
        .push(kernel_with("mmq_old(int)", "sm_121", |_| {}));
    assert!(fails("unchanged mmq_*", &reports).contains("mmq_old head has no such kernel"));
    assert!(fails("regs mmq_* unchanged", &reports).contains("mmq_old head has no such kernel"));
    holds("unchanged mmq_nb", &reports);
    reports.base.kernels.clear();
    assert_eq!(
        fails("unchanged mmq_nb", &reports),
        "base has no such kernel"
    );
    assert!(fails("regs mmq_nb down", &reports).contains("base has no such kernel"));
    holds("regs mmq_nb <= 109", &reports);
}

#[test]
fn a_renamed_kernel_is_compared_where_the_pattern_leaves_one_on_each_side() {
    let mut reports = r31();
    reports.head.kernels[0].name = "void mmq_nb<8>(int)".into();
    holds("regs mmq_nb 111 -> 109", &reports);
    holds("regs /mmq_nb/ 111 -> 109", &reports);
    fails("regs mmq_nb unchanged", &reports);
    reports
        .head
        .kernels
        .push(kernel_with("void mmq_nb<4>(int)", "sm_121", |_| {}));
    assert!(fails("regs mmq_nb down", &reports).contains("base has no such kernel"));
}

#[test]
fn several_different_kernels_of_one_name_in_base_are_not_guessed_between() {
    let mut reports = r31();
    let mut twin = reports.base.kernels[0].clone();
    reports.base.kernels[0].container = "a.o#0".into();
    twin.container = "b.o#0".into();
    reports.base.kernels.push(twin);
    holds("regs mmq_nb down", &reports);
    reports.base.kernels[1].code_hash = "third".into();
    assert!(open("regs mmq_nb down", &reports).contains("several different"));
    assert!(open("unchanged mmq_nb", &reports).contains("several different"));
    reports.head.kernels[0].container = "b.o#0".into();
    holds("regs mmq_nb down", &reports);
}

#[test]
fn shared_memory_is_static_plus_the_dynamic_part_of_the_config() {
    let reports = r31();
    let facts = [KernelFacts {
        name: "mmq_nb".into(),
        threads: Some(256),
        dynamic_smem: 1024,
    }];
    let evidence = evaluate_one("smem mmq_nb == 44,032", &reports, &facts);
    assert_eq!(evidence.outcome, ClaimOutcome::Holds);
    assert_eq!(
        evidence.observed,
        "smem: base 46,080 B, head 44,032 B (static + dynamic from `[[kernel]]`)"
    );
    assert!(holds("smem mmq_nb == 42K", &reports).contains("static only: no `[[kernel]]`"));
}

#[test]
fn occupancy_of_an_unknown_launch_is_not_evaluated() {
    let reports = r31();
    let context = ClaimContext {
        reports: &reports,
        facts: PerSide {
            base: &[],
            head: &[],
        },
        occupancy: &|_, _| None,
        counters: CounterFacts::Pending,
    };
    let claims = [RegisteredClaim {
        text: "occupancy mmq_nb >= 2".to_owned(),
        source: Source::File,
    }];
    let evidence = evaluate(&claims, &context).remove(0);
    assert!(
        matches!(&evidence.outcome, ClaimOutcome::NotEvaluated { reason } if reason.contains("`threads`")),
        "{evidence:?}"
    );
}

#[test]
fn a_percentage_of_nothing_does_not_hold() {
    let reports = r31();
    fails("spills mmq_nb +0% +- 100%", &reports);
    holds("regs mmq_nb -1.8% +- 0.1%", &reports);
}

/// `docs/claims.md` shows claims in `claim` code blocks, and wrong ones in `wrong-claim` blocks.
#[test]
fn the_examples_of_the_document_are_read_as_it_says() {
    let document = include_str!("../../../docs/claims.md");
    let mut good = 0;
    let mut wrong = 0;
    let mut block = "";
    for line in document.lines() {
        match line.strip_prefix("```") {
            Some(name) if block.is_empty() => block = name,
            Some(_) => block = "",
            None if block == "claim" => {
                parse(line);
                good += 1;
            }
            None if block == "wrong-claim" => {
                let (claim, message) = line.split_once("  # ").expect("claim  # message");
                let error = claim.trim().parse::<Claim>().expect_err(line);
                assert_eq!(error.to_string(), message, "{line}");
                wrong += 1;
            }
            None => {}
        }
    }
    assert!(good >= 20 && wrong >= 5, "{good} {wrong}");
}
