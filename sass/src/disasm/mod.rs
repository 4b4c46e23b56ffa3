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

/// How a cubin is disassembled.
#[derive(Debug, Clone, Copy)]
pub struct Disassembly<'d> {
    /// nvdisasm.
    pub program: &'d Path,
    /// Where to keep what it prints, JSON as it comes; nowhere if there is none.
    pub keep: Option<&'d Path>,
}

/// Runs the disassembler over `cubin`, whose bytes are `image`: the census of each code section.
/// A kernel's census holds everything in its section: its own code and the functions that the
/// compiler placed behind it, not the functions of other sections that it calls.
pub fn censuses(
    how: Disassembly<'_>,
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
        how,
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
    how: Disassembly<'j>,
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
        let mut child = Command::new(self.how.program)
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
        let mut copy = self.copy()?;
        let parsed = match child.stdout.take() {
            Some(output) => {
                let tee = Tee {
                    from: output,
                    copy: copy.as_mut(),
                };
                json::read(BufReader::with_capacity(BUFFER_BYTES, tee), each)
            }
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

    /// The file for what the disassembler prints.
    fn copy(&self) -> Result<Option<std::fs::File>, Error> {
        let Some(path) = self.how.keep else {
            return Ok(None);
        };
        let file = std::fs::File::create(path)
            .map_err(|e| self.error("there is no file for what it prints; check the disk", e))?;
        Ok(Some(file))
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
            program: self.how.program.to_owned(),
            container: self.container.to_owned(),
            what: format!("{said}; nvdisasm 13.2.51 or later is needed for -json"),
            source: None,
        }
    }

    fn error(&self, what: &str, source: std::io::Error) -> Error {
        Error::Disassembler {
            program: self.how.program.to_owned(),
            container: self.container.to_owned(),
            what: what.to_owned(),
            source: Some(source),
        }
    }
}

/// Reads, and copies what was read.
struct Tee<'t, R> {
    from: R,
    copy: Option<&'t mut std::fs::File>,
}

impl<R: Read> Read for Tee<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(buffer)?;
        if let Some(copy) = &mut self.copy {
            copy.write_all(&buffer[..read])?;
        }
        Ok(read)
    }
}
