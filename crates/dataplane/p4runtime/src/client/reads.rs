//! Reads: split into calls that a switch can answer, and matched to the request.

use std::collections::HashMap;

use causeway_switch::Count;
use causeway_switch::driver::{DriverError, Entry, EntryKey, RegisterValue, Resource};
use foldhash::fast::RandomState;
use tonic::{Code, Status};

use super::calls::{Calls, within};
use super::status::{name_of, read_error};
use crate::convert::count_of;
use crate::wire::{
    self, CounterEntry, DirectCounterEntry, Entity, Index, P4Error, ReadRequest, RegisterEntry, TableEntry,
    What,
};

/// Counters of one call.
const CHUNK: usize = 1000;

impl Calls {
    /// The counters of entries; `None` for those that do not exist.
    pub(super) async fn read_direct(&self, keys: &[EntryKey]) -> Result<Vec<Option<Count>>, DriverError> {
        let program = &self.schema().program;
        // No switch has an entry that does not fit its table.
        let fits =
            |key: &EntryKey| program.table(key.table).is_some_and(|table| table.check_key(key).is_ok());
        let asked: Vec<&EntryKey> = keys.iter().filter(|key| fits(key)).collect();
        let mut found: HashMap<EntryKey, Count, RandomState> = HashMap::default();
        for part in asked.chunks(CHUNK) {
            self.read_direct_part(part, &mut found).await?;
        }
        Ok(keys.iter().map(|key| found.get(key).copied()).collect())
    }

    /// One call; if the switch does not report which entries it lacks, each half of them separately.
    async fn read_direct_part(
        &self,
        keys: &[&EntryKey],
        found: &mut HashMap<EntryKey, Count, RandomState>,
    ) -> Result<(), DriverError> {
        let mut parts = vec![keys.to_vec()];
        while let Some(part) = parts.pop() {
            let name = name_of(&self.schema().program, part.first().map(|key| Resource::Table(key.table)));
            let entity = |key: &&EntryKey| {
                let table_entry = Some(self.schema().wire_key(key));
                What::DirectCounter(DirectCounterEntry { table_entry, data: None }).into()
            };
            let entities = part.iter().map(entity).collect();
            let take = |entity: Entity| {
                let Some(What::DirectCounter(counter)) = entity.what else { return };
                let key = counter.table_entry.as_ref().and_then(|entry| self.schema().key_of(entry).ok());
                if let (Some(key), Some(data)) = (key, &counter.data) {
                    found.insert(key, count_of(data));
                }
            };
            let Err(status) = self.read(entities, take).await else { continue };
            match missing(&status, part.len()) {
                Missing::Known => {}
                Missing::Perhaps if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([first.to_vec(), second.to_vec()]);
                }
                Missing::Perhaps if status.code() == Code::NotFound => {}
                Missing::Perhaps | Missing::None => return Err(read_error(&name, &status)),
            }
        }
        Ok(())
    }

    /// Counters by index, which exist.
    pub(super) async fn read_indexed(
        &self,
        counter: u32,
        indices: &[u32],
    ) -> Result<Vec<Option<Count>>, DriverError> {
        let name = name_of(&self.schema().program, Some(Resource::Counter(counter)));
        let mut found: HashMap<i64, Count, RandomState> = HashMap::default();
        for part in indices.chunks(CHUNK) {
            let entity = |index: &u32| {
                let index = Some(Index { index: (*index).into() });
                What::Counter(CounterEntry { counter_id: counter, index, data: None }).into()
            };
            let take = |entity: Entity| {
                let Some(What::Counter(entry)) = entity.what else { return };
                if let (true, Some(index), Some(data)) =
                    (entry.counter_id == counter, entry.index, &entry.data)
                {
                    found.insert(index.index, count_of(data));
                }
            };
            self.read(part.iter().map(entity).collect(), take)
                .await
                .map_err(|status| read_error(&name, &status))?;
        }
        let counts: Vec<_> = indices.iter().map(|index| found.get(&i64::from(*index)).copied()).collect();
        // A response without one of them is incomplete.
        if counts.iter().all(Option::is_some) { Ok(counts) } else { Err(DriverError::Unavailable) }
    }

    /// Cells of a register, which exist.
    pub(super) async fn read_register(
        &self,
        register: u32,
        indices: &[u32],
    ) -> Result<Vec<RegisterValue>, DriverError> {
        let name = name_of(&self.schema().program, Some(Resource::Register(register)));
        let refused = |status: &Status| read_error(&name, status);
        let known = self.schema().register_of(register);
        let known = known.map_err(|refusal| refused(&Status::invalid_argument(refusal.message)))?;
        let mut found: HashMap<i64, RegisterValue, RandomState> = HashMap::default();
        let mut unreadable: Option<String> = None;
        for part in indices.chunks(CHUNK) {
            let entity = |index: &u32| {
                let index = Some(Index { index: (*index).into() });
                What::Register(RegisterEntry { register_id: register, index, data: None }).into()
            };
            let take = |entity: Entity| {
                let Some(What::Register(entry)) = entity.what else { return };
                let (true, Some(index), Some(data)) =
                    (entry.register_id == register, entry.index, &entry.data)
                else {
                    return;
                };
                match self.schema().cell_of(known, data) {
                    Ok(value) => _ = found.insert(index.index, value),
                    Err(refusal) => unreadable = Some(refusal.message),
                }
            };
            let read = self.read(part.iter().map(entity).collect(), take).await;
            read.map_err(|status| refused(&status))?;
        }
        if let Some(message) = unreadable {
            return Err(refused(&Status::invalid_argument(message)));
        }
        let values = indices.iter().map(|index| found.get(&i64::from(*index)).copied());
        // A response without one of them is incomplete.
        values.collect::<Option<_>>().ok_or(DriverError::Unavailable)
    }

    /// All entries of a table that are not part of the program.
    pub(super) async fn read_entries(&self, table: u32) -> Result<Vec<Entry>, DriverError> {
        let name = name_of(&self.schema().program, Some(Resource::Table(table)));
        let asked = TableEntry { table_id: table, ..TableEntry::default() };
        let mut entries = Vec::new();
        let mut unknown: Option<String> = None;
        let take = |entity: Entity| match entity.what {
            Some(What::Table(entry)) if entry.is_default_action || entry.is_const => {}
            Some(What::Table(entry)) if entry.table_id == table => match self.schema().entry_of(&entry) {
                Ok(entry) => entries.push(entry),
                Err(refusal) => unknown = Some(refusal.message),
            },
            _ => {}
        };
        let read = self.read(vec![What::Table(asked).into()], take).await;
        read.map_err(|status| read_error(&name, &status))?;
        if let Some(message) = unknown {
            let message = format!("it has an entry that the program does not allow: {message}");
            return Err(read_error(&name, &Status::invalid_argument(message)));
        }
        if self.schema().program.table(table).is_some_and(|table| table.is_const) {
            entries.clear();
        }
        Ok(entries)
    }

    /// One call. Each message of the response has its own deadline: a long response is not a late one.
    async fn read(&self, entities: Vec<Entity>, mut take: impl FnMut(Entity)) -> Result<(), Status> {
        let request = ReadRequest { device_id: self.shared.options.device_id, entities, role: String::new() };
        let mut client = self.client.clone();
        let request = tonic::Request::new(request);
        let mut answer = within(self.deadline(), client.read(request)).await?.into_inner();
        while let Some(message) = within(self.deadline(), answer.message()).await? {
            message.entities.into_iter().for_each(&mut take);
        }
        Ok(())
    }
}

/// What a status reports about missing entries.
enum Missing {
    /// All of the others were read.
    Known,
    /// Some may be missing, and others unread.
    Perhaps,
    /// It has another cause.
    None,
}

fn missing(status: &Status, asked: usize) -> Missing {
    let is_gone = |part: &P4Error| matches!(Code::from(part.canonical_code), Code::Ok | Code::NotFound);
    match (wire::Status::parts(status.details(), asked), status.code()) {
        (Some(parts), _) if parts.iter().all(is_gone) => Missing::Known,
        (Some(_), _) => Missing::None,
        (None, Code::NotFound | Code::Unknown | Code::InvalidArgument) => Missing::Perhaps,
        (None, _) => Missing::None,
    }
}
