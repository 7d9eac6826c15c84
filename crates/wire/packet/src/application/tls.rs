//! The server name of a TLS ClientHello (RFC 8446 clause 4.1.2, RFC 6066 clause 3).

use super::SearchResult;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// Maximum length of a host name (RFC 1035 clause 2.3.4).
const MAX_HOST_NAME: usize = 253;

/// The server name in the first record of a TLS stream. In a ClientHello that spans several records it is not
/// found; no client in use sends one.
pub fn server_name(stream: &[u8]) -> SearchResult<&str> {
    match hello(stream) {
        Ok(Some(name)) => SearchResult::Found(name),
        Ok(None) => SearchResult::NotFound,
        Err(ParseStop::Invalid) => SearchResult::NotFound,
        Err(ParseStop::Incomplete) => SearchResult::Incomplete,
    }
}

/// Why a structure could not be parsed.
enum ParseStop {
    /// Octets are contradictory.
    Invalid,
    /// The octets received so far end inside it.
    Incomplete,
}

/// A structure of known length, of which possibly only a part was received.
struct Reader<'a> {
    /// The octets received.
    here: &'a [u8],
    /// Its total length.
    len: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ParseStop> {
        self.len = self.len.checked_sub(count).ok_or(ParseStop::Invalid)?;
        let (taken, rest) = self.here.split_at_checked(count).ok_or(ParseStop::Incomplete)?;
        self.here = rest;
        Ok(taken)
    }

    fn number(&mut self, octets: usize) -> Result<usize, ParseStop> {
        Ok(self.take(octets)?.iter().fold(0, |number, octet| number << 8 | usize::from(*octet)))
    }

    /// The structure after a length field of `octets` octets.
    fn counted(&mut self, octets: usize) -> Result<Reader<'a>, ParseStop> {
        let len = self.number(octets)?;
        self.len = self.len.checked_sub(len).ok_or(ParseStop::Invalid)?;
        let (inner, rest) = self.here.split_at(len.min(self.here.len()));
        self.here = rest;
        Ok(Reader { here: inner, len })
    }
}

fn hello(stream: &[u8]) -> Result<Option<&str>, ParseStop> {
    let mut stream = Reader { here: stream, len: usize::MAX };
    expect(stream.number(1)? == usize::from(HANDSHAKE))?;
    expect(stream.number(1)? == 3)?;
    stream.number(1)?;
    let mut record = stream.counted(2)?;
    expect(record.number(1)? == usize::from(CLIENT_HELLO))?;
    let mut hello = record.counted(3)?;
    // Version and random.
    hello.take(34)?;
    hello.counted(1)?;
    hello.counted(2)?;
    hello.counted(1)?;
    if hello.len == 0 {
        return Ok(None);
    }
    let mut extensions = hello.counted(2)?;
    while extensions.len > 0 {
        let kind = extensions.number(2)?;
        let extension = extensions.counted(2)?;
        if kind == usize::from(SERVER_NAME) {
            return host_name(extension);
        }
    }
    Ok(None)
}

fn host_name(mut extension: Reader<'_>) -> Result<Option<&str>, ParseStop> {
    let mut names = extension.counted(2)?;
    while names.len > 0 {
        let kind = names.number(1)?;
        let mut name = names.counted(2)?;
        if kind == usize::from(HOST_NAME) {
            let name = name.take(name.len)?;
            let legal = (1..=MAX_HOST_NAME).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic);
            return Ok(std::str::from_utf8(name).ok().filter(|_| legal));
        }
    }
    Ok(None)
}

fn expect(is_so: bool) -> Result<(), ParseStop> {
    if is_so { Ok(()) } else { Err(ParseStop::Invalid) }
}
