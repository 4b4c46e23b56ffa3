//! The server of the JSON-lines protocol, version 1: a line with a request in, a line with the
//! answer out, until `bye` or the end of the input. Standard output carries nothing else.
//!
//! The protocol is described in `docs/harness-protocol.md`. A request that cannot be served is
//! answered with an error that says whose fault it is; only one that lost the device ends the
//! server, so that the next request meets a new process. What the answers mean for a verdict is
//! not decided here.

mod facts;
mod protocol;
mod session;

use std::io::{self, BufRead, Read, Write};

use protocol::{Answer, BenchName, Reply, Request, Unserved};
use session::Session;

use crate::catalogue::{BENCHES, PARITY};
use crate::device::{Device, DeviceError};
use crate::mmq::Tile;
use crate::model::{ModelChoice, ModelShape, PREFILL_UNIT, PrefillRequest};
use crate::standalone::UNIT;

pub use session::PREFILL;

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
    /// The device or the kernels could not be had; every request but `hello` and `bye` is
    /// answered so.
    Broken(DeviceError),
}

/// What the harness was told when it was started.
#[derive(Debug, Clone, PartialEq)]
pub struct HarnessOptions {
    /// The model of `generate` and of the bench [`PREFILL`].
    pub model: ModelChoice,
    /// The kernel of its matrix products.
    pub tile: Tile,
}

impl Default for HarnessOptions {
    fn default() -> Self {
        HarnessOptions {
            model: ModelChoice::Synthetic(ModelShape::tiny()),
            tile: Tile::Wide8,
        }
    }
}

enum Server<'a> {
    Ready(Session<'a>),
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

/// Answers requests until `bye`, the end of the input, or the loss of the device.
///
/// # Errors
/// Where standard input or output fails.
pub fn serve(
    mut input: impl BufRead,
    mut output: impl Write,
    backend: Backend<'_>,
    options: &HarnessOptions,
) -> io::Result<()> {
    let mut server = match backend {
        Backend::Ready(device) => Server::Ready(Session::new(device, options)),
        Backend::Broken(error) => Server::Broken(error),
    };
    while let Some(line) = read_line(&mut input)? {
        let (reply, last) = match line {
            Line::Whole(text) if text.trim().is_empty() => continue,
            Line::Whole(text) => answer(&text, &mut server),
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
fn answer(line: &str, server: &mut Server<'_>) -> (Reply, bool) {
    let (id, request) = protocol::parse(line);
    let served = match request {
        Ok(Request::Bye) => return (Reply::ok(id, Answer::Bye {}), true),
        Ok(request) => match (server, request) {
            (Server::Ready(session), request) => respond(&request, session),
            // What there is to ask for does not depend on a device.
            (Server::Broken(error), Request::Hello) => Ok(hello(&error.to_string())),
            (Server::Broken(error), _) => Err(Unserved::from(&*error)),
        },
        Err(unserved) => Err(unserved),
    };
    match served {
        Ok(answer) => (Reply::ok(id, answer), false),
        Err(unserved) => (Reply::error(id, &unserved), unserved.device_lost),
    }
}

fn respond(request: &Request, session: &mut Session<'_>) -> Result<Answer, Unserved> {
    match request {
        Request::Hello => Ok(hello(&session.device.info().name)),
        Request::Parity { case } => session.parity(case),
        Request::Generate { tokens, seed } => session.generate(*tokens, *seed),
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
            let request = PrefillRequest {
                seed: *seed,
                warmup: *warmup,
                inner: *inner,
            };
            session.sample(bench, request)
        }
        Request::Bye => Ok(Answer::Bye {}),
    }
}

/// `on` is the device, or why there is none.
fn hello(on: &str) -> Answer {
    let problems = BENCHES.iter().map(|bench| BenchName {
        name: bench.name,
        unit: UNIT,
    });
    let stack = BenchName {
        name: PREFILL,
        unit: PREFILL_UNIT,
    };
    Answer::Hello {
        protocol: PROTOCOL,
        name: format!("roundhouse sample kernels: {on}"),
        cases: PARITY.iter().map(|case| case.name).collect(),
        benches: problems.chain([stack]).collect(),
    }
}

/// The seed of parity cases: fixed, so that both sides see the same operands.
const PARITY_SEED: u64 = 1;

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;
