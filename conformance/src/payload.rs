//! The first payloads of UEs, by which applications are detected.

/// A TLS ClientHello in one record that asks for this server name.
pub(crate) fn client_hello(name: &str) -> Vec<u8> {
    let server_name = [&[0][..], &counted(name.as_bytes())].concat();
    let sni = extension(0, &counted(&server_name));
    let versions = extension(43, &[2, 3, 4]);
    let extensions = counted(&[versions, sni].concat());
    let body = [&[3, 3][..], &[0x5a; 32], &[0], &[0, 2, 0x13, 0x01], &[1, 0], &extensions].concat();
    let handshake = [&[1, 0][..], &counted(&body)].concat();
    [&[22, 3, 1][..], &counted(&handshake)].concat()
}

/// A DNS query for the IPv4 address of this name.
pub(crate) fn dns_query(name: &str) -> Vec<u8> {
    let mut query = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(label.len() as u8);
        query.extend(label.bytes());
    }
    query.extend([0, 0, 1, 0, 1]);
    query
}

/// An HTTP/1.1 request for `host/path`.
pub(crate) fn http_get(url: &str) -> Vec<u8> {
    let (host, path) = url.split_once('/').unwrap_or((url, ""));
    format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n\r\n").into_bytes()
}

fn extension(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[0, kind][..], &counted(value)].concat()
}

/// The octets behind two octets of their length.
pub(crate) fn counted(octets: &[u8]) -> Vec<u8> {
    let length = u16::try_from(octets.len()).unwrap_or(u16::MAX);
    [&length.to_be_bytes()[..], octets].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_true() {
        let hello = client_hello("example.com");
        assert_eq!(usize::from(hello[4]), hello.len() - 5);
        assert_eq!(usize::from(hello[8]), hello.len() - 9);
        assert_eq!(dns_query("a.bc").len(), 12 + 6 + 4);
        assert!(http_get("example.com/a").starts_with(b"GET /a HTTP/1.1\r\nHost: example.com\r\n"));
    }
}
