//! Waits, within a limit, until nobody else uses what is measured on: no foreign compute process
//! and no foreign memory on a GPU; on a CPU, where the campaign asks for it, few busy CPUs.
//!
//! Looks and waits, and changes nothing. What cannot be read does not hold up a run.

use std::time::{Duration, Instant};

use super::clocks::listed;
use super::{GpuMemory, GpuProcess, NvmlError, NvmlGpu};
use crate::progress::Progress;

/// How often is looked.
const PAUSE: Duration = Duration::from_millis(500);
/// Over how long busy CPUs are counted.
const CPU_WINDOW: Duration = Duration::from_secs(1);
/// How much more device memory than at the run's begin may be in use: contexts of the driver's
/// own come and go.
const MEMORY_SLACK: u64 = 256 << 20;
/// Device memory that may be in use though no process on the card accounts for it: the larger of
/// this and the share. An idle data-centre card holds some hundred MiB.
const UNEXPLAINED_BYTES: u64 = 1 << 30;
const UNEXPLAINED_SHARE: f64 = 0.02;

/// Who uses a card. What could not be read is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Users {
    /// Foreign processes that compute.
    pub compute: Option<Vec<GpuProcess>>,
    /// Memory that processes which draw account for, bytes.
    pub drawn_bytes: u64,
    /// The card's memory.
    pub memory: Option<GpuMemory>,
}

impl Users {
    /// Reads them. `is_ours` tells the runner's own processes by their number.
    pub fn read(gpu: &NvmlGpu, is_ours: impl Fn(u32) -> bool) -> Result<Users, NvmlError> {
        let compute = where_told(gpu.compute_processes())?;
        let graphics = where_told(gpu.graphics_processes())?;
        let graphics = graphics.unwrap_or_default();
        Ok(Users {
            compute: compute.map(|all| {
                let foreign = all.into_iter().filter(|process| !is_ours(process.pid));
                foreign.collect()
            }),
            drawn_bytes: graphics.iter().filter_map(|p| p.memory_bytes).sum(),
            memory: where_told(gpu.memory())?,
        })
    }

    /// Who or what is in the way; `None` where the card is free. `idle` is the memory that was in
    /// use when the run began, bytes.
    pub fn in_the_way(&self, idle: Option<u64>) -> Option<String> {
        if let Some(compute) = &self.compute
            && !compute.is_empty()
        {
            return Some(listed(compute));
        }
        let memory = self.memory?;
        let share = (memory.total as f64 * UNEXPLAINED_SHARE) as u64;
        let unexplained = memory.used.saturating_sub(self.drawn_bytes);
        if unexplained > UNEXPLAINED_BYTES.max(share) {
            return Some(format!(
                "{} MiB of its memory are in use, and no process that the driver names accounts \
                 for them (a process in another container, or memory that was not freed)",
                unexplained >> 20
            ));
        }
        let idle = idle?;
        (memory.used > idle.saturating_add(MEMORY_SLACK)).then(|| {
            format!(
                "{} MiB of its memory are in use, {} MiB more than when the run began",
                memory.used >> 20,
                (memory.used - idle) >> 20
            )
        })
    }
}

/// A reading, or none where this device or user gets none.
fn where_told<T>(reading: Result<T, NvmlError>) -> Result<Option<T>, NvmlError> {
    match reading {
        Ok(value) => Ok(Some(value)),
        Err(NvmlError::NotSupported { .. } | NvmlError::NotPermitted { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits for a free card; gives how long that took, or who is in the way.
///
/// # Errors
/// The reason where the card did not come free within the limit, or was lost.
pub async fn wait_for_gpu(
    gpu: &NvmlGpu,
    idle: Option<u64>,
    limit: Duration,
    is_ours: impl Fn(u32) -> bool,
    progress: &Progress,
) -> Result<Duration, String> {
    let look = || match Users::read(gpu, &is_ours) {
        Ok(users) => Ok(users.in_the_way(idle)),
        Err(error) => Err(error.to_string()),
    };
    wait(limit, "the device", progress, async || look()).await
}

/// Waits until others keep fewer than so many CPUs busy; gives how long that took.
///
/// # Errors
/// The reason where it did not come to that within the limit.
pub async fn wait_for_cpu(
    most_busy: f64,
    limit: Duration,
    progress: &Progress,
) -> Result<Duration, String> {
    wait(limit, "the machine", progress, async || {
        let before = CpuTimes::now();
        tokio::time::sleep(CPU_WINDOW).await;
        let busy = before
            .zip(CpuTimes::now())
            .and_then(|(a, b)| a.busy_until(b));
        Ok(busy.filter(|busy| *busy > most_busy).map(|busy| {
            format!("{busy:.1} CPUs are busy, {most_busy} may be (`drain_cpu` in [machine])")
        }))
    })
    .await
}

async fn wait(
    limit: Duration,
    what: &str,
    progress: &Progress,
    mut look: impl AsyncFnMut() -> Result<Option<String>, String>,
) -> Result<Duration, String> {
    let clock = Instant::now();
    let mut told = false;
    loop {
        let Some(who) = look().await? else {
            return Ok(clock.elapsed());
        };
        let left = limit.saturating_sub(clock.elapsed());
        if left.is_zero() {
            return Err(format!(
                "{what} is in use, and was not free within {} s (`drain_s` in [machine]): {who}",
                limit.as_secs()
            ));
        }
        if !told {
            told = true;
            progress.note(format!(
                "waiting up to {} s until {what} is free: {who}",
                limit.as_secs()
            ));
        }
        tokio::time::sleep(PAUSE.min(left)).await;
    }
}

/// The kernel's count of what all CPUs together did, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CpuTimes {
    busy: u64,
    all: u64,
    cpus: u64,
}

impl CpuTimes {
    fn now() -> Option<CpuTimes> {
        CpuTimes::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(text: &str) -> Option<CpuTimes> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            // What follows (guests) is contained in the first ones.
            .take(8)
            .map_while(|n| n.parse().ok())
            .collect();
        let [_user, _nice, _system, idle, iowait, ..] = ticks[..] else {
            return None;
        };
        let all: u64 = ticks.iter().sum();
        let is_cpu = |line: &&str| {
            line.strip_prefix("cpu")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        Some(CpuTimes {
            busy: all - idle - iowait,
            all,
            cpus: text.lines().filter(is_cpu).count() as u64,
        })
    }

    /// How many CPUs were busy on average between two counts; `None` where no time has passed.
    fn busy_until(self, later: CpuTimes) -> Option<f64> {
        let all = later.all.checked_sub(self.all).filter(|all| *all > 0)?;
        let busy = later.busy.saturating_sub(self.busy);
        Some(busy as f64 / all as f64 * later.cpus as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn users(used: u64) -> Users {
        Users {
            compute: Some(Vec::new()),
            drawn_bytes: 0,
            memory: Some(GpuMemory {
                used,
                total: 140 * GIB,
            }),
        }
    }

    #[test]
    fn processes_and_memory_are_in_the_way() {
        assert_eq!(users(GIB / 2).in_the_way(Some(GIB / 2)), None);
        assert_eq!(users(GIB / 2).in_the_way(None), None);
        let more = users(GIB).in_the_way(Some(GIB / 2)).expect("more");
        assert!(more.contains("512 MiB more"), "{more}");
        let left = users(9 * GIB).in_the_way(Some(9 * GIB)).expect("too much");
        assert!(left.contains("9216 MiB"), "{left}");
        let drawn = Users {
            drawn_bytes: 8 * GIB,
            ..users(9 * GIB)
        };
        assert_eq!(drawn.in_the_way(None), None);
        let process = GpuProcess {
            pid: 4711,
            name: Some("llama-server".into()),
            memory_bytes: Some(9 * GIB),
        };
        let busy = Users {
            compute: Some(vec![process]),
            ..users(GIB / 2)
        };
        let who = busy.in_the_way(None).expect("a process");
        assert_eq!(who, "process 4711 (llama-server, 9216 MiB)");
    }

    #[test]
    fn without_a_memory_reading_only_processes_count() {
        let gb10 = Users {
            memory: None,
            ..users(0)
        };
        assert_eq!(gb10.in_the_way(Some(0)), None);
        assert_eq!(Users::default().in_the_way(None), None);
    }

    /// `docs/machine-control.md` says what a drained device is.
    #[test]
    fn the_document_gives_the_limits() {
        let document = include_str!("../../../docs/machine-control.md");
        let words: Vec<&str> = document.split_whitespace().collect();
        let document = words.join(" ");
        for said in [
            format!("not more than {} MiB above", MEMORY_SLACK >> 20),
            format!(
                "not more than {} GiB ({} % of a large card's memory)",
                UNEXPLAINED_BYTES >> 30,
                UNEXPLAINED_SHARE * 100.0
            ),
        ] {
            assert!(document.contains(&said), "it does not say `{said}`");
        }
    }

    #[test]
    fn busy_cpus_are_counted() {
        let text = |user: u64, idle: u64| {
            format!("cpu  {user} 0 0 {idle} 0 0 0 0 7 7\ncpu0 1\ncpu1 1\ncpufreq\nintr 5\n")
        };
        let before = CpuTimes::parse(&text(100, 100)).expect("times");
        let after = CpuTimes::parse(&text(150, 250)).expect("times");
        assert_eq!(before.busy_until(after), Some(0.5));
        assert_eq!(before.busy_until(before), None);
        assert_eq!(CpuTimes::parse("cpu  1 2\n"), None);
        assert!(CpuTimes::now().is_some_and(|now| now.cpus > 0));
    }

    #[tokio::test]
    async fn the_wait_ends_when_it_is_free_or_at_the_limit() {
        let mut looks = 0;
        let waited = wait(
            Duration::from_secs(600),
            "the device",
            &Progress::silent(),
            async || {
                looks += 1;
                Ok((looks < 3).then(|| "process 1".to_owned()))
            },
        )
        .await;
        assert!(waited.is_ok());
        assert_eq!(looks, 3);
        let refused = wait(
            Duration::ZERO,
            "the device",
            &Progress::silent(),
            async || Ok(Some("process 1 (x)".to_owned())),
        )
        .await
        .expect_err("never free");
        assert!(
            refused.contains("within 0 s") && refused.ends_with("process 1 (x)"),
            "{refused}"
        );
    }
}
