//! Deltas of reports.

use sass::{Census, FileReport, Kernel, Ledger, Report, census_delta, diff};

/// `name arch container hash`, a kernel each.
fn report(kernels: &[&str]) -> Report {
    let kernel = |text: &&str| {
        let fields: Vec<&str> = text.split(' ').collect();
        Kernel {
            symbol: fields[0].to_owned(),
            name: fields[0].to_owned(),
            arch: fields[1].to_owned(),
            container: fields[2].to_owned(),
            ledger: Ledger::default(),
            census: None,
            code_hash: fields[3].to_owned(),
        }
    };
    Report {
        files: Vec::new(),
        kernels: kernels.iter().map(kernel).collect(),
    }
}

fn names(kernels: &[Kernel]) -> Vec<&str> {
    kernels.iter().map(|k| k.name.as_str()).collect()
}

#[test]
fn sorts_kernels_by_what_happened() {
    let before = report(&[
        "same sm_90 a 1",
        "changed sm_90 a 2",
        "gone sm_90 a 3",
        "old sm_90 a 4",
    ]);
    let after = report(&[
        "same sm_90 a 1",
        "changed sm_90 a 5",
        "fresh sm_90 a 6",
        "new sm_90 a 4",
    ]);
    let delta = diff(&before, &after);
    assert_eq!(delta.unchanged, 1);
    assert_eq!(
        (names(&delta.added), names(&delta.removed)),
        (vec!["fresh"], vec!["gone"])
    );
    assert_eq!(
        (delta.changed.len(), delta.changed[0].1.code_hash.as_str()),
        (1, "5")
    );
    let (old, new) = &delta.renamed[0];
    assert_eq!(
        (delta.renamed.len(), old.name.as_str(), new.name.as_str()),
        (1, "old", "new")
    );
    assert!(!delta.is_identical());
    assert!(diff(&before, &before).is_identical());
}

#[test]
fn keeps_architectures_apart() {
    let before = report(&["k sm_90 a 1", "k sm_121 a 2"]);
    let after = report(&["k sm_90 a 1", "k sm_121 a 3"]);
    let delta = diff(&before, &after);
    assert_eq!((delta.unchanged, delta.changed.len()), (1, 1));
    assert_eq!(delta.changed[0].0.arch, "sm_121");
    // The same code for another architecture is no renaming.
    let delta = diff(&report(&["a sm_90 x 1"]), &report(&["b sm_121 x 1"]));
    assert_eq!(
        (delta.renamed.len(), delta.added.len(), delta.removed.len()),
        (0, 1, 1)
    );
}

#[test]
fn matches_one_name_in_several_containers() {
    let before = report(&["k sm_90 k.o 1", "k sm_90 exe 1", "k sm_90 lib.a 7"]);
    let after = report(&["k sm_90 exe 2", "k sm_90 k.o 1"]);
    let delta = diff(&before, &after);
    assert_eq!(delta.unchanged, 1);
    assert_eq!(delta.changed.len(), 1);
    assert_eq!(
        (
            delta.changed[0].0.container.as_str(),
            delta.changed[0].1.container.as_str()
        ),
        ("exe", "exe")
    );
    assert_eq!(delta.removed[0].container, "lib.a");
    // A copy that went away is a removal, not a change.
    let delta = diff(
        &report(&["k sm_90 a 1", "k sm_90 b 1"]),
        &report(&["k sm_90 b 1"]),
    );
    assert_eq!(
        (delta.unchanged, delta.removed.len(), delta.changed.len()),
        (1, 1, 0)
    );
}

/// `T*` to `T4*`: the kernel has changed, and its resources are compared; of two that it could be
/// none is taken.
#[test]
fn a_kernel_with_other_parameters_has_changed() {
    let before = report(&[
        "saxpy(float*) sm_90 a 1",
        "k(int) sm_90 a 2",
        "k(long) sm_90 a 3",
    ]);
    let after = report(&[
        "saxpy(float4*) sm_90 a 4",
        "k(char) sm_90 a 5",
        "saxpy(float4*) sm_121 a 6",
    ]);
    let delta = diff(&before, &after);
    let [(old, new)] = delta.changed.as_slice() else {
        panic!("{:?}", delta.changed);
    };
    assert_eq!(
        (old.name.as_str(), new.name.as_str()),
        ("saxpy(float*)", "saxpy(float4*)")
    );
    assert_eq!(names(&delta.removed), ["k(int)", "k(long)"]);
    assert_eq!(names(&delta.added), ["k(char)", "saxpy(float4*)"]);
}

#[test]
fn compares_files_by_path() {
    let file = |path: &str, host: Option<&str>, ptx: Option<&str>| FileReport {
        path: path.to_owned(),
        sha256: String::new(),
        bytes: 0,
        cubins: 0,
        host_hash: host.map(str::to_owned),
        ptx_only: Vec::new(),
        ptx_hash: ptx.map(str::to_owned),
    };
    let side = |files: Vec<FileReport>| Report {
        files,
        kernels: Vec::new(),
    };
    let cubin = FileReport {
        cubins: 1,
        ..file("k.cubin", None, None)
    };
    let before = side(vec![
        cubin,
        file("a", Some("1"), None),
        file("b", None, Some("1")),
        file("c", None, None),
        file("d", Some("1"), None),
    ]);
    let after = side(vec![
        file("d", Some("1"), None),
        file("b", None, Some("2")),
        file("a", Some("2"), None),
        file("e", None, None),
    ]);
    assert_eq!(diff(&before, &after).host_changed, ["a", "b", "c", "e"]);
}

#[test]
fn censuses_differ_by_opcode() {
    let census = |counts: &[(&str, u64)]| Census {
        total: counts.iter().map(|(_, n)| n).sum(),
        opcodes: counts.iter().map(|(o, n)| ((*o).to_owned(), *n)).collect(),
    };
    let before = census(&[("LDS.64", 32), ("FFMA", 10), ("EXIT", 1)]);
    let after = census(&[("LDS.128", 16), ("FFMA", 12), ("EXIT", 1)]);
    let delta = census_delta(&before, &after);
    let expected = [
        ("FFMA", (10, 12)),
        ("LDS.128", (0, 16)),
        ("LDS.64", (32, 0)),
    ];
    assert_eq!(
        delta.into_iter().collect::<Vec<_>>(),
        expected.map(|(o, n)| (o.to_owned(), n))
    );
}
