//! The P4 text of the layout: `p4/blocks/pfcp_ies.p4` and `p4/blocks/pfcp_parser.p4`.

use std::collections::BTreeMap;
use std::fmt::Write;

use causeway_pfcp::ie_name;

use super::layout::{
    Content, Field, Form, MESSAGE, Next, Part, Place, fields, form, forms, may_be_zero, walk,
};

/// Octets of type and length.
const HEAD: u32 = 4;

const NOTE: &str =
    "// Generated from the codec's IEs (crates/dataplane/accel/src/switch): run `scripts/p4 pfcp`.\n";

/// The name of a place: that of its form without the first part.
fn name(place: &Place) -> &'static str {
    let form = place.form().name;
    form.strip_prefix("form_").unwrap_or(form)
}

fn octets(form: Form) -> u32 {
    form.iter().map(|field| field.bits / 8).sum()
}

/// The headers of IEs, the fields of their values, and the keys of policies.
pub fn ies() -> String {
    let mut text = format!(
        "// The IEs of the PFCP session messages that the switch answers, one header for each length of a value; and the fields that the\n\
         // parser stores values in. A word `forms_` says which IEs are there, and in which of their lengths or of which of their types.\n//\n{NOTE}\n"
    );
    text.push_str("header pfcp_group_h {\n    bit<16> ie;\n    bit<16> length;\n}\n");
    walk(MESSAGE, &Next::end(), &mut |place, _, _| {
        let Content::Value(_, forms) = &place.content else { return };
        let ie = ie_name(place.ie).unwrap_or_default();
        for (at, form) in forms.iter().enumerate() {
            let _ = write!(
                text,
                "\n// {ie}, {} octets.\nheader pfcp_{}_{}_h {{\n    bit<32> head;\n",
                octets(form),
                name(place),
                at + 1
            );
            for field in *form {
                let _ = writeln!(text, "    bit<{}> {};", field.bits, field.name);
            }
            text.push_str("}\n");
        }
    });
    text.push_str("\nstruct pfcp_t {\n");
    for Field { name, bits, .. } in fields() {
        let _ = writeln!(text, "    bit<{bits}> {name};");
    }
    text.push_str("}\n");
    text.push('\n');
    for word in forms() {
        for (field, bit) in &word.fields {
            let name = field.name.trim_start_matches("form_").to_uppercase();
            let mask = ((1 << field.bits) - 1) << bit;
            let _ = writeln!(
                text,
                "#define PFCP_NO_{name} 0 &&& 0x{mask:x}\n#define PFCP_HAS_{name} 0x{:x} &&& 0x{mask:x}",
                1 << bit
            );
        }
    }
    for (part, label) in
        [(Part::Pdr, "PDR"), (Part::Far, "FAR"), (Part::Qer, "QER"), (Part::Message, "MESSAGE")]
    {
        let _ = write!(text, "\n#define PFCP_{label}_KEY");
        for field in fields().iter().filter(|field| field.part == part) {
            let _ = write!(text, " \\\n    meta.pfcp.{0} : exact @name(\"{0}\");", field.name);
        }
        text.push('\n');
    }
    text.push_str("\n#define PFCP_CLEAR");
    for field in fields() {
        let _ = write!(text, " \\\n    meta.pfcp.{} = 0;", field.name);
    }
    text.push('\n');
    text
}

/// The form of an IE: bits of its part's word.
fn note(text: &mut String, kind: &Field, at: usize) {
    if let Some((word, bit)) = form(kind) {
        let _ = writeln!(text, "    meta.pfcp.{word} = meta.pfcp.{word} | 0x{:x};", at << bit);
    }
}

/// The rows of a state that looks at the next type and length.
fn rows(next: &Next) -> String {
    let mut text = String::new();
    for place in &next.places {
        match &place.content {
            Content::Value(_, forms) => {
                for (at, form) in forms.iter().enumerate() {
                    let _ = writeln!(
                        text,
                        "        0x{:04x}{:04x}: pfcp_{}_{};",
                        place.ie,
                        octets(form),
                        name(place),
                        at + 1
                    );
                }
            }
            Content::Group { .. } => {
                for (at, ie) in place.types().iter().enumerate() {
                    let _ = writeln!(
                        text,
                        "        0x{ie:04x}0000 &&& 0xffff0000: pfcp_{}_{};",
                        name(place),
                        at + 1
                    );
                }
            }
        }
    }
    text
}

/// States that choose what comes next, each once.
#[derive(Default)]
struct Choices {
    names: BTreeMap<(String, bool), String>,
    text: String,
}

impl Choices {
    /// The name of the state behind this place.
    fn behind(&mut self, place: &str, next: &Next) -> String {
        let rows = rows(next);
        if rows.is_empty() {
            return "pfcp_last".to_owned();
        }
        if let Some(known) = self.names.get(&(rows.clone(), next.may_end)) {
            return known.clone();
        }
        let first = format!("pfcp_behind_{place}");
        self.names.insert((rows.clone(), next.may_end), first.clone());
        let looking = if next.may_end {
            let _ = write!(
                self.text,
                "\nstate {first} {{\n    transition select(PFCP_REST) {{\n        PFCP_NOTHING: accept;\n        default: {first}_ie;\n    }}\n}}\n"
            );
            format!("{first}_ie")
        } else {
            first.clone()
        };
        let _ = write!(
            self.text,
            "\nstate {looking} {{\n    bit<32> head = pkt.lookahead<bit<32>>();\n    transition select(head) {{\n{rows}        default: pfcp_misfit;\n    }}\n}}\n"
        );
        first
    }
}

/// The states of the parser: from `pfcp_body` on, to `accept`.
pub fn states() -> String {
    let mut text = format!(
        "// The states that parse the IEs of a PFCP session message, in the order of TS 29.244; included into the parser of each main. They begin\n\
         // with `pfcp_body`, behind the header, and end with `accept`; with `meta.is_misfit`, the message is not of the class.\n//\n\
         // The target defines PFCP_REST_LESS(octets), PFCP_REST and PFCP_NOTHING: the octets of the message that are left, set by the main.\n//\n{NOTE}"
    );
    let mut choices = Choices::default();
    let first = Next::of(MESSAGE, &Next::end());
    let start = choices.behind("header", &first);
    let _ = write!(text, "\nstate pfcp_body {{\n    transition {start};\n}}\n");
    text.push_str("\nstate pfcp_misfit {\n    meta.is_misfit = 1;\n    transition accept;\n}\n");
    text.push_str("\n// Nothing may follow.\nstate pfcp_last {\n    transition select(PFCP_REST) {\n        PFCP_NOTHING: accept;\n        default: pfcp_misfit;\n    }\n}\n");
    walk(MESSAGE, &Next::end(), &mut |place, next, inside| {
        let name = name(place);
        let behind = choices.behind(name, inside.unwrap_or(next));
        match &place.content {
            Content::Value(kind, forms) => {
                for (at, form) in forms.iter().enumerate() {
                    let at = at + 1;
                    let _ = write!(
                        text,
                        "\nstate pfcp_{name}_{at} {{\n    pfcp_{name}_{at}_h ie;\n    pkt.extract(ie);\n    PFCP_REST_LESS({})\n",
                        HEAD + octets(form)
                    );
                    note(&mut text, kind, at);
                    for field in *form {
                        let _ = writeln!(text, "    meta.pfcp.{0} = ie.{0};", field.name);
                    }
                    match form.iter().find(|field| !may_be_zero(field)) {
                        Some(field) => {
                            let _ = write!(
                                text,
                                "    transition select(ie.{}) {{\n        0: pfcp_misfit;\n        default: {behind};\n    }}\n}}\n",
                                field.name
                            );
                        }
                        None => {
                            let _ = write!(text, "    transition {behind};\n}}\n");
                        }
                    }
                }
            }
            Content::Group { length, kind, .. } => {
                for at in 1..=place.types().len() {
                    let _ = write!(
                        text,
                        "\nstate pfcp_{name}_{at} {{\n    pfcp_group_h ie;\n    pkt.extract(ie);\n    PFCP_REST_LESS({HEAD})\n"
                    );
                    note(&mut text, kind, at);
                    let _ = writeln!(text, "    meta.pfcp.{} = ie.length;", length.name);
                    let _ = write!(text, "    transition {behind};\n}}\n");
                }
            }
        }
    });
    text.push_str(&choices.text);
    text
}
