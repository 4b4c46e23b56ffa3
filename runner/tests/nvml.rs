//! NVIDIA's management library through the real loader, on a stand-in for it.
//!
//! A library is found when a process starts, so each case runs in a child: this program again,
//! with the one ignored test that is its body.

#[path = "nvml/sensors.rs"]
mod sensors;
#[path = "support/nvml.rs"]
#[expect(dead_code, reason = "each test program uses its part of the support")]
mod support;

use runner::machine::{GpuMemory, NvmlError, NvmlGpu};
use support::{Nvml, UUID};

#[test]
fn readings_come_through() {
    let nvml = Nvml::idle();
    nvml.add("compute", "1 734003200");
    nvml.add("compute", "4000000 -1");
    nvml.run("child_reads_everything");
}

#[test]
#[ignore = "the child process of readings_come_through"]
fn child_reads_everything() {
    let gpu = NvmlGpu::open(UUID).expect("the stand-in");
    assert_eq!(gpu.sm_clock(), Ok(345));
    assert_eq!(gpu.max_sm_clock(), Ok(1980));
    assert_eq!(gpu.default_application_sm_clock(), Ok(1590));
    assert_eq!(gpu.is_split(), Ok(false));
    assert_eq!(gpu.is_clock_held_by_setting(), Ok(false));
    let memory = GpuMemory {
        used: 600_000_000,
        total: 150_754_820_096,
    };
    assert_eq!(gpu.memory(), Ok(memory));
    let compute = gpu.compute_processes().expect("a list");
    assert_eq!(compute.len(), 2);
    assert_eq!(compute[0].memory_bytes, Some(734_003_200));
    assert!(compute[0].name.is_some(), "process 1 has a name");
    assert_eq!(compute[1].memory_bytes, None);
    assert_eq!(compute[1].name, None);
    assert_eq!(gpu.graphics_processes(), Ok(Vec::new()));
    let unknown = NvmlGpu::open("GPU-other").expect_err("another device");
    assert!(matches!(unknown, NvmlError::NoDevice { .. }), "{unknown}");
}

#[test]
fn what_is_not_told_is_not_zero() {
    let nvml = Nvml::idle();
    for key in ["memory_used", "default_app_clock", "mig", "reasons"] {
        nvml.remove(key);
    }
    nvml.set("error.nvmlDeviceSetGpuLockedClocks", "4");
    nvml.run("child_reads_little");
}

#[test]
#[ignore = "the child process of what_is_not_told_is_not_zero"]
fn child_reads_little() {
    let gpu = NvmlGpu::open(UUID).expect("the stand-in");
    let absent = |error: NvmlError| matches!(error, NvmlError::NotSupported { .. });
    assert!(gpu.memory().is_err_and(absent));
    assert!(gpu.default_application_sm_clock().is_err_and(absent));
    assert!(gpu.is_clock_held_by_setting().is_err_and(absent));
    assert_eq!(gpu.is_split(), Ok(false), "what cannot be split is not");
    let refused = gpu.lock_sm_clock(1000).expect_err("refused");
    assert!(
        matches!(refused, NvmlError::NotPermitted { .. }),
        "{refused}"
    );
}

#[test]
fn a_device_that_is_lost_says_so() {
    let nvml = Nvml::idle();
    nvml.set("gone_after", "8");
    nvml.run("child_loses_the_device");
}

#[test]
#[ignore = "the child process of a_device_that_is_lost_says_so"]
fn child_loses_the_device() {
    let gpu = NvmlGpu::open(UUID).expect("the stand-in");
    let answers: Vec<_> = (0..10).map(|_| gpu.sm_clock()).collect();
    assert_eq!(answers[0], Ok(345));
    assert!(
        matches!(answers[9], Err(NvmlError::Gone { .. })),
        "{answers:?}"
    );
}

#[test]
fn locks_are_set_and_taken_away() {
    let nvml = Nvml::idle();
    nvml.run("child_locks_and_resets");
    assert_eq!(nvml.changes(), ["lock 1590", "reset 0"]);
    assert_eq!(nvml.get("locked").as_deref(), Some("0"));
}

#[test]
#[ignore = "the child process of locks_are_set_and_taken_away"]
fn child_locks_and_resets() {
    let gpu = NvmlGpu::open(UUID).expect("the stand-in");
    gpu.lock_sm_clock(1590).expect("it may");
    assert_eq!(gpu.sm_clock(), Ok(1590));
    gpu.reset_sm_clock().expect("it may");
}

#[test]
fn without_a_driver_there_is_an_ordinary_error() {
    let nvml = Nvml::idle();
    nvml.set("error.nvmlInit_v2", "9");
    nvml.run("child_finds_no_driver");
}

#[test]
#[ignore = "the child process of without_a_driver_there_is_an_ordinary_error"]
fn child_finds_no_driver() {
    let error = NvmlGpu::open(UUID).expect_err("no driver");
    assert!(matches!(error, NvmlError::NoLibrary { .. }), "{error}");
}
