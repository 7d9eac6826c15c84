//! The application class of a session: the shape of the packets that are forwarded, in windows.
//!
//! A session asks for it when one of its PDRs names an application that is a class. All its forwarded IP packets count,
//! uplink and downlink. A timer ends each window, so that no packet has to come for a verdict, and a verdict changes between
//! packets only. Three windows without packets end the measuring, until the next packet.

use causeway_model::{Applications, PduSessionType};
use causeway_traffic::classes::PairClass;
use causeway_types::{Direction, Seid, Time};

use crate::engine::SlowPath;
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

/// What is measured of sessions that ask.
#[derive(Debug, Default)]
pub(crate) struct ClassPairs {
    pairs: Vec<Pair>,
    free: Vec<u32>,
}

/// What is measured of one session.
#[derive(Clone, Copy, Debug)]
struct Pair {
    class: PairClass,
    session: Seid,
    /// When the window ends; `None`: there was no packet, or none for long.
    end: Option<Time>,
    /// The window has packets.
    has_packets: bool,
    /// Windows without packets so far.
    idle: u8,
}

impl Session {
    /// One of its PDRs names a class.
    pub(crate) fn asks_for_class(&self, applications: &Applications) -> bool {
        let is_class = |id: &_| applications.class_of(id).is_some();
        let named = |pdr: &causeway_model::Pdr| {
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

    /// The number under which the packets of a session are counted; `None`: it does not ask.
    #[inline]
    pub fn class_pair(&mut self, seid: Seid) -> Option<u32> {
        if self.asks_for_class(seid) { self.pair_of(seid) } else { None }
    }

    #[inline(never)]
    fn pair_of(&mut self, seid: Seid) -> Option<u32> {
        let Self { sessions, class_pairs: ClassPairs { pairs, free }, .. } = self;
        let class = &mut sessions.get_mut(&seid)?.class;
        if class.pair.is_some() || class.is_elsewhere {
            return class.pair;
        }
        let fresh =
            Pair { class: PairClass::default(), session: seid, end: None, has_packets: false, idle: 0 };
        let number = match free.pop() {
            Some(number) => number,
            None => {
                pairs.push(fresh);
                u32::try_from(pairs.len()).ok()? - 1
            }
        };
        *pairs.get_mut(number as usize)? = fresh;
        class.pair = Some(number);
        Some(number)
    }

    /// Counts a forwarded packet under this number.
    #[inline]
    pub fn observe_class(&mut self, now: Time, number: u32, direction: Direction, octets: u32) {
        let Self { applications, class_pairs, .. } = self;
        let (Some(classes), Some(pair)) =
            (applications.classes(), class_pairs.pairs.get_mut(number as usize))
        else {
            return;
        };
        pair.has_packets = true;
        let change = classes.classifier().observe(&mut pair.class, direction, octets, now);
        if change.is_some() || pair.end.is_none() {
            self.begin_window(now, number);
        }
    }

    /// Sets the timer of the first window. A packet that ended a window, where timers come late, may have changed the class.
    #[cold]
    #[inline(never)]
    fn begin_window(&mut self, now: Time, number: u32) {
        let Some(classes) = self.applications.classes() else { return };
        let Some(pair) = self.class_pairs.pairs.get_mut(number as usize) else { return };
        if pair.end.is_none() {
            let end = now + classes.classifier().window();
            (pair.end, pair.idle) = (Some(end), 0);
            self.timers.set(end, pair.session, Timer::Class);
        }
        if let Some(session) = self.sessions.get_mut(&pair.session) {
            session.class.verdict = pair.class.class();
        }
    }

    /// Ends the window of a session whose timer this is.
    pub(crate) fn end_class_window(&mut self, at: Time, seid: Seid) {
        let Self { applications, class_pairs, sessions, timers, .. } = self;
        let (Some(classes), Some(session)) = (applications.classes(), sessions.get_mut(&seid)) else {
            return;
        };
        let Some(number) = session.class.pair else { return };
        let Some(pair) = class_pairs.pairs.get_mut(number as usize).filter(|pair| pair.end == Some(at))
        else {
            return;
        };
        classes.classifier().expire(&mut pair.class, at);
        session.class.verdict = pair.class.class();
        pair.idle = if pair.has_packets { 0 } else { pair.idle + 1 };
        pair.has_packets = false;
        if pair.idle >= IDLE_WINDOWS {
            (pair.class, pair.end) = (PairClass::default(), None);
            return;
        }
        let end = at + classes.classifier().window();
        pair.end = Some(end);
        timers.set(end, seid, Timer::Class);
    }

    /// Counts a packet of a session, if it asks.
    pub(crate) fn observe_class_of(&mut self, now: Time, seid: Seid, direction: Direction, octets: u32) {
        if let Some(number) = self.class_pair(seid) {
            self.observe_class(now, number, direction, octets);
        }
    }

    /// The class of a session that is measured elsewhere from now on, by a switch; `None`: its packets are counted here again, if it asks.
    pub fn set_class(&mut self, seid: Seid, class: Option<u8>) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let known = match class {
            Some(verdict) => SessionClass { pair: None, verdict, is_elsewhere: true },
            None if session.class.is_elsewhere => SessionClass::default(),
            None => return,
        };
        if let Some(number) = std::mem::replace(&mut session.class, known).pair {
            self.class_pairs.free.push(number);
        }
    }

    /// The rules of a session have changed, or it has ended: one that asks no longer is not measured.
    #[inline]
    pub(crate) fn update_class(&mut self, seid: Seid, is_removed: bool) {
        let is_measured = !self.class_pairs.pairs.is_empty();
        if is_measured && (is_removed || !self.asks_for_class(seid)) {
            self.stop_measuring(seid);
        }
    }

    #[inline(never)]
    fn stop_measuring(&mut self, seid: Seid) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        if let Some(number) = std::mem::take(&mut session.class).pair {
            self.class_pairs.free.push(number);
        }
    }

    /// Other classes than before: nothing that was measured means anything.
    pub(crate) fn forget_classes(&mut self) {
        let pairs = std::mem::take(&mut self.class_pairs).pairs;
        for pair in pairs {
            if let Some(session) = self.sessions.get_mut(&pair.session) {
                session.class = SessionClass::default();
            }
        }
    }
}
