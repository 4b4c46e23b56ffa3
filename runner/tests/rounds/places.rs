//! Repositories, commits, folders and disks that are not as they should be.

use crate::scenario::{Outcome, Scenario};

const FASTER: (&str, &str, &str) = ("engine.c", "SPEED 100.0", "SPEED 105.0");

fn pair() -> Scenario {
    Scenario::engine_pair(&[], &[FASTER])
}

/// The program in another folder than the scenario's repository.
fn run_in(scenario: &Scenario, folder: &str, args: &[&str]) -> Outcome {
    let folder = scenario.path(folder);
    let folder = folder.to_str().expect("UTF-8");
    scenario.runner(&[&["run", "-C", folder], args].concat())
}

#[test]
fn what_cannot_be_run_says_why_and_what_to_do() {
    let scenario = Scenario::empty();
    std::fs::create_dir(scenario.path("plain")).expect("a folder");
    run_in(&scenario, "plain", &[])
        .expect_code(2)
        .expect_text("not in a git repository");
    run_in(&scenario, "repo", &[])
        .expect_code(2)
        .expect_text("`HEAD` is no branch, tag or commit here");
    let scenario = Scenario::engine();
    scenario
        .runner(&["run"])
        .expect_code(2)
        .expect_text("it is a root commit; give one with --base");
    let missing = "0123456789012345678901234567890123456789";
    for (base, said) in [
        ("deadbeef", "it may have been garbage-collected"),
        (missing, "it may have been garbage-collected"),
        ("main:engine.c", "is a blob, not a commit"),
        ("HEAD^{tree}", "is a tree, not a commit"),
        ("main", "base and head are the same commit"),
    ] {
        scenario
            .runner(&["run", "--base", base])
            .expect_code(2)
            .expect_text(said);
    }
    // The birthday paradox: some hundreds of commits share their first four digits.
    let tree = scenario.git(&["rev-parse", "HEAD^{tree}"]);
    let mut seen = std::collections::HashSet::new();
    let short = (0..2000)
        .map(|n| scenario.git(&["commit-tree", &tree, "-m", &n.to_string()])[..4].to_owned())
        .find(|short| !seen.insert(short.clone()))
        .expect("two of them begin alike");
    scenario
        .runner(&["run", "--head", &short])
        .expect_code(2)
        .expect_text(&format!("`{short}` is ambiguous; give more of it"));
    assert!(
        !scenario.path("data/running").exists(),
        "nothing was recorded"
    );
}

#[test]
fn bare_and_shallow_repositories_work_as_far_as_they_go() {
    let scenario = pair();
    let source = format!("file://{}", scenario.repo().display());
    for (name, how) in [("bare", "--bare"), ("shallow", "--depth=1")] {
        let place = scenario.path(name);
        let place = place.to_str().expect("UTF-8");
        scenario.git(&["clone", "-q", how, &source, place]);
    }
    run_in(&scenario, "bare", &[])
        .expect_code(0)
        .expect_text("LANDED");
    run_in(&scenario, "shallow", &[])
        .expect_code(2)
        .expect_text("the clone is shallow; `git fetch --deepen=1` gets it");
    run_in(&scenario, "shallow", &["--base", "HEAD~1"]).expect_code(2);
    let shallow = scenario.path("shallow");
    let shallow = shallow.to_str().expect("UTF-8");
    scenario.git(&["-C", shallow, "fetch", "-q", "--deepen=1"]);
    run_in(&scenario, "shallow", &[])
        .expect_code(0)
        .expect_text("LANDED");
}

#[test]
fn a_submodule_is_built_as_the_commit_says() {
    let scenario = Scenario::engine();
    let sub = scenario.path("sub");
    std::fs::create_dir(&sub).expect("a folder");
    let sub = sub.to_str().expect("UTF-8");
    scenario.git(&["-C", sub, "init", "-q", "-b", "main"]);
    let mut versions = Vec::new();
    for speed in ["100.0", "105.0"] {
        std::fs::write(format!("{sub}/speed.h"), format!("#define SPEED {speed}\n"))
            .expect("a file");
        scenario.git(&["-C", sub, "add", "-A"]);
        scenario.git(&["-C", sub, "commit", "-q", "-m", speed]);
        versions.push(scenario.git(&["-C", sub, "rev-parse", "HEAD"]));
    }
    let allow = "protocol.file.allow=always";
    scenario.git(&["-c", allow, "submodule", "add", "-q", sub, "sub"]);
    scenario.edit(
        "engine.c",
        "#define SPEED 100.0",
        "#include \"sub/speed.h\"",
    );
    scenario.edit(
        "Makefile",
        "engine: engine.c",
        "engine: engine.c sub/speed.h",
    );
    for version in &versions {
        scenario.git(&["-C", "sub", "checkout", "-q", version]);
        scenario.commit(&format!("sub: {version}"));
    }
    let run = scenario.run(&[]).expect_verdict("LANDED");
    assert_eq!(
        run.at("/evidence/code/delta/changed"),
        &serde_json::json!([])
    );
}

#[test]
fn a_commit_that_was_garbage_collected_is_shown_and_run_again() {
    let scenario = Scenario::engine();
    scenario.git(&["checkout", "-q", "-b", "side"]);
    scenario.edit(FASTER.0, FASTER.1, FASTER.2);
    let head = scenario.commit("engine: faster");
    scenario.run(&[]).expect_verdict("LANDED");
    scenario.git(&["checkout", "-q", "main"]);
    scenario.git(&["branch", "-q", "-D", "side"]);
    scenario.git(&["reflog", "expire", "--expire=now", "--all"]);
    scenario.git(&["gc", "-q", "--prune=now"]);
    let gone = scenario.shell(&format!("git cat-file -e {head}"));
    assert_ne!(gone.code, 0, "git still has it");
    scenario
        .runner(&["show", &head])
        .expect_code(0)
        .expect_text("LANDED");
    // The mirror has it, with its base.
    scenario.run(&["--head", &head]).expect_verdict("LANDED");
    // The record has it, too.
    std::fs::remove_dir_all(scenario.path("cache")).expect("removed");
    scenario
        .runner(&["run", "--head", &head])
        .expect_code(2)
        .expect_text("it may have been garbage-collected");
    scenario.runner(&["replay", "1"]).expect_code(0);
    // A replay is of the newest original, not of a replay.
    scenario
        .runner(&["replay", &head])
        .expect_code(0)
        .expect_text("run 4 repeats run 2");
}

#[test]
fn a_rewritten_commit_is_found_by_tree_and_by_patch() {
    let scenario = pair();
    scenario.run(&[]).expect_verdict("LANDED");
    scenario
        .runner(&["show", "HEAD"])
        .expect_code(0)
        .expect_text("LANDED");
    scenario.runner(&["show", "main"]).expect_code(0);
    scenario.git(&["commit", "-q", "--amend", "-m", "engine: other words"]);
    let amended = scenario.git(&["rev-parse", "HEAD"]);
    for name in ["HEAD", &amended, &amended[..9]] {
        scenario
            .runner(&["show", name])
            .expect_code(0)
            .expect_text("found by tree");
    }
    scenario.git(&["reset", "-q", "--hard", "HEAD~1"]);
    scenario.edit("README.md", "toy", "small");
    scenario.commit("docs: a word");
    scenario.edit(FASTER.0, FASTER.1, FASTER.2);
    scenario.commit("engine: on another base");
    for command in ["show", "replay"] {
        scenario
            .runner(&[command, "HEAD"])
            .expect_code(0)
            .expect_text("found by patch-id");
    }
    scenario
        .runner(&["show", "HEAD~1"])
        .expect_code(2)
        .expect_text("no recorded run fits `HEAD~1`");
    scenario
        .runner(&["show", "99"])
        .expect_code(2)
        .expect_text("there is no run 99");
}

#[test]
fn databases_that_cannot_be_used_are_left_alone() {
    let scenario = pair();
    scenario.run(&[]).expect_verdict("LANDED");
    let database = scenario.path("data/roundhouse.db");
    let good = std::fs::read(&database).expect("the database");
    scenario
        .runner(&["check"])
        .expect_code(0)
        .expect_text("ok    database");

    scenario.database(
        "db.execute(\"insert into _sqlx_migrations select 9999, 'future', installed_on, 1, x'00', 1 \
         from _sqlx_migrations limit 1\")",
    );
    let newer = std::fs::read(&database).expect("the database");
    let mut damaged = good.clone();
    damaged[4096..].fill(0xA5);
    for (content, said) in [
        (&newer[..], "was written by a newer version (schema 9999"),
        (&damaged, "damaged"),
        (
            b"no database at all, and long enough to be one if it were",
            "is not a database",
        ),
    ] {
        for beside in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(scenario.path(&format!("data/roundhouse.db{beside}")));
        }
        std::fs::write(&database, content).expect("a file");
        for command in ["run", "show"] {
            scenario.runner(&[command]).expect_code(2).expect_text(said);
        }
        scenario
            .runner(&["check"])
            .expect_code(1)
            .expect_text("bad   database");
        assert_eq!(
            std::fs::read(&database).expect("the file"),
            content,
            "{said}"
        );
    }
}

#[test]
fn a_file_where_a_folder_should_be_is_named() {
    let scenario = pair();
    for (place, name) in [
        ("data", "data"),
        ("cache", "cache"),
        ("locks", "locks"),
        ("data", "data/artifacts"),
        ("data", "data/running"),
        ("cache", "cache/mirrors"),
    ] {
        for folder in ["data", "cache", "locks"] {
            let _ = std::fs::remove_dir_all(scenario.path(folder));
        }
        let path = scenario.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(&path, "in the way").expect("a file");
        let outcome = scenario.runner(&["run"]);
        assert!([2, 3].contains(&outcome.code), "{name}: {}", outcome.text());
        outcome.expect_text(path.to_str().expect("UTF-8"));
        if place == name {
            scenario
                .runner(&["check"])
                .expect_code(1)
                .expect_text(&format!("bad   {place} folder"))
                .expect_text("is not a folder");
        }
        std::fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn a_run_needs_the_free_disk_that_its_config_asks_for() {
    let scenario = Scenario::engine_pair(
        &[(
            "campaign.toml",
            "[protocol]",
            "[limits]\nfree_disk_bytes = \"1000000 GiB\"\n\n[protocol]",
        )],
        &[FASTER],
    );
    let run = scenario.run(&[]).expect_verdict("ENV-INVALID");
    assert!(
        run.reasons()
            .contains("1024000000 needed (`free_disk_bytes` in [limits])"),
        "{}",
        run.reasons()
    );
    run.outcome.expect_code(3);
    assert!(!scenario.path("cache/work").join("builds").exists());
    scenario
        .runner(&["check"])
        .expect_code(1)
        .expect_text("bad   data folder");
}

/// Mounts a file system of a few kilobytes; needs the right to (root, or user namespaces), which
/// continuous integration and most desktops have. Elsewhere it says so, and
/// [`a_run_needs_the_free_disk_that_its_config_asks_for`] is what is left.
#[test]
fn a_full_disk_is_the_machines_fault_and_tears_nothing() {
    let scenario = Scenario::engine_pair(
        &[(
            "campaign.toml",
            "[protocol]",
            "[limits]\nfree_disk_bytes = 0\n\n[protocol]",
        )],
        &[FASTER],
    );
    let may_mount = "unshare -m true 2>/dev/null && echo -m || { unshare -rm true && echo -rm; }";
    let how = scenario.shell(may_mount);
    let how = how.stdout.trim();
    if how.is_empty() {
        eprintln!("NOT RUN: a full disk, for want of the right to mount one (unshare -rm)");
        return;
    }
    // The data folder alone is short of room.
    let asked = scenario.path("asked.toml");
    let text = std::fs::read_to_string(scenario.repo().join("campaign.toml")).expect("a file");
    let text = text.replace("free_disk_bytes = 0", "free_disk_bytes = \"40 MiB\"");
    std::fs::write(&asked, text).expect("a file");
    let data = scenario.path("data");
    std::fs::create_dir_all(&data).expect("a folder");
    let script = format!(
        "exec unshare {how} sh -c 'mount -t tmpfs -o size=8m tmpfs {} || exit 99
         \"$RUNNER\" run --config {}'",
        data.display(),
        asked.display()
    );
    let outcome = scenario.shell(&script).expect_code(3);
    outcome
        .expect_text("not enough room in")
        .expect_text("40 needed");
    for (folder, sizes) in [("cache", ["64k", "96k"]), ("data", ["400k", "800k"])] {
        for size in sizes {
            for folder in ["data", "cache"] {
                let path = scenario.path(folder);
                let _ = std::fs::remove_dir_all(&path);
                std::fs::create_dir_all(path).expect("a folder");
            }
            let place = scenario.path(folder);
            let place = place.display();
            // In a file system and a name space of its own, which end with the shell.
            let script = format!(
                "exec unshare {how} sh -c 'mount -t tmpfs -o size={size} tmpfs {place} || exit 99
                 \"$RUNNER\" run; code=$?
                 mount -o remount,size=64m {place}
                 \"$RUNNER\" check | grep \"database\"
                 \"$RUNNER\" run >/dev/null || exit 98
                 \"$RUNNER\" show; exit $code'"
            );
            let outcome = scenario.shell(&script);
            assert!(
                [2, 3].contains(&outcome.code),
                "{folder} {size}: {}",
                outcome.text()
            );
            assert!(
                outcome.text().contains("disk is full") || outcome.text().contains("No space left"),
                "{folder} {size}: {}",
                outcome.text()
            );
            let outcome = outcome.expect_text("LANDED");
            assert!(
                !outcome.text().contains("bad   database"),
                "{}",
                outcome.text()
            );
        }
    }
}
