//! Passes what a reconciliation needs between the components.

use causeway_types::Time;

use super::Switch;
use crate::backend::notice::{Cause, Notice};
use crate::backend::operation::Operation;
use crate::backend::recovery::{DesiredState, EntryOwner, Step, UnitsEnd};
use crate::backend::requests::Retry;
use crate::driver::{DriverError, Link, SwitchDriver};

impl<D: SwitchDriver> Switch<D> {
    /// Handles a change of the connection to the switch.
    pub(in crate::backend) fn handle_link(&mut self, now: Time, link: Link) {
        self.reader.handle_link(link);
        if let Link::Up { emptied } = link {
            self.classes.attached(emptied);
        }
        self.is_away = !matches!(link, Link::Up { .. });
        match link {
            Link::Down => self.notices.push_back(Notice::Down),
            Link::Superseded => self.notices.push_back(Notice::Superseded),
            Link::Up { emptied: true } => self.recovery.start(now, Cause::Emptied),
            Link::Up { emptied: false } => self.recovery.start(now, Cause::Up),
        }
    }

    /// The next step of a reconciliation; `false`: it waits for the switch, or none is in progress. One that the loss of the connection
    /// has interrupted begins anew when it is back.
    pub(super) fn continue_reconcile(&mut self, now: Time) -> bool {
        if self.is_away || !self.requests.is_idle() {
            return false;
        }
        let Some(step) = self.recovery.next_step(now) else { return false };
        match step {
            Step::ReadAll => {
                self.forget_uncertain_requests();
                self.recovery.read_all(now, &mut self.requests);
            }
            Step::Read(tables) => self.recovery.read(now, tables, &mut self.requests),
            Step::Compare => self.compare(now),
            Step::Write => self.write_units(now),
            Step::End => self.end_reconcile(now),
        }
        true
    }

    /// No request is in flight: unknown outcomes and pending rewrites become part of the reconciliation.
    fn forget_uncertain_requests(&mut self) {
        self.writer.forget_read_backs();
        let writer = &self.writer;
        self.requests.keep_retries(|retry| match retry {
            Retry::Write(operation) => !writer.is_uncertain(*operation),
            Retry::ReadBack(..) | Retry::BackgroundWrite | Retry::Reconcile => false,
            Retry::Pass(_) | Retry::Rewrite(_) => true,
        });
    }

    fn compare(&mut self, now: Time) {
        if self.recovery.is_emptied() {
            self.reader.restart_drops();
        }
        // Templates are compared with their final state.
        self.writer.background().forget();
        self.rearm_lost();
        self.recovery.compare(&mut DesiredState {
            allocator: &self.allocator,
            writer: &self.writer,
            sessions: &mut self.sessions,
            reader: &mut self.reader,
        });
        self.write_units(now);
    }

    fn write_units(&mut self, now: Time) {
        if !self.recovery.write(now, &mut self.requests) {
            self.units_ended(now, Ok(()));
        }
    }

    /// The write of differences has ended.
    pub(super) fn units_ended(&mut self, now: Time, outcome: Result<(), DriverError>) {
        match self.recovery.write_ended(outcome, self.requests.later(now)) {
            UnitsEnd::Written(owners) => {
                for owner in owners {
                    match owner {
                        EntryOwner::Operation(operation) => self.write_ended(now, operation, Ok(())),
                        EntryOwner::Base => self.writer.background().accepted(),
                        EntryOwner::Session | EntryOwner::Foreign => {}
                    }
                }
            }
            UnitsEnd::Refused(EntryOwner::Base, rejected) => {
                let error = self.refusal(&rejected);
                self.refuse_background(now, error);
            }
            UnitsEnd::Refused(EntryOwner::Operation(operation), rejected) => {
                self.reader.write_ended(now, false);
                let error = self.refusal(&rejected);
                self.reject(now, operation, error);
            }
            UnitsEnd::Refused(EntryOwner::Session | EntryOwner::Foreign, _) | UnitsEnd::Again => {}
        }
    }

    fn end_reconcile(&mut self, now: Time) {
        let Some(result) = self.recovery.end(now) else { return };
        self.reader.reconciled(now);
        for seid in self.classes.reconciled(now) {
            self.update_for_class(seid);
        }
        self.packet_io.send_held(now, &mut self.requests);
        self.notices.push_back(Notice::Reconciled(result));
    }

    /// The write of an operation has ended, which was in flight when the reconciliation began.
    pub(super) fn write_ended_during_reconcile(
        &mut self,
        now: Time,
        operation: Operation,
        outcome: Result<(), DriverError>,
    ) {
        match outcome {
            Err(DriverError::Uncertain) => self.writer.set_uncertain(operation),
            Err(_) if self.writer.is_uncertain(operation) => {}
            // It may have been refused because of state that the switch has lost.
            Err(DriverError::Rejected(_)) => self.requests.retry(now, Retry::Write(operation)),
            outcome => self.write_ended(now, operation, outcome),
        }
    }
}
