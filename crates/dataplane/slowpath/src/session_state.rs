//! The state of a session, for operators.

use causeway_dataplane::{BufferState, SessionState};
use causeway_types::{Seid, Time};

use crate::buffer::Buffer;
use crate::engine::SlowPath;
use crate::measure::Measurement;

impl SlowPath {
    /// The state of a session at this time; `None`: there is no such session. It changes nothing.
    pub fn state_of(&self, now: Time, seid: Seid) -> Option<SessionState> {
        let session = self.sessions.get(&seid)?;
        let (mut usage, mut last) = (Vec::new(), None::<Time>);
        for (id, measurement) in session.measurements.iter() {
            let Some(urr) = session.rules.urrs.get(id) else { continue };
            measurement.inspect(
                |begin| Measurement::new(urr, begin),
                |measurement| {
                    usage.push(measurement.state(urr, now));
                    last = last.max(measurement.last_packet());
                },
            );
        }
        let (buffer, drops) = (buffer_state(&session.buffer), self.drops_of(seid));
        Some(SessionState { usage, buffer, last_packet: last, drops })
    }
}

fn buffer_state(buffer: &Buffer) -> BufferState {
    let oldest = buffer.iter().next().map(|buffered| buffered.buffered_at);
    BufferState { packets: buffer.len(), octets: buffer.octets(), oldest }
}
