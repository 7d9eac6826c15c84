//! Establishments with a known message template.

use causeway_dataplane::{Applied, ApplyError};
use causeway_rules::ProfiledRules;
use causeway_types::{Seid, Time};

use super::state::Session;
use crate::memory::Footprint;
use crate::transaction::RequestKey;
use crate::{N4, Output};

impl N4 {
    /// Begins an establishment with a known message template if there is no conflict. `false`: nothing has happened,
    /// and the request is handled on the general path, with the same response.
    pub(super) fn try_establish_profiled(&mut self, now: Time, key: RequestKey, body: &[u8]) -> bool {
        let Some(known) = self.resources.recognize(body) else { return false };
        let (from, node) = (key.from.ip(), known.profile.node());
        let speaker = node.and_then(|node| self.spoken_for(from, node));
        let Some(association) = speaker else { return false };
        let Ok(cp) = self.end_of(association, from, known.cp) else { return false };
        // An older session with this F-SEID is replaced, or the request is a repetition.
        let end = self.sessions.end(&cp);
        if self.sessions.contains_cp(&end) {
            return false;
        }
        if let Some(recovery) = known.recovery {
            self.on_recovery_time_stamp(now, association, from, key.from, recovery);
        }
        let footprint = Footprint::profiled(known.profile.profile());
        if self.refuse_new_session(association).is_err() || !self.has_memory_for(footprint) {
            return false;
        }
        let seid = self.sessions.next_seid();
        let Some(profiled) = self.resources.take(known, seid) else { return false };
        self.count_session(association);
        let session = Session::new(now, seid, association, cp, self.origin(key), footprint);
        self.sessions.insert_new(session, &end);
        if let Some((id, plan)) = self.sessions.start_profiled_establishment(key, seid, profiled) {
            self.push(Output::Apply { id, plan });
        }
        true
    }

    /// The result of the data plane.
    pub(super) fn established_profiled(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        profiled: ProfiledRules,
        result: Result<Applied, ApplyError>,
    ) {
        match result {
            Ok(_) => self.complete_profiled_establishment(now, seid, key, profiled),
            Err(error) => {
                self.resources.release(seid, &profiled, false);
                self.refuse_establishment(now, seid, key, &error);
            }
        }
    }

    /// The same for a session that was marked for removal meanwhile.
    pub(super) fn discard_profiled_establishment(
        &mut self,
        now: Time,
        seid: Seid,
        profiled: ProfiledRules,
        is_there: bool,
    ) {
        if !is_there {
            self.resources.release(seid, &profiled, false);
            return self.drop_session(now, seid);
        }
        if let Some(session) = self.sessions.get_mut(seid) {
            session.rules = profiled.into();
        }
        self.purge(seid);
    }
}
