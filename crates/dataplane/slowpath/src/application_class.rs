//! The application class of a session: the shape of the packets that are forwarded, in windows.
//!
//! A session asks for it when one of its PDRs names an application that is a class. All its forwarded IP packets count,
//! uplink and downlink. A timer ends each window, so that no packet has to come for a verdict, and a verdict changes between
//! packets only. Three windows without packets end the measuring, until the next packet.
//!
//! Operators are told changes of a session's class, at most 256 in a second, also those of a switch that measures in place of
//! the slow path.

use std::collections::VecDeque;
use std::net::IpAddr;

use causeway_dataplane::{ClassChange, Event, SessionClasses};
use causeway_model::{ApplicationId, Applications, Pdr, PduSessionType, RuleSet};
use causeway_traffic::EventBudget;
use causeway_traffic::classes::{MAX_CLASSES, PairClass};
use causeway_types::{Direction, IpNet, Seid, Time};

use crate::engine::SlowPath;
use crate::lease::ForwardedUsage;
use crate::session::Session;
use crate::timers::Timer;

/// Windows without packets after which a session is measured no longer.
const IDLE_WINDOWS: u8 = 3;

/// What a session knows of its class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SessionClass {
    /// The number of its pair.
    pair: Option<u32>,
    /// The class; 0: other traffic.
    pub(crate) verdict: u8,
    /// A switch measures it, and says its class.
    is_elsewhere: bool,
}

impl SessionClass {
    /// Its traffic is measured, here or by a switch.
    const fn is_measured(&self) -> bool {
        self.pair.is_some() || self.is_elsewhere
    }
}

/// What is measured of sessions that ask.
#[derive(Debug, Default)]
pub(crate) struct ClassPairs {
    pairs: Vec<Pair>,
    /// The windows of each pair.
    windows: Vec<PairClass>,
    free: Vec<u32>,
    /// Sessions that are measured, here or by a switch, in all and by class.
    measured: u64,
    by_class: [u64; MAX_CLASSES],
    told: ToldChanges,
}

/// What operators are told.
#[derive(Debug, Default)]
struct ToldChanges {
    events: VecDeque<Event>,
    budget: EventBudget,
    changes: u64,
    unsaid: u64,
}

impl ClassPairs {
    /// Adds packets of a session that were counted elsewhere.
    pub(crate) fn add(&mut self, class: SessionClass, direction: Direction, passed: &ForwardedUsage) {
        let window = class.pair.and_then(|number| self.windows.get_mut(number as usize));
        if let Some(window) = window {
            window.add(direction, passed.packets, passed.octets, passed.last);
        }
    }

    /// When the window of a session ends.
    pub(crate) fn window_end(&self, class: SessionClass) -> Option<Time> {
        self.pairs.get(class.pair? as usize)?.end
    }

    /// What is known of a session has changed.
    fn count(&mut self, before: SessionClass, after: SessionClass) {
        for (class, by) in [(before, -1), (after, 1)] {
            if class.is_measured()
                && let Some(sessions) = self.by_class.get_mut(usize::from(class.verdict))
            {
                *sessions = sessions.saturating_add_signed(by);
                self.measured = self.measured.saturating_add_signed(by);
            }
        }
    }
}

impl ToldChanges {
    /// A session with these rules has this class in place of the other. `now` is `None` where no time is known.
    fn change(&mut self, now: Option<Time>, session: Seid, rules: &RuleSet, [from, to]: [&ApplicationId; 2]) {
        self.changes += 1;
        let is_said = match now {
            Some(now) => self.budget.take(now),
            None => self.budget.take_untimed(),
        };
        if !is_said {
            self.unsaid += 1;
            return;
        }
        let ue = rules.pdrs.values().find_map(ue_address);
        let change = Box::new(ClassChange { ue, from: from.clone(), to: to.clone() });
        self.events.push_back(Event::ClassChange { session, change });
    }
}

/// The UE address of a PDR: an IPv4 address, or an IPv6 prefix of 64 bits.
pub fn ue_address(pdr: &Pdr) -> Option<IpNet> {
    let ue = pdr.pdi.ue?;
    let v6 = || ue.v6.and_then(|net| IpNet::new(net.network().into(), 64).ok());
    ue.v4.map(|ip| IpAddr::V4(ip).into()).or_else(v6)
}

/// What is measured of one session.
#[derive(Clone, Copy, Debug)]
struct Pair {
    session: Seid,
    /// When the window ends; `None`: there was no packet, or none for long.
    end: Option<Time>,
    /// Windows without packets so far.
    idle: u8,
}

impl Session {
    /// One of its PDRs names a class.
    pub(crate) fn asks_for_class(&self, applications: &Applications) -> bool {
        let is_class = |id: &_| applications.class_of(id).is_some();
        let named = |pdr: &Pdr| {
            let predefined = pdr.predefined.values().flat_map(|rules| rules.iter());
            pdr.pdi.application.as_ref().is_some_and(is_class)
                || predefined.filter_map(|rule| rule.application.as_ref()).any(is_class)
        };
        applications.classes().is_some()
            && self.rules.pdu_type == PduSessionType::Ip
            && self.rules.pdrs.values().any(named)
    }
}

impl SlowPath {
    /// The session asks for the class of its traffic.
    #[inline]
    pub fn asks_for_class(&self, seid: Seid) -> bool {
        self.applications.classes().is_some() && self.session_asks(seid)
    }

    #[inline(never)]
    fn session_asks(&self, seid: Seid) -> bool {
        self.sessions.get(&seid).is_some_and(|session| session.asks_for_class(&self.applications))
    }

    /// The class of a session's traffic, 0 for other traffic.
    pub fn class_of(&self, seid: Seid) -> u8 {
        self.sessions.get(&seid).map_or(0, |session| session.class.verdict)
    }

    /// With these applications, sessions that ask for their class may have other rules than before.
    pub fn changes_classes(&self, applications: &Applications) -> bool {
        let has_classes = self.applications.classes().is_some() || applications.classes().is_some();
        has_classes && *self.applications != *applications
    }

    /// The sessions that ask.
    pub fn sessions_with_class(&self) -> Vec<Seid> {
        let asks = |session: &Session| session.asks_for_class(&self.applications);
        self.sessions.iter().filter(|(_, session)| asks(session)).map(|(seid, _)| *seid).collect()
    }

    /// Traffic of sessions is measured, here or by a switch.
    #[inline]
    pub const fn measures_classes(&self) -> bool {
        self.class_pairs.measured > 0
    }

    /// A session's traffic is measured from now on, if it asks: its class is known before its first packet.
    #[inline]
    pub fn measure_class(&mut self, seid: Seid) {
        if self.asks_for_class(seid) {
            let _number = self.pair_of(seid);
        }
    }

    /// A switch measures the traffic of a session in place of the slow path ([`Self::set_class`]).
    pub fn is_class_elsewhere(&self, seid: Seid) -> bool {
        self.sessions.get(&seid).is_some_and(|session| session.class.is_elsewhere)
    }

    /// The directions of which the slow path must see the next packet of a session that asks: the first one after a pause. What comes
    /// after it may be counted elsewhere and added by [`Self::settle`], which a timer at the end of a window calls for.
    pub(crate) fn awaited_class_packets(&self, session: &Session) -> [Option<Direction>; 2] {
        if self.applications.classes().is_none()
            || session.class.is_elsewhere
            || !session.asks_for_class(&self.applications)
        {
            return [None; 2];
        }
        let window = session.class.pair.and_then(|number| self.class_pairs.windows.get(number as usize));
        let has_seen = |direction| window.is_some_and(|pair| pair.window().has_seen(direction));
        [Direction::Uplink, Direction::Downlink].map(|direction| (!has_seen(direction)).then_some(direction))
    }

    #[inline(never)]
    fn pair_of(&mut self, seid: Seid) -> Option<u32> {
        let Self { sessions, class_pairs: ClassPairs { pairs, windows, free, .. }, .. } = self;
        let class = sessions.get(&seid)?.class;
        if class.pair.is_some() || class.is_elsewhere {
            return class.pair;
        }
        let fresh = Pair { session: seid, end: None, idle: 0 };
        let number = match free.pop() {
            Some(number) => number,
            None => {
                pairs.push(fresh);
                windows.push(PairClass::default());
                u32::try_from(pairs.len()).ok()? - 1
            }
        };
        *pairs.get_mut(number as usize)? = fresh;
        *windows.get_mut(number as usize)? = PairClass::default();
        self.replace_class(None, seid, SessionClass { pair: Some(number), ..SessionClass::default() });
        Some(number)
    }

    /// Replaces what a session knows of its class. Operators are told if that is another one. `now` is `None` where no time is known.
    fn replace_class(&mut self, now: Option<Time>, seid: Seid, next: SessionClass) {
        let Self { sessions, class_pairs, applications, timers, .. } = self;
        let Some(session) = sessions.get_mut(&seid) else { return };
        let before = std::mem::replace(&mut session.class, next);
        if before == next {
            return;
        }
        class_pairs.count(before, next);
        if let Some(number) = before.pair.filter(|number| next.pair != Some(*number)) {
            let end = class_pairs.pairs.get_mut(number as usize).and_then(|pair| pair.end.take());
            end.into_iter().for_each(|end| timers.remove(end, seid, Timer::Class));
            class_pairs.free.push(number);
        }
        let names = applications.classes().map_or(&[][..], |classes| classes.names());
        let name = |class: SessionClass| names.get(usize::from(class.verdict));
        if before.verdict != next.verdict
            && let (Some(from), Some(to)) = (name(before), name(next))
        {
            class_pairs.told.change(now, seid, &session.rules, [from, to]);
        }
    }

    /// The class of a measured session is this one now.
    fn set_verdict(&mut self, now: Time, seid: Seid, verdict: u8) {
        if let Some(class) = self.sessions.get(&seid).map(|session| session.class) {
            self.replace_class(Some(now), seid, SessionClass { verdict, ..class });
        }
    }

    /// The next change of a class.
    pub(crate) fn class_event(&mut self) -> Option<Event> {
        self.class_pairs.told.events.pop_front()
    }

    pub(crate) fn sessions_by_class(&self) -> SessionClasses {
        let ClassPairs { by_class, told, .. } = &self.class_pairs;
        let names = self.applications.classes().map_or(&[][..], |classes| classes.names());
        SessionClasses {
            sessions: names.iter().cloned().zip(by_class.iter().copied()).collect(),
            changes: told.changes,
            unsaid: told.unsaid,
        }
    }

    pub(crate) fn class_name_of(&self, seid: Seid) -> Option<ApplicationId> {
        let class = self.sessions.get(&seid)?.class;
        let names = self.applications.classes()?.names();
        names.get(usize::from(class.verdict)).filter(|_| class.is_measured()).cloned()
    }

    fn observe_class(&mut self, now: Time, number: u32, direction: Direction, octets: u32) {
        let Self { applications, class_pairs, .. } = self;
        let (Some(classes), Some(window)) =
            (applications.classes(), class_pairs.windows.get_mut(number as usize))
        else {
            return;
        };
        let is_first = !window.window().has_begun();
        let change = classes.classifier().observe(window, direction, octets, now);
        if change.is_some() || is_first {
            self.begin_window(now, number);
        }
    }

    /// Sets the timer of the first window. A packet that ended a window, where timers come late, may have changed the class.
    #[cold]
    #[inline(never)]
    fn begin_window(&mut self, now: Time, number: u32) {
        let Some(classes) = self.applications.classes() else { return };
        let ClassPairs { pairs, windows, .. } = &mut self.class_pairs;
        let (Some(pair), Some(window)) = (pairs.get_mut(number as usize), windows.get(number as usize))
        else {
            return;
        };
        if pair.end.is_none() {
            let end = now + classes.classifier().window();
            (pair.end, pair.idle) = (Some(end), 0);
            self.timers.set(end, pair.session, Timer::Class);
        }
        let (seid, verdict) = (pair.session, window.class());
        self.set_verdict(now, seid, verdict);
    }

    /// Ends the window of a session whose timer this is.
    pub(crate) fn end_class_window(&mut self, at: Time, seid: Seid) {
        let Self { applications, class_pairs, sessions, timers, .. } = self;
        let (Some(classes), Some(session)) = (applications.classes(), sessions.get(&seid)) else {
            return;
        };
        let Some(number) = session.class.pair else { return };
        let ClassPairs { pairs, windows, .. } = class_pairs;
        let pair = pairs.get_mut(number as usize).filter(|pair| pair.end == Some(at));
        let (Some(pair), Some(window)) = (pair, windows.get_mut(number as usize)) else { return };
        pair.idle = if window.window().has_packets() { 0 } else { pair.idle + 1 };
        classes.classifier().expire(window, at);
        let verdict = window.class();
        if pair.idle >= IDLE_WINDOWS {
            (*window, pair.end) = (PairClass::default(), None);
        } else {
            let end = at + classes.classifier().window();
            pair.end = Some(end);
            timers.set(end, seid, Timer::Class);
        }
        self.set_verdict(at, seid, verdict);
    }

    /// Counts a packet of a session, if it asks.
    pub(crate) fn observe_class_of(&mut self, now: Time, seid: Seid, direction: Direction, octets: u32) {
        if self.asks_for_class(seid)
            && let Some(number) = self.pair_of(seid)
        {
            self.observe_class(now, number, direction, octets);
        }
    }

    /// The class of a session that is measured elsewhere from now on, by a switch; `None`: its packets are counted here again, if it asks.
    pub fn set_class(&mut self, now: Time, seid: Seid, class: Option<u8>) {
        let Some(session) = self.sessions.get(&seid) else { return };
        let next = match class {
            Some(verdict) => SessionClass { pair: None, verdict, is_elsewhere: true },
            None if session.class.is_elsewhere => SessionClass::default(),
            None => return,
        };
        self.replace_class(Some(now), seid, next);
    }

    /// The rules of a session have changed, or it has ended: one that asks no longer is not measured.
    #[inline]
    pub(crate) fn update_class(&mut self, now: Time, seid: Seid, is_removed: bool) {
        if self.class_pairs.measured > 0 && (is_removed || !self.asks_for_class(seid)) {
            self.stop_measuring(now, seid, is_removed);
        }
    }

    /// Operators know the end of a session without the class that it had.
    #[inline(never)]
    fn stop_measuring(&mut self, now: Time, seid: Seid, is_removed: bool) {
        if is_removed && let Some(session) = self.sessions.get_mut(&seid) {
            let class = session.class;
            session.class.verdict = 0;
            self.class_pairs.count(class, session.class);
        }
        self.replace_class(Some(now), seid, SessionClass::default());
    }

    /// Other classes than before: nothing that was measured means anything. A switch measures the sessions anew that it has measured.
    pub(crate) fn forget_classes(&mut self) {
        if self.class_pairs.measured > 0 {
            let measured = self.sessions.iter().filter(|(_, session)| session.class.is_measured());
            let mut measured: Vec<_> = measured.map(|(seid, session)| (*seid, session.class)).collect();
            measured.sort_unstable_by_key(|(seid, _)| *seid);
            for (seid, SessionClass { is_elsewhere, .. }) in measured {
                let next = SessionClass { is_elsewhere, ..SessionClass::default() };
                self.replace_class(None, seid, next);
            }
        }
        let ClassPairs { pairs, windows, free, .. } = &mut self.class_pairs;
        (*pairs, *windows, *free) = (Vec::new(), Vec::new(), Vec::new());
    }
}
