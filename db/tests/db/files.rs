//! The store of files: what goes in comes out, once, whole, or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use db::artifacts::{self, Extract, Store, StoreError};
use tempfile::TempDir;

use crate::world::World;

const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn store() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("artifacts")).unwrap();
    (dir, store)
}

fn file_of(store: &Store, sha256: &str) -> PathBuf {
    store
        .root()
        .join(&sha256[..2])
        .join(&sha256[2..4])
        .join(format!("{sha256}.zst"))
}

fn left_in_tmp(store: &Store) -> usize {
    fs::read_dir(store.root().join("tmp")).unwrap().count()
}

#[test]
fn content_is_named_by_its_sha256_and_comes_back_as_it_was() {
    let (_dir, store) = store();
    let empty = store.put_bytes(b"").unwrap();
    assert_eq!((empty.sha256.as_str(), empty.bytes), (EMPTY, 0));
    let abc = store.put_bytes(b"abc").unwrap();
    assert_eq!(abc.sha256, ABC);
    assert_eq!(store.get_bytes(ABC, 3).unwrap(), b"abc");
    assert_eq!(store.get_bytes(EMPTY, 0).unwrap(), b"");
    assert!(store.contains(ABC).unwrap());
    assert!(file_of(&store, ABC).is_file());
    assert_eq!(left_in_tmp(&store), 0);
}

#[test]
fn the_same_content_is_stored_once_and_compressed() {
    let (dir, store) = store();
    let log = "LDSM.16.M88.4 R4, [R12]\n".repeat(50_000);
    let path = dir.path().join("sass.txt");
    fs::write(&path, &log).unwrap();
    let by_file = store.put_file(&path).unwrap();
    let by_bytes = store.put_bytes(log.as_bytes()).unwrap();
    assert_eq!(by_file, by_bytes);
    assert_eq!(by_file.bytes, log.len() as u64);
    assert!(by_file.stored_bytes * 20 < by_file.bytes, "{by_file:?}");
    let entries = store.iter().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].sha256, by_file.sha256);
    assert_eq!(entries[0].stored_bytes, by_file.stored_bytes);
    assert_eq!(left_in_tmp(&store), 0);
}

#[test]
fn a_file_is_written_whole_with_its_mode() {
    let (dir, store) = store();
    let stored = store.put_bytes(b"#!/bin/sh\n").unwrap();
    for (name, executable, mode) in [("engine", true, 0o755), ("prompt", false, 0o644)] {
        let path = dir.path().join(name);
        fs::write(&path, "an older one that is longer than the new one").unwrap();
        let to = Extract {
            executable,
            limit: 100,
        };
        store.get_to_file(&stored.sha256, &path, &to).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"#!/bin/sh\n");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            mode
        );
    }
}

#[test]
fn missing_damaged_and_oversized_content_are_told_apart() {
    let (dir, store) = store();
    let content: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    let stored = store.put_bytes(&content).unwrap();
    let target = dir.path().join("out");
    let get = |limit| {
        let to = Extract {
            executable: false,
            limit,
        };
        let to_file = store.get_to_file(&stored.sha256, &target, &to).unwrap_err();
        let to_memory = store.get_bytes(&stored.sha256, limit).unwrap_err();
        assert!(!target.exists(), "nothing of a bad artefact may appear");
        assert_eq!(to_file.to_string(), to_memory.to_string());
        to_memory
    };
    let size = content.len() as u64;
    assert!(matches!(get(size - 1), StoreError::TooLarge { .. }));

    let path = file_of(&store, &stored.sha256);
    let good = fs::read(&path).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let other = store.put_bytes(b"something else").unwrap();
    let swapped = fs::read(file_of(&store, &other.sha256)).unwrap();
    for bad in [
        &flipped[..],
        &good[..good.len() / 2],
        &swapped,
        b"",
        b"no zstd",
    ] {
        fs::write(&path, bad).unwrap();
        let error = get(size);
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    }
    assert!(store.remove(&stored.sha256).unwrap());
    assert!(!store.remove(&stored.sha256).unwrap());
    assert!(matches!(get(size), StoreError::Missing { .. }));
}

#[test]
fn names_that_are_no_hashes_never_reach_the_file_system() {
    let (_dir, store) = store();
    let long = format!("../../{}", "a".repeat(58));
    for name in [
        "",
        "..",
        "../../etc/passwd",
        &long,
        &ABC.to_uppercase(),
        "é",
    ] {
        assert!(matches!(
            store.get_bytes(name, 10),
            Err(StoreError::NotAName { .. })
        ));
        assert!(matches!(
            store.remove(name),
            Err(StoreError::NotAName { .. })
        ));
    }
}

#[test]
fn a_source_that_cannot_be_read_leaves_nothing_behind() {
    struct Breaks(u8);
    impl std::io::Read for Breaks {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += 1;
            if self.0 > 3 {
                return Err(std::io::Error::other("the device went away"));
            }
            buffer.fill(7);
            Ok(buffer.len())
        }
    }
    let (dir, store) = store();
    let error = store
        .put_reader(Breaks(0), Path::new("engine"))
        .unwrap_err();
    assert!(error.to_string().contains("engine"), "{error}");
    let error = store.put_file(&dir.path().join("none")).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
    assert_eq!(left_in_tmp(&store), 0);
    assert!(store.iter().unwrap().is_empty());
}

#[test]
fn several_threads_may_put_the_same_content() {
    let (_dir, store) = store();
    let content = vec![42; 300_000];
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| store.put_bytes(&content).unwrap()))
            .collect();
        let stored: Vec<_> = workers.into_iter().map(|w| w.join().unwrap()).collect();
        assert!(stored.windows(2).all(|two| two[0] == two[1]));
    });
    assert_eq!(store.iter().unwrap().len(), 1);
    assert_eq!(left_in_tmp(&store), 0);
}

#[test]
fn foreign_files_in_the_folder_are_passed_over() {
    let (_dir, store) = store();
    store.put_bytes(b"abc").unwrap();
    fs::write(store.root().join("README"), "hands off").unwrap();
    fs::write(file_of(&store, ABC).with_extension("bak"), "x").unwrap();
    fs::create_dir_all(store.root().join("zz/zz")).unwrap();
    assert_eq!(store.iter().unwrap().len(), 1);
}

#[tokio::test]
async fn content_that_vanished_before_it_was_noted_is_not_noted() {
    let world = World::new().await;
    let stored = world.store.put_bytes(b"abc").unwrap();
    world.store.remove(ABC).unwrap();
    let mut tx = world.db.write().await.unwrap();
    let error = artifacts::record(&mut tx, &world.store, &stored, 1)
        .await
        .unwrap_err();
    assert!(
        matches!(error, db::Error::Store(StoreError::Missing { .. })),
        "{error:?}"
    );
    assert_eq!(artifacts::get(&mut tx, ABC).await.unwrap(), None);
}

#[tokio::test]
async fn an_artefacts_uses_are_known() {
    let world = World::new().await;
    let run = world.run(1, 2).await;
    let build = world.build(run, "base", "k").await;
    let mut conn = world.db.read().await.unwrap();
    let outputs = db::outputs_by_build(&mut conn, build).await.unwrap();
    let uses = artifacts::uses(&mut conn, &outputs[0].artifact)
        .await
        .unwrap();
    let [only] = &uses[..] else {
        panic!("{uses:?}")
    };
    assert_eq!(only.what, "built file engine");
    assert_eq!((only.build_id, only.run_id), (Some(build), None));
}

#[test]
fn damaged_content_is_replaced_when_it_comes_again() {
    let (_dir, store) = store();
    let content: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    let stored = store.put_bytes(&content).unwrap();
    let path = file_of(&store, &stored.sha256);
    let good = fs::read(&path).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    for bad in [&flipped[..], &good[..good.len() / 2], b"", b"no zstd"] {
        fs::write(&path, bad).unwrap();
        assert_eq!(store.put_bytes(&content).unwrap(), stored);
        assert_eq!(store.get_bytes(&stored.sha256, u64::MAX).unwrap(), content);
    }
    // The same content, compressed otherwise, is left as it is.
    let other = zstd::encode_all(&content[..], 19).unwrap();
    fs::write(&path, &other).unwrap();
    store.put_bytes(&content).unwrap();
    assert_eq!(fs::read(&path).unwrap(), other);
}
