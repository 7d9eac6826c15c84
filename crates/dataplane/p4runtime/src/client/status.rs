//! Interpretation of a switch's statuses.

use causeway_switch::driver::{DriverError, Program, Rejected, Resource, Update, WriteError};
use tonic::{Code, Status};

use crate::wire::{self, P4Error};

/// The outcome of a batch that was sent.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum WriteEnd {
    /// All of it was done.
    Done,
    /// None of it was done, for this reason.
    Nothing(DriverError),
    /// The switch does not support this atomicity.
    NoSuchAtomicity,
    /// These updates were done; the named one was not, for this reason.
    Partly(Vec<bool>, Rejected),
    /// The outcome is unknown.
    Unknown,
}

/// The outcome of a batch of updates.
pub(super) fn write_end(
    program: &Program,
    updates: &[Update],
    is_atomic: bool,
    answer: Result<(), Status>,
) -> WriteEnd {
    let Err(status) = answer else { return WriteEnd::Done };
    if let Some(parts) = wire::Status::parts(status.details(), updates.len()) {
        return end_of_parts(program, updates, is_atomic, &parts);
    }
    match status.code() {
        // The specification's status for a batch that was not begun.
        Code::Unimplemented if is_atomic => WriteEnd::NoSuchAtomicity,
        Code::PermissionDenied => WriteEnd::Nothing(DriverError::Superseded),
        Code::FailedPrecondition => WriteEnd::Nothing(DriverError::Unavailable),
        Code::InvalidArgument
        | Code::NotFound
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Unauthenticated => {
            WriteEnd::Nothing(refused(program, updates, 0, status.code(), status.message()).into())
        }
        // All or a part of it may have been done before the connection broke.
        _ => WriteEnd::Unknown,
    }
}

fn end_of_parts(program: &Program, updates: &[Update], is_atomic: bool, parts: &[P4Error]) -> WriteEnd {
    let code = |part: &P4Error| Code::from(part.canonical_code);
    let is_wrong = |part: &P4Error| code(part) != Code::Ok;
    let is_cause = |part: &P4Error| is_wrong(part) && code(part) != Code::Aborted;
    let wrong = parts.iter().position(is_cause).or_else(|| parts.iter().position(is_wrong));
    let Some((place, part)) = wrong.and_then(|place| Some((place, parts.get(place)?))) else {
        return WriteEnd::Unknown;
    };
    if code(part) == Code::Unimplemented && is_atomic {
        return WriteEnd::NoSuchAtomicity;
    }
    let rejected = refused(program, updates, place, code(part), &part.message);
    if is_atomic || parts.iter().all(is_wrong) {
        return WriteEnd::Nothing(rejected.into());
    }
    WriteEnd::Partly(parts.iter().map(|part| !is_wrong(part)).collect(), rejected)
}

/// Why an update is refused, as a driver's error.
fn refused(program: &Program, updates: &[Update], place: usize, code: Code, message: &str) -> Rejected {
    let update = updates.get(place);
    let resource = update.map(Update::resource);
    let name = name_of(program, resource);
    let table = match resource {
        Some(Resource::Table(table)) => program.table(table),
        _ => None,
    };
    let error = match (code, table) {
        (Code::AlreadyExists, Some(_)) => WriteError::Exists(name),
        (Code::NotFound, Some(_)) => WriteError::Missing(name),
        (Code::ResourceExhausted, Some(table)) => WriteError::Full { table: name, size: table.size },
        _ => WriteError::Refused { table: name, status: code as i32, message: message.to_owned() },
    };
    Rejected { update: place, error }
}

/// The alias of a request's resource.
pub(super) fn name_of(program: &Program, resource: Option<Resource>) -> String {
    let name = match resource {
        Some(Resource::Table(id)) => program.table(id).map(|table| table.name.clone()),
        Some(Resource::Counter(id)) => {
            program.counters.iter().find(|counter| counter.id == id).map(|counter| counter.name.clone())
        }
        Some(Resource::Register(id)) => {
            program.registers.iter().find(|register| register.id == id).map(|register| register.name.clone())
        }
        Some(Resource::Meter(id)) => {
            program.meters.iter().find(|meter| meter.id == id).map(|meter| meter.name.clone())
        }
        None => None,
    };
    name.unwrap_or_else(|| "none".to_owned())
}

/// The error of a failed read: a read changes nothing, so it can be repeated.
pub(super) fn read_error(name: &str, status: &Status) -> DriverError {
    match status.code() {
        Code::InvalidArgument
        | Code::NotFound
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::PermissionDenied => {
            let (status, message) = (status.code() as i32, status.message().to_owned());
            let error = WriteError::Refused { table: name.to_owned(), status, message };
            Rejected { update: 0, error }.into()
        }
        _ => DriverError::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use causeway_switch::driver::{EntryKey, Table};
    use prost::Message;

    use super::*;

    fn program() -> Program {
        let table = Table {
            id: 7,
            name: "routes".to_owned(),
            size: 64,
            keys: Vec::new(),
            actions: Vec::new(),
            is_const: false,
        };
        Program { tables: vec![table], ..Program::default() }
    }

    fn updates() -> Vec<Update> {
        (0..3).map(|_| Update::Delete(EntryKey { table: 7, fields: Vec::new(), priority: 0 })).collect()
    }

    fn batch(codes: [Code; 3]) -> Status {
        let errors = codes.map(|code| P4Error { canonical_code: code as i32, message: "why".to_owned() });
        let details = wire::Status::of_batch(Code::Unknown as i32, "", &errors).encode_to_vec();
        Status::with_details(Code::Unknown, "", details.into())
    }

    fn end(is_atomic: bool, status: Status) -> WriteEnd {
        write_end(&program(), &updates(), is_atomic, Err(status))
    }

    fn rejected(update: usize, error: WriteError) -> Rejected {
        Rejected { update, error }
    }

    // Input:  the errors of each update of a batch, written as a whole and update by update.
    // Output: the first cause with its update; the updates that were done if a part was.
    #[test]
    fn errors_of_updates_are_told() {
        let full = rejected(1, WriteError::Full { table: "routes".to_owned(), size: 64 });
        let aborted = batch([Code::Aborted, Code::ResourceExhausted, Code::Aborted]);
        assert_eq!(end(true, aborted), WriteEnd::Nothing(full.clone().into()));
        let partly = batch([Code::Ok, Code::ResourceExhausted, Code::Ok]);
        assert_eq!(end(false, partly), WriteEnd::Partly(vec![true, false, true], full));
        let missing = rejected(0, WriteError::Missing("routes".to_owned()));
        assert_eq!(end(false, batch([Code::NotFound; 3])), WriteEnd::Nothing(missing.into()));
        assert_eq!(end(true, batch([Code::Unimplemented; 3])), WriteEnd::NoSuchAtomicity);
    }

    // Input:  statuses of a whole batch, from servers with and without such batches, from switches with another
    //         primary, and from a broken connection.
    // Output: none was done where the switch reports that; otherwise the outcome is unknown.
    #[test]
    fn statuses_of_the_whole_are_told() {
        assert_eq!(end(true, Status::unimplemented("")), WriteEnd::NoSuchAtomicity);
        assert_eq!(end(false, Status::permission_denied("")), WriteEnd::Nothing(DriverError::Superseded));
        assert_eq!(end(false, Status::failed_precondition("")), WriteEnd::Nothing(DriverError::Unavailable));
        for code in
            [Code::Unavailable, Code::Unknown, Code::DeadlineExceeded, Code::Internal, Code::Cancelled]
        {
            assert_eq!(end(false, Status::new(code, "")), WriteEnd::Unknown);
        }
        let wrong_details = Status::with_details(Code::Unknown, "", vec![0xff; 9].into());
        assert_eq!(end(false, wrong_details), WriteEnd::Unknown);
    }
}
