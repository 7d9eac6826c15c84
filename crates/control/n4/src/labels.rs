//! Texts of messages, causes and results in logs and metrics.

use std::fmt::Debug;

use causeway_pfcp::{Cause, MessageType};

/// `SessionReportRequest` as `session_report_request`.
fn snake(name: &impl Debug) -> String {
    let mut label = String::new();
    for letter in format!("{name:?}").chars() {
        if letter.is_ascii_uppercase() && !label.is_empty() {
            label.push('_');
        }
        label.push(letter.to_ascii_lowercase());
    }
    label
}

/// The label of a message type; `unknown` for one that Release 17 does not know.
pub fn message_label(message: Option<MessageType>) -> String {
    message.map_or_else(|| "unknown".to_owned(), |message| snake(&message))
}

/// The label of a cause, for example `session_context_not_found` or `cause_200`.
pub fn cause_label(cause: Cause) -> String {
    match cause {
        Cause::Other(code) => format!("cause_{code}"),
        named => snake(&named),
    }
}

/// A message type as words, for example `session report request`.
pub(crate) fn message_words(message: MessageType) -> String {
    snake(&message).replace('_', " ")
}

/// A cause as its code and words, for example `65 (session context not found)`.
pub(crate) fn cause_words(cause: Cause) -> String {
    format!("{} ({})", cause.code(), cause_label(cause).replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_labels_and_words() {
        assert_eq!(message_label(Some(MessageType::HeartbeatRequest)), "heartbeat_request");
        assert_eq!(message_label(None), "unknown");
        assert_eq!(message_words(MessageType::PfdManagementResponse), "pfd management response");
        assert_eq!(cause_words(Cause::SessionContextNotFound), "65 (session context not found)");
        assert_eq!(cause_label(Cause::Other(200)), "cause_200");
    }
}
