//! What a packet thread does between packets, besides plans: the tasks that the control plane gives it, and the questions of others.

use causeway_types::{Seid, Time};

use super::messages::{Report, RestoredUsage, Task};
use super::packet_loop::{End, PacketLoop};
use super::session_keys::NewPaths;
use super::thread::Reports;
use super::watch::{Watch, Watches};

/// What a task takes of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cost {
    /// As much as any command.
    OfOne,
    /// As much as many commands: packets come next.
    RestOfTurn,
}

impl PacketLoop {
    /// Executes a task.
    ///
    /// # Errors
    /// The control plane has ended, or a port is lost.
    pub(super) fn execute<K>(&mut self, task: Task, reports: &mut Reports<K>) -> Result<Cost, End> {
        let now = self.clock.now();
        // Whoever asked may have dropped the receiver.
        match task {
            Task::Provision(applications) => self.context.data_plane().set_applications(&applications),
            Task::HeavyHitters(settings) => {
                self.context.data_plane().set_heavy_hitters(now, settings.as_ref());
            }
            Task::Host(host) => self.context.data_plane().set_host_reachability(&host),
            Task::Settings(settings) => {
                self.context.advance(now)?;
                self.context.data_plane().reconfigure(now, &settings);
            }
            Task::WallClock(wall) => {
                self.context.advance(now)?;
                self.context.data_plane().set_wall_clock(now, wall);
            }
            Task::Follow(NewPaths { old, new }) => self.context.data_plane().follow_paths(now, &old, &new),
            Task::Snapshot(reply) => {
                // The requester also reads the counters of the ports.
                self.context.count_losses();
                drop(reply.send(self.snapshot()));
            }
            Task::SessionState(session, reply) => {
                drop(reply.send(self.context.data_plane().session_state(now, session)));
            }
            Task::ApplicationClasses(sessions, reply) => {
                let data_plane = self.context.data_plane();
                drop(reply.send(sessions.iter().map(|seid| data_plane.application_class(*seid)).collect()));
            }
            Task::SwitchState(reply) => drop(reply.send(self.context.data_plane().switch_state())),
            Task::Explain(packet, reply) => {
                let (ingress, octets) = &*packet;
                drop(reply.send(self.context.data_plane().explain(now, ingress, octets)));
            }
            Task::Paths(after, most, reply) => {
                drop(reply.send(self.context.data_plane().paths(after, most)));
            }
            Task::PlacedRules(session, most, reply) => {
                let data_plane = self.context.data_plane();
                let rules = data_plane.placed_rules(now, session, most);
                drop(reply.send((data_plane.rule_placement(now), rules)));
            }
            Task::UsageSnapshots(sessions) => {
                self.report_usage(now, &sessions, reports)?;
                return Ok(Cost::RestOfTurn);
            }
            Task::RestoreUsage(usage) => {
                self.restore_usage(now, &usage, reports)?;
                return Ok(Cost::RestOfTurn);
            }
            Task::Watch(watch) => self.watch(watch),
        }
        Ok(Cost::OfOne)
    }

    fn report_usage<K>(
        &mut self,
        now: Time,
        sessions: &[(Seid, Time)],
        reports: &mut Reports<K>,
    ) -> Result<(), End> {
        let data_plane = self.context.data_plane();
        // Usage of an earlier event is not in a snapshot, and its report comes first.
        while let Some(event) = data_plane.poll_event() {
            reports.send(Report::Event(event))?;
        }
        let snapshot =
            |(seid, since): &(Seid, Time)| Some((*seid, data_plane.usage_snapshot(now, *seid, *since)?));
        reports.send(Report::Usage(sessions.iter().filter_map(snapshot).collect()))
    }

    fn restore_usage<K>(
        &mut self,
        now: Time,
        usage: &[RestoredUsage],
        reports: &mut Reports<K>,
    ) -> Result<(), End> {
        let data_plane = self.context.data_plane();
        let restored =
            usage.iter().filter(|it| data_plane.restore_usage(now, it.session, &it.snapshot, &it.urrs));
        let count = restored.count();
        reports.send(Report::UsageRestored(count))
    }

    fn watch(&mut self, watch: Watch) {
        let frame = self.received.frame_size();
        let watches = self.watches.get_or_insert_with(|| Box::new(Watches::new(frame)));
        watches.put(watch);
        self.context.show_released(watches.of_released());
    }
}
