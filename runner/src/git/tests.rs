//! Real repositories that are rewritten, shallow, broken or gone.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::command::Git;
use super::*;
use crate::model::Sha;

/// A repository of a test, and a cache for mirrors.
struct World {
    folder: TempDir,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let world = World { folder };
        std::fs::create_dir(world.path("repo")).expect("a folder");
        world.git("repo", &["init", "-q", "-b", "main"]);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn git(&self, place: &str, arguments: &[&str]) -> String {
        git_in(&self.path(place), arguments)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn commit(&self, place: &str, file: &str, text: &str, message: &str) -> Sha {
        self.write(&format!("{place}/{file}"), text);
        self.git(place, &["add", "-A"]);
        self.git(place, &["commit", "-q", "--allow-empty", "-m", message]);
        self.head(place)
    }

    fn head(&self, place: &str) -> Sha {
        self.git(place, &["rev-parse", "HEAD"])
            .parse()
            .expect("a sha")
    }

    async fn open(&self, place: &str) -> Repository {
        Repository::open(&self.path(place), &self.path("cache"))
            .await
            .expect("the repository opens")
    }
}

fn git_in(place: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(place)
        .args([
            "-c",
            "protocol.file.allow=always",
            "-c",
            "commit.gpgSign=false",
        ])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|n| (n, "Test")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|n| (n, "t@t.invalid")))
        .envs(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|n| (n, "1700000000 +0000")))
        .output()
        .expect("git starts");
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (u64, std::time::SystemTime)> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .map(|entry| {
            let entry = entry.expect("readable");
            let facts = entry.metadata().expect("readable");
            let modified = facts.modified().expect("a time");
            (entry.into_path(), (facts.len(), modified))
        })
        .collect()
}

#[tokio::test]
async fn names_are_resolved_or_refused_with_a_reason() {
    let world = World::new();
    let first = world.commit("repo", "a", "1", "first");
    let second = world.commit("repo", "a", "2", "second");
    world.git("repo", &["tag", "-a", "v1", "-m", "v1", first.as_str()]);
    world.git("repo", &["tag", "same", first.as_str()]);
    world.git("repo", &["branch", "same", second.as_str()]);
    let repo = world.open("repo").await;
    for (name, wanted) in [
        ("main", &second),
        ("v1", &first),
        ("HEAD~1", &first),
        (first.short(), &first),
    ] {
        assert_eq!(repo.resolve(name).await.expect(name), *wanted);
    }
    for name in ["nothing", "--all", "", &"0".repeat(40)] {
        let error = repo.resolve(name).await.expect_err(name);
        assert!(
            matches!(error, GitError::NotFound { .. }),
            "{name}: {error}"
        );
    }
    let error = repo.resolve("main:a").await.expect_err("a file");
    assert_eq!(error.to_string(), "`main:a` is a blob, not a commit");
    let error = repo
        .resolve("same")
        .await
        .expect_err("two things")
        .to_string();
    assert!(
        error.contains("refs/heads/same") && error.contains("refs/tags/same"),
        "{error}"
    );
}

#[tokio::test]
async fn an_ambiguous_sha_lists_its_candidates() {
    let world = World::new();
    let mut stream = String::new();
    for number in 0..900 {
        let message = format!("commit {number}");
        stream += &format!(
            "commit refs/heads/main\ncommitter T <t@t> {number} +0000\ndata {}\n{message}\n",
            message.len()
        );
    }
    world.write("stream", &stream);
    let import = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(world.path("repo"))
        .stdin(std::fs::File::open(world.path("stream")).expect("it is there"))
        .status()
        .expect("git starts");
    assert!(import.success());
    let all = world.git("repo", &["rev-list", "main"]);
    let mut starts: Vec<&str> = all.lines().map(|sha| &sha[..4]).collect();
    starts.sort_unstable();
    let twice = starts
        .windows(2)
        .find(|pair| pair[0] == pair[1])
        .expect("of 900 commits two begin with the same four digits");
    let error = world
        .open("repo")
        .await
        .resolve(twice[0])
        .await
        .expect_err("ambiguous");
    let GitError::Ambiguous { candidates, .. } = &error else {
        panic!("{error}");
    };
    assert!(
        candidates.len() >= 2 && candidates[0].contains("commit"),
        "{error}"
    );
}

#[tokio::test]
async fn the_default_base_is_where_the_branch_left_the_default_branch() {
    let world = World::new();
    let root = world.commit("repo", "a", "1", "root");
    let repo = world.open("repo").await;
    let pair = |request| repo.pair(request);
    let error = pair(PairRequest::default())
        .await
        .expect_err("a root")
        .to_string();
    assert!(
        error.contains("root commit") && error.contains("--base"),
        "{error}"
    );

    let fork = world.commit("repo", "a", "2", "fork");
    let on_main = pair(PairRequest::default()).await.expect("a pair");
    assert_eq!((on_main.base, on_main.head), (root.clone(), fork.clone()));

    world.git("repo", &["checkout", "-q", "-b", "lever"]);
    world.commit("repo", "b", "1", "step 1");
    let tip = world.commit("repo", "b", "2", "step 2");
    let on_branch = pair(PairRequest::default()).await.expect("a pair");
    assert_eq!(
        (on_branch.base, on_branch.head),
        (fork.clone(), tip.clone())
    );

    // The local default branch is stale, the remote's is not.
    let newer = world.git("repo", &["rev-parse", "lever~1"]);
    world.git("repo", &["update-ref", "refs/remotes/origin/main", &newer]);
    let stale = pair(PairRequest::default()).await.expect("a pair");
    assert_eq!(stale.base.as_str(), newer);

    let named = PairRequest {
        default_branch: Some("trunk"),
        ..PairRequest::default()
    };
    let error = pair(named).await.expect_err("no such branch").to_string();
    assert!(error.contains("trunk"), "{error}");
    let given = PairRequest {
        base: Some(root.as_str()),
        head: Some("main"),
        default_branch: None,
    };
    let given = pair(given).await.expect("a pair");
    assert_eq!((given.base, given.head), (root, fork));
}

#[tokio::test]
async fn a_checkout_is_what_was_asked_for_and_leaves_the_user_alone() {
    let world = World::new();
    let first = world.commit("repo", "src/a.cu", "one", "first");
    world.commit("repo", "src/a.cu", "two", "second");
    // A hook and local changes of the user's.
    world.write(
        "repo/.git/hooks/post-checkout",
        "#!/bin/sh\ntouch \"$0.ran\"\nexit 1\n",
    );
    let hook = world.path("repo/.git/hooks/post-checkout");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    world.write("repo/src/a.cu", "uncommitted");
    let before = snapshot(&world.path("repo"));
    let repo = world.open("repo").await;
    let target = world.path("tree");
    let found = repo.checkout(&first, &target).await.expect("a checkout");
    assert_eq!(found.commit, first);
    assert_eq!(
        found.tree,
        repo.commit_info(&first).await.expect("facts").tree
    );
    assert_eq!(
        std::fs::read_to_string(target.join("src/a.cu")).expect("a file"),
        "one"
    );
    assert_eq!(snapshot(&world.path("repo")), before);
    // It can be moved, and git still works in it.
    std::fs::rename(&target, world.path("moved")).expect("a rename");
    assert_eq!(world.git("moved", &["status", "--porcelain"]), "");
    remove_checkout(&world.path("moved")).expect("it goes");
    assert!(!world.path("moved").exists());
    assert_eq!(
        repo.checkout(&first, &target).await.expect("again").commit,
        first
    );
}

#[tokio::test]
async fn crlf_files_under_text_attributes_are_no_difference() {
    let world = World::new();
    world.commit("repo", "a.txt", "one\r\ntwo\r\n", "with line ends");
    let sha = world.commit("repo", ".gitattributes", "* text=auto\n", "attributes");
    let repo = world.open("repo").await;
    repo.checkout(&sha, &world.path("tree"))
        .await
        .expect("a checkout");
}

#[tokio::test]
async fn a_collected_commit_is_still_in_the_mirror() {
    let world = World::new();
    world.commit("repo", "a", "1", "first");
    let lost = world.commit("repo", "a", "2", "to be amended");
    let never_seen = world.commit("repo", "a", "3", "never fetched");
    let repo = world.open("repo").await;
    let before = repo.commit_info(&lost).await.expect("facts");
    world.git("repo", &["reset", "-q", "--hard", "HEAD~2"]);
    world.git("repo", &["reflog", "expire", "--expire=now", "--all"]);
    world.git("repo", &["gc", "-q", "--prune=now"]);
    let repo_after = world.open("repo").await;
    assert_eq!(repo_after.resolve(lost.as_str()).await.expect("kept"), lost);
    assert_eq!(repo_after.resolve(lost.short()).await.expect("kept"), lost);
    assert_eq!(repo_after.commit_info(&lost).await.expect("kept"), before);
    repo_after
        .checkout(&lost, &world.path("tree"))
        .await
        .expect("a checkout");
    let error = repo_after
        .resolve(never_seen.as_str())
        .await
        .expect_err("gone")
        .to_string();
    assert!(error.contains("garbage-collected"), "{error}");
}

#[tokio::test]
async fn shallow_clones_worktrees_and_bare_repositories_work() {
    let world = World::new();
    world.commit("repo", "a", "1", "first");
    world.commit("repo", "a", "2", "second");
    let third = world.commit("repo", "a", "3", "third");
    let url = format!("file://{}", world.path("repo").display());
    world.git("repo", &["clone", "-q", "--depth", "2", &url, "../shallow"]);
    world.git("repo", &["clone", "-q", "--bare", &url, "../bare"]);
    world.git(
        "repo",
        &["worktree", "add", "-q", "--detach", "../worktree"],
    );
    for place in ["shallow", "bare", "worktree"] {
        let repo = world.open(place).await;
        assert_eq!(repo.resolve("HEAD").await.expect(place), third);
        let found = repo
            .checkout(&third, &world.path(&format!("{place}-tree")))
            .await
            .expect(place);
        assert_eq!(found.commit, third);
        let facts = repo.commit_info(&third).await.expect(place);
        assert!(
            facts.patch_id.is_some() && facts.parent.is_some(),
            "{place}"
        );
    }
    let shallow = world.open("shallow").await;
    let edge = PairRequest {
        head: Some("HEAD~1"),
        ..PairRequest::default()
    };
    let error = shallow.pair(edge).await.expect_err("the edge").to_string();
    assert!(
        error.contains("shallow") && error.contains("--deepen"),
        "{error}"
    );
    let edge = shallow.resolve("HEAD~1").await.expect("there");
    let facts = shallow.commit_info(&edge).await.expect("facts");
    assert!(facts.parent.is_some() && facts.patch_id.is_none());
    let outside = world.path("outside");
    std::fs::create_dir(&outside).expect("a folder");
    let error = Repository::open(&outside, &world.path("cache"))
        .await
        .expect_err("no repository");
    assert!(matches!(error, GitError::NoRepository { .. }), "{error}");
}

#[tokio::test]
async fn facts_of_commits() {
    let world = World::new();
    let root = world.commit("repo", "a", "1\n", "root");
    world.git("repo", &["checkout", "-q", "-b", "lever"]);
    let lever = world.commit("repo", "b", "x\n", "lever: do it\n\nWhy.\n\nRound: r1");
    world.git("repo", &["checkout", "-q", "main"]);
    let other = world.commit("repo", "c", "y\n", "other");
    world.git(
        "repo",
        &["cherry-pick", "-x", "--allow-empty", lever.as_str()],
    );
    let picked = world.head("repo");
    world.git("repo", &["revert", "--no-edit", picked.as_str()]);
    let revert = world.head("repo");
    world.git("repo", &["merge", "-q", "--no-ff", "-m", "merge", "lever"]);
    let merge = world.head("repo");
    let repo = world.open("repo").await;
    let info = async |sha: &Sha| repo.commit_info(sha).await.expect("facts");
    let lever_info = info(&lever).await;
    assert_eq!(lever_info.subject, "lever: do it");
    assert!(
        lever_info.message.ends_with("\n\nRound: r1"),
        "{:?}",
        lever_info.message
    );
    assert_eq!(lever_info.author, "Test");
    assert_eq!(lever_info.committed_at.0, 1_700_000_000_000);
    assert_eq!(lever_info.parent, Some(root.clone()));
    assert_eq!(info(&root).await.patch_id, None);
    assert_eq!(info(&merge).await.patch_id, None);
    let picked_info = info(&picked).await;
    assert!(picked_info.patch_id.is_some());
    assert_eq!(picked_info.patch_id, lever_info.patch_id);
    let revert_info = info(&revert).await;
    assert_eq!(
        repo.reverted(&revert_info).await.expect("found"),
        Some(picked.clone())
    );
    assert_eq!(repo.reverted(&lever_info).await.expect("none"), None);
    assert_eq!(revert_info.tree, info(&other).await.tree);
    assert_eq!(
        repo.tree_diff(&root, &picked).await.expect("paths"),
        ["b", "c"]
    );
    assert!(
        repo.tree_diff(&other, &revert)
            .await
            .expect("paths")
            .is_empty()
    );
    assert_eq!(
        repo.file_at(&lever, "b").await.expect("a file"),
        Some(b"x\n".to_vec())
    );
    assert_eq!(repo.file_at(&lever, "c").await.expect("no file"), None);
}

#[test]
fn reverts_are_read_from_messages() {
    let message = "Revert \"x\"\n\nThis reverts commit 0123456789abcdef0123456789abcdef01234567.\n";
    assert_eq!(
        reverted_text(message),
        Some("0123456789abcdef0123456789abcdef01234567")
    );
    assert_eq!(
        reverted_text("Fix what \"This reverts commit\" means"),
        None
    );
}

#[tokio::test]
async fn packs_bring_a_lost_repository_back() {
    let world = World::new();
    let old = world.commit("repo", "big", &"line\n".repeat(1000), "old");
    world.commit("repo", "a", "1", "between");
    world.commit("repo", "big", "small", "base without big");
    let base = world.commit("repo", "a", "2", "base");
    world.commit("repo", "a", "3", "step");
    // Head holds a file that base's history has, but base's tree has not.
    world.git("repo", &["checkout", old.as_str(), "--", "big"]);
    let head = world.commit("repo", "a", "4", "head brings big back");
    let repo = world.open("repo").await;
    let base_pack = repo.commit_pack(&base, None).await.expect("a pack");
    let head_pack = repo.commit_pack(&head, Some(&base)).await.expect("a pack");
    let same = repo.commit_pack(&base, Some(&base)).await.expect("a pack");
    assert!(same.len() < base_pack.len());
    let want = (
        repo.commit_info(&base).await.expect("facts"),
        repo.commit_info(&head).await.expect("facts"),
    );

    std::fs::remove_dir_all(world.path("repo")).expect("it goes");
    std::fs::remove_dir_all(world.path("cache")).expect("it goes");
    let again = Repository::detached("record", "sha1", &world.path("cache"))
        .await
        .expect("a mirror");
    let lost = again.fetch(&head).await.expect_err("not there").to_string();
    assert!(lost.contains("holds no copy"), "{lost}");
    again
        .restore_pack(&base, &base_pack)
        .await
        .expect("restored");
    again
        .restore_pack(&head, &head_pack)
        .await
        .expect("restored");
    for (sha, want) in [(&base, want.0), (&head, want.1)] {
        let target = world.path(sha.as_str());
        assert_eq!(
            again.checkout(sha, &target).await.expect("a checkout").tree,
            want.tree
        );
        assert_eq!(
            again.commit_info(sha).await.expect("facts").message,
            want.message
        );
    }
    assert_eq!(
        again.tree_diff(&base, &head).await.expect("paths"),
        ["a", "big"]
    );
    let broken = again.restore_pack(&old, b"PACK nonsense").await;
    assert!(broken.is_err());
}

#[tokio::test]
async fn sha256_repositories_work() {
    let world = World::new();
    std::fs::create_dir(world.path("new")).expect("a folder");
    world.git(
        "new",
        &["init", "-q", "-b", "main", "--object-format=sha256"],
    );
    world.commit("new", "a", "1", "first");
    let head = world.commit("new", "a", "2", "second");
    assert_eq!(head.as_str().len(), 64);
    let repo = world.open("new").await;
    let pair = repo.pair(PairRequest::default()).await.expect("a pair");
    repo.checkout(&pair.head, &world.path("tree"))
        .await
        .expect("a checkout");
    let pack = repo.commit_pack(&pair.base, None).await.expect("a pack");
    let again = Repository::detached("x", "sha256", &world.path("other"))
        .await
        .expect("a mirror");
    again
        .restore_pack(&pair.base, &pack)
        .await
        .expect("restored");
    again
        .checkout(&pair.base, &world.path("tree2"))
        .await
        .expect("a checkout");
}

#[tokio::test]
async fn submodules_come_from_the_users_copy_or_from_their_origin() {
    let world = World::new();
    for name in ["lib", "deep"] {
        std::fs::create_dir(world.path(name)).expect("a folder");
        world.git(name, &["init", "-q", "-b", "main"]);
    }
    world.commit("deep", "d", "deep", "deep");
    world.commit("lib", "l", "old", "old");
    world.git("lib", &["submodule", "--quiet", "add", "../deep", "nested"]);
    let lib_old = world.commit("lib", "l", "lib", "lib");
    world.commit("repo", "a", "1", "first");
    world.git(
        "repo",
        &[
            "remote",
            "add",
            "origin",
            &world.path("repo").to_string_lossy(),
        ],
    );
    world.git(
        "repo",
        &["submodule", "--quiet", "add", "../lib", "third_party/lib"],
    );
    let sha = world.commit("repo", "a", "2", "with a submodule");
    world.git(
        "repo",
        &["submodule", "--quiet", "update", "--init", "--recursive"],
    );
    let lib_new = world.commit("lib", "l", "newer than the user's copy", "newer");

    let repo = world.open("repo").await;
    let found = repo
        .checkout(&sha, &world.path("tree"))
        .await
        .expect("a checkout");
    let paths: Vec<&str> = found.submodules.iter().map(|s| s.path.as_str()).collect();
    assert_eq!(paths, ["third_party/lib", "third_party/lib/nested"]);
    assert_eq!(found.submodules[0].commit, lib_old);
    std::fs::create_dir(world.path("elsewhere")).expect("a folder");
    std::fs::rename(world.path("tree"), world.path("elsewhere/moved")).expect("a rename");
    let nested = world.path("elsewhere/moved/third_party/lib/nested/d");
    assert_eq!(std::fs::read_to_string(nested).expect("a file"), "deep");
    assert_eq!(world.git("elsewhere/moved", &["status", "--porcelain"]), "");

    // A commit that names a submodule commit which the user has not fetched.
    world.git("repo", &["-C", "third_party/lib", "fetch", "-q"]);
    world.git(
        "repo",
        &["-C", "third_party/lib", "checkout", "-q", lib_new.as_str()],
    );
    let newer = world.commit("repo", "a", "3", "newer submodule");
    world.git(
        "repo",
        &["-C", "third_party/lib", "checkout", "-q", lib_old.as_str()],
    );
    world.git(
        "repo",
        &[
            "-C",
            "third_party/lib",
            "update-ref",
            "-d",
            "refs/remotes/origin/main",
        ],
    );
    world.git(
        "repo",
        &[
            "-C",
            "third_party/lib",
            "reflog",
            "expire",
            "--expire=now",
            "--all",
        ],
    );
    world.git(
        "repo",
        &["-C", "third_party/lib", "gc", "-q", "--prune=now"],
    );
    let found = repo
        .checkout(&newer, &world.path("tree2"))
        .await
        .expect("from the origin");
    assert_eq!(found.submodules[0].commit, lib_new);

    // Offline, with the origin gone, the user's copy is enough; what it lacks is an error.
    std::fs::rename(world.path("lib"), world.path("lib-gone")).expect("a rename");
    std::fs::rename(world.path("deep"), world.path("deep-gone")).expect("a rename");
    repo.checkout(&sha, &world.path("tree3"))
        .await
        .expect("offline");
    let error = repo
        .checkout(&newer, &world.path("tree4"))
        .await
        .expect_err("offline")
        .to_string();
    assert!(
        error.contains("third_party/lib") && error.contains(lib_new.as_str()),
        "{error}"
    );
    assert!(!world.path("tree4").exists());
}

#[tokio::test]
async fn lfs_pointers_without_git_lfs_name_the_remedy() {
    let world = World::new();
    world.write(
        "repo/.gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12\n",
        "ab".repeat(32)
    );
    let sha = world.commit("repo", "w.bin", &pointer, "weights");
    // A PATH with git but no git-lfs.
    std::fs::create_dir(world.path("bin")).expect("a folder");
    let real = which::which("git").expect("git is there");
    std::os::unix::fs::symlink(real, world.path("bin/git")).expect("a link");
    let git = Git::new().with_path(world.path("bin"));
    let repo = Repository::open_with(&world.path("repo"), &world.path("cache"), git)
        .await
        .expect("it opens");
    let error = repo
        .checkout(&sha, &world.path("tree"))
        .await
        .expect_err("no git-lfs")
        .to_string();
    assert!(
        error.contains("w.bin") && error.contains("install git-lfs"),
        "{error}"
    );
    assert!(!world.path("tree").exists());
}

#[tokio::test]
async fn what_a_killed_git_left_behind_does_not_block() {
    let world = World::new();
    let first = world.commit("repo", "a", "1", "first");
    let repo = world.open("repo").await;
    for name in ["shallow.lock", "config.lock", "packed-refs.lock"] {
        std::fs::write(repo.mirror.join(name), "").expect("a file");
    }
    world.git(
        "repo",
        &["remote", "add", "origin", "https://example.invalid/x"],
    );
    let repo = world.open("repo").await;
    repo.checkout(&first, &world.path("tree"))
        .await
        .expect("a checkout");
    let (one, two) = (world.path("one/t"), world.path("two/t"));
    let (a, b) = tokio::join!(repo.checkout(&first, &one), repo.checkout(&first, &two));
    assert_eq!(a.expect("one").commit, b.expect("two").commit);
}
