//! Memory of this process behind the contract of external memory.

use std::collections::VecDeque;

use causeway_packet::roce::NakCode;
use causeway_types::Time;

use crate::{
    Completion, Effect, ExternalMemory, Failure, Operation, OperationError, OperationId, Outcome, QueuePair,
    Regions, Request, SubmitError,
};

/// Memory of this process: each operation is done when it is submitted.
#[derive(Clone, Debug, Default)]
pub struct Local {
    regions: Regions,
    next: u64,
    completions: VecDeque<Completion>,
}

impl Local {
    /// These regions, with one queue pair.
    pub const fn new(regions: Regions) -> Self {
        Self { regions, next: 0, completions: VecDeque::new() }
    }

    fn execute(&mut self, request: Request) -> Result<Outcome, NakCode> {
        match request {
            Request::Read { from, length } => {
                self.regions.read(from, length as usize).map(|octets| Outcome::Read(octets.to_vec()))
            }
            Request::Write { to, data } => self.regions.write(to, &data).map(|()| Outcome::Written),
            Request::FetchAdd { at, add } => {
                self.regions.atomic(at, |value| value.wrapping_add(add)).map(Outcome::Added)
            }
        }
    }
}

impl ExternalMemory for Local {
    fn queue_pairs(&self) -> u16 {
        1
    }

    fn submit(
        &mut self,
        _: Time,
        queue_pair: QueuePair,
        operation: Operation,
    ) -> Result<OperationId, SubmitError> {
        if queue_pair != QueuePair(0) {
            return Err(SubmitError::UnknownQueuePair(queue_pair.0));
        }
        if operation.request.length() == 0 {
            return Err(SubmitError::Empty);
        }
        let id = OperationId(self.next);
        self.next += 1;
        let result = self.execute(operation.request).map_err(|code| OperationError {
            failure: match code {
                NakCode::InvalidRequest => Failure::RemoteInvalidRequest,
                _ => Failure::RemoteAccess,
            },
            effect: Effect::None,
        });
        self.completions.push_back(Completion { id, queue_pair, result });
        Ok(id)
    }

    fn has_place(&self, _: QueuePair, _: &Operation) -> bool {
        true
    }

    fn poll(&mut self, _: Time) -> Option<Completion> {
        self.completions.pop_front()
    }

    fn next_timer(&self) -> Option<Time> {
        None
    }
}

#[cfg(test)]
mod tests {
    use causeway_packet::roce::Rkey;

    use super::*;
    use crate::{Place, Region, Rights};

    // Input:  a write, a read of it, an addition to a word, one to an odd address, and a read beyond the end.
    // Output: done in that order; the last two fail, by their reasons.
    #[test]
    fn operations_are_done_at_once() {
        let mut regions = Regions::new();
        regions.insert(Rkey(1), Region::new(0, 64, Rights::all()).unwrap());
        let mut memory = Local::new(regions);
        let at = |address| Place { rkey: Rkey(1), address };
        let operations = [
            Operation::write(at(8), vec![1, 0, 0, 0, 0, 0, 0, 0]),
            Operation::read(at(8), 2),
            Operation::fetch_add(at(8), 4),
            Operation::fetch_add(at(9), 4),
            Operation::read(at(60), 8),
        ];
        for operation in operations {
            memory.submit(Time::default(), QueuePair(0), operation).unwrap();
        }
        let failed = |failure| Err(OperationError { failure, effect: Effect::None });
        let results: Vec<_> = std::iter::from_fn(|| Some(memory.poll(Time::default())?.result)).collect();
        let expected = [
            Ok(Outcome::Written),
            Ok(Outcome::Read(vec![1, 0])),
            Ok(Outcome::Added(1)),
            failed(Failure::RemoteInvalidRequest),
            failed(Failure::RemoteAccess),
        ];
        assert_eq!(results, expected);
    }
}
