//! Single functions of CUDA sources, compiled by g++ to compare them with the layouts in Rust.

use std::process::Command;

use tempfile::TempDir;

use crate::common::{Result, run};

/// The text of a function in a CUDA source, with the words that g++ does not know left out.
fn function(source: &str, name: &str) -> Result<String> {
    let start = source
        .find(&format!("int {name}("))
        .ok_or_else(|| format!("no function `{name}`"))?;
    let length = source[start..]
        .find("\n}")
        .ok_or("no end of the function")?;
    Ok(source[start..start + length + 2].to_owned())
}

/// Compiles functions and constants of a source for the host and gives what `body` prints.
pub fn on_host(source: &str, functions: &[&str], body: &str) -> Result<Vec<u32>> {
    let dir = TempDir::new()?;
    let constants: String = source
        .lines()
        .filter(|l| l.starts_with("constexpr int"))
        .map(|l| format!("{l}\n"))
        .collect();
    let functions: Vec<String> = functions
        .iter()
        .map(|name| function(source, name))
        .collect::<Result<_>>()?;
    let program = format!(
        "#include <cstdio>\n{constants}\n{}\nint main() {{ {body} }}\n",
        functions.join("\n")
    );
    let (file, binary) = (dir.path().join("host.cpp"), dir.path().join("host"));
    std::fs::write(&file, program)?;
    run(Command::new("g++")
        .args(["-std=c++17", "-o"])
        .arg(&binary)
        .arg(&file))?;
    let printed = run(&mut Command::new(&binary))?;
    Ok(printed
        .lines()
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?)
}
