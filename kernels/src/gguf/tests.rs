//! Sound files are read as they were written; hostile ones are refused by name and place.

use std::io::Write;

use proptest::prelude::*;

use super::testing::{Writer, text};
use super::{GgufError, GgufFile, Header, TensorInfo, TensorType, Value};

/// A file with every type of metadata and several tensors.
fn sample() -> Writer {
    let numbers = |kind: u32, count: u64, bytes: &[u8]| {
        [&kind.to_le_bytes()[..], &count.to_le_bytes(), bytes].concat()
    };
    Writer::new()
        .string("general.architecture", "llama")
        .raw("a.u8", 0, &[200])
        .raw("a.i8", 1, &[200])
        .raw("a.u16", 2, &[1, 2])
        .raw("a.i16", 3, &[0xfe, 0xff])
        .u32("a.u32", 7)
        .raw("a.i32", 5, &(-7i32).to_le_bytes())
        .f32("a.f32", 0.25)
        .raw("a.bool", 7, &[1])
        .raw("a.u64", 10, &u64::MAX.to_le_bytes())
        .raw("a.i64", 11, &i64::MIN.to_le_bytes())
        .raw("a.f64", 12, &(-2.5f64).to_le_bytes())
        .raw("a.list", 9, &numbers(3, 2, &[1, 0, 0xff, 0xff]))
        .strings("a.words", &[&b"one"[..], b"", b"\xff\xfe"])
        .tensor("w.f32", &[4, 2], TensorType::F32, &[0; 32])
        .tensor("b.q4_0", &[32, 3], TensorType::Q4_0, &[0x11; 54])
        .tensor("c.q4_K", &[256], TensorType::Q4K, &[0x22; 144])
}

fn refusal(writer: &Writer) -> String {
    let header = Header::parse(&writer.bytes());
    header.expect_err("a refusal").to_string()
}

fn check(writer: Writer, words: &[&str]) {
    let message = refusal(&writer);
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

#[test]
fn what_was_written_is_read() {
    for version in [2, 3] {
        let mut writer = sample();
        writer.version = Some(version);
        let header = Header::parse(&writer.bytes()).expect("a sound file");
        assert_eq!((header.version(), header.alignment()), (version, 32));
        let get = |key: &str| header.get(key).expect("the key").clone();
        assert_eq!(get("general.architecture"), Value::String("llama".into()));
        assert_eq!(get("a.u8"), Value::Unsigned(200));
        assert_eq!(get("a.i8"), Value::Signed(-56));
        assert_eq!(get("a.u16"), Value::Unsigned(513));
        assert_eq!(get("a.i16"), Value::Signed(-2));
        assert_eq!(get("a.i32"), Value::Signed(-7));
        assert_eq!(get("a.f32"), Value::Float(0.25));
        assert_eq!(get("a.bool"), Value::Bool(true));
        assert_eq!(get("a.u64"), Value::Unsigned(u64::MAX));
        assert_eq!(get("a.i64"), Value::Signed(i64::MIN));
        assert_eq!(get("a.f64"), Value::Float(-2.5));
        let Value::Numbers(list) = get("a.list") else {
            panic!("numbers")
        };
        let list: Vec<Value> = list.iter().collect();
        assert_eq!(list, [Value::Signed(1), Value::Signed(-1)]);
        let words = header.strings("a.words").expect("strings").expect("there");
        let words: Vec<_> = (0..4).map(|n| words.get(n)).collect();
        let all = [Some(&b"one"[..]), Some(b""), Some(b"\xff\xfe"), None];
        assert_eq!(words, all);
    }
}

#[test]
fn tensors_have_their_places() {
    let bytes = sample().bytes();
    let header = Header::parse(&bytes).expect("a sound file");
    let names: Vec<&str> = header.tensors().iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["b.q4_0", "c.q4_K", "w.f32"]);
    let tensor = header.tensor("b.q4_0").expect("the tensor");
    assert_eq!((tensor.values, tensor.bytes), (96, 54));
    assert_eq!(tensor.dims, [32, 3]);
    let begin = tensor.begin as usize;
    assert_eq!(bytes[begin - 32..begin], [0; 32]);
    assert_eq!(bytes[begin..begin + 54], [0x11; 54]);
    assert_eq!(header.tensor("b.q4_1"), None);
}

#[test]
fn values_are_read_from_the_file_in_pieces() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    // More than one piece of blocks: value n of row r is r.
    let rows = (1u16 << 14) + 3;
    let data: Vec<u8> = (0..rows)
        .flat_map(|row| [row.to_le_bytes().as_slice(), &[1; 32]].concat())
        .collect();
    let dims = [32, u64::from(rows)];
    let writer = sample().tensor("big", &dims, TensorType::Q8_0, &data);
    file.write_all(&writer.bytes()).expect("written");
    let open = GgufFile::open(file.path()).expect("a sound file");
    let tensor = open.header().tensor("big").expect("the tensor").clone();
    let values = open.values(&tensor).expect("values");
    assert_eq!(values.len(), 32 * usize::from(rows));
    for (n, value) in values.iter().enumerate() {
        let scale = half::f16::from_bits((n / 32) as u16).to_f32();
        assert_eq!(*value, scale, "value {n}");
    }
    assert_eq!(open.bytes(&tensor).expect("bytes"), data);

    // More than any machine has: 4 bytes for each value of a tensor in q8_0.
    let huge = TensorInfo {
        values: 1 << 59,
        bytes: 1 << 60,
        ..tensor.clone()
    };
    let error = open.values(&huge).expect_err("no memory").to_string();
    let words = format!("`big` takes {} bytes of memory", 1u64 << 61);
    assert!(error.contains(&words), "{error}");
    let error = open.bytes(&huge).expect_err("no memory").to_string();
    let words = format!("`big` takes {} bytes of memory", 1u64 << 60);
    assert!(error.contains(&words), "{error}");

    // The file shrinks while it is open.
    file.as_file().set_len(tensor.begin + 40).expect("shorter");
    let error = open.values(&tensor).expect_err("too short").to_string();
    assert!(error.contains("reading tensor `big`"), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = GgufFile::open("/nonexistent/model.gguf".as_ref()).expect_err("no file");
    assert!(error.to_string().contains("/nonexistent/model.gguf"));
    let folder = tempfile::tempdir().expect("a folder");
    let error = GgufFile::open(folder.path()).expect_err("a folder");
    assert!(matches!(error, GgufError::Io { .. }), "{error}");
}

#[test]
fn other_formats_and_versions_are_named() {
    let begin = |bytes: &[u8]| {
        let mut file = sample().bytes();
        file[..bytes.len()].copy_from_slice(bytes);
        Header::parse(&file).expect_err("a refusal")
    };
    let error = begin(b"\x80PTH");
    assert!(error.to_string().contains("\\x80PTH"), "{error}");
    assert!(matches!(begin(b"GGUF\0\0\0\x03"), GgufError::BigEndian));
    for version in [0, 1, 4] {
        let error = begin(&[b'G', b'G', b'U', b'F', version]);
        assert!(matches!(error, GgufError::Version { found } if found == u32::from(version)));
    }
}

#[test]
fn hostile_counts_are_refused_before_anything_is_allocated() {
    for (at, name) in [(8, "the count of tensors"), (16, "the count of metadata")] {
        for count in [1 << 20, 1 << 40, u64::MAX / 2, u64::MAX] {
            let mut bytes = sample().bytes();
            bytes[at..at + 8].copy_from_slice(&count.to_le_bytes());
            let error = Header::parse(&bytes).expect_err("a refusal");
            assert!(matches!(error, GgufError::Truncated { .. }), "{error}");
            assert!(error.to_string().starts_with(name), "{error}");
        }
    }
    let array = |kind: u32, count: u64| [&kind.to_le_bytes()[..], &count.to_le_bytes()].concat();
    for kind in [0, 4, 8, 12] {
        let value = array(kind, u64::MAX / 4);
        check(
            Writer::new().raw("k", 9, &value),
            &["metadata `k`", "needs"],
        );
    }
    let long = u64::MAX.to_le_bytes();
    check(Writer::new().raw("k", 8, &long), &["metadata `k`", "needs"]);
}

#[test]
fn metadata_that_is_wrong_is_named() {
    check(
        sample().u32("a.u8", 1),
        &["metadata key 14", "`a.u8`", "twice"],
    );
    check(
        Writer::new().u32("", 1),
        &["metadata key 0 at byte 24", "empty"],
    );
    check(
        Writer::new().raw("k", 13, &[0; 8]),
        &["type of metadata `k`", "13"],
    );
    check(
        Writer::new().raw("k", 7, &[2]),
        &["metadata `k`", "Boolean of value 2"],
    );
    check(
        Writer::new().raw("k", 8, &text(b"\xc3(")),
        &["metadata `k`", "UTF-8"],
    );
    let nested = [9u32.to_le_bytes().as_slice(), &[0; 16]].concat();
    check(
        Writer::new().raw("k", 9, &nested),
        &["metadata `k`", "`array`"],
    );
    let key = "k".repeat(65536);
    check(
        Writer::new().u32(&key, 1),
        &["metadata key 0", "65536 bytes long"],
    );
    for alignment in [0, 1, 4, 48, u32::MAX] {
        let writer = Writer::new().u32("general.alignment", alignment);
        check(writer, &["general.alignment", "power of two"]);
    }
}

#[test]
fn alignment_is_obeyed() {
    let mut writer = Writer::new().u32("general.alignment", 256);
    writer.alignment = 256;
    let writer = writer.tensor("a", &[1], TensorType::F32, &[0; 4]).tensor(
        "b",
        &[1],
        TensorType::F32,
        &[0; 4],
    );
    let header = Header::parse(&writer.bytes()).expect("a sound file");
    let begin = |name| header.tensor(name).map(|t| t.begin);
    assert_eq!((begin("a"), begin("b")), (Some(256), Some(512)));
    let odd = Writer::new().data(64).info("a", &[1], 0, 16);
    check(odd, &["tensor `a`", "offset 16", "alignment, 32"]);
}

#[test]
fn tensors_that_are_wrong_are_named() {
    let with = |name: &str, dims: &[u64], kind, offset| {
        Writer::new().data(4096).info(name, dims, kind, offset)
    };
    check(with("a", &[], 0, 0), &["dims of tensor `a`", "0 of them"]);
    check(
        with("a", &[1; 5], 0, 0),
        &["dims of tensor `a`", "5 of them"],
    );
    check(
        with("a", &[4, 0], 0, 0),
        &["dims of tensor `a`", "dim 1 is 0"],
    );
    check(
        with("a", &[1 << 32, 1 << 32], 0, 0),
        &["tensor `a`", "overflow"],
    );
    check(with("a", &[1 << 62], 0, 0), &["tensor `a`", "overflow"]);
    check(
        with("a", &[48, 2], 8, 0),
        &["tensor `a`", "48 values", "q8_0"],
    );
    check(
        with("a", &[256], 11, 0),
        &["tensor `a`", "q3_K (11)", "q4_K"],
    );
    check(with("a", &[256], 99, 0), &["tensor `a`", "unknown (99)"]);
    check(
        with("a", &[1025], 0, 0),
        &["tensor `a`", "needs 4100", "4096 more"],
    );
    check(
        with("a", &[1], 0, u64::MAX - 31),
        &["tensor `a`", "needs 4 bytes"],
    );
    check(with("a", &[1], 0, 1 << 40), &["tensor `a`", "has 0 more"]);
    let long = "n".repeat(65);
    check(
        with(&long, &[1], 0, 0),
        &["name of tensor 0", "65 bytes long"],
    );
    check(
        with("a", &[1], 0, 0).info("a", &[1], 0, 32),
        &["`a`", "twice"],
    );
    let overlap = with("a", &[64], 0, 0).info("b", &[1], 0, 224);
    check(overlap, &["tensor `b`", "overlap", "tensor `a`"]);
}

#[test]
fn texts_of_the_file_are_escaped_and_shortened() {
    // A tensor's name has at most 64 bytes.
    let name = "\x1b[2J\u{202e}name";
    let key = format!("{name}{}", "long".repeat(4000));
    let numbers = |kind: u32| [kind.to_le_bytes().to_vec(), vec![0; 8]].concat();
    let one = 1u64.to_le_bytes();
    for writer in [
        sample().raw(&key, 13, &[]),
        sample().raw(&key, 7, &[9]),
        sample().raw(&key, 8, &u64::MAX.to_le_bytes()),
        sample().raw(&key, 9, &numbers(9)),
        sample().raw(&key, 9, &numbers(13)),
        sample().raw(
            &key,
            9,
            &[8u32.to_le_bytes().to_vec(), one.to_vec(), vec![0xff; 8]].concat(),
        ),
        sample().u32(&key, 1).u32(&key, 2),
        sample().info(name, &[], 0, 0),
        sample().info(name, &[0], 0, 0),
        sample().info(name, &[1 << 40, 1 << 40], 0, 0),
        sample().info(name, &[100], 12, 0),
        sample().info(name, &[256], 11, 0),
        sample().info(name, &[256], 12, 1 << 40),
        sample().info(name, &[1], 0, 0).info(name, &[1], 0, 32),
        sample().info(name, &[1], 0, 0).data(256),
        sample().info(name, &[256], 12, 16),
    ] {
        let message = refusal(&writer);
        assert!(message.contains(r"\u{1b}[2J\u{202e}name"), "{message:?}");
        assert!(!message.contains(['\x1b', '\u{202e}']), "{message:?}");
        assert!(message.len() < 400, "{} bytes: {message}", message.len());
    }
}

/// What a header may hold on the heap for a file of so many bytes.
fn bound(file: usize) -> usize {
    16 * file + 4096
}

#[test]
fn every_truncation_is_refused() {
    let bytes = sample().bytes();
    Header::parse(&bytes).expect("the whole file");
    for len in 0..bytes.len() {
        let error = Header::parse(&bytes[..len]).expect_err("cut off");
        assert!(
            matches!(error, GgufError::Truncated { .. }),
            "{len}: {error}"
        );
    }
}

#[test]
fn every_flipped_bit_is_refused_or_harmless() {
    let bytes = sample().bytes();
    let mut refused = 0;
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        refused += usize::from(harmless(&bytes).is_err());
    }
    assert!(refused > 2000, "only {refused} were refused");
}

/// Reads a header; where it is accepted, its tensors lie in the file and its memory is bounded;
/// where not, the message is one line that can be shown.
fn harmless(bytes: &[u8]) -> Result<(), GgufError> {
    let header = Header::parse(bytes).inspect_err(|error| {
        let message = error.to_string();
        assert!(!message.contains(char::is_control), "{message:?}");
    })?;
    assert!(header.memory() <= bound(bytes.len()));
    let mut total = 0;
    for tensor in header.tensors() {
        total += tensor.bytes;
        assert!(tensor.begin + tensor.bytes <= bytes.len() as u64);
        assert_eq!(tensor.kind.bytes(tensor.values), Some(tensor.bytes));
    }
    assert!(total <= bytes.len() as u64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

    #[test]
    fn damaged_files_do_no_harm(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let mut bytes = sample().bytes();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _outcome = harmless(&bytes);
    }

    #[test]
    fn wild_numbers_in_any_field_do_no_harm(
        at in any::<prop::sample::Index>(),
        wild in prop_oneof![
            any::<u64>(), 0u64..64, Just(u64::MAX), Just(1 << 31), Just(1 << 32), Just(1 << 63)
        ],
    ) {
        let mut bytes = sample().bytes();
        let at = at.index(bytes.len() - 8);
        bytes[at..at + 8].copy_from_slice(&wild.to_le_bytes());
        let _outcome = harmless(&bytes);
    }
}
