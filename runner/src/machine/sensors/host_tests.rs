//! A computer in a folder, and this one.

use super::*;

/// A computer with two processors.
struct Computer(tempfile::TempDir);

impl Computer {
    fn new() -> Computer {
        Computer(tempfile::tempdir().expect("a temporary folder"))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, text).expect("a file");
    }

    /// Processor time, ticks: in use on either processor, idle on either, and of process 10.
    fn time(&self, busy: [u64; 2], idle: [u64; 2], own: u64) {
        self.write(
            "proc/stat",
            &format!(
                "cpu  {} 0 0 {} 0 0 0 0 0 0\ncpu0 {} 0 0 {} 0 0 0 0 0 0\ncpu1 0 0 {} {} 0 0 0 0 0 0\n\
                 intr 5 6\n",
                busy[0] + busy[1],
                idle[0] + idle[1],
                busy[0],
                idle[0],
                busy[1],
                idle[1],
            ),
        );
        self.write(
            "proc/10/stat",
            &format!("10 (runner) S 1 0 0 0 -1 0 0 0 0 0 {own} 0 0 0 20"),
        );
    }

    fn sensors(&self) -> HostSensors {
        HostSensors::below(self.0.path().to_owned(), 10)
    }
}

#[test]
fn what_others_take_is_all_that_is_in_use_less_our_own() {
    let computer = Computer::new();
    let mut sensors = computer.sensors();
    computer.time([1000, 1000], [1000, 1000], 500);
    let mut absent = Vec::new();
    let first = sensors
        .read(Moment::Before, &mut absent)
        .expect("a reading");
    assert_eq!(first.foreign_cpu, None, "nothing to compare with yet");
    // 100 ticks each: one processor all ours, the other a quarter in use by others.
    computer.time([1100, 1025], [1000, 1075], 600);
    let second = sensors.read(Moment::After, &mut absent).expect("a reading");
    assert_eq!(second.foreign_cpu, Some(0.25));
    // Our own ticks lag behind: never less than none.
    computer.time([1200, 1025], [1000, 1175], 900);
    let third = sensors.read(Moment::After, &mut absent).expect("a reading");
    assert_eq!(third.foreign_cpu, Some(0.0));
}

#[test]
fn only_processors_in_use_have_a_frequency() {
    let computer = Computer::new();
    let mut sensors = computer.sensors();
    for (processor, khz) in [(0, 3_900_000), (1, 600_000)] {
        computer.write(
            &format!("sys/devices/system/cpu/cpu{processor}/cpufreq/scaling_cur_freq"),
            &format!("{khz}\n"),
        );
    }
    let mut absent = Vec::new();
    computer.time([0, 0], [10, 10], 0);
    let before = sensors
        .read(Moment::Before, &mut absent)
        .expect("a reading");
    assert_eq!(before.cpu_mhz, None);
    computer.time([90, 10], [20, 100], 0);
    let after = sensors.read(Moment::After, &mut absent).expect("a reading");
    assert_eq!(after.cpu_mhz, Some(3900.0));
    assert!(absent.iter().all(|a| a.reading != "processor frequency"));
}

#[test]
fn the_other_files_are_read() {
    let computer = Computer::new();
    computer.time([1, 1], [1, 1], 0);
    computer.write("proc/loadavg", "0.52 0.58 0.59 1/123 4567\n");
    let pressure = "some avg10=1.25 avg60=0.00 avg300=0.00 total=12\nfull avg10=9.00 avg60=0 x\n";
    computer.write("proc/pressure/memory", pressure);
    for (zone, temperature) in [(0, "41500\n"), (1, "-273200\n"), (2, "56000\n"), (3, "x")] {
        computer.write(
            &format!("sys/class/thermal/thermal_zone{zone}/temp"),
            temperature,
        );
    }
    let reading = computer.sensors().read(Moment::Before, &mut Vec::new());
    let reading = reading.expect("a reading");
    assert_eq!(reading.load, Some(0.52));
    assert_eq!(reading.memory_pressure_percent, Some(1.25));
    assert_eq!(reading.temperature_c, Some(56.0));
}

#[test]
fn a_computer_that_tells_nothing_is_absent_and_not_zero() {
    let computer = Computer::new();
    let mut absent = Vec::new();
    let reading = computer.sensors().read(Moment::Before, &mut absent);
    assert_eq!(reading, Some(HostReading::default()));
    let names: Vec<&str> = absent.iter().map(|a| a.reading.as_str()).collect();
    assert_eq!(
        names,
        [
            "memory pressure",
            "processor frequency",
            "load of other processes",
            "host temperature"
        ]
    );
    // A kernel that counts nothing shows zeros.
    computer.time([0, 0], [0, 0], 0);
    let reading = computer.sensors().read(Moment::After, &mut absent);
    assert_eq!(reading.and_then(|r| r.foreign_cpu), None);
    assert!(absent.iter().any(|a| a.reason.contains("does not count")));
}

#[test]
fn while_a_launch_runs_the_host_is_left_alone() {
    let computer = Computer::new();
    let mut sensors = computer.sensors();
    let absent = &mut Vec::new();
    assert!(sensors.read(Moment::Before, absent).is_some());
    assert_eq!(sensors.read(Moment::During, absent), None);
    assert!(sensors.read(Moment::After, absent).is_some());
}

/// This machine, whatever it is: what it does not tell is absent with a reason.
#[test]
fn this_machine_is_read() {
    let mut sensors = HostSensors::of_this_machine();
    let mut absent = Vec::new();
    sensors.read(Moment::Before, &mut absent);
    let reading = sensors.read(Moment::After, &mut absent).expect("a reading");
    let reasons = |name: &str| absent.iter().any(|a| a.reading == name);
    assert!(reading.load.is_some_and(|load| load >= 0.0));
    assert!(reading.temperature_c.is_some() || reasons("host temperature"));
    assert!(reading.memory_pressure_percent.is_some() || reasons("memory pressure"));
    // No time may have passed between the two, or the kernel may not count it.
    assert!(reading.foreign_cpu.is_none_or(|cpus| cpus >= 0.0));
}
