//! The parser of the switch, in software.

use super::layout::{Content, Field, MESSAGE, Next, Place, behind, fields, form, forms, may_be_zero};

/// The values of a message. A field that is not set is zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fields(Vec<(Field, u128)>);

impl Fields {
    fn none() -> Self {
        Self(fields().iter().map(|field| (*field, 0)).collect())
    }

    /// The value of a field; zero if there is no such field.
    pub fn get(&self, name: &str) -> u128 {
        self.0.iter().find(|(field, _)| field.name == name).map_or(0, |(_, value)| *value)
    }

    /// In which form an IE is there; 0: it is not.
    pub fn form(&self, name: &str) -> u128 {
        let mut words = forms().iter();
        let found = words.find_map(|word| {
            let (field, bit) = word.fields.iter().find(|(field, _)| field.name == name)?;
            Some(self.get(word.name) >> bit & ((1 << field.bits) - 1))
        });
        found.unwrap_or(0)
    }

    /// All fields, in their order.
    pub fn all(&self) -> &[(Field, u128)] {
        &self.0
    }

    /// The same with another value of the field of this name, if there is such a field; the form of its IE stays.
    #[must_use]
    pub fn with(mut self, name: &str, value: u128) -> Self {
        if let Some(place) = self.0.iter_mut().find(|(field, _)| field.name == name) {
            place.1 = value;
        }
        self
    }

    /// The IEs that the parser makes these fields of.
    ///
    /// ```
    /// use causeway_accel::switch::parse;
    ///
    /// // A modification with Update FAR: FAR ID 70,000, to be dropped.
    /// let octets = [0, 10, 0, 13, 0, 108, 0, 4, 0, 1, 17, 112, 0, 44, 0, 1, 1];
    /// let fields = parse(&octets).fields;
    /// assert_eq!(fields.encode(), octets);
    /// assert_eq!(fields.with("far_id", 4_465).encode()[8..12], [0, 1, 17, 113]);
    /// ```
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(MESSAGE, &mut out);
        out
    }

    fn put(&self, places: &[Place], out: &mut Vec<u8>) {
        for place in places {
            // An IE that must be there and has one form has none that is stored.
            let stored = form(&place.form()).map(|(_, _)| self.form(place.form().name) as usize);
            let Some(at) = stored.unwrap_or(1).checked_sub(1) else { continue };
            let (ie, mut value) = (place.types().get(at).copied().unwrap_or(place.ie), Vec::new());
            let length = match &place.content {
                Content::Value(_, forms) => {
                    for field in forms.get(at).copied().unwrap_or_default() {
                        let octets = self.get(field.name).to_be_bytes();
                        value.extend_from_slice(&octets[octets.len() - field.bits as usize / 8..]);
                    }
                    value.len() as u16
                }
                Content::Group { length, members, .. } => {
                    self.put(members, &mut value);
                    self.get(length.name) as u16
                }
            };
            out.extend_from_slice(&ie.to_be_bytes());
            out.extend_from_slice(&length.to_be_bytes());
            out.append(&mut value);
        }
    }

    fn set(&mut self, field: &Field, value: u128) {
        if let Some(place) = self.0.iter_mut().find(|(of, _)| of == field) {
            place.1 = value;
        }
    }

    /// Notes the form of an IE.
    fn note(&mut self, kind: &Field, at: usize) {
        let Some((word, bit)) = form(kind) else { return };
        if let Some(place) = self.0.iter_mut().find(|(of, _)| of.name == word) {
            place.1 |= (at as u128) << bit;
        }
    }
}

/// What the parser makes of the IEs of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parsed {
    /// The fields, up to the IE at which the parser stopped.
    pub fields: Fields,
    /// The message is not of the class.
    pub is_misfit: bool,
}

/// Parses the octets behind the header of a message. Lengths of groups are stored, not checked: they are keys of the switch's
/// policies.
///
/// ```
/// use causeway_accel::switch::parse;
///
/// // Node ID and a Create PDR without a PDR ID.
/// let parsed = parse(&[0, 60, 0, 5, 0, 192, 0, 2, 21, 0, 1, 0, 0]);
/// assert!(parsed.is_misfit);
/// assert_eq!(parsed.fields.get("node"), 0xc000_0215);
/// ```
pub fn parse(octets: &[u8]) -> Parsed {
    let mut fields = Fields::none();
    let is_misfit = follow(octets, &mut fields).is_none();
    Parsed { fields, is_misfit }
}

fn follow(mut rest: &[u8], fields: &mut Fields) -> Option<()> {
    let first = Next::of(MESSAGE, &Next::end());
    let mut next = &first;
    loop {
        if rest.is_empty() {
            return next.may_end.then_some(());
        }
        let (head, value) = rest.split_first_chunk::<4>()?;
        let [ie, length] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_be_bytes);
        let place = *next.places.iter().find(|place| place.types().contains(&ie))?;
        match &place.content {
            Content::Value(kind, forms) => {
                let is_it = |form: &&[Field]| {
                    form.iter().map(|field| field.bits / 8).sum::<u32>() == u32::from(length)
                };
                let at = forms.iter().position(is_it)?;
                let (mut octets, left) = value.split_at_checked(length.into())?;
                fields.note(kind, at + 1);
                for field in forms[at] {
                    let (own, others) = octets.split_at_checked(field.bits as usize / 8)?;
                    let number = own.iter().fold(0, |value, octet| value << 8 | u128::from(*octet));
                    fields.set(field, number);
                    if number == 0 && !may_be_zero(field) {
                        return None;
                    }
                    octets = others;
                }
                rest = left;
            }
            Content::Group { length: of, kind, .. } => {
                let at = place.types().iter().position(|kind| *kind == ie)?;
                fields.note(kind, at + 1);
                fields.set(of, length.into());
                rest = value;
            }
        }
        next = behind(place)?;
    }
}
