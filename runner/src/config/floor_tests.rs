//! Floors as files declare them, and what they refuse.

use super::*;
use crate::config::parse;

fn file(machine: &str, bench: &str) -> String {
    format!(
        "[campaign]\nname = \"x\"\n[toolchain]\ncuda = \"none\"\n[build]\ncommand = \"make\"\n\
         outputs = [\"e\"]\n[machine]\n{machine}\n[[bench]]\nname = \"b\"\ncommand = \"./e\"\n\
         value = {{ regex = '(\\S+)' }}\n{bench}\n"
    )
}

const PEAKS: &str = "peak_bandwidth = \"273 GB/s\"\npeak_operations = \"31 TFLOP/s\"";

fn floor(bench: &str) -> (Floor, String, Better) {
    let config = match parse(&file(PEAKS, bench), "campaign.toml") {
        Ok(config) => config,
        Err(errors) => panic!("{errors}"),
    };
    let bench = config.benches.into_iter().next().expect("a bench");
    (bench.floor.expect("a floor"), bench.unit, bench.better)
}

/// A time that the work alone takes: by whichever of bytes and operations takes longer.
#[test]
fn a_time_has_a_floor_from_bytes_or_operations() {
    let lower =
        |floor: &str, unit: &str| format!("unit = \"{unit}\"\nbetter = \"lower\"\nfloor = {floor}");
    for (text, unit, limit, how) in [
        (
            "{ bytes = \"11.2 MB\" }",
            "us",
            11.2e6 / 273e9 * 1e6,
            "11.2 MB at 273 GB/s",
        ),
        (
            "{ bytes = \"4 MiB\" }",
            "ms",
            4194304.0 / 273e9 * 1e3,
            "4 MiB at 273 GB/s",
        ),
        (
            "{ operations = \"67.6 GOP\" }",
            "s",
            67.6e9 / 31e12,
            "67.6 GOP at 31 TFLOP/s",
        ),
        (
            "{ operations = \"2,000,000,000\" }",
            "ns",
            2e9 / 31e12 * 1e9,
            "2,000,000,000 at 31 TFLOP/s",
        ),
        (
            "{ bytes = \"11.2 MB\", operations = \"67.6 GOP\" }",
            "us",
            67.6e9 / 31e12 * 1e6,
            "67.6 GOP at 31 TFLOP/s",
        ),
        (
            "{ bytes = \"11.2 GB\", operations = \"67.6 GOP\" }",
            "us",
            11.2e9 / 273e9 * 1e6,
            "11.2 GB at 273 GB/s",
        ),
    ] {
        let (floor, ..) = floor(&lower(text, unit));
        assert!(
            (floor.limit / limit - 1.0).abs() < 1e-12,
            "{text}: {floor:?}"
        );
        assert_eq!(floor.how, how);
    }
}

#[test]
fn a_throughput_has_a_ceiling_from_what_a_run_does() {
    let bench = "unit = \"tok/s\"\nbetter = \"higher\"\nfloor = { bytes = \"3.9 GB\", work = 1 }";
    let (floor, unit, better) = floor(bench);
    assert!((floor.limit - 70.0).abs() < 1e-9, "{floor:?}");
    assert_eq!(floor.refusal(69.9, &unit, better), None);
    assert_eq!(floor.refusal(70.0 - 1e-9, &unit, better), None);
    let refused = floor.refusal(153945.0, &unit, better).expect("impossible");
    assert_eq!(
        refused,
        "153,945 tok/s is above the ceiling of 70.000 tok/s: 1 tok for 3.9 GB at 273 GB/s"
    );
}

#[test]
fn the_refusal_shows_the_arithmetic() {
    let bench = "unit = \"us\"\nbetter = \"lower\"\nfloor = { bytes = \"11.2 MB\" }";
    let (floor, unit, better) = floor(bench);
    assert_eq!(floor.refusal(41.1, &unit, better), None);
    assert_eq!(floor.refusal(floor.limit, &unit, better), None);
    let refused = floor.refusal(12.3, &unit, better).expect("impossible");
    assert_eq!(
        refused,
        "12.300 us is below the floor of 41.026 us: 11.2 MB at 273 GB/s"
    );
}

#[test]
fn the_best_possible_may_be_given_itself() {
    let (lower, ..) =
        floor("unit = \"us\"\nbetter = \"lower\"\nfloor = { best_possible = \"41 us\" }");
    assert_eq!(lower.limit, 41.0);
    let (higher, unit, better) =
        floor("unit = \"GB/s\"\nbetter = \"higher\"\nfloor = { best_possible = \"273 GB/s\" }");
    let refused = higher.refusal(274.0, &unit, better).expect("impossible");
    assert!(
        refused.contains("`best_possible` in campaign.toml"),
        "{refused}"
    );
}

#[test]
fn what_gives_no_floor_says_why() {
    let lower = "unit = \"us\"\nbetter = \"lower\"\n";
    let higher = "unit = \"tok/s\"\nbetter = \"higher\"\n";
    let odd = "unit = \"steps\"\nbetter = \"lower\"\n";
    for (machine, bench, floor, part) in [
        (
            "",
            lower,
            "{ bytes = \"1 MB\" }",
            "add `[machine]` with, for example, `peak_bandwidth",
        ),
        ("", lower, "{ operations = \"1 G\" }", "peak_operations"),
        (PEAKS, lower, "{}", "nothing to work one out from"),
        (
            PEAKS,
            lower,
            "{ bytes = \"1 MB\", work = 2 }",
            "higher is better",
        ),
        (PEAKS, higher, "{ bytes = \"1 MB\" }", "add `work = 512`"),
        (
            PEAKS,
            higher,
            "{ bytes = \"1 MB\", work = 0 }",
            "`work` is zero",
        ),
        (PEAKS, odd, "{ bytes = \"1 MB\" }", "the unit is `steps`"),
        (PEAKS, lower, "{ bytes = \"0 MB\" }", "no amount above zero"),
        (
            PEAKS,
            lower,
            "{ bytes = \"1 MHz\" }",
            "no amount above zero",
        ),
        (PEAKS, lower, "{ best_possible = \"4 ms\" }", "`\"41 us\"`"),
        (
            PEAKS,
            lower,
            "{ best_possible = \"4 us\", bytes = \"1 MB\" }",
            "give either",
        ),
        (PEAKS, lower, "{ byte = \"1 MB\" }", "bytes"),
        (
            "peak_bandwidth = \"273 GB\"",
            lower,
            "{ best_possible = \"4 us\" }",
            "273 GB/s",
        ),
    ] {
        let text = file(machine, &format!("{bench}floor = {floor}"));
        let errors = parse(&text, "campaign.toml").expect_err(floor).to_string();
        assert!(errors.contains(part), "{machine} {floor}:\n{errors}");
    }
}

/// A config without floors is recorded, and hashed, as before there were any.
#[test]
fn a_config_without_a_floor_is_stored_as_before() {
    let text = file(PEAKS, "unit = \"us\"\nbetter = \"lower\"");
    let config = parse(&text, "campaign.toml").unwrap_or_else(|errors| panic!("{errors}"));
    let stored = serde_json::to_value(&config).expect("JSON");
    for key in ["floor", "output"] {
        assert!(stored["benches"][0].get(key).is_none(), "{key}");
    }
    assert!(stored.get("machine").is_none());
}
