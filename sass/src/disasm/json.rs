//! Reads nvdisasm's JSON as a stream: `[meta, [{"function-name", "sass-instructions": [{"predicate"?,
//! "opcode", …}]}]]`. Nothing of it is kept but the counts of one function at a time.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// The instructions of one listed function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionCensus {
    /// Its mangled name.
    pub name: String,
    /// Instructions without padding.
    pub total: u64,
    /// Padding NOPs.
    pub padding: u64,
    /// Instructions by opcode with modifiers.
    pub opcodes: HashMap<String, u64>,
}

/// Reads a whole listing and hands each function to `each`.
pub(super) fn read(
    input: impl Read,
    mut each: impl FnMut(FunctionCensus),
) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_reader(input);
    Listing(&mut each).deserialize(&mut reader)?;
    reader.end()
}

/// Whether an instruction with this opcode, when not predicated, never falls through.
fn ends_path(opcode: &str) -> bool {
    let stem = opcode.split('.').next().unwrap_or(opcode);
    matches!(
        stem,
        "EXIT" | "BRA" | "BRX" | "JMP" | "JMX" | "RET" | "KILL" | "BRXU" | "JMXU"
    )
}

/// Counts while instructions come in.
#[derive(Default)]
struct Tally {
    census: FunctionCensus,
    /// NOPs since the last other instruction.
    nops: u64,
    /// Whether the last other instruction can fall through.
    falls_through: bool,
    /// The current instruction's opcode; kept to save allocations.
    opcode: String,
    predicated: bool,
}

impl Tally {
    fn instruction(&mut self) {
        if self.opcode == "NOP" && !self.predicated {
            self.nops += 1;
            return;
        }
        self.count_nops();
        self.falls_through = self.predicated || !ends_path(&self.opcode);
        self.census.total += 1;
        match self.census.opcodes.get_mut(&self.opcode) {
            Some(count) => *count += 1,
            None => {
                self.census.opcodes.insert(self.opcode.clone(), 1);
            }
        }
    }

    /// Counts the pending NOPs as instructions.
    fn count_nops(&mut self) {
        if self.nops > 0 {
            self.census.total += self.nops;
            *self.census.opcodes.entry("NOP".to_owned()).or_default() += self.nops;
            self.nops = 0;
        }
    }

    fn finish(mut self) -> FunctionCensus {
        if self.falls_through {
            self.count_nops();
        }
        self.census.padding = self.nops;
        self.census
    }
}

/// Implements `DeserializeSeed` by the visitor itself.
macro_rules! seed {
    ($name:ident, $how:ident, [$($generics:tt)*], [$($args:tt)*], $value:ty) => {
        impl<'de, $($generics)*> DeserializeSeed<'de> for $name<$($args)*> {
            type Value = $value;

            fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<$value, D::Error> {
                input.$how(self)
            }
        }
    };
}

struct Listing<'f, F>(&'f mut F);
seed!(Listing, deserialize_seq, ['f, F: FnMut(FunctionCensus)], ['f, F], ());

impl<'de, F: FnMut(FunctionCensus)> Visitor<'de> for Listing<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nvdisasm's listing, an array of a header and functions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        seq.next_element::<IgnoredAny>()?
            .ok_or_else(|| A::Error::custom("the header is missing"))?;
        seq.next_element_seed(Functions(self.0))?
            .ok_or_else(|| A::Error::custom("the functions are missing"))?;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

struct Functions<'f, F>(&'f mut F);
seed!(Functions, deserialize_seq, ['f, F: FnMut(FunctionCensus)], ['f, F], ());

impl<'de, F: FnMut(FunctionCensus)> Visitor<'de> for Functions<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of functions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(census) = seq.next_element_seed(Function)? {
            (self.0)(census);
        }
        Ok(())
    }
}

struct Function;
seed!(Function, deserialize_map, [], [], FunctionCensus);

impl<'de> Visitor<'de> for Function {
    type Value = FunctionCensus;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FunctionCensus, A::Error> {
        let mut tally = Tally {
            falls_through: true,
            ..Tally::default()
        };
        while let Some(field) = map.next_key_seed(FieldName)? {
            match field {
                Field::Name => tally.census.name = map.next_value()?,
                Field::Instructions => map.next_value_seed(Instructions(&mut tally))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(tally.finish())
    }
}

struct Instructions<'t>(&'t mut Tally);
seed!(Instructions, deserialize_seq, ['t], ['t], ());

impl<'de> Visitor<'de> for Instructions<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of instructions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Instruction(&mut *self.0))?.is_some() {}
        Ok(())
    }
}

struct Instruction<'t>(&'t mut Tally);
seed!(Instruction, deserialize_map, ['t], ['t], ());

impl<'de> Visitor<'de> for Instruction<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an instruction")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.opcode.clear();
        self.0.predicated = false;
        while let Some(field) = map.next_key_seed(FieldName)? {
            match field {
                Field::Opcode => map.next_value_seed(Text(&mut self.0.opcode))?,
                Field::Predicate => {
                    map.next_value::<IgnoredAny>()?;
                    self.0.predicated = true;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if self.0.opcode.is_empty() {
            return Err(A::Error::missing_field("opcode"));
        }
        self.0.instruction();
        Ok(())
    }
}

/// The keys that matter.
enum Field {
    Name,
    Instructions,
    Opcode,
    Predicate,
    Other,
}

struct FieldName;
seed!(FieldName, deserialize_str, [], [], Field);

impl Visitor<'_> for FieldName {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Field, E> {
        Ok(match key {
            "function-name" => Field::Name,
            "sass-instructions" => Field::Instructions,
            "opcode" => Field::Opcode,
            "predicate" => Field::Predicate,
            _ => Field::Other,
        })
    }
}

/// A string that is copied into a buffer.
struct Text<'t>(&'t mut String);
seed!(Text, deserialize_str, ['t], ['t], ());

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use super::*;

    fn censuses(text: &str) -> serde_json::Result<Vec<FunctionCensus>> {
        let mut found = Vec::new();
        read(text.as_bytes(), |census| found.push(census))?;
        Ok(found)
    }

    fn listing(instructions: &str) -> String {
        format!(
            r#"[{{"x":[1]}},[{{"function-name":"k","start":0,"sass-instructions":[{instructions}]}}]]"#
        )
    }

    #[test]
    fn leaves_out_padding_only() {
        let text = listing(
            r#"{"opcode":"NOP"},{"predicate":"@P0","opcode":"EXIT"},{"opcode":"NOP"},{"opcode":"LDS.64","operands":"R0,[R1]"},
               {"opcode":"EXIT"},{"opcode":"BRA","operands":"0x60"},{"opcode":"NOP"},{"opcode":"NOP"}"#,
        );
        let found = &censuses(&text).unwrap()[0];
        assert_eq!(
            (found.total, found.padding, found.opcodes["NOP"]),
            (6, 2, 2)
        );
        assert_eq!(found.opcodes["EXIT"], 2);
        assert_eq!(found.name, "k");
    }

    #[test]
    fn counts_nops_that_are_reached() {
        for last in [
            r#"{"opcode":"MOV"}"#,
            r#"{"predicate":"@P0","opcode":"BRA"}"#,
        ] {
            let found = &censuses(&listing(&format!(r#"{last},{{"opcode":"NOP"}}"#))).unwrap()[0];
            assert_eq!((found.total, found.padding), (2, 0));
        }
    }

    #[test]
    fn refuses_other_documents() {
        for text in [
            "",
            "{}",
            "[]",
            "[{}]",
            "[{},{}]",
            "[{},[{\"sass-instructions\":[{}]}]]",
            "[{},[]",
            "[{},[]] x",
        ] {
            assert!(censuses(text).is_err(), "{text}");
        }
    }
}
