//! The text of tokens. Turning text into tokens is not done here.

use super::value::Strings;
use super::{GgufError, Header, Value};

/// The metadata key of the vocabulary.
pub(super) const TOKENS: &str = "tokenizer.ggml.tokens";
const MODEL: &str = "tokenizer.ggml.model";
const TYPES: &str = "tokenizer.ggml.token_type";

/// Token types, as the metadata numbers them: text to be shown as it is.
const CONTROL: u8 = 3;
const USER_DEFINED: u8 = 4;
/// A token that is one byte; the last of the types, which begin at 0.
const BYTE: u8 = 6;

/// How a vocabulary spells bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Byte-level BPE: a printable character for each byte.
    ByteLevel,
    /// SentencePiece: U+2581 for spaces, `<0xNN>` for single bytes.
    SentencePiece,
}

/// The text of every token of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Vocabulary {
    /// The bytes that each token stands for.
    pieces: Strings,
}

impl Vocabulary {
    /// Reads the vocabulary, where the file has one.
    ///
    /// # Errors
    /// Where its metadata is not as it must be, or its kind is not known.
    pub fn new(header: &Header) -> Result<Option<Vocabulary>, GgufError> {
        let Some(tokens) = header.strings(TOKENS)? else {
            return Ok(None);
        };
        let spelling = match header.text(MODEL)? {
            Some("gpt2") => Spelling::ByteLevel,
            Some("llama") => Spelling::SentencePiece,
            other => {
                return Err(GgufError::Unsupported {
                    what: format!("metadata `{MODEL}`"),
                    found: other.unwrap_or("nothing").to_owned(),
                    supported: "gpt2, llama".to_owned(),
                });
            }
        };
        let types = types(header, tokens.len())?;
        let alphabet = Alphabet::new();
        let mut pieces = Strings::default();
        for n in 0..tokens.len() {
            let token = tokens.get(n).unwrap_or_default();
            let piece = match (spelling, types.get(n)) {
                (_, Some(&(CONTROL | USER_DEFINED))) => token.to_vec(),
                (Spelling::ByteLevel, _) => alphabet.bytes(token),
                (Spelling::SentencePiece, Some(&BYTE)) => byte(token),
                (Spelling::SentencePiece, _) => spaces(token),
            };
            if !pieces.push(&piece) {
                return Err(header.wrong(TOKENS, "over 4 GiB of text".to_owned()));
            }
        }
        Ok(Some(Vocabulary { pieces }))
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The text of tokens; bytes that are no UTF-8 become U+FFFD. `None` where one of the tokens
    /// is not in the vocabulary.
    pub fn text(&self, tokens: &[i32]) -> Option<String> {
        let mut bytes = Vec::new();
        for token in tokens {
            bytes.extend(self.pieces.get(usize::try_from(*token).ok()?)?);
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The types of the tokens, integers of any width; a file may have none.
fn types(header: &Header, tokens: usize) -> Result<Vec<u8>, GgufError> {
    let types = match header.get(TYPES) {
        None => return Ok(Vec::new()),
        Some(Value::Numbers(types)) if types.len() == tokens => types,
        Some(Value::Numbers(types)) => {
            let problem = format!("{} types for {tokens} tokens", types.len());
            return Err(header.wrong(TYPES, problem));
        }
        Some(other) => {
            return Err(header.wrong(TYPES, format!("{}, not numbers", other.kind())));
        }
    };
    let known = |(n, value): (usize, Value)| {
        let known = value.as_u64().and_then(|kind| u8::try_from(kind).ok());
        known.filter(|kind| *kind <= BYTE).ok_or_else(|| {
            let problem = format!(
                "the type of token {n} is {}, not an integer from 0 to {BYTE}",
                value.shown()
            );
            header.wrong(TYPES, problem)
        })
    };
    types.iter().enumerate().map(known).collect()
}

/// `<0xNN>` as the byte that it names; anything else stays.
fn byte(token: &[u8]) -> Vec<u8> {
    let digits = token
        .strip_prefix(b"<0x")
        .and_then(|t| t.strip_suffix(b">"));
    let two = |d: &&[u8]| d.len() == 2 && d.iter().all(u8::is_ascii_hexdigit);
    let digits = digits.filter(two).map(std::str::from_utf8);
    match digits {
        Some(Ok(digits)) => u8::from_str_radix(digits, 16).map_or(token.to_vec(), |b| vec![b]),
        _ => token.to_vec(),
    }
}

/// U+2581 as a space.
fn spaces(token: &[u8]) -> Vec<u8> {
    const MARK: &[u8] = "\u{2581}".as_bytes();
    let mut out = Vec::with_capacity(token.len());
    let mut rest = token;
    while let Some((first, after)) = rest.split_first() {
        match rest.strip_prefix(MARK) {
            Some(after) => {
                out.push(b' ');
                rest = after;
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

/// The characters of byte-level BPE.
struct Alphabet {
    /// For each of the characters from U+0100 on, the byte that it stands for.
    moved: Vec<u8>,
}

impl Alphabet {
    /// Bytes that are printable characters of Latin-1 stand for themselves; the others, in
    /// order, have the characters from U+0100 on.
    fn new() -> Self {
        let own = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
        Alphabet {
            moved: (0..=255).filter(|byte| !own(byte)).collect(),
        }
    }

    /// The bytes that a token's characters stand for; characters outside the alphabet stay.
    fn bytes(&self, token: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(token) else {
            return token.to_vec();
        };
        let mut out = Vec::with_capacity(token.len());
        for character in text.chars() {
            let code = u32::from(character) as usize;
            let moved = code.checked_sub(256).and_then(|n| self.moved.get(n));
            match (u8::try_from(code), moved) {
                (Ok(byte), _) | (_, Some(&byte)) => out.push(byte),
                _ => out.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::testing::Writer;

    fn vocabulary(model: &str, tokens: &[&str], types: &[i32]) -> Result<Vocabulary, GgufError> {
        typed(model, tokens, |writer| writer.i32s(TYPES, types))
    }

    fn typed(
        model: &str,
        tokens: &[&str],
        types: impl FnOnce(Writer) -> Writer,
    ) -> Result<Vocabulary, GgufError> {
        let writer = Writer::new().string(MODEL, model).strings(TOKENS, tokens);
        let writer = types(writer);
        let header = Header::parse(&writer.bytes())?;
        Vocabulary::new(&header).map(|found| found.expect("a vocabulary"))
    }

    #[test]
    fn byte_level_characters_stand_for_bytes() {
        let tokens = ["Ġthe", "Ċ", "Ã", "©", "<|im_end|>", "Ń", "日"];
        let found = vocabulary("gpt2", &tokens, &[1, 1, 1, 1, 3, 1, 1]).expect("sound");
        let text = |tokens: &[i32]| found.text(tokens).expect("known tokens");
        assert_eq!(text(&[0, 1]), " the\n");
        assert_eq!(text(&[2, 3]), "é");
        assert_eq!(text(&[2]), "\u{fffd}");
        assert_eq!(text(&[4, 6]), "<|im_end|>日");
        // The last of the bytes that are no characters: the soft hyphen, 0xad.
        assert_eq!(found.pieces.get(5), Some(&[0xad][..]));
        assert_eq!(Alphabet::new().moved.len(), 256 - 94 - 12 - 82);
        assert_eq!((found.text(&[7]), found.text(&[-1])), (None, None));
        assert_eq!(found.len(), 7);
    }

    #[test]
    fn sentencepiece_marks_spaces_and_bytes() {
        let tokens = ["▁a▁b", "<0x0A>", "<0xC3>", "<0xa9>", "<bos>", "<0x+1>"];
        let found = vocabulary("llama", &tokens, &[1, 6, 6, 6, 3, 6]).expect("sound");
        let text = |tokens: &[i32]| found.text(tokens).expect("known tokens");
        assert_eq!(text(&[0, 1]), " a b\n");
        assert_eq!(text(&[2, 3]), "é");
        assert_eq!(text(&[4, 5]), "<bos><0x+1>");
    }

    #[test]
    fn types_are_integers_of_any_width() {
        let tokens = ["<0x0A>", "\u{2581}a", "\u{2581}b", "<0x0B>"];
        // Array elements: value type, and the little-endian bytes of byte, control, normal, normal.
        let wide = |each: usize| {
            let widen = |n: u8| (0..each).map(move |at| if at == 0 { n } else { 0 });
            [6, 3, 1, 1]
                .into_iter()
                .flat_map(widen)
                .collect::<Vec<u8>>()
        };
        for (kind, each) in [
            (0, 1),
            (1, 1),
            (2, 2),
            (3, 2),
            (4, 4),
            (5, 4),
            (10, 8),
            (11, 8),
        ] {
            let found = typed("llama", &tokens, |w| w.numbers(TYPES, kind, 4, &wide(each)));
            let text = found.expect("sound").text(&[0, 1, 2, 3]);
            let expected = "\n\u{2581}a b<0x0B>";
            assert_eq!(text.as_deref(), Some(expected), "value type {kind}");
        }
    }

    #[test]
    fn types_that_are_none_are_refused() {
        let refused = |types: fn(Writer) -> Writer, words: &str| {
            let error = typed("gpt2", &["a", "b"], types).expect_err("no type");
            assert!(error.to_string().contains(words), "{error}");
        };
        let ones = |w: Writer| w.numbers(TYPES, 6, 2, &[1f32.to_le_bytes(); 2].concat());
        refused(
            ones,
            "the type of token 0 is 1.0, not an integer from 0 to 6",
        );
        refused(|w| w.numbers(TYPES, 7, 2, &[1, 1]), "token 0 is a Boolean");
        refused(|w| w.i32s(TYPES, &[1, -1]), "the type of token 1 is -1");
        refused(|w| w.i32s(TYPES, &[0, 7]), "the type of token 1 is 7");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let error = vocabulary("bert", &["a"], &[1]).expect_err("not supported");
        assert!(error.to_string().contains("`bert`"), "{error}");
        let error = vocabulary("\x1b[2J", &["a"], &[1]).expect_err("not supported");
        assert!(error.to_string().contains(r"`\u{1b}[2J`"), "{error}");
        let error = vocabulary("gpt2", &["a", "b"], &[1]).expect_err("too few");
        assert!(
            error.to_string().contains("1 types for 2 tokens"),
            "{error}"
        );
        let header = Header::parse(&Writer::new().bytes()).expect("sound");
        assert_eq!(Vocabulary::new(&header).expect("sound"), None);
    }
}
