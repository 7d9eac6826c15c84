//! Host and target of a plain HTTP request (RFC 9112 clause 3).

use super::SearchResult;

/// Maximum length of a method: `PROPPATCH` and some more.
const MAX_METHOD: usize = 16;

/// A request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HttpRequest<'a> {
    /// The value of the Host header, with its port if there is one.
    pub host: &'a str,
    /// The target: a path with its query, or a whole URL in requests to a proxy.
    pub target: &'a str,
}

/// The first request of a stream.
pub fn request(stream: &[u8]) -> SearchResult<HttpRequest<'_>> {
    let mut lines = Lines(stream);
    let target = match lines.next() {
        SearchResult::Found(line) => match target(line) {
            Some(target) => target,
            None => return SearchResult::NotFound,
        },
        SearchResult::Incomplete if may_begin(stream) => return SearchResult::Incomplete,
        _ => return SearchResult::NotFound,
    };
    loop {
        match lines.next() {
            SearchResult::Found([]) | SearchResult::NotFound => return SearchResult::NotFound,
            SearchResult::Incomplete => return SearchResult::Incomplete,
            SearchResult::Found(line) => {
                if let Some(host) = host(line) {
                    return text(host).map_or(SearchResult::NotFound, |host| {
                        SearchResult::Found(HttpRequest { host, target })
                    });
                }
            }
        }
    }
}

/// The lines of a head, without line ends.
struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    fn next(&mut self) -> SearchResult<&'a [u8]> {
        let Some(end) = self.0.iter().position(|octet| *octet == b'\n') else {
            return SearchResult::Incomplete;
        };
        let (line, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        SearchResult::Found(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// The target of a request line: method, target and version, with one blank between.
fn target(line: &[u8]) -> Option<&str> {
    let mut words = line.split(|octet| *octet == b' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let whole = words.next().is_none() && is_method(method) && version.starts_with(b"HTTP/1.");
    text(target).filter(|_| whole)
}

/// The octets received so far may be the beginning of a request line.
fn may_begin(stream: &[u8]) -> bool {
    let method = stream.split(|octet| *octet == b' ').next().unwrap_or_default();
    stream.is_empty() || is_method(method)
}

fn is_method(word: &[u8]) -> bool {
    (1..=MAX_METHOD).contains(&word.len()) && word.iter().all(u8::is_ascii_uppercase)
}

/// The value of a Host header line.
fn host(line: &[u8]) -> Option<&[u8]> {
    let (name, value) = line.split_at_checked(5)?;
    name.eq_ignore_ascii_case(b"host:").then(|| value.trim_ascii())
}

fn text(octets: &[u8]) -> Option<&str> {
    let legal = !octets.is_empty() && octets.iter().all(u8::is_ascii_graphic);
    std::str::from_utf8(octets).ok().filter(|_| legal)
}
