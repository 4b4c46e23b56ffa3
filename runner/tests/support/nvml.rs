//! The stand-in for NVIDIA's management library, compiled and with its state file: what a test
//! starts a program with, changes while it runs, and looks at afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The UUID of the stand-in's device.
pub const UUID: &str = "GPU-00000000-1111-2222-3333-444444444444";

/// An idle device with everything that a data-centre card tells.
const IDLE: &str = "\
name Stand-in
vbios 96.00.00
driver 580.95.05
sm_clock 345
mem_clock 2619
max_sm_clock 1980
app_clock 1590
default_app_clock 1590
reasons 1
temperature 31
power 75000
power_limit 700000
util_gpu 0
util_memory 0
ecc_mode 1
ecc_uncorrected 0
persistence 1
mig 0
pcie_gen 1
pcie_width 16
max_pcie_gen 5
max_pcie_width 16
memory_total 150754820096
memory_used 600000000
locked 0
";

/// A compiled stand-in with a state file, in a folder of its own.
pub struct Nvml {
    folder: tempfile::TempDir,
}

impl Nvml {
    /// An idle device that tells everything.
    pub fn idle() -> Nvml {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let nvml = Nvml { folder };
        nvml.compile("nvml_standin.c", "libnvidia-ml.so.1");
        nvml.write(&format!("uuid {UUID}\n{IDLE}"));
        nvml
    }

    /// Puts a stand-in for the CUDA driver beside it, with the same device.
    pub fn with_cuda(&self) {
        self.compile("cuda_standin.c", "libcuda.so");
    }

    fn compile(&self, source: &str, library: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support");
        let compiled = Command::new("cc")
            .args([
                "-std=gnu11",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-O1",
                "-shared",
                "-fPIC",
                "-o",
            ])
            .args([self.folder.path().join(library), folder.join(source)])
            .status()
            .expect("cc starts");
        assert!(compiled.success(), "{source} does not compile");
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn read(&self) -> String {
        std::fs::read_to_string(self.state()).expect("the state")
    }

    /// Replaced in one step, as the library itself does it: it is read at any moment.
    fn write(&self, text: &str) {
        let new = self.folder.path().join("new");
        std::fs::write(&new, text).expect("a new state");
        std::fs::rename(new, self.state()).expect("the state");
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<String> {
        let state = self.read();
        let mut values = state.lines().filter_map(|line| {
            let (own, value) = line.split_once(' ')?;
            (own == key).then(|| value.to_owned())
        });
        values.next()
    }

    /// Sets a key, in the place of all its lines.
    pub fn set(&self, key: &str, value: &str) {
        self.remove(key);
        self.add(key, value);
    }

    /// Adds a line.
    pub fn add(&self, key: &str, value: &str) {
        self.write(&format!("{}{key} {value}\n", self.read()));
    }

    /// Takes all lines of a key away.
    pub fn remove(&self, key: &str) {
        let state = self.read();
        let kept = state
            .lines()
            .filter(|line| line.split(' ').next() != Some(key));
        let kept: Vec<&str> = kept.collect();
        self.write(&format!("{}\n", kept.join("\n")));
    }

    /// The locks and resets so far, in order: `lock 1590`, `reset 0`.
    pub fn changes(&self) -> Vec<String> {
        let log = self.folder.path().join("state.log");
        let text = std::fs::read_to_string(log).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The folder that tests may use for locks.
    pub fn locks(&self) -> PathBuf {
        self.folder.path().join("locks")
    }

    /// This test program again, with an ignored test that is the body of a case: a library is
    /// found when a process starts. `ROUNDHOUSE_LOCKS` names the folder for locks.
    pub fn body(&self, test: &str) -> Command {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        self.on(&mut command)
            .env("ROUNDHOUSE_LOCKS", self.locks())
            .args([test, "--exact", "--ignored", "--nocapture"]);
        command
    }

    /// Runs the body of a case to its end, which must be a good one.
    pub fn run(&self, test: &str) {
        let output = self.body(test).output().expect("this program starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Makes a program find the stand-in, and only it.
    pub fn on<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("LD_LIBRARY_PATH", self.folder.path())
            .env("NVML_STANDIN_STATE", self.state())
    }
}
