//! `runner inspect`: the kernels in any binary, and what changed against another one.

use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use kernels::gguf::Summary;
use regex::Regex;
use sass::{InspectInput, Kernel, Options, Report};

use crate::config::KernelFacts;
use crate::inspect::{self, LaunchFacts};
use crate::term::{Layout, gguf_summary, inspect as table};

/// Version of the `--json` document.
const SCHEMA: u32 = 1;

/// Shows the kernels in cubins, objects, archives, shared objects, executables and fatbins, and
/// what is in GGUF models.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  runner inspect engine                             every kernel, one a line
  runner inspect engine --kernel '^void mmq'        some of them
  runner inspect new/engine --against old/engine    what changed
  runner inspect k.cubin --threads 256 --dynamic-smem 98304")]
pub struct Args {
    /// Files to inspect.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Files to compare with: what FILEs were before.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    against: Vec<PathBuf>,
    /// Only kernels whose demangled name matches this regular expression.
    #[arg(long, value_name = "REGEX")]
    kernel: Option<Regex>,
    /// Threads per block for the occupancy; the binary's launch bounds where it is not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Dynamic shared memory per block for the occupancy, bytes.
    #[arg(long, value_name = "N", default_value_t = 0)]
    dynamic_smem: u32,
    /// The disassembler that counts instructions; `nvdisasm` on PATH where it is not given.
    #[arg(long, value_name = "PATH")]
    nvdisasm: Option<PathBuf>,
    /// Print a versioned JSON document.
    #[arg(long)]
    json: bool,
}

/// Runs the command. `installed` is the nvdisasm of an installed toolchain, for when neither the
/// arguments nor PATH have one.
pub async fn run(args: Args, installed: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    if args.against.is_empty() && args.files.iter().all(|path| is_gguf(path)) {
        return models(&args);
    }
    let nvdisasm = args
        .nvdisasm
        .clone()
        .or_else(|| which::which("nvdisasm").ok())
        .or(installed);
    if nvdisasm.is_none() && !args.json {
        eprintln!("no nvdisasm: instructions are not counted; give one with --nvdisasm PATH");
    }
    let options = Options {
        nvdisasm,
        ..Options::default()
    };
    let facts = LaunchFacts::new(&[KernelFacts {
        name: String::new(),
        threads: args.threads,
        dynamic_smem: args.dynamic_smem,
    }])?;
    if let Some(folder) = args.files.iter().chain(&args.against).find(|p| p.is_dir()) {
        bail!("`{}` is a folder; name the files in it", folder.display());
    }
    let report = read(&args.files, &args, &options).await?;
    let before = if args.against.is_empty() {
        None
    } else {
        let mut before = read(&args.against, &args, &options).await?;
        pair_files(&mut before, &report);
        Some(before)
    };
    let delta = before.as_ref().map(|before| sass::diff(before, &report));
    let text = if args.json {
        let mut document = serde_json::json!({ "schema": SCHEMA, "report": report });
        if let (Some(before), Some(delta)) = (&before, &delta) {
            document["against"] = serde_json::to_value(before)?;
            document["delta"] = serde_json::to_value(delta)?;
            document["occupancy"] = serde_json::to_value(inspect::occupancies(delta, &facts))?;
        }
        format!("{document}\n")
    } else {
        let layout = Layout::stdout_or_unwrapped();
        match &delta {
            Some(delta) => table::delta(&report, delta, &facts, layout),
            None => table::report(&report, &facts, layout),
        }
    };
    print(&text)
}

/// Whether a file begins as a GGUF file does.
fn is_gguf(path: &Path) -> bool {
    let mut magic = [0; 4];
    // Opening a pipe would wait for its other end.
    path.is_file()
        && std::fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut magic).is_ok())
        && magic == *b"GGUF"
}

/// What is in model files.
fn models(args: &Args) -> anyhow::Result<ExitCode> {
    let read = |path: &PathBuf| {
        let summary = Summary::of(path);
        summary.with_context(|| format!("reading {}", path.display()))
    };
    let summaries: Vec<Summary> = args.files.iter().map(read).collect::<Result<_, _>>()?;
    let named = args.files.iter().zip(&summaries);
    if args.json {
        let files = named.map(|(path, model)| serde_json::json!({ "path": path, "model": model }));
        let files: Vec<serde_json::Value> = files.collect();
        return print(&format!(
            "{}\n",
            serde_json::json!({ "schema": SCHEMA, "files": files })
        ));
    }
    let texts = named.map(|(path, model)| gguf_summary(&path.display().to_string(), model));
    print(&texts.collect::<Vec<_>>().join("\n"))
}

/// Inspects files and keeps the kernels that were asked for.
async fn read(files: &[PathBuf], args: &Args, options: &Options) -> anyhow::Result<Report> {
    let inputs = files
        .iter()
        .map(|path| InspectInput {
            path: path.clone(),
            name: path.display().to_string(),
        })
        .collect();
    let mut report = inspect::inspect(inputs, options.clone()).await?;
    if let Some(pattern) = &args.kernel {
        let all = report.kernels.len();
        report
            .kernels
            .retain(|kernel: &Kernel| pattern.is_match(&kernel.name));
        if report.kernels.is_empty() && all > 0 {
            eprintln!("note: `{pattern}` matches none of the {all} kernels");
        }
    }
    Ok(report)
}

/// Two binaries to compare usually have two paths: where there are as many of them on both sides,
/// those in the same place are taken for the same file.
fn pair_files(before: &mut Report, after: &Report) {
    if before.files.len() != after.files.len() {
        return;
    }
    for (old, new) in before.files.iter_mut().zip(&after.files) {
        for kernel in &mut before.kernels {
            if let Some(inside) = kernel.container.strip_prefix(&old.path)
                && (inside.is_empty() || inside.starts_with(['#', '(']))
            {
                kernel.container = format!("{}{inside}", new.path);
            }
        }
        old.path.clone_from(&new.path);
    }
}

/// Writes to standard output; a reader that has gone away is no error.
fn print(text: &str) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(e).context("could not write the result to standard output")
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
