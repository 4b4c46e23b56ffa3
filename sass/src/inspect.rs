//! The whole inspection: files in, a [`Report`] out. Work is spread over all cores; a batch of
//! files is in memory at a time, and of compressed images one for each worker.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::container::{self, Image, ImageKind};
use crate::cubin::Cubin;
use crate::hash::digest::{Digest, sha256_hex};
use crate::host::{self, HostMask};
use crate::{Error, FileReport, Kernel, Report, disasm, hash, names};

/// Files are read in batches of at most this many bytes together (or one larger file).
const BATCH_BYTES: u64 = 128 << 20;

/// A file to inspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectInput {
    /// Where it is.
    pub path: PathBuf,
    /// What the report calls it: the path relative to the worktree.
    pub name: String,
}

/// How to inspect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The disassembler; without it there is no census.
    pub nvdisasm: Option<PathBuf>,
    /// A folder in which to keep what the disassembler prints for each cubin, under the names
    /// that [`listing_file`] gives.
    pub listings: Option<PathBuf>,
    /// What to mask in the files' host code and in the kernels' data.
    pub mask: HostMask,
}

/// The name of the file that holds the listing of a cubin, found in `container` (as in
/// [`Kernel::container`]).
pub fn listing_file(container: &str) -> String {
    format!("{}.json", sha256_hex(container.as_bytes()))
}

/// Inspects files. The first damaged file or failed disassembly is an error for all.
pub fn inspect_files(inputs: &[InspectInput], options: &Options) -> Result<Report, Error> {
    let mut report = Report::default();
    let mut rest = inputs;
    while !rest.is_empty() {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some((input, tail)) = rest.split_first() {
            let read_error = |source| Error::Read {
                path: input.path.clone(),
                source,
            };
            let size = std::fs::metadata(&input.path).map_err(read_error)?.len();
            if !batch.is_empty() && bytes + size > BATCH_BYTES {
                break;
            }
            let data = std::fs::read(&input.path).map_err(read_error)?;
            bytes += data.len() as u64;
            batch.push(Loaded {
                name: &input.name,
                data,
            });
            rest = tail;
        }
        inspect_batch(&batch, options, &mut report)?;
    }
    report.kernels.sort_by(|a, b| {
        (&a.name, &a.arch, &a.container, &a.symbol).cmp(&(
            &b.name,
            &b.arch,
            &b.container,
            &b.symbol,
        ))
    });
    Ok(report)
}

/// A file in memory.
struct Loaded<'i> {
    name: &'i str,
    data: Vec<u8>,
}

/// A piece of work.
enum Job<'j> {
    File(&'j Loaded<'j>),
    Image(usize, &'j Image<'j>),
}

/// What a piece of work gives.
enum Done {
    File {
        sha256: String,
        host_hash: Option<String>,
    },
    Image {
        file: usize,
        kernels: Vec<Kernel>,
        arch: String,
    },
}

fn inspect_batch(
    batch: &[Loaded<'_>],
    options: &Options,
    report: &mut Report,
) -> Result<(), Error> {
    let images: Vec<Vec<Image<'_>>> = batch
        .iter()
        .map(|file| container::images(file.name, &file.data))
        .collect::<Result<_, _>>()?;
    let mut jobs: Vec<Job<'_>> = images
        .iter()
        .enumerate()
        .flat_map(|(file, list)| list.iter().map(move |image| Job::Image(file, image)))
        .filter(|job| matches!(job, Job::Image(_, image) if image.kind == ImageKind::Cubin))
        .collect();
    // The longest first, so that no core is left with a long one at the end.
    jobs.sort_by_key(|job| match job {
        Job::Image(_, image) => std::cmp::Reverse(image.payload.len()),
        Job::File(_) => std::cmp::Reverse(0),
    });
    jobs.extend(batch.iter().map(Job::File));
    let mut reports = Vec::new();
    let mut archs: Vec<BTreeSet<String>> = vec![BTreeSet::new(); batch.len()];
    let mut cubins = vec![0; batch.len()];
    for done in in_parallel(&jobs, |job| run(job, options))? {
        match done {
            Done::File { sha256, host_hash } => reports.push((sha256, host_hash)),
            Done::Image {
                file,
                kernels,
                arch,
            } => {
                cubins[file] += 1;
                archs[file].insert(arch);
                report.kernels.extend(kernels);
            }
        }
    }
    for (index, (sha256, host_hash)) in reports.into_iter().enumerate() {
        let (ptx_only, ptx_hash) = ptx_only(&images[index], &archs[index])?;
        report.files.push(FileReport {
            path: batch[index].name.to_owned(),
            sha256,
            bytes: batch[index].data.len() as u64,
            cubins: cubins[index],
            host_hash,
            ptx_only,
            ptx_hash,
        });
    }
    Ok(())
}

fn run(job: &Job<'_>, options: &Options) -> Result<Done, Error> {
    match job {
        Job::File(file) => Ok(Done::File {
            sha256: sha256_hex(&file.data),
            host_hash: host::host_hash(file.name, &file.data, &options.mask)?,
        }),
        Job::Image(file, image) => {
            let bytes = image.bytes()?;
            let cubin = Cubin::parse(&image.container, image.offset, &bytes)?;
            Ok(Done::Image {
                file: *file,
                kernels: kernels(&cubin, &bytes, options)?,
                arch: cubin.arch,
            })
        }
    }
}

fn kernels(cubin: &Cubin<'_>, image: &[u8], options: &Options) -> Result<Vec<Kernel>, Error> {
    let mut censuses = match &options.nvdisasm {
        Some(program) if !cubin.entries.is_empty() => {
            let folder = options.listings.as_ref();
            let keep = folder.map(|folder| folder.join(listing_file(&cubin.container)));
            let keep = keep.as_deref();
            Some(disasm::censuses(
                disasm::Disassembly { program, keep },
                cubin,
                image,
            )?)
        }
        Some(_) => Some(Default::default()),
        None => None,
    };
    let hashes = hash::code_hashes(cubin, &options.mask);
    Ok(cubin
        .entries
        .iter()
        .zip(hashes)
        .map(|(entry, code_hash)| Kernel {
            symbol: entry.symbol.clone(),
            name: names::demangle(&entry.symbol),
            arch: cubin.arch.clone(),
            container: cubin.container.clone(),
            ledger: cubin.ledger(entry),
            census: censuses
                .as_mut()
                .map(|all| all.remove(&entry.section).unwrap_or_default()),
            code_hash,
        })
        .collect())
}

/// Runs `work` on every item on all cores; results in the items' order. After an error no new
/// work is begun; the error of the earliest item that was worked on is given.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let workers = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(items.len());
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<R, Error>)>> =
        Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(item);
                    if result.is_err() {
                        next.store(items.len(), Ordering::Relaxed);
                    }
                    // A poisoned lock means that another worker panicked, which the scope reports.
                    results
                        .lock()
                        .unwrap_or_else(|e| e.into_inner())
                        .push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The architectures that a file has PTX but no machine code for, and a hash over that PTX.
fn ptx_only(
    images: &[Image<'_>],
    archs: &BTreeSet<String>,
) -> Result<(Vec<String>, Option<String>), Error> {
    let number = |arch: &str| arch.trim_matches(|c: char| !c.is_ascii_digit()).to_owned();
    let compiled: BTreeSet<String> = archs.iter().map(|arch| number(arch)).collect();
    let mut found = BTreeSet::new();
    let mut digest = Digest::new("roundhouse ptx 1");
    for image in images.iter().filter(|image| image.kind == ImageKind::Ptx) {
        if compiled.contains(&image.arch_number.to_string()) {
            continue;
        }
        let bytes = image.bytes()?;
        let text = String::from_utf8_lossy(&bytes);
        let target = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(".target"));
        let target = target.and_then(|t| t.trim().split([',', ' ']).next()?.strip_prefix("sm_"));
        found.insert(format!(
            "compute_{}",
            target.unwrap_or(&image.arch_number.to_string())
        ));
        write_ptx(&text, &mut digest);
    }
    let hash = (!found.is_empty()).then(|| digest.hex());
    Ok((found.into_iter().collect(), hash))
}

/// Writes PTX without comments, line information and debug sections.
fn write_ptx(text: &str, digest: &mut Digest) {
    let mut in_debug_section = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with(".section") {
            in_debug_section = line.contains(".debug");
        }
        let about_source = [".loc", ".file", "//"]
            .iter()
            .any(|start| line.starts_with(start));
        if !in_debug_section && !about_source && !line.is_empty() {
            digest.bytes(&names::normalise(line.as_bytes()));
        }
        in_debug_section &= line != "}";
    }
}
