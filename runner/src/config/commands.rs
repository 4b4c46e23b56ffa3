//! Build commands for what was recognised, as lines for a shell.

use super::detect::Unit;

/// Whether a name needs no quotes in a shell.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+=".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(plain)
}

/// A word for a shell.
fn word(text: &str) -> String {
    match is_plain(text) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// What is said of a makefile.
pub(super) fn make_note(file: &str, toolchain: &[(String, String)]) -> String {
    let names: Vec<&str> = toolchain.iter().map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [] => format!("Recognised: make ({file})."),
        names => format!(
            "Recognised: make ({file}); {} so that the toolchain above is used.",
            match names {
                [one] => format!("{one} is set"),
                names => format!("{} are set", names.join(", ")),
            }
        ),
    }
}

/// CMake in a folder of its own, for the architectures.
pub(super) fn cmake_command(archs: &[String]) -> String {
    let numbers: Vec<&str> = archs
        .iter()
        .map(|arch| arch.trim_start_matches("sm_"))
        .collect();
    format!(
        "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release \
         -DCMAKE_CUDA_ARCHITECTURES={} && cmake --build build -j\"$(nproc)\"",
        word(&numbers.join(";"))
    )
}

/// nvcc for each unit, and what that makes.
pub(super) fn nvcc_command(
    units: &[Unit],
    includes: &[String],
    archs: &[String],
) -> (String, Vec<String>) {
    let includes: String = includes
        .iter()
        .map(|folder| format!("-I {} ", word(folder)))
        .collect();
    let targets: Vec<String> = archs
        .iter()
        .map(|arch| {
            let number = arch.trim_start_matches("sm_");
            format!("-gencode arch=compute_{number},code=sm_{number}")
        })
        .collect();
    let targets = targets.join(" ");
    let mut commands = vec!["mkdir -p build".to_owned()];
    let mut outputs: Vec<String> = Vec::new();
    for unit in units {
        let sources: Vec<String> = unit.sources.iter().map(|source| word(source)).collect();
        let first = unit.sources.first().map_or("", String::as_str);
        let path = first.trim_end_matches(".cu");
        let stem = path.rsplit('/').next().unwrap_or_default();
        let (kind, ending) = match unit.program {
            Some(_) => ("", ""),
            None => ("-fatbin ", ".fatbin"),
        };
        let mut output = format!("build/{stem}{ending}");
        if outputs.contains(&output) {
            output = format!("build/{}{ending}", path.replace('/', "_"));
        }
        commands.push(format!(
            "nvcc -O3 -std=c++17 {kind}{includes}{targets} -o {} {}",
            word(&output),
            sources.join(" ")
        ));
        outputs.push(output);
    }
    (commands.join(" && "), outputs)
}
