//! What profile `direct` has of its own: rules by the number of their session, and classes of filters.

use causeway_switch::driver::{FieldMatch, Update};

use super::{Filter, Rule, RuleAction, tunnel};
use crate::bench::{Bench, Named};

/// One direction of a session, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Session {
    pub(super) is_uplink: bool,
    pub(super) number: u32,
}

/// What the entry of a session's number says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Simple {
    teid: u32,
    qfi: u8,
    meter: u16,
    action: RuleAction,
}

impl Session {
    pub(super) fn key(self) -> [Named<FieldMatch>; 1] {
        [("session", FieldMatch::Exact(self.number.into()))]
    }

    /// Of the table of its numbers.
    fn index(self) -> [Named<FieldMatch>; 1] {
        let bits = if self.is_uplink { 0x1_ffff } else { 0xffff };
        [("session", FieldMatch::Exact((self.number & bits).into()))]
    }

    fn table(self) -> (&'static str, &'static str) {
        match (self.is_uplink, self.number >> 16 & 3) {
            (true, 0 | 1) => ("ul_sessions_low", "set_uplink"),
            (true, _) => ("ul_sessions_high", "set_uplink"),
            (false, 0) => ("dl_sessions_low", "set_downlink"),
            (false, 1) => ("dl_sessions_middle", "set_downlink"),
            (false, _) => ("dl_sessions_high", "set_downlink"),
        }
    }
}

impl Bench {
    /// Where `direct` counts a rule: banks hold sessions' uplink, then their downlink from the next number that 1,024 divides.
    pub(super) fn cell(&self, side: &str, id: u32) -> (String, u32) {
        if id >> 23 == 1 {
            return (format!("{side}_rules_0"), id & 0x3f_ffff);
        }
        let banks = (0..).map(|number| format!("{side}_{number}"));
        let banks: Vec<(String, u32)> = banks
            .map_while(|bank| {
                let found = self.program.counters.iter().find(|counter| counter.name == bank)?;
                Some((bank, found.size as u32))
            })
            .collect();
        let counters: u32 = banks.iter().map(|(_, size)| size).sum();
        let mut place = (id >> 22) * (counters / 2).next_multiple_of(1024) + (id & 0x3_ffff);
        let mut found = banks.into_iter().skip_while(|(_, size)| {
            let is_before = place >= *size;
            place -= if is_before { *size } else { 0 };
            is_before
        });
        let (bank, _) = found.next().unwrap();
        (bank, place)
    }

    pub(super) fn uplink_by_index(&mut self, teid: u32, qfi: u8, meter: u16, action: RuleAction) -> Rule {
        let session = Session { is_uplink: true, number: teid & 0x3_ffff };
        if self.sessions.contains_key(&session) {
            return self.rule("ul_to_n6_simple", &tunnel(teid, qfi), 1, "", meter, action);
        }
        let data = [
            ("generation", (teid >> 18 & 0xf).into()),
            ("qfi", qfi.into()),
            self.template("ul_template", action),
            ("meter_index", meter.into()),
        ];
        self.add(session.table().0, &session.index(), "set_uplink", &data);
        self.sessions.insert(session, Some(Simple { teid, qfi, meter, action }));
        self.counted(teid, action)
    }

    pub(super) fn downlink_by_index(&mut self, ue: u32, meter: u16, action: RuleAction) -> Rule {
        let session = Session { is_uplink: false, number: ue | 0x41_0000 };
        if self.sessions.contains_key(&session) {
            return self.rule("dl_from_n6_simple", &session.key(), 1, "", meter, action);
        }
        let data = [
            ("teid", action.teid().into()),
            self.template("dl_template", action),
            ("meter_index", meter.into()),
        ];
        self.add(session.table().0, &session.index(), "set_downlink", &data);
        self.sessions.insert(session, Some(Simple { teid: 0, qfi: 0, meter, action }));
        self.counted(session.number, action)
    }

    /// The entry of a session's number says that it has filters, too: its simple rule gets an entry of its own.
    pub(super) fn classify(&mut self, session: Session) {
        let was = self.sessions.insert(session, None);
        if matches!(was, Some(None)) {
            return;
        }
        let none = [("generation", 0), ("qfi", 0), ("teid", 0), ("template", 15), ("meter_index", 0)];
        let (table, action) = session.table();
        let entry = self.entry(table, &session.index(), 1, action, &none);
        let Some(Some(simple)) = was else {
            return self.write(&Update::Insert(entry));
        };
        self.write(&Update::Modify(entry));
        let rule = if session.is_uplink {
            let keys = tunnel(simple.teid, simple.qfi);
            self.rule("ul_to_n6_simple", &keys, 1, "", simple.meter, simple.action)
        } else {
            self.rule("dl_from_n6_simple", &session.key(), 1, "", simple.meter, simple.action)
        };
        let was = if session.is_uplink { simple.teid } else { session.number };
        self.moved.insert(was, rule);
    }

    /// A class of filters, by a row of its own.
    pub(super) fn class(
        &mut self,
        table: &str,
        filter: Filter,
        is_uplink: bool,
        priority: i32,
    ) -> Named<FieldMatch> {
        self.classes += 1;
        let class = self.classes;
        let mut keys = filter.keys(is_uplink, "remote_address");
        keys.push(filter.family());
        let data = [("filter_class", class.into())];
        self.add_at(&filter.table(table), &keys, priority, "set_class", &data);
        ("filter_class", FieldMatch::Exact(class.into()))
    }

    /// A template, by its number.
    fn template(&mut self, table: &str, action: RuleAction) -> Named<u128> {
        // Those below 16 do not forward.
        self.templates += 1;
        let number = if action.forwards() { 16 + self.templates } else { self.templates };
        let (action, data) = action.said(self);
        self.add(table, &[("template", FieldMatch::Exact(number.into()))], action, &data);
        ("template", number.into())
    }
}
