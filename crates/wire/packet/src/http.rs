//! The first octets of HTTP/1 requests (RFC 9112 clause 3).

/// The methods of HTTP/1 requests.
const METHODS: [&[u8]; 9] =
    [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE"];

/// The octets are the beginning of an HTTP/1 request: a method, a blank, and part of the target.
pub fn begins_request(octets: &[u8]) -> bool {
    METHODS.iter().any(|method| {
        let rest = octets.strip_prefix(*method).and_then(|rest| rest.strip_prefix(b" "));
        rest.and_then(<[u8]>::first).is_some_and(u8::is_ascii_graphic)
    })
}

/// The offset of the header of an HTTP/1 request: after the CR LF of the request line at the start of the octets,
/// if it is complete.
pub fn request_line_len(octets: &[u8]) -> Option<usize> {
    let end = octets.windows(2).position(|pair| pair == b"\r\n")?;
    let line = octets.get(..end)?;
    let mut words = line.split(|octet| *octet == b' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_method = METHODS.contains(&method);
    let is_target = !target.is_empty() && target.iter().all(u8::is_ascii_graphic);
    let is_version =
        matches!(version, [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor] if minor.is_ascii_digit());
    (is_method && is_target && is_version && words.next().is_none()).then_some(end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  whole request lines of HTTP/1, with following octets; truncated lines, lines of HTTP/2 and of other
    // protocols.
    // Output: the length of the first; `None` for the others.
    #[test]
    fn a_request_line_ends_with_its_version() {
        assert_eq!(request_line_len(b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n"), Some(17));
        assert_eq!(request_line_len(b"POST http://a/ HTTP/1.0\r\n"), Some(25));
        for other in [
            "GET / HTTP/1.1\r",
            "GET / HTTP/1.1\n",
            "PRI * HTTP/2.0\r\n",
            "GET  HTTP/1.1\r\n",
            "GET / HTTP/1.1 x\r\n",
            "SIP / HTTP/1.1\r\n",
            "GET / HTTP/1.x\r\n",
            "GET /\r\n",
            "",
        ] {
            assert_eq!(request_line_len(other.as_bytes()), None, "{other:?}");
        }
    }

    // Input:  requests, a TLS ClientHello, a SIP request line, a method alone, a lower-case one.
    // Output: only the first are requests.
    #[test]
    fn a_request_begins_with_its_method() {
        for request in ["GET / HTTP/1.1\r\n", "POST http://a/ HTTP/1.1", "CONNECT a:443 HTTP/1.1", "HEAD *"] {
            assert!(begins_request(request.as_bytes()), "{request}");
        }
        let hello = [0x16, 3, 1, 2, 0, 1];
        assert!(!begins_request(&hello));
        for other in ["", "GET", "GET ", "GET \r\n", "get / HTTP/1.1", "INVITE sip:a SIP/2.0", "GETS /"] {
            assert!(!begins_request(other.as_bytes()), "{other}");
        }
    }
}
