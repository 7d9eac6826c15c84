//! Reads the daemon's metrics as Prometheus does.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::LabError;
use crate::netns::Namespace;

/// How long the kernel waits for the daemon, which answers in milliseconds on an idle machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The values of all series at one moment, by name with labels as they are in the text.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    /// Fetches `/metrics` from inside a namespace.
    ///
    /// # Errors
    /// [`LabError::Io`] without an answer, [`LabError::Peer`] for an answer other than 200.
    pub fn fetch(namespace: &Namespace, at: SocketAddr) -> Result<Self, LabError> {
        let text = namespace.enter(|| get(at).map_err(LabError::io(format!("fetch http://{at}/metrics"))))?;
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        match head.split(' ').nth(1) {
            Some("200") => Ok(Self::parse(body)),
            _ => Err(LabError::Peer(format!(
                "http://{at}/metrics: {}",
                head.lines().next().unwrap_or("no answer")
            ))),
        }
    }

    /// Reads the text format. Comments, and lines that are none of it, are passed over.
    pub fn parse(text: &str) -> Self {
        let series = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        Self(series.collect())
    }

    /// The sum of all series of that name whose labels contain each of `labels`, such as `reason="far_drop"`.
    pub fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let wanted = |series: &str| {
            let (this, rest) = series.split_once('{').unwrap_or((series, ""));
            this == name && labels.iter().all(|label| rest.contains(label))
        };
        self.0.iter().filter(|(series, _)| wanted(series)).map(|(_, value)| value).sum()
    }

    /// One series, by its name with labels; zero if it is not there.
    pub fn value(&self, series: &str) -> f64 {
        self.0.get(series).copied().unwrap_or(0.0)
    }

    /// All series, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(series, value)| (series.as_str(), *value))
    }
}

fn get(at: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&at, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  two series of one metric, one without labels, and comments.
    // Output: sums by name and label; a name never matches a longer one.
    #[test]
    fn series_are_summed_by_name_and_label() {
        let metrics = Metrics::parse(
            "# HELP drops Packets dropped\n# TYPE drops counter\ndrops_total{reason=\"unknown_teid\",direction=\"uplink\"} 3\n\
             drops_total{reason=\"far_drop\",direction=\"uplink\"} 4\nsessions 10\n# EOF\n",
        );
        assert_eq!(metrics.sum("drops_total", &[]), 7.0);
        assert_eq!(metrics.sum("drops_total", &["reason=\"far_drop\"", "direction=\"uplink\""]), 4.0);
        assert_eq!(metrics.sum("drops", &[]), 0.0);
        assert_eq!(metrics.sum("sessions", &[]), 10.0);
        assert_eq!(metrics.iter().count(), 3);
    }
}
