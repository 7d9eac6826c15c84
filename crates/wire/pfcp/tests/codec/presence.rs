//! Missing, incorrect, unknown and repeated IEs (clauses 7.2.3.2 and 7.6.6 to 7.6.10).

use crate::support::{Tape, decode, header, mandatory, mandatory_of, value, write};
use causeway_pfcp::{ALL, Cause, Field, IeError, Message, MessageType, Presence, ie_info};

fn refusal(message_type: MessageType, body: &[u8]) -> IeError {
    match Message::decode(&header(message_type), body) {
        Err(causeway_pfcp::DecodeError::Ie(error)) => error,
        other => panic!("{message_type:?}: {other:?}"),
    }
}

// Input:  each message with only its mandatory IEs, and the same without one of them.
// Output: the first decodes; the second is refused with "Mandatory IE missing" and the type of that IE.
#[test]
fn every_mandatory_ie_of_every_message_is_missed() {
    let mut missed = 0;
    for message_type in MessageType::ALL {
        let all = mandatory_of(*message_type);
        for at in 0..all.len() {
            let mut ies = all.clone();
            let (absent, _) = ies.remove(at);
            let error = refusal(*message_type, &write(&ies));
            assert_eq!(error.cause(), Cause::MandatoryIeMissing, "{message_type:?}");
            assert_eq!(error.offending(), Some(absent), "{message_type:?}");
            missed += 1;
        }
    }
    assert!(missed >= 30, "{missed}");
}

// Input:  each group with only its mandatory IEs, and the same without one of them.
// Output: the first decodes; the second misses that IE.
#[test]
fn every_mandatory_ie_of_every_group_is_missed() {
    let mut missed = 0;
    for info in ALL.iter().filter(|info| !info.fields.is_empty()) {
        let all = mandatory(info.fields);
        info.encode_again(&write(&all), &mut Vec::new()).unwrap();
        for at in 0..all.len() {
            let mut ies = all.clone();
            let (absent, _) = ies.remove(at);
            let error = info.encode_again(&write(&ies), &mut Vec::new()).unwrap_err();
            assert_eq!(error.cause(), Cause::MandatoryIeMissing, "{info:?}");
            assert_eq!(error.offending(), Some(absent), "{info:?}");
            missed += 1;
        }
    }
    assert!(missed >= 90, "{missed}");
}

// Input:  each field that is a group, without its mandatory IEs, in each message.
// Output: depending on the presence of the group: "Mandatory IE missing", "Conditional IE missing", or as if
// absent.
#[test]
fn a_missing_ie_weighs_as_much_as_the_group_around_it() {
    for message_type in MessageType::ALL {
        for field in message_type.fields() {
            let inside = mandatory(field.fields);
            let Some((absent, _)) = inside.first() else { continue };
            let hollow = (field.ie_type, write(&inside[1..]));
            let hollow = if inside.len() == 1 { (field.ie_type, vec![0, 0, 0, 0]) } else { hollow };
            let mut ies = mandatory_of(*message_type);
            ies.retain(|(ie_type, _)| *ie_type != field.ie_type);
            ies.push(hollow);
            let body = write(&ies);
            if field.presence == Presence::Optional {
                let without = decode(*message_type, &body);
                assert_eq!(crate::support::body(&without), write(&ies[..ies.len() - 1]));
                continue;
            }
            let error = refusal(*message_type, &body);
            let mandatory = field.presence == Presence::Mandatory;
            let cause = if mandatory { Cause::MandatoryIeMissing } else { Cause::ConditionalIeMissing };
            assert_eq!(error.cause(), cause, "{message_type:?} {}", field.name);
            assert_eq!(error.path.as_slice(), [field.ie_type, *absent], "{message_type:?} {}", field.name);
        }
    }
}

// Input:  each message with each of its IEs, the value cut to one octet, if that is too short for the IE.
// Output: "Invalid length" with the type of that IE, whatever its presence.
#[test]
fn a_value_that_is_too_short_is_an_invalid_length() {
    let mut short = 0;
    for message_type in MessageType::ALL {
        for field in message_type.fields() {
            let value = [1];
            let result = ie_info(field.ie_type).unwrap().encode_again(&value, &mut Vec::new());
            if result.map_err(|error| error.cause()) != Err(Cause::InvalidLength) {
                continue;
            }
            let mut ies = mandatory_of(*message_type);
            ies.retain(|(ie_type, _)| *ie_type != field.ie_type);
            ies.insert(0, (field.ie_type, value.to_vec()));
            let error = refusal(*message_type, &write(&ies));
            assert_eq!(error.cause(), Cause::InvalidLength, "{message_type:?} {}", field.name);
            assert_eq!(error.path.as_slice().first(), Some(&field.ie_type));
            short += 1;
        }
    }
    assert!(short >= 100, "{short}");
}

// Input:  a mandatory, a conditional and an optional IE with an incorrect value.
// Output: the first two refuse the message, the third counts as absent, and is reported.
#[test]
fn an_incorrect_value_counts_unless_the_ie_is_optional() {
    let spare_node_id = (60, vec![0x0f]);
    let body = write(&[spare_node_id.clone(), (96, vec![0, 0, 0, 1])]);
    let error = refusal(MessageType::AssociationSetupRequest, &body);
    assert_eq!((error.cause(), error.offending()), (Cause::MandatoryIeIncorrect, Some(60)));

    let body = write(&[(57, vec![0; 9])]);
    let error = refusal(MessageType::SessionModificationRequest, &body);
    assert_eq!((error.cause(), error.offending()), (Cause::MandatoryIeIncorrect, Some(57)));

    let body = write(&[spare_node_id]);
    let Message::PfdManagementRequest(request) = decode(MessageType::PfdManagementRequest, &body) else {
        panic!()
    };
    assert_eq!(request.node_id, None);
    assert_eq!(request.other.ignored().unwrap().offending(), Some(60));
}

// Input:  each message with mandatory IEs, and between them an unknown IE, one of another message, one of a vendor.
// Output: the message, with those IEs in `other`; they survive encoding.
#[test]
fn unknown_ies_are_ignored_and_kept_apart() {
    let unknown_ies = [(400, vec![1, 2]), (0xffff, vec![0x28, 0xaf, 9]), (116, vec![])];
    for message_type in MessageType::ALL {
        let plain = mandatory_of(*message_type);
        let mut ies = plain.clone();
        for (at, unknown_ie) in unknown_ies.iter().enumerate() {
            ies.insert(at.min(ies.len()), unknown_ie.clone());
        }
        let body = write(&ies);
        let again = crate::support::body(&decode(*message_type, &body));
        assert_eq!(again, write(&[&plain[..], &unknown_ies[..]].concat()), "{message_type:?}");
    }
}

// Input:  each message with an IE that must not be repeated, and then the same IE with another value.
// Output: the first one counts.
#[test]
fn only_the_first_of_repeated_ies_counts() {
    let tape: Vec<u8> = (1..=255).cycle().take(4000).collect();
    for message_type in MessageType::ALL {
        let single = |field: &&Field| !field.repeated && field.fields.is_empty();
        for field in message_type.fields().iter().filter(single) {
            let mut ies = mandatory_of(*message_type);
            ies.retain(|(ie_type, _)| *ie_type != field.ie_type);
            ies.push((field.ie_type, crate::support::minimal(field.ie_type)));
            let once = write(&ies);
            ies.push((field.ie_type, value(field.ie_type, &mut Tape(&tape))));
            ies.push((field.ie_type, vec![0xff]));
            assert_eq!(decode(*message_type, &write(&ies)), decode(*message_type, &once));
        }
    }
}

// Input:  an accepting and a rejecting Association Setup Response without recovery time stamp.
// Output: the first lacks it; a rejection needs only its cause (clause 7.2.3.2).
#[test]
fn a_rejection_carries_only_its_cause() {
    let node = (60, vec![0, 10, 0, 0, 1]);
    let accepted = write(&[node.clone(), (19, vec![1])]);
    let error = refusal(MessageType::AssociationSetupResponse, &accepted);
    assert_eq!((error.cause(), error.offending()), (Cause::MandatoryIeMissing, Some(96)));
    decode(MessageType::AssociationSetupResponse, &write(&[node, (19, vec![72])]));
}

// Input:  the fields of every message, and recursively those of groups.
// Output: no IE is nested deeper than the path of an error.
#[test]
fn no_ie_is_deeper_than_an_error_can_say() {
    fn depth(fields: &[Field]) -> usize {
        fields.iter().map(|field| 1 + depth(field.fields)).max().unwrap_or_default()
    }
    let deepest = MessageType::ALL.iter().map(|message_type| depth(message_type.fields())).max();
    let mut error = IeError::length();
    (1..=10).for_each(|ie_type| error = error.at(ie_type));
    assert!(deepest.unwrap() <= error.path.as_slice().len(), "{deepest:?}");
}
