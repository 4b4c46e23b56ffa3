//! Runs `nvdisasm -json` over a cubin and counts its instructions. This is the crate's only
//! outside program; it gets a temporary file and an empty environment.
//!
//! Padding: the compiler fills a function up with NOPs behind an instruction that never falls
//! through. The NOPs at the end of a listing count only if the instruction before them could
//! fall through into them (it is predicated, or neither a jump nor an exit). NOPs in the midst of
//! a function are executed and count.

mod json;

use std::collections::HashMap;
use std::io::{BufReader, Read, Seek, Write};
use std::path::Path;
use std::process::{Command, Stdio};

pub use json::FunctionCensus;

use crate::cubin::{Cubin, SymbolKind};
use crate::{Census, Error};

/// How much of a failed disassembler's messages is kept, bytes.
const MESSAGE_BYTES: u64 = 2000;
/// Buffer between the disassembler and the reader, bytes.
const BUFFER_BYTES: usize = 1 << 18;

/// Runs the disassembler over `cubin`, whose bytes are `image`: the census of each code section.
/// A kernel's census holds everything in its section: its own code and the functions that the
/// compiler placed behind it, not the functions of other sections that it calls.
pub fn censuses(
    program: &Path,
    cubin: &Cubin<'_>,
    image: &[u8],
) -> Result<HashMap<usize, Census>, Error> {
    let code_of: HashMap<&str, usize> = cubin
        .symbols
        .iter()
        .filter(|s| s.kind == SymbolKind::Function && s.section != 0)
        .map(|s| (s.name.as_str(), s.section))
        .collect();
    let mut found: HashMap<usize, Census> = HashMap::new();
    let job = Job {
        program,
        container: &cubin.container,
    };
    job.run(image, |function| {
        if let Some(section) = code_of.get(function.name.as_str()) {
            let census = found.entry(*section).or_default();
            census.total += function.total;
            for (opcode, count) in function.opcodes {
                *census.opcodes.entry(opcode).or_default() += count;
            }
        }
    })?;
    Ok(found)
}

/// One run of the disassembler.
struct Job<'j> {
    program: &'j Path,
    container: &'j str,
}

impl Job<'_> {
    fn run(&self, image: &[u8], each: impl FnMut(FunctionCensus)) -> Result<(), Error> {
        let mut file = tempfile::Builder::new()
            .prefix("roundhouse-")
            .suffix(".cubin")
            .tempfile()
            .map_err(|e| {
                self.error(
                    "no temporary file could be made for it; check TMPDIR and the disk",
                    e,
                )
            })?;
        file.write_all(image)
            .and_then(|()| file.flush())
            .map_err(|e| {
                self.error(
                    "its temporary file could not be written; check TMPDIR and the disk",
                    e,
                )
            })?;
        let mut messages = tempfile::tempfile()
            .map_err(|e| self.error("no temporary file could be made for its messages", e))?;
        let stderr = messages
            .try_clone()
            .map_err(|e| self.error("its messages could not be kept", e))?;
        let mut child = Command::new(self.program)
            .arg("-json")
            .arg(file.path())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .map_err(|e| {
                self.error(
                    "it could not be started; check the path given for nvdisasm",
                    e,
                )
            })?;
        let parsed = match child.stdout.take() {
            Some(output) => json::read(BufReader::with_capacity(BUFFER_BYTES, output), each),
            None => Ok(()),
        };
        if parsed.is_err() {
            // It may be blocked on a full pipe that nobody reads any more, or have ended already.
            child.kill().ok();
        }
        let status = child
            .wait()
            .map_err(|e| self.error("it could not be waited for", e))?;
        match parsed {
            Ok(()) if status.success() => Ok(()),
            Ok(()) => Err(self.failed(&format!("it ended with {status}"), &mut messages)),
            Err(e) => Err(self.failed(
                &format!("its output could not be understood ({e})"),
                &mut messages,
            )),
        }
    }

    fn failed(&self, how: &str, messages: &mut std::fs::File) -> Error {
        let mut text = Vec::new();
        let read = messages
            .rewind()
            .and_then(|()| messages.take(MESSAGE_BYTES).read_to_end(&mut text));
        let said = String::from_utf8_lossy(&text).trim().to_owned();
        let said = match read {
            Ok(_) if !said.is_empty() => format!("{how}; it said: {said}"),
            _ => how.to_owned(),
        };
        Error::Disassembler {
            program: self.program.to_owned(),
            container: self.container.to_owned(),
            what: format!("{said}; nvdisasm 13.2.51 or later is needed for -json"),
            source: None,
        }
    }

    fn error(&self, what: &str, source: std::io::Error) -> Error {
        Error::Disassembler {
            program: self.program.to_owned(),
            container: self.container.to_owned(),
            what: what.to_owned(),
            source: Some(source),
        }
    }
}
