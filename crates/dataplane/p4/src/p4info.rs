//! P4Info files (P4Runtime), limited to the needs of the contract.
//!
//! Names are aliases: unique, without the names of the enclosing controls, which differ by target.

use thiserror::Error;

use crate::text::{Message, TextError};
use crate::{MatchKind, Unit};

/// The contents of a P4Info, in the order of the ids.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct P4Info {
    /// See [`crate::Table`].
    pub tables: Vec<Table>,
    /// See [`crate::Action`].
    pub actions: Vec<Action>,
    /// Addressed by index, and of tables' entries.
    pub counters: Vec<Counter>,
    /// Addressed by index.
    pub meters: Vec<Meter>,
    /// Addressed by index.
    pub registers: Vec<Register>,
    /// Serializable enumerations, in the order of their names.
    pub enums: Vec<Enumeration>,
}

/// A table; see [`crate::Table`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// Entries.
    pub size: u64,
    /// In the order of the program.
    pub keys: Vec<Key>,
    /// Ids of the actions that entries may have.
    pub actions: Vec<u32>,
    /// Its entries are part of the program.
    pub is_const: bool,
}

/// A key of a table.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    /// Unique in its table.
    pub id: u32,
    /// Unique in its table.
    pub name: String,
    /// In bits.
    pub width: u32,
    /// How entries match it.
    pub kind: MatchKind,
}

/// An action; see [`crate::Action`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// Id, name and width of each parameter.
    pub params: Vec<(u32, String, u32)>,
}

/// Counters; see [`crate::Counter`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counter {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// What is counted.
    pub unit: Unit,
    /// How many there are.
    pub size: u64,
    /// The table whose entries are counted.
    pub table: Option<u32>,
}

/// Meters; see [`crate::Meter`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meter {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// What is measured.
    pub unit: Unit,
    /// How many there are.
    pub size: u64,
}

/// Registers; see [`crate::Register`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Register {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// How many cells there are.
    pub size: u64,
    /// Widths in bits.
    pub words: Vec<u32>,
}

/// A serializable enumeration of eight bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enumeration {
    /// As in the program.
    pub name: String,
    /// Name and number of each member, in the order of the program.
    pub members: Vec<(String, u8)>,
}

/// Why a P4Info cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum P4InfoError {
    /// It is no protocol buffer in text form.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A key with a match kind that the contract does not have.
    #[error("table {table}: key {key} is matched as {kind:?}; the contract has EXACT, LPM and TERNARY")]
    MatchKind {
        /// Its alias.
        table: String,
        /// Its name.
        key: String,
        /// As in the file.
        kind: String,
    },
    /// A register whose cells are not one or two words of at most 32 bits.
    #[error(
        "register {register}: its cells are {widths:?} bits; a cell is one or two words of at most 32 bits"
    )]
    Register {
        /// Its alias.
        register: String,
        /// The widths of its members; empty for a type that is no number and no struct of numbers.
        widths: Vec<u64>,
    },
    /// A number out of range.
    #[error("{what} {value} is out of range")]
    Range {
        /// The field.
        what: &'static str,
        /// As in the file.
        value: u64,
    },
}

impl P4Info {
    /// Reads a P4Info in text form.
    ///
    /// # Errors
    /// [`P4InfoError`]: not a P4Info, or one with features that the contract does not have.
    pub fn parse(text: &str) -> Result<Self, P4InfoError> {
        let file = Message::parse(text)?;
        let mut info = Self {
            tables: file.messages("tables").map(table).collect::<Result<_, _>>()?,
            actions: file.messages("actions").map(action).collect::<Result<_, _>>()?,
            counters: Vec::new(),
            meters: file.messages("meters").map(meter).collect::<Result<_, _>>()?,
            registers: file
                .messages("registers")
                .map(|found| register(found, &file.message("type_info")))
                .collect::<Result<_, _>>()?,
            enums: file
                .message("type_info")
                .messages("serializable_enums")
                .map(enumeration)
                .collect::<Result<_, _>>()?,
        };
        for found in file.messages("counters") {
            info.counters.push(counter(found, None)?);
        }
        for found in file.messages("direct_counters") {
            let id = narrow("table id", found.number("direct_table_id"))?;
            let size = info.tables.iter().find(|table| table.id == id).map_or(0, |table| table.size);
            info.counters.push(Counter { size, ..counter(found, Some(id))? });
        }
        info.tables.sort_by_key(|table| table.id);
        info.actions.sort_by_key(|action| action.id);
        info.counters.sort_by_key(|counter| counter.id);
        info.meters.sort_by_key(|meter| meter.id);
        info.registers.sort_by_key(|register| register.id);
        info.enums.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(info)
    }

    /// The name of an action.
    pub fn action(&self, id: u32) -> Option<&Action> {
        self.actions.iter().find(|action| action.id == id)
    }
}

fn narrow(what: &'static str, value: u64) -> Result<u32, P4InfoError> {
    u32::try_from(value).map_err(|_| P4InfoError::Range { what, value })
}

/// Id and alias.
fn preamble(message: &Message) -> Result<(u32, String), P4InfoError> {
    let preamble = message.message("preamble");
    Ok((narrow("id", preamble.number("id"))?, preamble.text("alias")))
}

fn table(message: &Message) -> Result<Table, P4InfoError> {
    let (id, name) = preamble(message)?;
    let keys = message.messages("match_fields").map(|field| key(&name, field)).collect::<Result<_, _>>()?;
    let actions = message
        .messages("action_refs")
        .filter(|reference| reference.text("scope") != "DEFAULT_ONLY")
        .map(|reference| narrow("action id", reference.number("id")))
        .collect::<Result<_, _>>()?;
    let is_const = message.text("is_const_table") == "true";
    Ok(Table { id, size: message.number("size"), keys, actions, is_const, name })
}

fn key(table: &str, field: &Message) -> Result<Key, P4InfoError> {
    let name = field.text("name");
    let kind = match field.text("match_type").as_str() {
        "EXACT" => MatchKind::Exact,
        "LPM" => MatchKind::Lpm,
        "TERNARY" => MatchKind::Ternary,
        other => {
            let kind = other.to_owned();
            return Err(P4InfoError::MatchKind { table: table.to_owned(), key: name, kind });
        }
    };
    let width = narrow("width", field.number("bitwidth"))?;
    Ok(Key { id: narrow("key id", field.number("id"))?, name, width, kind })
}

fn action(message: &Message) -> Result<Action, P4InfoError> {
    let (id, name) = preamble(message)?;
    let param = |param: &Message| {
        let id = narrow("parameter id", param.number("id"))?;
        Ok((id, param.text("name"), narrow("width", param.number("bitwidth"))?))
    };
    Ok(Action {
        id,
        name,
        params: message.messages("params").map(param).collect::<Result<_, P4InfoError>>()?,
    })
}

fn unit(message: &Message) -> Unit {
    match message.message("spec").text("unit").as_str() {
        "PACKETS" => Unit::Packets,
        "BOTH" => Unit::Both,
        // Zero, which is omitted.
        _ => Unit::Bytes,
    }
}

fn counter(message: &Message, table: Option<u32>) -> Result<Counter, P4InfoError> {
    let (id, name) = preamble(message)?;
    Ok(Counter { id, name, unit: unit(message), size: message.number("size"), table })
}

fn meter(message: &Message) -> Result<Meter, P4InfoError> {
    let (id, name) = preamble(message)?;
    Ok(Meter { id, name, unit: unit(message), size: message.number("size") })
}

fn register(message: &Message, types: &Message) -> Result<Register, P4InfoError> {
    let (id, name) = preamble(message)?;
    // A number is unsigned (`bit`) or signed (`int`).
    let width_of = |of: &Message, kind| of.message("bitstring").message(kind).number("bitwidth");
    let bits = |of: &Message| {
        let spec = of.message("type_spec");
        width_of(&spec, "bit").max(width_of(&spec, "int"))
    };
    let structure = message.message("type_spec").message("struct").text("name");
    let widths: Vec<u64> = if structure.is_empty() {
        let preamble = message.message("preamble");
        let annotations: Vec<String> = preamble.texts("annotations").collect();
        words_of(bits(message), annotations.iter().map(String::as_str))
    } else {
        let named = types.messages("structs").filter(|entry| entry.text("key") == structure);
        let values: Vec<Message> = named.map(|entry| entry.message("value")).collect();
        values.iter().flat_map(|value| value.messages("members")).map(bits).collect()
    };
    if !(1..=2).contains(&widths.len()) || !widths.iter().all(|width| (1..=32).contains(width)) {
        return Err(P4InfoError::Register { register: name, widths });
    }
    let words = widths.into_iter().map(|width| narrow("width", width)).collect::<Result<_, _>>()?;
    Ok(Register { id, name, size: message.number("size"), words })
}

/// The widths of the words in a register's cell, which the P4Info has as a number of so many bits. BMv2 has no cells of two words: the annotation `@words(8, 8)` says
/// two that share the number, 64 bits are two of 32 without it, and the upper bits are the second word. An annotation of other bits says nothing.
pub fn words_of<'a>(width: u64, annotations: impl IntoIterator<Item = &'a str>) -> Vec<u64> {
    let words = annotations
        .into_iter()
        .find_map(|text| text.strip_prefix("@words")?.trim().strip_prefix('(')?.strip_suffix(')'));
    let words = words
        .and_then(|text| text.split(',').map(|word| word.trim().parse().ok()).collect::<Option<Vec<u64>>>());
    let is_cell =
        |words: &Vec<u64>| words.iter().try_fold(0_u64, |sum, word| sum.checked_add(*word)) == Some(width);
    match (words.filter(is_cell), width) {
        (Some(words), _) => words,
        (None, 0) => Vec::new(),
        (None, 64) => vec![32, 32],
        (None, width) => vec![width],
    }
}

fn enumeration(entry: &Message) -> Result<Enumeration, P4InfoError> {
    let member = |member: &Message| {
        let value = member.bytes("value").iter().fold(0_u64, |value, octet| value << 8 | u64::from(*octet));
        let value =
            u8::try_from(value).map_err(|_| P4InfoError::Range { what: "member of an enumeration", value });
        Ok((member.text("name"), value?))
    };
    let members =
        entry.message("value").messages("members").map(member).collect::<Result<_, P4InfoError>>()?;
    Ok(Enumeration { name: entry.text("key"), members })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a table with a default-only action, its counters, and an enumeration.
    // Output: the actions of entries, and the numbers of the names.
    #[test]
    fn a_table_is_read_with_its_counter() {
        let text = r#"
            tables { preamble { id: 2 name: "m.t" alias: "t" }
              match_fields { id: 1 name: "teid" bitwidth: 24 match_type: TERNARY }
              action_refs { id: 5 } action_refs { id: 6 scope: DEFAULT_ONLY } size: 64 }
            direct_counters { preamble { id: 9 alias: "c" } spec { unit: BOTH } direct_table_id: 2 }
            type_info { serializable_enums { key: "R" value { members { name: "A" value: "\017" } } } }
        "#;
        let info = P4Info::parse(text).unwrap();
        assert_eq!(info.tables[0].actions, [5]);
        assert_eq!(info.tables[0].keys[0].kind, MatchKind::Ternary);
        assert_eq!((info.counters[0].size, info.counters[0].table), (64, Some(2)));
        assert_eq!(info.enums[0].members, [("A".to_owned(), 15)]);
    }

    // Input:  registers of one word, of a struct of two, of 64 bits, of 48 bits, and of a type that is not there; numbers that an annotation divides into two
    //         words, rightly, into other bits, and with what is no list of numbers.
    // Output: their words; of the former, 48 bits and the type are refused by name. An annotation that is wrong changes nothing.
    #[test]
    fn registers_have_one_or_two_words() {
        let words = |spec: &str| {
            let text = format!(
                "registers {{ preamble {{ id: 7 alias: \"r\" }} type_spec {{ {spec} }} size: 9 }}
                 type_info {{ structs {{ key: \"pair\" value {{
                   members {{ name: \"a\" type_spec {{ bitstring {{ bit {{ bitwidth: 16 }} }} }} }}
                   members {{ name: \"b\" type_spec {{ bitstring {{ bit {{ bitwidth: 32 }} }} }} }} }} }} }}"
            );
            P4Info::parse(&text).map(|info| info.registers[0].words.clone())
        };
        let refused =
            |widths: &[u64]| Err(P4InfoError::Register { register: "r".to_owned(), widths: widths.to_vec() });
        assert_eq!(words("bitstring { bit { bitwidth: 20 } }"), Ok(vec![20]));
        assert_eq!(words("struct { name: \"pair\" }"), Ok(vec![16, 32]));
        assert_eq!(words("bitstring { bit { bitwidth: 64 } }"), Ok(vec![32, 32]));
        assert_eq!(words("bitstring { bit { bitwidth: 48 } }"), refused(&[48]));
        assert_eq!(words("struct { name: \"other\" }"), refused(&[]));
        let text = "registers { preamble { id: 7 alias: \"r\" annotations: \"@brief(1)\" annotations: \"@words(8 , 8)\" }
                    type_spec { bitstring { bit { bitwidth: 16 } } } size: 9 }";
        assert_eq!(P4Info::parse(text).map(|info| info.registers[0].words.clone()), Ok(vec![8, 8]));
        assert_eq!(words_of(20, ["@words(4,16)"]), [4, 16]);
        for wrong in [
            "@words(8, 9)",
            "@words(16, x)",
            "@words()",
            "@words",
            "@words(18446744073709551615, 17)",
            "words(8, 8)",
        ] {
            assert_eq!(words_of(16, [wrong]), [16], "{wrong}");
        }
    }

    // Input:  a key matched by range.
    // Output: an error that names table and key.
    #[test]
    fn a_way_of_matching_without_a_word_is_refused() {
        let text = r#"tables { preamble { alias: "t" } match_fields { name: "k" match_type: RANGE } }"#;
        let said = P4Info::parse(text).unwrap_err().to_string();
        assert!(said.contains("table t") && said.contains("key k"), "{said}");
    }
}
