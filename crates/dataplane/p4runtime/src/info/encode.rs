//! Encodes a P4Info in text form.
//!
//! An unknown field is an error: without it the switch would get a program that differs from the file.

use causeway_p4::text::{Message, Value};
use prost::encoding::{WireType, encode_key, encode_varint};

use super::InfoError;
use super::fields::{Field, Kind, P4_INFO};

/// The encoding of a P4Info in text form.
///
/// # Errors
/// The text is not a P4Info.
pub(super) fn encode(text: &str) -> Result<Vec<u8>, InfoError> {
    let mut encoded = Vec::new();
    message(&Message::parse(text)?, P4_INFO, "P4Info", &mut encoded)?;
    Ok(encoded)
}

fn message(message: &Message, fields: &[Field], path: &str, out: &mut Vec<u8>) -> Result<(), InfoError> {
    for (name, value) in message.fields() {
        let known = fields.iter().find(|field| field.name == name);
        let known = known
            .ok_or_else(|| InfoError::UnknownField { message: path.to_owned(), field: name.to_owned() })?;
        field(value, known, &format!("{path}.{name}"), out)?;
    }
    Ok(())
}

fn field(value: &Value, field: &Field, path: &str, out: &mut Vec<u8>) -> Result<(), InfoError> {
    let wrong = |expected| InfoError::Value { field: path.to_owned(), value: shown(value), expected };
    match (field.kind, value) {
        (Kind::Message(fields), Value::Message(inner)) => {
            let mut encoded = Vec::new();
            message(inner, fields, path, &mut encoded)?;
            octets(field.number, &encoded, out);
        }
        (Kind::Text, Value::Bytes(bytes)) if std::str::from_utf8(bytes).is_ok() => {
            octets(field.number, bytes, out);
        }
        (Kind::Octets, Value::Bytes(bytes)) => octets(field.number, bytes, out),
        (Kind::Number, Value::Plain(number)) => {
            let number: i64 = number.parse().map_err(|_| wrong("number"))?;
            // Negative ones are sign-extended to ten octets, whatever their width.
            varint(field.number, number as u64, out);
        }
        (Kind::Bool, Value::Plain(word)) => {
            let is_true = word.parse::<bool>().map_err(|_| wrong("true or false"))?;
            varint(field.number, u64::from(is_true), out);
        }
        (Kind::Enum(names), Value::Plain(name)) => {
            let number = names.iter().find(|(known, _)| known == name).map(|(_, number)| *number);
            varint(field.number, number.ok_or_else(|| wrong("name of the enumeration"))?, out);
        }
        (kind, _) => return Err(wrong(kind.name())),
    }
    Ok(())
}

fn octets(number: u32, octets: &[u8], out: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(octets.len() as u64, out);
    out.extend_from_slice(octets);
}

fn varint(number: u32, value: u64, out: &mut Vec<u8>) {
    encode_key(number, WireType::Varint, out);
    encode_varint(value, out);
}

fn shown(value: &Value) -> String {
    match value {
        Value::Plain(word) => word.clone(),
        Value::Bytes(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Value::Message(_) => "a message".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a table with an escaped name, a negative number and an enumeration.
    // Output: the octets that the encoding of protocol buffers gives them.
    #[test]
    fn each_kind_is_encoded() {
        let text = r#"tables { preamble { id: 300 name: "a\"b" } size: -1 is_const_table: true
            match_fields { match_type: LPM } }"#;
        let expected: &[u8] = &[
            0x12, 29, // tables
            0x0a, 8, 0x08, 0xac, 0x02, 0x12, 3, b'a', b'"', b'b', // preamble
            0x40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, // size
            0x50, 1, // is_const_table
            0x12, 2, 0x28, 3, // match_fields
        ];
        let mut expected = expected.to_vec();
        expected[1] = u8::try_from(expected.len() - 2).unwrap();
        assert_eq!(encode(text).unwrap(), expected);
    }

    // Input:  a misspelt field, a value of another type, an unknown name of an enumeration.
    // Output: the path to it, and the expected type.
    #[test]
    fn what_a_p4info_does_not_have_is_refused() {
        let error_of = |text: &str| encode(text).unwrap_err().to_string();
        assert_eq!(error_of("tables { sise: 4 }"), "P4Info.tables has no field sise");
        assert_eq!(error_of("tables { size: \"4\" }"), "P4Info.tables.size: expected number, found \"4\"");
        assert_eq!(
            error_of("tables { match_fields { match_type: SOME } }"),
            "P4Info.tables.match_fields.match_type: expected name of the enumeration, found SOME"
        );
    }
}
