//! The host hash: stable over builds and places, different for every change of host code.

mod common;

use std::path::Path;

use common::{folder, inspect_masked, nvcc, run, source};
use sass::{HostMask, diff};

/// Source with code and data of the host.
fn host_source(number: u32) -> String {
    format!(
        "#include <cstdio>\n#include <stdexcept>\n#include <string>\n#include <vector>\n\
         namespace {{ int hidden(int x) {{ return x * {number}; }} }}\n\
         struct Base {{ virtual ~Base() = default; virtual int f(int x) {{ return hidden(x); }} }};\n\
         int table[] = {{1, 2, 3}};\nint* pointer = table + 1;\n\
         int work(int n) {{ std::vector<int> v(n); Base b; for (auto& x : v) x = b.f(n) + *pointer; \
         if (n > 99) throw std::runtime_error(__FILE__); return v.back(); }}\n"
    )
}

fn cuda_source(number: u32) -> String {
    let kernels = std::fs::read_to_string(source("linkage.cu")).expect("the source");
    let kernels = kernels.replace("return 0;", "return work(3);");
    format!("{}{kernels}", host_source(number))
}

fn place(root: &Path, name: &str) -> std::path::PathBuf {
    let at = root.join(name);
    std::fs::create_dir_all(&at).expect("a folder");
    at
}

/// Host hash of a file, with the folder's path masked.
fn hash(folder: &Path, file: &str) -> String {
    let mask = HostMask {
        paths: vec![folder.to_str().expect("UTF-8").to_owned()],
        commits: vec!["0123456789abcdef0123456789abcdef01234567".to_owned()],
    };
    let report = inspect_masked(folder, &[file], mask, false);
    report.files[0].host_hash.clone().expect("host code")
}

/// The ways in which host code is built: what makes `out` of `k.cu` or `k.cpp`.
const CUDA_KINDS: [&[&str]; 6] = [
    &["-arch=sm_90"],
    &["-arch=sm_121", "-rdc=true"],
    &["-arch=sm_90", "-c"],
    &["-arch=sm_90", "-c", "-rdc=true"],
    &["-arch=sm_121", "-shared", "-Xcompiler", "-fPIC"],
    &["-arch=sm_121", "-lib"],
];

fn build_cuda(at: &Path, text: &str, kind: &[&str]) -> String {
    std::fs::write(at.join("k.cu"), text).expect("written");
    let file = at.join("k.cu");
    nvcc(
        at,
        &[&[file.to_str().expect("UTF-8"), "-o", "out"], kind].concat(),
    );
    hash(at, "out")
}

#[test]
fn cuda_builds_are_stable_and_changes_are_seen() {
    let dir = folder();
    // Places of equal length: in linked files other lengths move everything.
    let (here, there) = (place(dir.path(), "here1"), place(dir.path(), "there"));
    for kind in CUDA_KINDS {
        let text = cuda_source(3);
        let first = build_cuda(&here, &text, kind);
        assert_eq!(
            first,
            build_cuda(&here, &text, kind),
            "twice in one folder; {kind:?}"
        );
        assert_eq!(
            first,
            build_cuda(&there, &text, kind),
            "in another folder; {kind:?}"
        );
        assert_ne!(
            first,
            build_cuda(&here, &cuda_source(4), kind),
            "an instruction; {kind:?}"
        );
        let data = text.replace("{1, 2, 3};", "{1, 2, 4};");
        assert_ne!(first, build_cuda(&here, &data, kind), "data; {kind:?}");
        let launch = text.replace("dyn<<<1, 32, 128>>>", "dyn<<<1, 64, 128>>>");
        assert_ne!(
            first,
            build_cuda(&here, &launch, kind),
            "a launch; {kind:?}"
        );
        let pointer = text.replace("table + 1", "table + 2");
        assert_ne!(
            first,
            build_cuda(&here, &pointer, kind),
            "a relocation; {kind:?}"
        );
    }
}

#[test]
fn a_change_of_gpu_code_alone_is_none_of_the_host() {
    let dir = folder();
    let at = dir.path();
    for kind in [CUDA_KINDS[0], CUDA_KINDS[2], CUDA_KINDS[5]] {
        let text = cuda_source(3);
        let first = build_cuda(at, &text, kind);
        let kernel = text.replace("#define STEP 1", "#define STEP 3");
        assert_ne!(kernel, text);
        assert_eq!(first, build_cuda(at, &kernel, kind), "{kind:?}");
    }
}

fn build_host(at: &Path, text: &str, args: &[&str]) -> String {
    std::fs::write(at.join("k.cpp"), text).expect("written");
    let file = at.join("k.cpp");
    let file = file.to_str().expect("UTF-8");
    run("g++", at, &[&[file, "-o", "out"], args].concat());
    hash(at, "out")
}

#[test]
fn host_builds_are_stable_and_changes_are_seen() {
    let dir = folder();
    let (here, there) = (place(dir.path(), "here1"), place(dir.path(), "there"));
    let main = "int main(int n, char**) { return work(n); }\n";
    for args in [
        &["-O2"][..],
        &["-O0", "-g"],
        &["-c"],
        &["-shared", "-fPIC", "-Wl,--build-id"],
        &["-O2", "-s"],
        &["-static"],
    ] {
        let text = host_source(3) + main;
        let first = build_host(&here, &text, args);
        assert_eq!(first, build_host(&here, &text, args), "{args:?}");
        assert_eq!(first, build_host(&there, &text, args), "{args:?}");
        assert_eq!(
            first,
            build_host(&here, &format!("{text}// A comment\n"), args),
            "{args:?}"
        );
        assert_ne!(
            first,
            build_host(&here, &(host_source(5) + main), args),
            "{args:?}"
        );
        let string = text.replace("__FILE__", "\"else\"");
        assert_ne!(first, build_host(&here, &string, args), "{args:?}");
    }
    let text = host_source(3) + main;
    let plain = build_host(&here, &text, &["-O2"]);
    assert_eq!(
        plain,
        build_host(&here, &text, &["-O2", "-g"]),
        "debug information"
    );
    assert_eq!(plain, build_host(&here, &text, &["-O2", "-s"]), "symbols");
    assert_ne!(
        plain,
        build_host(&here, &text, &["-O3", "-funroll-loops", "-march=native"]),
        "other code"
    );
}

#[test]
fn commits_in_strings_are_masked() {
    let dir = folder();
    let text = |commit: &str| {
        format!(
            "const char* version() {{ return \"v1-g{commit}-dirty\"; }}\nint main() {{ return version()[3]; }}\n"
        )
    };
    let a = build_host(dir.path(), &text("0123456789"), &[]);
    let b = build_host(dir.path(), &text("0123456789"), &[]);
    let other = build_host(dir.path(), &text("0123456780"), &[]);
    assert_eq!(a, b);
    assert_ne!(a, other, "another commit's name is not masked");
    let masked = |commit: &str, other: &str| {
        std::fs::write(dir.path().join("k.cpp"), text(commit)).expect("written");
        run("g++", dir.path(), &["k.cpp", "-o", "out"]);
        let mask = HostMask {
            paths: vec![],
            commits: vec![format!("{commit}{other}")],
        };
        inspect_masked(dir.path(), &["out"], mask, false).files[0]
            .host_hash
            .clone()
    };
    let rest = "abcdefabcdefabcdefabcdefabcdef";
    assert_eq!(
        masked("0123456789", rest),
        masked("fedcba9876", rest),
        "each side's own commit"
    );
}

#[test]
fn archives_count_by_member() {
    let dir = folder();
    let at = dir.path();
    let library = |numbers: [u32; 2], times: &str| {
        for (name, number) in ["a", "b"].into_iter().zip(numbers) {
            std::fs::write(at.join(format!("{name}.cpp")), host_source(number)).expect("written");
            run("g++", at, &["-c", &format!("{name}.cpp")]);
        }
        std::fs::remove_file(at.join("out")).ok();
        run("ar", at, &[times, "out", "a.o", "b.o"]);
        hash(at, "out")
    };
    let first = library([1, 2], "rcsD");
    assert_eq!(
        first,
        library([1, 2], "rcsU"),
        "dates of members do not count"
    );
    assert_ne!(first, library([1, 3], "rcsD"));
    assert_ne!(first, library([2, 1], "rcsD"));
}

#[test]
fn deltas_name_the_files_whose_host_code_differs() {
    let dir = folder();
    let at = dir.path();
    let report = |number| {
        std::fs::write(at.join("k.cpp"), host_source(number)).expect("written");
        run("g++", at, &["-c", "k.cpp", "-o", "out"]);
        inspect_masked(at, &["out"], HostMask::default(), false)
    };
    let (a, b) = (report(1), report(2));
    assert!(diff(&a, &a).is_identical());
    assert_eq!(diff(&a, &b).host_changed, ["out"]);
    assert_eq!(diff(&a, &sass::Report::default()).host_changed, ["out"]);
}
