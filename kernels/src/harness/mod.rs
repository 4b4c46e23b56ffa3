//! The server of the JSON-lines protocol, version 1: a line with a request in, a line with the
//! answer out, until `bye` or the end of the input. Standard output carries nothing else.
//!
//! The protocol is described in `docs/harness-protocol.md`. A request that cannot be served is
//! answered with an error that says whose fault it is; it never ends the server. What the answers
//! mean for a verdict is not decided here.

mod protocol;

use std::io::{self, BufRead, Read, Write};

use protocol::{Answer, BenchName, Reply, Request, Unserved};

use crate::catalogue::{self, BENCHES, Entry, PARITY};
use crate::device::{Device, DeviceError, Fault};
use crate::standalone::{SampleRequest, UNIT, parity, sample};

/// The protocol's version.
pub const PROTOCOL: u32 = 1;

/// The longest request, bytes.
const LONGEST_LINE: u64 = 64 * 1024;
/// The most inner runs that a request may ask for.
const MOST_RUNS: u32 = 10_000;

/// What requests are run on.
pub enum Backend<'a> {
    /// A device with the kernels loaded.
    Ready(&'a mut dyn Device),
    /// The device or the kernels could not be had; every request but `bye` is answered so.
    Broken(DeviceError),
}

/// Opens images on a device: those for other architectures are passed over.
///
/// # Errors
/// [`DeviceError::WrongArch`] when none is for this device; any other error of loading at once.
pub fn load_images(
    device: &mut dyn Device,
    images: impl IntoIterator<Item = Vec<u8>>,
) -> Result<(), DeviceError> {
    let mut loaded = false;
    for image in images {
        match device.load(&image) {
            Ok(()) => loaded = true,
            Err(DeviceError::WrongArch { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if loaded {
        return Ok(());
    }
    Err(DeviceError::WrongArch {
        arch: device.info().arch(),
    })
}

/// Answers requests until `bye` or the end of the input.
///
/// # Errors
/// Where standard input or output fails; a request never ends the server.
pub fn serve(
    mut input: impl BufRead,
    mut output: impl Write,
    mut backend: Backend<'_>,
) -> io::Result<()> {
    while let Some(line) = read_line(&mut input)? {
        let (reply, last) = match line {
            Line::Whole(text) if text.trim().is_empty() => continue,
            Line::Whole(text) => answer(&text, &mut backend),
            Line::TooLong => {
                let text = format!("a request has at most {LONGEST_LINE} bytes");
                (Reply::error(None, &Unserved::input(text)), false)
            }
        };
        let text = serde_json::to_string(&reply)?;
        writeln!(output, "{text}")?;
        output.flush()?;
        if last {
            break;
        }
    }
    Ok(())
}

enum Line {
    Whole(String),
    TooLong,
}

/// The next line, or `None` at the end. What is too long is skipped to its end without being kept.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    input
        .by_ref()
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') || (line.len() as u64) < LONGEST_LINE {
        return Ok(Some(Line::Whole(
            String::from_utf8_lossy(&line).into_owned(),
        )));
    }
    loop {
        let buffered = input.fill_buf()?;
        let (skip, done) = match buffered.iter().position(|b| *b == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffered.len(), buffered.is_empty()),
        };
        input.consume(skip);
        if done {
            return Ok(Some(Line::TooLong));
        }
    }
}

/// The reply to a line, and whether it is the last one.
fn answer(line: &str, backend: &mut Backend<'_>) -> (Reply, bool) {
    let (id, request) = protocol::parse(line);
    let served = match request {
        Ok(Request::Bye) => return (Reply::ok(id, Answer::Bye {}), true),
        Ok(request) => match backend {
            Backend::Ready(device) => respond(&request, *device),
            Backend::Broken(error) => Err(Unserved {
                error: error.to_string(),
                fault: error.fault(),
            }),
        },
        Err(unserved) => Err(unserved),
    };
    match served {
        Ok(answer) => (Reply::ok(id, answer), false),
        Err(unserved) => (Reply::error(id, &unserved), false),
    }
}

fn respond(request: &Request, device: &mut dyn Device) -> Result<Answer, Unserved> {
    match request {
        Request::Hello => Ok(hello(device)),
        Request::Parity { case } => parity_answer(find(PARITY, case, "case")?, device),
        Request::Generate { .. } => Err(Unserved::input(
            "stand-alone kernels generate no tokens; leave [identity] out",
        )),
        Request::Sample {
            bench,
            warmup,
            inner,
            seed,
        } => {
            if *inner == 0 || *inner > MOST_RUNS || *warmup > MOST_RUNS {
                let text = format!("inner is 1 to {MOST_RUNS}, warmup at most {MOST_RUNS}");
                return Err(Unserved::input(text));
            }
            let problem = find(BENCHES, bench, "bench")?.problem(*seed);
            let request = SampleRequest {
                problem: problem.as_ref(),
                warmup: *warmup,
                inner: *inner,
            };
            let timing = sample(device, &request)?;
            Ok(Answer::Sample {
                unit: UNIT,
                value: timing.value_us,
                inner: timing.inner_us,
            })
        }
        Request::Bye => Ok(Answer::Bye {}),
    }
}

fn hello(device: &dyn Device) -> Answer {
    let info = device.info();
    Answer::Hello {
        protocol: PROTOCOL,
        name: format!("roundhouse sample kernels on {}", info.name),
        cases: PARITY.iter().map(|case| case.name).collect(),
        benches: BENCHES
            .iter()
            .map(|bench| BenchName {
                name: bench.name,
                unit: UNIT,
            })
            .collect(),
    }
}

/// The seed of parity cases: fixed, so that both sides see the same operands.
const PARITY_SEED: u64 = 1;

fn parity_answer(case: &Entry, device: &mut dyn Device) -> Result<Answer, Unserved> {
    let problem = case.problem(PARITY_SEED);
    let figures = parity(device, problem.as_ref())?;
    Ok(Answer::Parity {
        passed: figures.passed(problem.tolerance()),
        figures: protocol::Figures {
            nmse: figures.nmse,
            max_abs: figures.max_abs,
            mismatches: figures.mismatches as f64,
            non_finite: figures.non_finite as f64,
            compared: figures.compared as f64,
        },
    })
}

fn find(entries: &'static [Entry], name: &str, what: &str) -> Result<&'static Entry, Unserved> {
    catalogue::find(entries, name).ok_or_else(|| {
        let known = catalogue::names(entries);
        Unserved {
            error: format!("no {what} `{name}`; there are: {known}"),
            fault: Fault::Input,
        }
    })
}

#[cfg(test)]
mod tests;
