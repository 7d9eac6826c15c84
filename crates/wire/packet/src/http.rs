//! The first octets of HTTP/1 requests (RFC 9112 clause 3).

/// The methods that open a request.
const METHODS: [&[u8]; 9] =
    [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE"];

/// The octets are the beginning of an HTTP/1 request: a method, a blank, and something of the target.
pub fn begins_request(octets: &[u8]) -> bool {
    METHODS.iter().any(|method| {
        let rest = octets.strip_prefix(*method).and_then(|rest| rest.strip_prefix(b" "));
        rest.and_then(<[u8]>::first).is_some_and(u8::is_ascii_graphic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
