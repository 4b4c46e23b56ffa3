//! The sensors of a run, through the real loader, on the stand-in.

use std::process::{Command, Stdio};

use runner::machine::sensors::{MachineSensors, Moment, Sensors, Taken};
use runner::model::{DeviceState, GpuReading, Throttle};

use super::support::{Nvml, UUID};

fn sensors() -> MachineSensors {
    let device = DeviceState::Present {
        name: "stand-in".to_owned(),
        id: UUID.to_owned(),
    };
    MachineSensors::open(&device, "no-such-run")
}

fn gpu(taken: &Taken) -> &GpuReading {
    taken.reading.gpu.as_ref().expect("a GPU that answers")
}

fn reason<'a>(taken: &'a Taken, reading: &str) -> &'a str {
    let found = taken.absent.iter().find(|a| a.reading == reading);
    found.map_or("", |absent| absent.reason.as_str())
}

#[test]
fn a_busy_device_is_read() {
    let nvml = Nvml::idle();
    // Software power cap, hardware slowdown, power brake, and a bit that nobody knows yet.
    nvml.set("reasons", &(0x4 + 0x8 + 0x80 + (1u64 << 40)).to_string());
    nvml.set("power", "312500");
    nvml.set("util_gpu", "97");
    // A process that this system does not show.
    nvml.add("compute", "4000000 1048576");
    nvml.add("compute", "1 -1");
    nvml.run("sensors::child_reads_a_busy_device");
}

#[test]
#[ignore = "the child process of a_busy_device_is_read"]
fn child_reads_a_busy_device() {
    let taken = sensors().read(Moment::Before);
    let gpu = gpu(&taken);
    assert_eq!(gpu.sm_clock_mhz, Some(345));
    assert_eq!(gpu.memory_clock_mhz, Some(2619));
    assert_eq!(gpu.temperature_c, Some(31.0));
    assert_eq!(gpu.power_w, Some(312.5));
    assert_eq!(gpu.utilisation_percent, Some(97.0));
    assert_eq!(gpu.used_memory_bytes, Some(600_000_000));
    assert_eq!(gpu.ecc_uncorrected, Some(0));
    let expected = [
        Throttle::SoftwarePowerCap,
        Throttle::HardwareSlowdown,
        Throttle::PowerBrake,
    ];
    assert_eq!(gpu.throttle.as_deref(), Some(&expected[..]));
    let users = gpu.foreign.as_deref().expect("a list");
    let seen: Vec<_> = users.iter().map(|u| (u.pid, u.is_visible)).collect();
    assert_eq!(seen, [(4_000_000, false), (1, true)]);
    assert_eq!(users[0].memory_bytes, Some(1 << 20));
    assert_eq!(gpu.own_memory_bytes, None, "nothing of ours is on it");
    let host = taken.reading.host.expect("there is a host always");
    assert!(host.load.is_some());
}

#[test]
fn own_processes_are_not_foreign() {
    Nvml::idle().run("sensors::child_tells_own_processes_apart");
}

#[test]
#[ignore = "the child process of own_processes_are_not_foreign"]
fn child_tells_own_processes_apart() {
    let mut child = Command::new("sleep")
        .arg("60")
        .stdin(Stdio::null())
        .spawn()
        .expect("sleep starts");
    let state = std::env::var("NVML_STANDIN_STATE").expect("the stand-in's state");
    let text = std::fs::read_to_string(&state).expect("the state");
    let users = format!(
        "compute {} 700\ncompute {} 300\n",
        child.id(),
        std::process::id()
    );
    std::fs::write(&state, text + &users).expect("the state");
    let taken = sensors().read(Moment::During);
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    assert_eq!(gpu(&taken).foreign.as_deref(), Some(&[][..]));
    assert_eq!(gpu(&taken).own_memory_bytes, Some(1000));
}

#[test]
fn an_xid_error_is_told_once() {
    let nvml = Nvml::idle();
    nvml.set("xid", "79");
    nvml.run("sensors::child_is_told_of_an_xid_error");
    let nvml = Nvml::idle();
    nvml.set("error.nvmlDeviceRegisterEvents", "3");
    nvml.run("sensors::child_is_told_of_none");
}

#[test]
#[ignore = "the child process of an_xid_error_is_told_once"]
fn child_is_told_of_an_xid_error() {
    let mut sensors = sensors();
    assert_eq!(gpu(&sensors.read(Moment::During)).xids, Some(vec![79]));
    assert_eq!(gpu(&sensors.read(Moment::After)).xids, Some(Vec::new()));
}

#[test]
#[ignore = "the child process of an_xid_error_is_told_once, on a device that tells of none"]
fn child_is_told_of_none() {
    let taken = sensors().read(Moment::During);
    assert_eq!(gpu(&taken).xids, None);
    assert!(reason(&taken, "GPU Xid errors").contains("not supported"));
}

/// A GB10 does not tell its memory; another card neither power nor ECC.
#[test]
fn what_a_device_does_not_support_is_absent_with_its_reason() {
    let nvml = Nvml::idle();
    for key in [
        "memory_used",
        "power",
        "ecc_uncorrected",
        "reasons",
        "sm_clock",
    ] {
        nvml.remove(key);
    }
    nvml.set("error.nvmlDeviceGetTemperature", "4");
    nvml.run("sensors::child_reads_a_quiet_device");
}

#[test]
#[ignore = "the child process of what_a_device_does_not_support_is_absent_with_its_reason"]
fn child_reads_a_quiet_device() {
    let mut sensors = sensors();
    for moment in [Moment::Before, Moment::During] {
        let taken = sensors.read(moment);
        let gpu = gpu(&taken);
        assert_eq!(gpu.used_memory_bytes, None);
        assert_eq!(gpu.power_w, None);
        assert_eq!(gpu.throttle, None);
        assert_eq!(gpu.sm_clock_mhz, None);
        assert_eq!(gpu.temperature_c, None);
        assert_eq!(gpu.memory_clock_mhz, Some(2619));
        for reading in ["GPU memory in use", "GPU power", "GPU throttle reasons"] {
            assert!(
                reason(&taken, reading).contains("not supported"),
                "{reading}"
            );
        }
        assert!(reason(&taken, "GPU temperature").contains("not permitted"));
    }
}

#[test]
fn a_device_that_vanishes_is_absent_and_the_host_stays() {
    let nvml = Nvml::idle();
    nvml.set("gone_after", "60");
    nvml.run("sensors::child_loses_its_device");
}

#[test]
#[ignore = "the child process of a_device_that_vanishes_is_absent_and_the_host_stays"]
fn child_loses_its_device() {
    let mut sensors = sensors();
    assert!(sensors.read(Moment::Before).reading.gpu.is_some());
    // Each reading takes several calls.
    let last = (0..60).map(|_| sensors.read(Moment::After)).last();
    let last = last.expect("60 readings");
    assert_eq!(last.reading.gpu, None);
    assert!(last.reading.host.is_some());
    assert!(
        reason(&last, "GPU").contains("the device is lost"),
        "{last:?}"
    );
}

#[test]
fn without_a_driver_the_reason_is_kept() {
    let nvml = Nvml::idle();
    nvml.set("error.nvmlInit_v2", "9");
    nvml.run("sensors::child_has_no_driver");
}

#[test]
#[ignore = "the child process of without_a_driver_the_reason_is_kept"]
fn child_has_no_driver() {
    let taken = sensors().read(Moment::Before);
    assert_eq!(taken.reading.gpu, None);
    assert!(reason(&taken, "GPU").contains("libnvidia-ml.so.1"));
}
