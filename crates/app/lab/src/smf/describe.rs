//! Names of messages in the timeline.

use causeway_pfcp::{Cause, Message, SessionModificationRequest};

/// Its name as a person says it, with what distinguishes it from others of that name, for example
/// `Session Report Request (DLDR)`.
pub(super) fn describe(message: &Message<'_>) -> String {
    let name = spaced(&format!("{:?}", message.message_type()));
    let particular = match message {
        Message::SessionModificationRequest(request) => modification(request),
        Message::SessionReportRequest(report) => flags(report.report_type.iter_names()),
        _ => cause(message)
            .filter(|cause| !cause.is_accepted())
            .map(|cause| format!("{cause:?}"))
            .unwrap_or_default(),
    };
    if particular.is_empty() { name } else { format!("{name} ({particular})") }
}

/// What becomes of the downlink, or that usage is asked for.
fn modification(request: &SessionModificationRequest<'_>) -> String {
    let mut words = Vec::new();
    for far in &request.update_fars {
        words.extend(far.apply_action.map(|action| flags(action.iter_names())));
        let parameters = far.update_forwarding_parameters.and_then(|parameters| parameters.flags);
        words.extend(parameters.map(|parameters| flags(parameters.iter_names())));
    }
    if !request.query_urrs.is_empty() {
        words.push("query".into());
    }
    words.join(" ")
}

fn cause(message: &Message<'_>) -> Option<Cause> {
    match message {
        Message::AssociationSetupResponse(response) => Some(response.cause),
        Message::SessionEstablishmentResponse(response) => Some(response.cause),
        Message::SessionModificationResponse(response) => Some(response.cause),
        Message::SessionDeletionResponse(response) => Some(response.cause),
        Message::SessionReportResponse(response) => Some(response.cause),
        _ => None,
    }
}

fn flags<T>(names: impl Iterator<Item = (&'static str, T)>) -> String {
    names.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

/// `SessionReportRequest` as `Session Report Request`.
fn spaced(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter);
    }
    words
}
