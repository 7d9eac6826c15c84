//! A switch with routes and a source guard: the model, BMv2, or both, which then do the same.

use std::collections::BTreeMap;

use causeway_switch::Count;
use causeway_switch::driver::{Entry, EntryKey, FieldMatch, MatchKind, Program, Rates, Update};

use crate::bmv2::{self, Bmv2};
use crate::frames::{GNB, PEER, SERVER, SERVER_IPV6, UPF_N3, UPF_N9};
use crate::modelled::Modelled;
use crate::profiles::{self, Profile};
use crate::rules::{Rule, Session, Simple};
use crate::{N3, N6, N9, SOFTWARE, underlay};

/// A key or a parameter by its name.
pub(crate) type Named<T> = (&'static str, T);

/// Octets and packets of a rule before and after QoS enforcement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Usage {
    pub(crate) pre: Count,
    pub(crate) post: Count,
}

pub(crate) struct Bench {
    pub(crate) profile: Profile,
    pub(crate) program: Program,
    pub(crate) model: Option<Modelled>,
    pub(crate) bmv2: Option<Bmv2>,
    /// The last numbers that were given to rules, templates and classes of filters.
    pub(crate) rules: u32,
    pub(crate) templates: u32,
    pub(crate) classes: u32,
    /// Sessions of profile `direct`, with their simple rules while these have no entries of their own.
    pub(crate) sessions: BTreeMap<Session, Option<Simple>>,
    /// Rules of profile `direct` that have got entries of their own since, by the PDR_IDs of before.
    pub(crate) moved: BTreeMap<u32, Rule>,
}

/// Tells a story of every profile with tunnels of IPv4. `test` is its name, with its module.
pub(crate) fn for_all(test: &str, story: impl Fn(&mut Bench) + Sync) {
    for_each(test, |profile| story(&mut Bench::new(profile)));
}

/// Does something for every profile with tunnels of IPv4: here for those that the model runs, and again for all where BMv2 is,
/// whose time goes by in waiting: all at once.
pub(crate) fn for_each(test: &str, does: impl Fn(Profile) + Sync) {
    if !bmv2::is_inside() {
        profiles::all().into_iter().filter(Profile::is_modelled).for_each(does);
        return bmv2::run_inside(test);
    }
    at_once(&profiles::all(), does);
}

/// Does something for these profiles side by side.
pub(crate) fn at_once(profiles: &[Profile], does: impl Fn(Profile) + Sync) {
    std::thread::scope(|scope| {
        for profile in profiles {
            scope.spawn(|| does(*profile));
        }
    });
}

/// Ternary: these bits of a key of so many.
pub(crate) fn exactly(value: impl Into<u128>, width: u32) -> FieldMatch {
    FieldMatch::Ternary { value: value.into(), mask: u128::MAX >> (128 - width) }
}

/// An address as a number.
pub(crate) fn number(address: [u8; 4]) -> u128 {
    u32::from_be_bytes(address).into()
}

/// Octets of both sides' counters.
pub(crate) const fn octets(usage: &Usage) -> (u64, u64) {
    (usage.pre.octets, usage.post.octets)
}

/// Packets of both sides' counters.
pub(crate) const fn packets(usage: &Usage) -> (u64, u64) {
    (usage.pre.packets, usage.post.packets)
}

impl Bench {
    /// The switches that there are for a profile, with routes and the source guard.
    pub(crate) fn new(profile: Profile) -> Self {
        let mut bench = Self::bare(profile);
        bench.add_guard();
        bench.add_routes();
        bench
    }

    /// The switches, without any entry.
    pub(crate) fn bare(profile: Profile) -> Self {
        let program = profile.program();
        let model = profile.is_modelled().then(|| Modelled::new(&program));
        let bmv2 = bmv2::is_inside().then(|| Bmv2::start(&profile, &program));
        Self {
            profile,
            program,
            model,
            bmv2,
            rules: 100,
            templates: 0,
            classes: 0,
            sessions: BTreeMap::new(),
            moved: BTreeMap::new(),
        }
    }

    /// BMv2 is one of the switches.
    pub(crate) fn bmv2(&mut self) -> Option<&mut Bmv2> {
        self.bmv2.as_mut()
    }

    /// UEs of 10.45.0.0/16 have TEIDs with the same last 16 bits; others have none that could be held against them.
    fn add_guard(&mut self) {
        let pool = FieldMatch::Ternary { value: number([10, 45, 0, 0]), mask: 0xffff_0000 };
        let of_pool = FieldMatch::Ternary { value: 0x2d_0000, mask: 0xff_0000 };
        let equal = exactly(0_u8, 16);
        self.add("source_guard", &[("teid", of_pool), ("source", pool), ("difference", equal)], "pass", &[]);
        let without_ue = FieldMatch::Ternary { value: 0x03_0000, mask: 0xff_0000 };
        self.add("source_guard", &[("teid", without_ue)], "pass", &[]);
        let prefix = FieldMatch::Ternary { value: 0x2001_0db8_0045_0000, mask: 0xffff_ffff_ffff_0000 };
        let keys = [("teid", of_pool), ("source", prefix), ("difference", equal)];
        self.add("source_guard_ipv6", &keys, "pass", &[]);
        self.add("source_guard_ipv6", &[("teid", without_ue)], "pass", &[]);
        if self.profile.name == "direct" {
            // Downlink of session 0x10000 is 10.45.0.0, and 2001:db8:45::/64: PDR_ID 0x410000.
            self.add("ue_pools", &[("ue_address", pool)], "set_session_ipv4", &[("offset", 0x14_0000)]);
            self.add("ue_pools_ipv6", &[("ue_prefix", prefix)], "set_session_ipv6", &[("offset", 0xfc_0000)]);
        }
    }

    fn add_routes(&mut self) {
        let macs = [("source", 0x0200_0000_0001), ("neighbour", 0x0200_0000_0002)];
        let hop = |port: u16| [("port", port.into()), macs[0], macs[1]];
        if !self.profile.is_outer_ipv6 {
            let to = |port: u16, own| [("port", port.into()), macs[0], macs[1], ("address", number(own))];
            let gnb = [("destination", FieldMatch::Exact(number(GNB)))];
            self.add("tunnel_exact", &gnb, "tunnel_hop", &to(N3, UPF_N3));
            let peers = FieldMatch::Lpm { value: number(PEER) & !15, prefix: 28 };
            self.add("tunnel_lpm", &[("destination", peers)], "tunnel_hop", &to(N9, UPF_N9));
        }
        let servers = FieldMatch::Lpm { value: number(SERVER) & !0xff, prefix: 24 };
        self.add("network_lpm", &[("destination", servers)], "hop", &hop(N6));
        let servers = u128::from_be_bytes(SERVER_IPV6) & !0xffff;
        let servers = FieldMatch::Lpm { value: servers, prefix: 112 };
        self.add("network_lpm_ipv6", &[("destination", servers)], "hop", &hop(N6));
        let software = [("port", SOFTWARE.into()), ("queue", 0)];
        self.add("punt_ports", &[("reason", FieldMatch::Exact(2))], "to_port", &software);
    }

    /// Adds an entry, with priority 1 if its table has priorities. Keys that are not named may be anything.
    pub(crate) fn add(
        &mut self,
        table: &str,
        keys: &[Named<FieldMatch>],
        action: &str,
        data: &[Named<u128>],
    ) -> EntryKey {
        self.add_at(table, keys, 1, action, data)
    }

    /// Adds an entry of this priority; the highest wins.
    pub(crate) fn add_at(
        &mut self,
        table: &str,
        keys: &[Named<FieldMatch>],
        priority: i32,
        action: &str,
        data: &[Named<u128>],
    ) -> EntryKey {
        let entry = self.entry(table, keys, priority, action, data);
        self.write(&Update::Insert(entry.clone()));
        entry.key
    }

    /// An entry by names. Every name must be one that the table or action has.
    pub(crate) fn entry(
        &self,
        table: &str,
        keys: &[Named<FieldMatch>],
        priority: i32,
        action: &str,
        data: &[Named<u128>],
    ) -> Entry {
        let found = self.program.table_named(table).unwrap_or_else(|| panic!("no table {table}"));
        for (name, _) in keys {
            assert!(found.keys.iter().any(|key| key.name == *name), "{table} has no key {name}");
        }
        let fields =
            found.keys.iter().map(|key| match (keys.iter().find(|(name, _)| *name == key.name), key.kind) {
                (Some((_, field)), _) => *field,
                (None, MatchKind::Ternary) => FieldMatch::ANY,
                (None, MatchKind::Lpm) => FieldMatch::Lpm { value: 0, prefix: 0 },
                (None, MatchKind::Exact) => panic!("{table} needs {}", key.name),
            });
        let action = self.program.action_named(action).unwrap_or_else(|| panic!("no action {action}"));
        let parameters = action.parameters.iter().map(|parameter| {
            let given = data.iter().find(|(name, _)| *name == parameter.name);
            given.unwrap_or_else(|| panic!("{} needs {}", action.name, parameter.name)).1
        });
        let priority = if found.has_priority() { priority } else { 0 };
        Entry {
            key: EntryKey { table: found.id, fields: fields.collect(), priority },
            action: action.id,
            parameters: parameters.collect(),
        }
    }

    /// Makes a change on all switches.
    pub(crate) fn write(&mut self, update: &Update) {
        if let Some(model) = &mut self.model {
            model.write(update);
        }
        if let Some(bmv2) = &mut self.bmv2 {
            bmv2.runtime.write(update);
        }
    }

    /// Sends a frame; returns all that leaves, sorted by port.
    pub(crate) fn send(&mut self, port: u16, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let profile = self.profile.name;
        let sorted = |mut left: Vec<(u16, Vec<u8>)>| {
            left.sort();
            left
        };
        let frame = &if self.profile.has_ipv6_underlay { underlay::to_ipv6(frame) } else { frame.to_vec() };
        let model = self.model.as_mut().map(|model| sorted(model.send(port, frame)));
        let bmv2 = self.bmv2.as_mut().map(|bmv2| sorted(bmv2.send(port, frame)));
        if let (Some(model), Some(left)) = (&model, &bmv2) {
            let drops = self.bmv2.as_ref().map(Bmv2::drops);
            assert_eq!(left, model, "{profile}: BMv2 (drops {drops:?}), and the model: {port}, {frame:02x?}");
        }
        let left = model.or(bmv2).unwrap_or_else(|| panic!("{profile}: no switch runs it"));
        if !self.profile.has_ipv6_underlay {
            return left;
        }
        left.into_iter().map(|(port, frame)| (port, underlay::to_ipv4(&frame))).collect()
    }

    /// Sends a frame; returns the one that leaves, by this port.
    pub(crate) fn expect(&mut self, port: u16, frame: &[u8], by: u16) -> Vec<u8> {
        let before = self.drops();
        let mut left = self.send(port, frame);
        let ports: Vec<u16> = left.iter().map(|(port, _)| *port).collect();
        let (name, after) = (self.profile.name, self.drops());
        assert_eq!(ports, [by], "{name}: drops {before:?}, then {after:?}: {left:02x?}");
        left.remove(0).1
    }

    /// Sends a frame that is dropped for this reason, and returns nothing but copies for the CPU port.
    pub(crate) fn expect_drop(&mut self, port: u16, frame: &[u8], reason: &str) -> Vec<(u16, Vec<u8>)> {
        let count =
            |drops: &[(&str, u64)]| drops.iter().find(|drop| drop.0 == reason).map_or(0, |drop| drop.1);
        let before = count(&self.drops());
        let left = self.send(port, frame);
        let drops = self.drops();
        assert_eq!(count(&drops), before + 1, "{}: {reason}, not {drops:?}", self.profile.name);
        left
    }

    /// Sets the rates of the meters of that index: simple rules of `direct` have meters of their own, and they are in two halves.
    pub(crate) fn set_meter(&mut self, index: u32, rates: Rates) {
        let meters = self.program.meters.clone();
        for meter in meters {
            let index = match meter.name.rsplit('_').next() {
                Some("even") if index % 2 == 1 => continue,
                Some("odd") if index.is_multiple_of(2) => continue,
                Some("even" | "odd") => index / 2,
                _ => index,
            };
            self.write(&Update::SetMeter { meter: meter.id, index, rates: Some(rates) });
        }
    }

    /// Packets of this colour and QFI go to this queue.
    pub(crate) fn set_queue(&mut self, colour: u8, qfi: u8, queue: u8) {
        let keys = [("color", FieldMatch::Exact(colour.into())), ("qfi", FieldMatch::Exact(qfi.into()))];
        self.add("queue_assignment", &keys, "set_queue", &[("queue", queue.into())]);
    }
}
