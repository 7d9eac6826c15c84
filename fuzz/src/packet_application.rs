//! Any octets as the first ones of a flow: what is found in them lies in them, and is found again with more behind.

use causeway_packet::application::{SearchResult, query_name, request, server_name};

/// Handles these octets.
pub fn run(octets: &[u8]) {
    let more = [octets, b"\r\n\r\n\0\0\0\0"].concat();
    if let SearchResult::Found(name) = server_name(octets) {
        assert!(octets.windows(name.len()).any(|part| part == name.as_bytes()));
        assert_eq!(server_name(&more), SearchResult::Found(name));
    }
    if let SearchResult::Found(found) = request(octets) {
        assert!(!found.host.is_empty() && !found.target.is_empty());
        assert_eq!(request(&more), SearchResult::Found(found));
    }
    if let Some(name) = query_name(octets) {
        assert!((1..=253).contains(&name.as_str().len()));
        assert_eq!(query_name(&more), Some(name));
    }
}
