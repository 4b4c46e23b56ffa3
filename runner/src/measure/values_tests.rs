//! Scenarios for values: each named format in its real shape, and bad output of every kind.

use super::*;
use crate::config::NamedFormat;

fn regex(pattern: &str, out: &str) -> Result<f64, Failure> {
    bench_value(&Extract::Regex(pattern.to_owned()), out.as_bytes(), "tok/s")
}

fn json(pointer: &str, out: &str) -> Result<f64, Failure> {
    bench_value(&Extract::Json(pointer.to_owned()), out.as_bytes(), "ms")
}

fn named(format: NamedFormat, select: Option<&str>, out: &str, unit: &str) -> Result<f64, Failure> {
    let select = select.map(str::to_owned);
    bench_value(&Extract::Format { format, select }, out.as_bytes(), unit)
}

fn nan(text: &str) -> Result<f64, Failure> {
    Err(not_a_number(text))
}

fn not_positive(text: &str) -> Result<f64, Failure> {
    Err(Failure::NotPositive {
        value: F64Text(text.to_owned()),
    })
}

fn other_unit(found: &str) -> Result<f64, Failure> {
    Err(Failure::OtherUnit {
        found: found.to_owned(),
    })
}

const TPS: &str = "([0-9.]+) tok/s";

#[test]
fn the_last_match_counts() {
    assert_eq!(
        regex(TPS, "warm 900.0 tok/s\nrun 1311.8 tok/s\n"),
        Ok(1311.8)
    );
    assert_eq!(
        regex("(?<n>[0-9]+) tokens, (?<value>[0-9.]+)", "245 tokens, 13.5"),
        Ok(13.5)
    );
}

#[test]
fn nothing_printed_is_no_value() {
    assert_eq!(regex(TPS, ""), Err(Failure::NoValue));
    assert_eq!(regex("speed: *([0-9.]*)", "speed: "), Err(Failure::NoValue));
    assert_eq!(json("/x", "no document"), Err(Failure::NoValue));
    assert_eq!(json("/x", "{\"y\": 1}"), Err(Failure::NoValue));
    assert_eq!(
        named(NamedFormat::LlamaBench, None, "loading\n", "tok/s"),
        Err(Failure::NoValue)
    );
}

#[test]
fn zero_negative_and_not_finite_never_pass() {
    let any = "(?i)speed (nan|-?inf|-?[0-9.e+-]+)";
    assert_eq!(regex(any, "speed 0.00"), not_positive("0"));
    assert_eq!(regex(any, "speed -3.5"), not_positive("-3.5"));
    assert_eq!(regex(any, "speed nan"), nan("nan"));
    assert_eq!(regex(any, "speed -inf"), nan("-inf"));
    assert_eq!(regex(any, "speed 1e999"), nan("1e999"));
    assert_eq!(json("/t", "{\"t\": 0}"), not_positive("0"));
    assert_eq!(json("/t", "{\"t\": NaN}"), nan("NaN"));
    assert_eq!(json("/t", "{\"t\": null}"), nan("null"));
    assert_eq!(json("/t", "{\"t\": \"fast\"}"), nan("fast"));
}

#[test]
fn a_sign_outside_the_pattern_is_not_lost() {
    assert_eq!(regex(TPS, "gain: -12.5 tok/s"), not_positive("-12.5"));
    assert_eq!(regex(TPS, "kd4-1311.8 tok/s"), Ok(1311.8));
}

#[test]
fn a_part_of_a_longer_number_is_refused() {
    let grouped = nan("1,350.2 (the pattern takes only `350.2` of it)");
    assert_eq!(regex(TPS, "1,350.2 tok/s"), grouped);
    assert_eq!(
        regex("speed ([0-9.]+)", "speed 1,350.2 tok/s"),
        nan("1,350.2 (the pattern takes only `1` of it)")
    );
    assert_eq!(
        regex("speed ([0-9.]+)", "speed 1.5e3 tok/s"),
        nan("1.5e3 (the pattern takes only `1.5` of it)")
    );
    assert_eq!(
        regex("speed ([0-9.]+)", "speed 1.5e+03 tok/s"),
        nan("1.5e+03 (the pattern takes only `1.5` of it)")
    );
    assert_eq!(
        regex(TPS, "speed 1.5e+03 tok/s"),
        nan("1.5e+03 (the pattern takes only `03` of it)")
    );
    assert_eq!(
        regex("([0-9,.]+) tok/s", "1,350.2 tok/s"),
        nan("1,350.2 (digits in groups; print the number without thousands separators)")
    );
    assert_eq!(regex("^pp,512,([0-9.]+)", "pp,512,350.2,9.1\n"), Ok(350.2));
    assert_eq!(regex("([0-9.]+)ms", "12.5ms"), Ok(12.5));
    assert_eq!(regex("t=([0-9.]+)", "t=12.5ms"), Ok(12.5));
}

#[test]
fn a_unit_group_must_agree() {
    let pattern = "(?<value>[0-9.]+) (?<unit>[a-z/]+)";
    assert_eq!(regex(pattern, "13.5 tok/s"), Ok(13.5));
    assert_eq!(regex(pattern, "13.5 req/s"), other_unit("req/s"));
    assert_eq!(regex("([0-9.]+) ?(?<unit>tok/s)?", "13.5"), other_unit(""));
}

#[test]
fn pointers_go_into_the_whole_output_or_its_last_document() {
    assert_eq!(json("/a/1", "{\n \"a\": [1, 2.5]\n}\n"), Ok(2.5));
    assert_eq!(json("/t", "{\"t\": 1}\nlog\n{\"t\": 2}\nbye\n"), Ok(2.0));
    assert_eq!(json("", "42.5\n"), Ok(42.5));
    assert_eq!(json("/t", "{\"t\": \"7.5\"}"), Ok(7.5));
}

const LLAMA: &str = r#"[
  {
    "build_commit": "0a1b2c3d", "build_number": 7001, "cpu_info": "Cortex-X925",
    "gpu_info": "NVIDIA GB10", "backends": "CUDA", "model_filename": "m.gguf",
    "n_batch": 2048, "n_ubatch": 512, "n_gpu_layers": 99,
    "n_prompt": 512, "n_gen": 0, "n_depth": 0, "test_time": "2026-01-01T00:00:00Z",
    "avg_ns": 390000000, "stddev_ns": 100000, "avg_ts": 1312.820513, "stddev_ts": 0.5,
    "samples_ns": [ 390000000 ], "samples_ts": [ 1312.82 ]
  },
  {
    "n_prompt": 0, "n_gen": 128, "n_depth": 4096, "avg_ns": 3200000000, "avg_ts": 40.0,
    "samples_ns": [ 3200000000 ], "samples_ts": [ 40.0 ]
  }
]
"#;

#[test]
fn llama_bench_json_and_jsonl() {
    let read = |select, out: &str, unit| named(NamedFormat::LlamaBench, select, out, unit);
    assert_eq!(read(Some("pp512"), LLAMA, "tok/s"), Ok(1312.820513));
    assert_eq!(read(Some("tg128 @ d4096"), LLAMA, "t/s"), Ok(40.0));
    assert_eq!(read(Some("tg128"), LLAMA, "tok/s"), Err(Failure::NoValue));
    assert_eq!(read(Some("pp512"), LLAMA, "ms"), other_unit("tok/s"));
    let lines = "ggml_cuda_init: found 1 CUDA devices\n\
                 {\"n_prompt\": 64, \"n_gen\": 0, \"avg_ts\": 900.5}\n\
                 {\"n_prompt\": 64, \"n_gen\": 16, \"avg_ts\": 100.5}\n";
    assert_eq!(read(Some("pp64"), lines, "tok/s"), Ok(900.5));
    assert_eq!(read(Some("pp64+tg16"), lines, "tok/s"), Ok(100.5));
    let failure = read(None, lines, "tok/s").expect_err("two entries");
    assert!(
        matches!(&failure, Failure::NotANumber { text }
            if text.contains("2 entries (pp64, pp64+tg16)") && text.contains("select")),
        "{failure:?}"
    );
    let zero = "{\"n_prompt\": 64, \"n_gen\": 0, \"avg_ts\": 0.000000}";
    assert_eq!(read(None, zero, "tok/s"), not_positive("0"));
}

const GOOGLE: &str = r#"{
  "context": {
    "date": "2026-01-01T00:00:00+00:00", "host_name": "box", "executable": "./bench",
    "num_cpus": 20, "mhz_per_cpu": 3900, "cpu_scaling_enabled": false, "caches": [],
    "load_avg": [0.1], "library_build_type": "release"
  },
  "benchmarks": [
    {
      "name": "BM_Quant/4096", "family_index": 0, "per_family_instance_index": 0,
      "run_name": "BM_Quant/4096", "run_type": "iteration", "repetitions": 1,
      "repetition_index": 0, "threads": 1, "iterations": 1000,
      "real_time": 2.5000000000000000e+03, "cpu_time": 2.4e+03, "time_unit": "ns"
    },
    {
      "name": "BM_Dot", "run_name": "BM_Dot", "run_type": "iteration", "repetitions": 3,
      "real_time": 9.0e+00, "cpu_time": 9.0e+00, "time_unit": "us"
    },
    {
      "name": "BM_Dot_mean", "run_name": "BM_Dot", "run_type": "aggregate",
      "aggregate_name": "mean", "real_time": 8.0e+00, "cpu_time": 8.0e+00, "time_unit": "us"
    },
    {
      "name": "BM_Dot_median", "run_name": "BM_Dot", "run_type": "aggregate",
      "aggregate_name": "median", "real_time": 7.0e+00, "cpu_time": 7.0e+00, "time_unit": "us"
    },
    {
      "name": "BM_Bad", "run_name": "BM_Bad", "run_type": "iteration",
      "error_occurred": true, "error_message": "no device",
      "real_time": 0.0e+00, "cpu_time": 0.0e+00, "time_unit": "ns"
    }
  ]
}
"#;

#[test]
fn google_benchmark_converts_its_time_unit() {
    let read = |select, unit| named(NamedFormat::GoogleBenchmark, Some(select), GOOGLE, unit);
    assert_eq!(read("BM_Quant/4096", "us"), Ok(2.5));
    assert_eq!(read("BM_Quant/4096", "ns"), Ok(2500.0));
    assert_eq!(read("BM_Dot", "us"), Ok(7.0));
    assert_eq!(read("BM_Dot", "ms"), Ok(0.007));
    assert_eq!(read("BM_Dot_mean", "µs"), Ok(8.0));
    assert_eq!(read("BM_Dot", "GB/s"), other_unit("us"));
    assert_eq!(read("BM_Bad", "ns"), nan("error: no device"));
    assert_eq!(read("BM_None", "ns"), Err(Failure::NoValue));
}

#[test]
fn google_benchmark_repetitions_without_aggregates_give_their_median() {
    let row = |t: &str| {
        format!(
            "{{\"name\": \"BM_X\", \"run_name\": \"BM_X\", \"run_type\": \"iteration\", \
             \"real_time\": {t}, \"time_unit\": \"ms\"}}"
        )
    };
    let rows = [row("3.0"), row("1.0"), row("2.0")].join(",\n");
    let out = format!("{{\"context\": {{}}, \"benchmarks\": [\n{rows}\n]}}\n");
    assert_eq!(
        named(NamedFormat::GoogleBenchmark, None, &out, "ms"),
        Ok(2.0)
    );
    let out = out.replace("3.0", "NaN");
    assert_eq!(
        named(NamedFormat::GoogleBenchmark, None, &out, "ms"),
        nan("NaN")
    );
}

fn nvbench_state(name: &str, mean: &str, skipped: bool) -> String {
    format!(
        r#"{{"name": "{name}", "device": 0, "type_config_index": 0,
        "axis_values": [{{"name": "Elements", "type": "int64", "value": "1048576"}}],
        "summaries": [
          {{"tag": "nv/cold/sample_size", "name": "Samples", "hint": "sample_size",
            "data": [{{"name": "value", "type": "int64", "value": "1024"}}]}},
          {{"tag": "nv/cold/time/gpu/mean", "name": "GPU Time", "hint": "duration",
            "data": [{{"name": "value", "type": "float64", "value": "{mean}"}}]}}
        ], "is_skipped": {skipped}}}"#
    )
}

#[test]
fn nvbench_mean_gpu_time() {
    let document = |states: &[String]| {
        format!(
            "Run: something\n{{\"meta\": {{}}, \"devices\": [], \"benchmarks\": [\n\
             {{\"name\": \"dequant\", \"index\": 0, \"states\": [{}]}}]}}\n",
            states.join(",")
        )
    };
    let read = |select, out: &str, unit| named(NamedFormat::Nvbench, select, out, unit);
    let one = document(&[
        nvbench_state("Device=0 Elements=2^20", "1.25e-05", false),
        nvbench_state("Device=0 Elements=2^24", "0", true),
    ]);
    assert_eq!(read(None, &one, "s"), Ok(1.25e-5));
    assert_eq!(read(Some("dequant"), &one, "s"), Ok(1.25e-5));
    let two = document(&[
        nvbench_state("Device=0 Elements=2^20", "1.25e-05", false),
        nvbench_state("Device=0 Elements=2^24", "nan", false),
    ]);
    assert!(matches!(
        read(Some("dequant"), &two, "s"),
        Err(Failure::NotANumber { text }) if text.contains("2 entries")
    ));
    assert_eq!(read(Some("Device=0 Elements=2^20"), &two, "s"), Ok(1.25e-5));
    let both = Some("dequant Device=0 Elements=2^24");
    assert_eq!(read(both, &two, "s"), nan("nan"));
    assert_eq!(read(None, &one, "tok/s"), other_unit("s"));
}

#[test]
fn hyperfine_from_standard_output() {
    let result = |command: &str, mean: &str, code: i32| {
        format!(
            "{{\"command\": \"{command}\", \"mean\": {mean}, \"stddev\": 0.0003, \
             \"median\": 0.2, \"user\": 0.1, \"system\": 0.01, \"min\": 0.19, \"max\": 0.21, \
             \"times\": [0.2], \"exit_codes\": [0, {code}]}}"
        )
    };
    let document = |results: &[String]| {
        format!(
            "Benchmark 1: x\n{{\n  \"results\": [\n{}\n  ]\n}}\n",
            results.join(",\n")
        )
    };
    let read = |select, out: &str, unit| named(NamedFormat::Hyperfine, select, out, unit);
    let one = document(&[result("./engine", "0.2041", 0)]);
    assert_eq!(read(None, &one, "s"), Ok(0.2041));
    let two = document(&[result("./a", "0.5", 0), result("./b", "0.25", 0)]);
    assert_eq!(read(Some("./b"), &two, "s"), Ok(0.25));
    // With `--export-json -` older versions print a document after each command.
    let twice = format!("{one}{two}");
    assert_eq!(read(Some("./b"), &twice, "s"), Ok(0.25));
    let failed = document(&[result("./a", "0.5", 3)]);
    assert_eq!(read(None, &failed, "s"), Err(Failure::Exit { code: 3 }));
    assert_eq!(read(None, &one, "ms"), other_unit("s"));
}

#[test]
fn figures_may_be_zero_but_not_nan() {
    let zero = Extract::Regex("nmse=(\\S+)".to_owned());
    assert_eq!(number(&zero, b"nmse=0", None), Ok(0.0));
    assert_eq!(number(&zero, b"nmse=nan", None), nan("nan"));
}

#[test]
fn bytes_that_are_no_utf8_do_no_harm() {
    let extract = Extract::Regex(TPS.to_owned());
    assert_eq!(
        bench_value(&extract, b"\xff\xfe 12.5 tok/s\xff", "tok/s"),
        Ok(12.5)
    );
}
