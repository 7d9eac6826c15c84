//! Batches, with the atomicity that the switch supports.

use causeway_switch::driver::{DriverError, Rejected, Update};
use tracing::warn;

use super::calls::Calls;
use super::status::{WriteEnd, write_end};
use crate::wire::{self, Atomicity};

impl Calls {
    /// Writes a batch that fits the program, all or nothing.
    ///
    /// A switch without atomic batches makes updates one by one. If it refuses some and has made others, insertions are
    /// reverted, since that leaves no trace; otherwise the outcome is uncertain.
    pub(super) async fn write(&self, updates: Vec<Update>) -> Result<(), DriverError> {
        let encoded = self.encode(&updates);
        loop {
            let atomicity = self.atomicity();
            let is_atomic = atomicity != Atomicity::ContinueOnError;
            let answer = self.send_batch(encoded.clone(), atomicity).await;
            return match write_end(&self.schema().program, &updates, is_atomic, answer) {
                WriteEnd::Done => Ok(()),
                WriteEnd::Nothing(error) => Err(error),
                WriteEnd::NoSuchAtomicity => {
                    self.settle_for_less(atomicity);
                    continue;
                }
                WriteEnd::Partly(done, rejected) => self.take_back(&updates, &done, rejected).await,
                WriteEnd::Unknown => Err(DriverError::Uncertain),
            };
        }
    }

    fn encode(&self, updates: &[Update]) -> Vec<wire::Update> {
        updates.iter().map(|update| self.schema().wire_update(update)).collect()
    }

    fn settle_for_less(&self, had: Atomicity) {
        let (less, means) = match had {
            Atomicity::DataplaneAtomic => {
                (Atomicity::RollbackOnError, "packets may see a part of a batch while it is written")
            }
            Atomicity::RollbackOnError | Atomicity::ContinueOnError => (
                Atomicity::ContinueOnError,
                "a refused batch may have been made in part, and is then reverted or read",
            ),
        };
        // Several concurrent calls may detect this.
        if self.atomicity() == had {
            self.set_atomicity(less);
            let switch = &self.shared.options.address;
            warn!(switch, "the switch has no atomicity {had:?}, so {less:?} is used: {means}");
        }
    }

    async fn take_back(
        &self,
        updates: &[Update],
        done: &[bool],
        rejected: Rejected,
    ) -> Result<(), DriverError> {
        let made: Vec<&Update> =
            updates.iter().zip(done).filter(|(_, done)| **done).map(|(update, _)| update).collect();
        let deletions = made.iter().rev().map(|update| match update {
            Update::Insert(entry) => Some(Update::Delete(entry.key.clone())),
            Update::Modify(_) | Update::Delete(_) | Update::SetMeter { .. } | Update::SetRegister { .. } => {
                None
            }
        });
        let Some(deletions) = deletions.collect::<Option<Vec<_>>>() else {
            return Err(DriverError::Uncertain);
        };
        let deleted = self.send_batch(self.encode(&deletions), Atomicity::ContinueOnError).await;
        match deleted {
            Ok(()) => Err(rejected.into()),
            Err(_) => Err(DriverError::Uncertain),
        }
    }
}
