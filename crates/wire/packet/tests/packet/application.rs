//! Server names and URLs in the first octets of a flow: whole, truncated and hostile.

use causeway_packet::application::{SearchResult, query_name, request, server_name};
use proptest::prelude::*;

/// The octets with a length field before them.
fn counted(width: usize, octets: &[u8]) -> Vec<u8> {
    let len = (octets.len() as u32).to_be_bytes();
    [&len[4 - width..], octets].concat()
}

fn extension(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[0, kind][..], &counted(2, value)].concat()
}

/// A ClientHello whose server name follows an extension of this many octets.
fn hello(name: &str, before: usize) -> Vec<u8> {
    let sni = extension(0, &counted(2, &[&[0][..], &counted(2, name.as_bytes())].concat()));
    let extensions = counted(2, &[extension(51, &vec![7; before]), sni].concat());
    let body = [&[3, 3][..], &[1; 32], &counted(1, &[2; 32]), &counted(2, &[19, 1]), &[1, 0], &extensions];
    let handshake = [&[1][..], &counted(3, &body.concat())].concat();
    [&[22, 3, 1][..], &counted(2, &handshake)].concat()
}

fn query(labels: &[&[u8]]) -> Vec<u8> {
    let mut message = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in labels {
        message.push(label.len() as u8);
        message.extend_from_slice(label);
    }
    message.extend([0, 0, 1, 0, 1]);
    message
}

// Input:  a ClientHello, its server name first or after 1,200 octets of key shares.
// Output: the name; for every part that ends before the name "more is needed", never a wrong name.
#[test]
fn a_server_name_is_found_as_soon_as_it_has_come() {
    for before in [0, 1200] {
        let whole = hello("www.example.com", before);
        assert_eq!(server_name(&whole), SearchResult::Found("www.example.com"));
        for end in 0..whole.len() {
            assert_eq!(server_name(&whole[..end]), SearchResult::Incomplete, "{end}");
        }
    }
}

// Input:  TLS other than a ClientHello, a ClientHello without server name, with an empty one, with a name of 254
// octets; contradictory lengths.
// Output: no name.
#[test]
fn what_has_no_server_name_says_so() {
    let mut server_hello = hello("a.example", 0);
    server_hello[5] = 2;
    assert_eq!(server_name(&server_hello), SearchResult::NotFound);
    assert_eq!(server_name(b"GET / HTTP/1.1\r\n"), SearchResult::NotFound);
    assert_eq!(server_name(&hello("", 0)), SearchResult::NotFound);
    assert_eq!(server_name(&hello(&"a".repeat(254), 0)), SearchResult::NotFound);
    assert_eq!(server_name(&hello("a b", 0)), SearchResult::NotFound);
    let mut lies = hello("a.example", 0);
    lies[4] = 20;
    assert_eq!(server_name(&lies), SearchResult::NotFound);
}

// Input:  queries, a response, a query with a compression pointer to itself, truncated labels, a name of more than
// 253 octets, the root.
// Output: the name in lower case; `None` for the others.
#[test]
fn a_query_names_what_it_asks_for() {
    let name = |message: &[u8]| query_name(message).map(|name| name.as_str().to_owned());
    let plain = query(&[b"WWW", b"Example", b"com"]);
    assert_eq!(name(&plain).as_deref(), Some("www.example.com"));
    let mut answer = plain.clone();
    answer[2] |= 0x80;
    assert_eq!(name(&answer), None);
    let mut pointer = query(&[b"a"]);
    pointer[12] = 0xc0;
    assert_eq!(name(&pointer), None);
    for end in 0..plain.len() {
        assert_eq!(name(&plain[..end]), None);
    }
    assert_eq!(name(&query(&[&[b'a'; 63][..]; 4])), None);
    assert!(name(&query(&[&[b'a'; 63], &[b'a'; 63], &[b'a'; 63], &[b'a'; 61]])).is_some());
    assert_eq!(name(&query(&[])), None);
    assert_eq!(name(&query(&[b"a.b"])), None);
}

// Input:  a request, cut anywhere; one without Host; one with a Host of 60,000 octets; octets that are not a
// request.
// Output: host and target once the Host line is complete; not found; incomplete; not found.
#[test]
fn a_request_has_a_host_and_a_target() {
    let whole = b"GET /video/1?x=2 HTTP/1.1\r\nAccept: */*\r\nHOST:  www.example.com:8080 \r\n\r\nbody";
    let SearchResult::Found(found) = request(whole) else { panic!("not found") };
    assert_eq!((found.host, found.target), ("www.example.com:8080", "/video/1?x=2"));
    let needed = whole.windows(2).position(|pair| pair == b" \r").unwrap() + 3;
    for end in 0..needed {
        assert_eq!(request(&whole[..end]), SearchResult::Incomplete, "{end}");
    }
    assert_eq!(request(b"GET / HTTP/1.1\r\nAccept: */*\r\n\r\n"), SearchResult::NotFound);
    let giant = [&b"GET / HTTP/1.1\r\nHost: "[..], &[b'a'; 60_000]].concat();
    assert_eq!(request(&giant), SearchResult::Incomplete);
    for no in [&b"SSH-2.0-x\r\n"[..], b"get / HTTP/1.1\r\n", b"GET  / HTTP/1.1\r\n", b"\r\n", b"\x16\x03\x01"]
    {
        assert_eq!(request(no), SearchResult::NotFound, "{no:?}");
    }
}

proptest! {
    // Input:  any octets, and a hello with any octet changed.
    // Output: no panic; the result is part of the input.
    #[test]
    fn any_octets_are_survived(octets: Vec<u8>, at in 0..200_usize, octet: u8) {
        let mut spoilt = hello("www.example.com", 40);
        let at = at % spoilt.len();
        spoilt[at] = octet;
        for stream in [&octets, &spoilt] {
            if let SearchResult::Found(name) = server_name(stream) {
                prop_assert!(stream.windows(name.len()).any(|part| part == name.as_bytes()));
            }
            let _ = request(stream);
            let _ = query_name(stream);
        }
    }

    // Input:  any legal host name.
    // Output: the same name, from a ClientHello and from a query.
    #[test]
    fn any_name_is_found(name in "[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\\.[a-z0-9]{1,20}){0,4}", before in 0..300_usize) {
        let hello = hello(&name, before);
        prop_assert_eq!(server_name(&hello), SearchResult::Found(&*name));
        let labels: Vec<_> = name.split('.').map(str::as_bytes).collect();
        prop_assert_eq!(query_name(&query(&labels)).map(|it| it.as_str().to_owned()), Some(name));
    }
}
