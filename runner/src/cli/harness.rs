//! `runner harness`: the sample campaign's kernels behind the JSON-lines protocol.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use kernels::catalogue::{self, BENCHES, Entry};
use kernels::device::{Cuda, Device, DeviceError};
use kernels::harness::{Backend, HarnessOptions, PREFILL, load_images, serve};
use kernels::mmq::Tile;
use kernels::model::{ModelChoice, Stack};
use kernels::standalone::launch_once;

/// Answers requests as JSON lines on standard input and output, on a CUDA device.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A cubin or fatbin with the kernels, or a folder of them; may be given again
    #[arg(long, value_name = "FILE", required = true)]
    pub cubin: Vec<PathBuf>,

    /// Which device, as the driver numbers them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: u32,

    /// The model of `generate` and of the bench `prefill`: tiny, qwen7b, or a .gguf file
    #[arg(long, value_name = "MODEL", default_value = "tiny")]
    pub model: ModelChoice,

    /// The kernel of the model's matrix products: kd4, kd8 or nb
    #[arg(long, value_name = "TILE", default_value = "kd8")]
    pub tile: Tile,

    /// Launch this bench's kernel (or the whole prefill) once and end, for a profiler to watch
    #[arg(long, value_name = "BENCH")]
    pub launch: Option<String>,
}

/// Serves until `bye`, or launches once.
///
/// # Errors
/// Where the files cannot be read, standard input or output fail, or the one launch does. A
/// missing device is told to whoever asks, by the protocol.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let options = HarnessOptions {
        model: args.model.clone(),
        tile: args.tile,
    };
    // What can be found out without a device is said first, on any machine.
    let problem = args.launch.as_deref().map(launched).transpose()?;
    let images = read_images(&args.cubin)?;
    options.model.open().context("opening the model")?;
    let device = open(args.device, images);
    match problem {
        Some(Launched::Prefill) => return launch_prefill(&options, &mut device?),
        Some(Launched::Bench(bench)) => return launch(bench, &mut device?),
        None => {}
    }
    let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
    match device {
        Ok(mut device) => serve(input, output, Backend::Ready(&mut device), &options),
        Err(error) => serve(input, output, Backend::Broken(error), &options),
    }
    .context("answering requests on standard output")?;
    Ok(ExitCode::SUCCESS)
}

fn open(index: u32, images: Vec<Vec<u8>>) -> Result<Cuda, DeviceError> {
    let mut device = Cuda::open(index)?;
    load_images(&mut device, images)?;
    Ok(device)
}

/// What `--launch` names.
enum Launched {
    Prefill,
    Bench(&'static Entry),
}

fn launched(name: &str) -> anyhow::Result<Launched> {
    if name == PREFILL {
        return Ok(Launched::Prefill);
    }
    let Some(entry) = catalogue::find(BENCHES, name) else {
        let known = catalogue::names(BENCHES);
        bail!("no bench `{name}`; there are: {known}, {PREFILL}");
    };
    Ok(Launched::Bench(entry))
}

fn launch(entry: &Entry, device: &mut dyn Device) -> anyhow::Result<ExitCode> {
    let problem = entry.problem(0);
    let figures = launch_once(device, problem.as_ref())?;
    eprintln!("{}: launched once; {figures}", entry.name);
    Ok(ExitCode::SUCCESS)
}

fn launch_prefill(options: &HarnessOptions, device: &mut dyn Device) -> anyhow::Result<ExitCode> {
    let mut source = options.model.open()?;
    let stack = Stack::new(device, source.as_mut(), options.tile)?;
    let token = stack.prefill_once(device, 0)?;
    let shape = stack.shape();
    eprintln!(
        "prefill: {} tokens through `{}` once; the next token is {token}",
        shape.prefill, shape.name
    );
    stack.free(device);
    Ok(ExitCode::SUCCESS)
}

/// The content of the files, and of the cubins and fatbins in the folders, in the order of their
/// names.
fn read_images(paths: &[PathBuf]) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(images_in(path)?);
        } else {
            files.push(path.clone());
        }
    }
    files.iter().map(|file| read_image(file)).collect()
}

/// The largest file that is taken for kernels, bytes.
const MOST_IMAGE_BYTES: u64 = 1 << 30;

/// A file's content. What is no regular file may have no end, and is not waited for.
fn read_image(file: &Path) -> anyhow::Result<Vec<u8>> {
    let reading = || format!("reading {}", file.display());
    let about = std::fs::metadata(file).with_context(reading)?;
    if !about.is_file() {
        bail!(
            "{} is not a regular file; --cubin takes a cubin, a fatbin or a folder of them",
            file.display()
        );
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    std::fs::File::open(file)
        .and_then(|open| open.take(MOST_IMAGE_BYTES + 1).read_to_end(&mut bytes))
        .with_context(reading)?;
    if bytes.len() as u64 > MOST_IMAGE_BYTES {
        bail!(
            "{} is larger than {MOST_IMAGE_BYTES} bytes, which no cubin or fatbin is",
            file.display()
        );
    }
    Ok(bytes)
}

fn images_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let reading = || format!("reading folder {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(reading)? {
        let path = entry.with_context(reading)?.path();
        if matches!(
            path.extension().and_then(|e| e.to_str()),
            Some("cubin" | "fatbin")
        ) {
            files.push(path);
        }
    }
    if files.is_empty() {
        bail!(
            "{} holds no .cubin and no .fatbin; build the kernels first",
            folder.display()
        );
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_give_their_images_in_order_and_nothing_else() -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        for (name, text) in [
            ("b.cubin", "2"),
            ("a.fatbin", "1"),
            ("a.o", "no"),
            ("x", "3"),
        ] {
            std::fs::write(dir.path().join(name), text)?;
        }
        let images = read_images(&[dir.path().to_owned(), dir.path().join("x")])?;
        assert_eq!(images, [b"1", b"2", b"3"]);
        Ok(())
    }

    #[test]
    fn a_folder_without_images_says_what_to_do() -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        let error = read_images(&[dir.path().to_owned()]).expect_err("nothing there");
        assert!(
            error.to_string().contains("build the kernels first"),
            "{error}"
        );
        Ok(())
    }

    #[test]
    fn what_may_have_no_end_is_not_read() {
        for path in ["/dev/zero", "/proc/self/fd"] {
            let refused = read_image(Path::new(path)).expect_err("no regular file");
            assert!(refused.to_string().contains("regular file"), "{refused}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_images(&[PathBuf::from("/no/such.cubin")]).expect_err("not there");
        assert!(error.to_string().contains("/no/such.cubin"));
    }
}
