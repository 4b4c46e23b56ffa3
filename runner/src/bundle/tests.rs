//! The container against those who would break it. Whole journeys are in `tests/rounds/bundles.rs`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use db::artifacts::Store;
use db::bundle::Rows;
use proptest::prelude::*;
use serde_json::json;

use super::manifest::{About, Content, FORMAT, LeftOut, Manifest, VERSION};
use super::read::Reader;
use super::write::{Lines, lines, write};
use super::{BundleError, limits, tape};

struct World {
    dir: tempfile::TempDir,
    store: Store,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().expect("a folder");
        let store = Store::open(&dir.path().join("artifacts")).expect("a store");
        World { dir, store }
    }

    fn file(&self, content: &[u8]) -> PathBuf {
        let path = self.dir.path().join("bundle");
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// Reads a bundle to its end.
    fn read(&self, content: &[u8]) -> Result<(Manifest, Vec<Rows>, String), BundleError> {
        let mut reader = Reader::open(&self.file(content))?;
        let rows = reader.rows()?;
        reader.contents(&self.store)?;
        Ok((reader.manifest.clone(), rows, reader.end()?))
    }

    /// What a refusal says.
    fn refusal(&self, content: &[u8]) -> String {
        let error = self.read(content).expect_err("a refusal");
        error.to_string()
    }
}

fn table() -> Lines {
    let row = |n: i64| json!({"seq": n, "value": 100.5, "bench": "speed"});
    lines(&Rows {
        table: "sample".to_owned(),
        rows: (0..3).filter_map(|n| row(n).as_object().cloned()).collect(),
    })
}

fn manifest(artifacts: Vec<Content>) -> Manifest {
    Manifest {
        format: FORMAT.to_owned(),
        version: VERSION,
        schema: 1,
        writer: "runner 0.1.0".to_owned(),
        run: About {
            uuid: "ab".repeat(16),
            campaign: "toy".to_owned(),
            base: "1".repeat(40),
            head: "2".repeat(40),
            started_at: 7,
        },
        tables: vec![table().file],
        artifacts,
        left_out: vec![LeftOut {
            sha256: "0".repeat(64),
            bytes: 9,
            reason: "removed by gc".to_owned(),
        }],
    }
}

/// A bundle with a table and a content.
fn bundle(world: &World) -> Vec<u8> {
    let stored = world.store.put_bytes(&b"log line\n".repeat(400));
    let stored = stored.expect("room");
    let manifest = manifest(vec![Content {
        sha256: stored.sha256,
        bytes: stored.bytes,
    }]);
    let mut out = Vec::new();
    let parts = (&[table()][..], &world.store);
    write(&mut out, Path::new("bundle"), &manifest, parts).expect("a bundle");
    out
}

/// An archive by hand: its files, then what follows.
fn archive(files: &[(&str, &[u8])], end: &[u8]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, content) in files {
        tar.extend(tape::header(name, content.len() as u64));
        tar.extend_from_slice(content);
        tar.resize(tar.len() + tape::padding(content.len() as u64), 0);
    }
    tar.extend_from_slice(end);
    zstd::encode_all(&tar[..], 1).expect("compression")
}

const END: [u8; 1024] = [0; 1024];

fn text(manifest: &Manifest) -> Vec<u8> {
    serde_json::to_vec(manifest).expect("JSON")
}

#[test]
fn a_bundle_is_read_as_it_was_written_and_other_archivers_read_it() {
    let world = World::new();
    let bytes = bundle(&world);
    let (read, rows, sha256) = world.read(&bytes).expect("a bundle");
    assert_eq!(read.run.campaign, "toy");
    assert_eq!(rows[0].rows.len(), 3);
    assert_eq!(rows[0].rows[1]["seq"], 1);
    let hash = <sha2::Sha256 as sha2::Digest>::digest(&bytes);
    assert_eq!(sha256, hex::encode(hash));
    // Anyone's tar lists it.
    let tar = world.dir.path().join("bundle.tar");
    std::fs::write(&tar, zstd::decode_all(&bytes[..]).expect("zstd")).expect("a file");
    let listed = std::process::Command::new("tar")
        .arg("-tf")
        .arg(&tar)
        .output();
    let listed = String::from_utf8(listed.expect("tar").stdout).expect("text");
    let names: Vec<&str> = listed.lines().collect();
    assert_eq!(names[..2], ["manifest.json", "rows/sample.jsonl"]);
    assert!(names[2].starts_with("artifacts/"), "{listed}");
}

#[test]
fn names_that_lead_elsewhere_are_not_where_they_should_be() {
    let world = World::new();
    let good = text(&manifest(Vec::new()));
    for name in [
        "../manifest.json",
        "/etc/passwd",
        "manifest.json/",
        "rows/sample.jsonl",
    ] {
        let said = world.refusal(&archive(&[(name, &good)], &END));
        assert!(
            said.contains("manifest.json is not where it should be"),
            "{said}"
        );
    }
    let rows = table().text;
    let files = [("manifest.json", &good[..]), ("rows/../../x", &rows[..])];
    let said = world.refusal(&archive(&files, &END));
    assert!(said.contains("rows/sample.jsonl is not where"), "{said}");
    // A content's name in the manifest is a hash or nothing.
    let evil = Content {
        sha256: "../".repeat(21) + "x",
        bytes: 1,
    };
    let said = world.refusal(&archive(
        &[("manifest.json", &text(&manifest(vec![evil])))],
        &END,
    ));
    assert!(said.contains("without a hash"), "{said}");
}

#[test]
fn a_newer_format_or_schema_is_refused_with_words() {
    let world = World::new();
    for (format, schema, said) in [
        (VERSION + 1, 1, "newer version (format 2"),
        (VERSION, 100_000, "newer version (schema 100000"),
    ] {
        let newer = Manifest {
            version: format,
            schema,
            ..manifest(Vec::new())
        };
        let mut value = serde_json::to_value(&newer).expect("JSON");
        // A newer one may have fields that nobody knows here.
        value["unheard_of"] = json!(true);
        let refused = world.refusal(&archive(
            &[("manifest.json", value.to_string().as_bytes())],
            &END,
        ));
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn bombs_are_refused_before_they_go_off() {
    let world = World::new();
    // Declared: a small file that says it unpacks to 4 GiB.
    let zeros = Content {
        sha256: "1".repeat(64),
        bytes: limits::CONTENT_BYTES,
    };
    let declared = archive(&[("manifest.json", &text(&manifest(vec![zeros])))], &END);
    let said = world.refusal(&declared);
    assert!(said.contains("may unpack to"), "{said}");
    // Not declared: 300 MB of zeros where a content of nine bytes is promised, in 10 kB.
    let small = Content {
        sha256: "1".repeat(64),
        bytes: 9,
    };
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("zstd");
    let promised = text(&manifest(vec![small]));
    for (name, content) in [
        ("manifest.json", &promised[..]),
        ("rows/sample.jsonl", &table().text[..]),
    ] {
        let header = tape::header(name, content.len() as u64);
        encoder.write_all(&header).expect("memory");
        encoder.write_all(content).expect("memory");
        let padding = vec![0; tape::padding(content.len() as u64)];
        encoder.write_all(&padding).expect("memory");
    }
    let header = tape::header(&format!("artifacts/{}", "1".repeat(64)), 300 << 20);
    encoder.write_all(&header).expect("memory");
    for _ in 0..300 {
        encoder.write_all(&vec![0; 1 << 20]).expect("memory");
    }
    let bomb = encoder.finish().expect("memory");
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    let said = world.refusal(&bomb);
    assert!(said.contains("is not where it should be"), "{said}");
    // Too many rows, too many contents, too long a manifest.
    let mut rows = manifest(Vec::new());
    rows.tables[0].rows = limits::ROWS + 1;
    let said = world.refusal(&archive(&[("manifest.json", &text(&rows))], &END));
    assert!(said.contains("too large"), "{said}");
    let long = vec![b' '; usize::try_from(limits::MANIFEST_BYTES).expect("fits") + 1];
    let said = world.refusal(&archive(&[("manifest.json", &long)], &END));
    assert!(said.contains("too large"), "{said}");
    // Nothing of it is in the store.
    assert!(world.store.iter().expect("a store").is_empty());
}

#[test]
fn deep_json_and_numbers_that_are_none_are_no_rows() {
    let world = World::new();
    let deep = format!(
        "{{\"bench\": {}{}}}",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    for line in [
        &deep,
        "{\"value\": 1e999}",
        "{\"value\": NaN}",
        "[1]",
        "{\"a\": 1}{",
        "\u{0}",
    ] {
        let text_of = format!("{line}\n").into_bytes();
        let mut given = manifest(Vec::new());
        given.tables[0].rows = 1;
        given.tables[0].bytes = text_of.len() as u64;
        given.tables[0].sha256 = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(&text_of));
        let files = [
            ("manifest.json", &text(&given)[..]),
            ("rows/sample.jsonl", &text_of),
        ];
        let said = world.refusal(&archive(&files, &END));
        assert!(
            said.contains("a row in rows/sample.jsonl cannot be read"),
            "{said}"
        );
    }
}

#[test]
fn what_is_listed_twice_or_follows_the_end_is_refused() {
    let world = World::new();
    let twice = Content {
        sha256: "1".repeat(64),
        bytes: 1,
    };
    let listed = manifest(vec![twice.clone(), twice]);
    let said = world.refusal(&archive(&[("manifest.json", &text(&listed))], &END));
    assert!(said.contains("a content twice"), "{said}");
    let mut tables = manifest(Vec::new());
    tables.tables.push(tables.tables[0].clone());
    let said = world.refusal(&archive(&[("manifest.json", &text(&tables))], &END));
    assert!(said.contains("sample twice"), "{said}");

    let good = text(&manifest(Vec::new()));
    let rows = table().text;
    let files = [
        ("manifest.json", &good[..]),
        ("rows/sample.jsonl", &rows[..]),
    ];
    world.read(&archive(&files, &END)).expect("a bundle");
    let said = world.refusal(&archive(&files, &[0; 512]));
    assert!(said.contains("before its end mark"), "{said}");
    let more = [&files[..], &[("more", b"x")]].concat();
    let said = world.refusal(&archive(&more, &END));
    assert!(said.contains("something follows"), "{said}");
    let mut appended = archive(&files, &END);
    appended.extend_from_slice(b"garbage");
    world
        .read(&appended)
        .expect_err("garbage after the archive");
}

#[test]
fn content_that_is_not_what_its_name_says_is_refused() {
    let world = World::new();
    let claimed = manifest(vec![Content {
        sha256: "1".repeat(64),
        bytes: 5,
    }]);
    let (good, rows) = (text(&claimed), table().text);
    let name = format!("artifacts/{}", "1".repeat(64));
    let files = [
        ("manifest.json", &good[..]),
        ("rows/sample.jsonl", &rows[..]),
        (&name, b"other"),
    ];
    let said = world.refusal(&archive(&files, &END));
    assert!(said.contains("holds something else"), "{said}");
    assert!(!world.store.contains(&"1".repeat(64)).expect("a store"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A bundle that was cut off anywhere is refused.
    #[test]
    fn a_truncated_bundle_is_refused(part in 0.0..1.0f64) {
        let world = World::new();
        let bytes = bundle(&world);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
                 reason = "a place in a few kilobytes")]
        let end = (part * bytes.len() as f64) as usize;
        prop_assert!(world.read(&bytes[..end]).is_err());
    }

    /// A changed byte is noticed: what is read is refused, or what was written.
    #[test]
    fn a_changed_byte_is_refused(at in any::<prop::sample::Index>(), by in 1..=255u8) {
        let world = World::new();
        let bytes = bundle(&world);
        let whole = world.read(&bytes).expect("a bundle");
        let mut changed = bytes.clone();
        changed[at.index(bytes.len())] ^= by;
        if let Ok(read) = world.read(&changed) {
            prop_assert_eq!((&read.0, &read.1), (&whole.0, &whole.1));
        }
    }

    /// The same inside of the compression, where no checksum of its own stands guard: a byte of
    /// the manifest may say something else about the run; everything else is held to a hash.
    #[test]
    fn a_changed_byte_inside_is_refused(at in any::<prop::sample::Index>(), by in 1..=255u8) {
        let world = World::new();
        let bytes = bundle(&world);
        let whole = world.read(&bytes).expect("a bundle");
        let mut tar = zstd::decode_all(&bytes[..]).expect("zstd");
        let place = at.index(tar.len());
        tar[place] ^= by;
        if let Ok(read) = world.read(&zstd::encode_all(&tar[..], 1).expect("zstd")) {
            prop_assert_eq!(&read.1, &whole.1);
            prop_assert_eq!(&read.0.artifacts, &whole.0.artifacts);
        }
    }

    /// Noise is never taken for a bundle, and never ends the program.
    #[test]
    fn noise_is_refused(noise in prop::collection::vec(any::<u8>(), 0..2000), packed: bool) {
        let world = World::new();
        let bytes = match packed {
            true => zstd::encode_all(&noise[..], 1).expect("zstd"),
            false => noise,
        };
        prop_assert!(world.read(&bytes).is_err());
    }
}
