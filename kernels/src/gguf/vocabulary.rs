//! The text of tokens. Turning text into tokens is not done here.

use super::value::Strings;
use super::{GgufError, Header, Numbers, Value};

/// The metadata key of the vocabulary.
pub(super) const TOKENS: &str = "tokenizer.ggml.tokens";
const MODEL: &str = "tokenizer.ggml.model";
const TYPES: &str = "tokenizer.ggml.token_type";

/// Token types, as the metadata numbers them: text to be shown as it is.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
/// A token that is one byte.
const BYTE: i64 = 6;

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
        let mut kinds = types.into_iter().flat_map(Numbers::iter);
        let alphabet = Alphabet::new();
        let mut pieces = Strings::default();
        for n in 0..tokens.len() {
            let token = tokens.get(n).unwrap_or_default();
            let piece = match (spelling, kinds.next()) {
                (_, Some(Value::Signed(CONTROL | USER_DEFINED))) => token.to_vec(),
                (Spelling::ByteLevel, _) => alphabet.bytes(token),
                (Spelling::SentencePiece, Some(Value::Signed(BYTE))) => byte(token),
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

/// The types of the tokens; a file may have none.
fn types(header: &Header, tokens: usize) -> Result<Option<&Numbers>, GgufError> {
    match header.get(TYPES) {
        None => Ok(None),
        Some(Value::Numbers(types)) if types.len() == tokens => Ok(Some(types)),
        Some(Value::Numbers(types)) => {
            Err(header.wrong(TYPES, format!("{} types for {tokens} tokens", types.len())))
        }
        Some(other) => Err(header.wrong(TYPES, format!("{}, not numbers", other.kind()))),
    }
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
        let writer = Writer::new()
            .string(MODEL, model)
            .strings(TOKENS, tokens)
            .i32s(TYPES, types);
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
    fn what_does_not_fit_is_named() {
        let error = vocabulary("bert", &["a"], &[1]).expect_err("not supported");
        assert!(error.to_string().contains("`bert`"), "{error}");
        let error = vocabulary("gpt2", &["a", "b"], &[1]).expect_err("too few");
        assert!(
            error.to_string().contains("1 types for 2 tokens"),
            "{error}"
        );
        let header = Header::parse(&Writer::new().bytes()).expect("sound");
        assert_eq!(Vocabulary::new(&header).expect("sound"), None);
    }
}
