//! `Write`.

use causeway_switch::driver::{DriverError, Outcome, Request, Update};
use causeway_types::Time;
use prost::Message;
use tokio::sync::oneshot;
use tonic::{Code, Status};

use super::device::{Device, Running};
use crate::convert::{Refusal, rates_of};
use crate::wire::{self, Atomicity, MOST_OF_UPDATE, MOST_UPDATES, UpdateKind, What, WriteRequest};

/// Octets of the details of a status: above this, messages are omitted, and then all details.
const MOST_DETAILS: usize = 1 << 20;

/// An update that fits the program.
enum Job {
    Model(Update),
    /// Replaces the members of the value set with this index.
    Members(usize, Vec<u128>),
    /// The requested state is the present one.
    Nothing,
}

/// The result of an update.
pub(super) enum Fate {
    Over(Result<(), Refusal>),
    UnderWay(oneshot::Receiver<Outcome>),
}

/// A batch in progress.
pub(super) enum Batch {
    /// Each update by itself.
    Each(Vec<Fate>),
    /// This many updates, all or none.
    Whole(usize, oneshot::Receiver<Outcome>),
}

impl Device {
    /// Checks a batch and begins it.
    pub(super) fn begin_write(&mut self, now: Time, request: &WriteRequest) -> Result<Batch, Status> {
        self.check_primary(request.device_id, &request.role, request.election_id)?;
        let Ok(atomicity) = Atomicity::try_from(request.atomicity) else {
            return Err(Refusal::invalid(format!("atomicity {}", request.atomicity)).into());
        };
        if atomicity != Atomicity::ContinueOnError && !self.options.has_atomic_batches {
            return Err(Status::unimplemented("batches are carried out update by update"));
        }
        if request.is_too_large {
            return Err(Status::resource_exhausted(format!(
                "a request has at most {MOST_UPDATES} updates of {MOST_OF_UPDATE} octets: nothing was done"
            )));
        }
        let running = self.running()?;
        let jobs: Vec<Result<Job, Refusal>> =
            request.updates.iter().map(|update| running.job(update)).collect();
        if atomicity == Atomicity::ContinueOnError {
            let fates = jobs.into_iter().map(|job| running.carry_out(now, job));
            return Ok(Batch::Each(fates.collect()));
        }
        running.begin_whole(now, jobs)
    }
}

impl Running {
    fn job(&self, update: &wire::Update) -> Result<Job, Refusal> {
        let kind = match UpdateKind::try_from(update.kind) {
            Ok(UpdateKind::Unspecified) | Err(_) => {
                return Err(Refusal::invalid(format!("update of type {}", update.kind)));
            }
            Ok(kind) => kind,
        };
        let what = update.entity.as_ref().and_then(|entity| entity.what.as_ref());
        match what.ok_or_else(|| Refusal::invalid("an update of nothing"))? {
            What::Table(entry) => self.table_job(kind, entry),
            What::Meter(_) | What::ValueSet(_) | What::Register(_) if kind != UpdateKind::Modify => {
                Err(Refusal::invalid("meters, registers and value sets can only be modified"))
            }
            What::Meter(entry) => self.meter_job(entry),
            What::Register(entry) => self.register_job(entry),
            What::ValueSet(entry) => self.members_job(entry),
            What::Counter(_) | What::DirectCounter(_) if kind != UpdateKind::Modify => {
                Err(Refusal::invalid("counters can only be modified"))
            }
            What::Counter(_) | What::DirectCounter(_) => Err(unimplemented("counters cannot be set")),
            What::Replication(_) => {
                Err(unimplemented("copies need no session: they are sent to the CPU port"))
            }
            What::Extern(_)
            | What::ProfileMember(_)
            | What::ProfileGroup(_)
            | What::DirectMeter(_)
            | What::Digest(_) => Err(Refusal::invalid("the program has no such object")),
        }
    }

    fn table_job(&self, kind: UpdateKind, entry: &wire::TableEntry) -> Result<Job, Refusal> {
        let table = self.schema.table_of(entry.table_id)?;
        if entry.is_default_action {
            if kind != UpdateKind::Modify || !entry.matches.is_empty() || entry.priority != 0 {
                return Err(Refusal::invalid("a default action can only be modified, and has no key"));
            }
            // Without an action it requests the program's default, which always applies.
            return match entry.action {
                None => Ok(Job::Nothing),
                Some(_) => Err(unimplemented("default actions are those of the program")),
            };
        }
        if kind != UpdateKind::Delete {
            let name = &table.name;
            if entry.controller_metadata != 0 || !entry.metadata.is_empty() {
                return Err(unimplemented(&format!("table {name}: entries keep no metadata")));
            }
            if entry.idle_timeout_ns != 0 {
                return Err(Refusal::invalid(format!("table {name}: entries do not time out")));
            }
            if entry.meter_config.is_some() {
                return Err(Refusal::invalid(format!("table {name}: entries have no meters")));
            }
            if entry.counter_data.is_some() {
                return Err(unimplemented(&format!("table {name}: counters cannot be set")));
            }
        }
        let update = match kind {
            UpdateKind::Insert => Update::Insert(self.schema.entry_of(entry)?),
            UpdateKind::Modify => Update::Modify(self.schema.entry_of(entry)?),
            UpdateKind::Delete | UpdateKind::Unspecified => Update::Delete(self.schema.key_of(entry)?),
        };
        Ok(Job::Model(update))
    }

    fn meter_job(&self, entry: &wire::MeterEntry) -> Result<Job, Refusal> {
        let id = entry.meter_id;
        let meter = self.schema.program.meters.iter().find(|meter| meter.id == id);
        let meter = meter.ok_or_else(|| Refusal::invalid(format!("there is no meter {id:#x}")))?;
        if entry.counter_data.is_some() {
            return Err(unimplemented("meters have no counters"));
        }
        let index = entry.index.ok_or_else(|| unimplemented("meters are set one by one"))?;
        let index = crate::convert::index_of(index, meter.size)?;
        let rates = entry.config.as_ref().map(rates_of).transpose()?;
        Ok(Job::Model(Update::SetMeter { meter: id, index, rates }))
    }

    fn register_job(&self, entry: &wire::RegisterEntry) -> Result<Job, Refusal> {
        let register = self.schema.register_of(entry.register_id)?;
        let index = entry.index.ok_or_else(|| unimplemented("cells of registers are set one by one"))?;
        let index = crate::convert::index_of(index, register.size)?;
        let value = self.schema.cell_of(register, &entry.data.clone().unwrap_or_default())?;
        Ok(Job::Model(Update::SetRegister { register: register.id, index, value }))
    }

    fn members_job(&self, entry: &wire::ValueSetEntry) -> Result<Job, Refusal> {
        let id = entry.value_set_id;
        let mut sets = self.schema.value_sets.iter().enumerate();
        let found = sets.find(|(_, set)| set.id == id);
        let (place, set) = found.ok_or_else(|| Refusal::invalid(format!("there is no value set {id:#x}")))?;
        Ok(Job::Members(place, set.members_of(&entry.members)?))
    }

    fn carry_out(&mut self, now: Time, job: Result<Job, Refusal>) -> Fate {
        match job {
            Err(refusal) => Fate::Over(Err(refusal)),
            Ok(Job::Model(update)) => Fate::UnderWay(self.submit(now, Request::Write(vec![update]))),
            Ok(Job::Members(place, values)) => {
                self.set_members(place, values);
                Fate::Over(Ok(()))
            }
            Ok(Job::Nothing) => Fate::Over(Ok(())),
        }
    }

    /// The model makes batches all or nothing, and packets see the change at one moment: more than a roll-back
    /// requires.
    fn begin_whole(&mut self, now: Time, jobs: Vec<Result<Job, Refusal>>) -> Result<Batch, Status> {
        if let Some(wrong) = jobs.iter().position(Result::is_err) {
            let fates = jobs.into_iter().enumerate().map(|(place, job)| {
                Fate::Over(Err(job.err().filter(|_| place == wrong).unwrap_or_else(taken_back)))
            });
            return Ok(Batch::Each(fates.collect()));
        }
        let count = jobs.len();
        let mut updates = Vec::with_capacity(count);
        for job in jobs.into_iter().flatten() {
            match job {
                Job::Model(update) => updates.push(update),
                job @ (Job::Members(..) | Job::Nothing) if count == 1 => {
                    return Ok(Batch::Each(vec![self.carry_out(now, Ok(job))]));
                }
                Job::Members(..) | Job::Nothing => {
                    let what =
                        "value sets and default actions cannot be set in one batch with other entities";
                    return Err(Status::unimplemented(what));
                }
            }
        }
        Ok(Batch::Whole(count, self.submit(now, Request::Write(updates))))
    }
}

impl Batch {
    /// Waits until it has ended: the result of each update.
    pub(super) async fn end(self) -> Result<Vec<Result<(), Refusal>>, Status> {
        match self {
            Self::Each(fates) => {
                let mut ends = Vec::with_capacity(fates.len());
                for fate in fates {
                    ends.push(match fate {
                        Fate::Over(end) => end,
                        Fate::UnderWay(outcome) => end_of(outcome).await?.map_err(|(_, refusal)| refusal),
                    });
                }
                Ok(ends)
            }
            Self::Whole(count, outcome) => Ok(match end_of(outcome).await? {
                Ok(()) => vec![Ok(()); count],
                Err((wrong, refusal)) => (0..count)
                    .map(|place| Err(if place == wrong { refusal.clone() } else { taken_back() }))
                    .collect(),
            }),
        }
    }
}

/// The result of a request to the model: the refused update, and the reason.
async fn end_of(outcome: oneshot::Receiver<Outcome>) -> Result<Result<(), (usize, Refusal)>, Status> {
    match outcome.await {
        Ok(Ok(_)) => Ok(Ok(())),
        Ok(Err(DriverError::Rejected(rejected))) => Ok(Err((rejected.update, (&rejected.error).into()))),
        Ok(Err(error)) => Err(Status::internal(error.to_string())),
        Err(_) => Err(Status::aborted("another program was set")),
    }
}

/// The status of a batch.
pub(super) fn status_of(ends: &[Result<(), Refusal>]) -> Result<(), Status> {
    let Some(first) =
        ends.iter().find_map(|end| end.as_ref().err().filter(|refusal| !is_taken_back(refusal)))
    else {
        return Ok(());
    };
    let each = |end: &Result<(), Refusal>| match end {
        Ok(()) => wire::P4Error::default(),
        Err(refusal) => refusal.to_wire(),
    };
    let mut errors: Vec<wire::P4Error> = ends.iter().map(each).collect();
    let message = format!("not all of it can be done: {}", first.message);
    let encode = |errors: &[wire::P4Error]| {
        wire::Status::of_batch(Code::Unknown as i32, &message, errors).encode_to_vec()
    };
    let mut details = encode(&errors);
    if details.len() > MOST_DETAILS {
        errors.iter_mut().for_each(|error| error.message.clear());
        details = encode(&errors);
    }
    if details.len() > MOST_DETAILS {
        return Err(Status::unknown(format!("{message} (too many errors to list each)")));
    }
    Err(Status::with_details(Code::Unknown, message, details.into()))
}

fn taken_back() -> Refusal {
    Refusal::new(Code::Aborted, "not done, since another part of the batch cannot be")
}

fn is_taken_back(refusal: &Refusal) -> bool {
    refusal.code == Code::Aborted
}

fn unimplemented(what: &str) -> Refusal {
    Refusal::new(Code::Unimplemented, what)
}
