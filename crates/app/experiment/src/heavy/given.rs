//! A trace of a user's: a capture, or a table of packets.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;
use std::path::Path;

use causeway_types::{Span, Time};

use super::trace::Packet;
use crate::training::{self, Csv, Ends, Record, TrainingError};

/// The longest file, in octets.
const MOST_OCTETS: u64 = 4 << 30;

/// The columns of a table of packets.
const COLUMNS: [&str; 7] =
    ["time", "source", "destination", "source_port", "destination_port", "protocol", "octets"];

/// The packets of a trace, from time zero on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// The name of the file.
    pub name: String,
    packets: Vec<Packet>,
    flows: u32,
    /// Packets that came earlier than the one before them: they count at the time of that.
    earlier: u64,
}

impl Given {
    /// Reads a capture in pcap or pcapng, or a table in CSV with the columns `time` (seconds), `source`, `destination`, `source_port`,
    /// `destination_port`, `protocol` (a number) and `octets` of the IP packet. What comes after this span is left out.
    ///
    /// # Errors
    /// [`TrainingError`] when the file is neither, or wrong at a place, or has no second of packets.
    pub fn read(file: &Path, most: Span) -> Result<Self, TrainingError> {
        let octets = causeway_file::read(file, MOST_OCTETS)
            .map_err(|source| TrainingError::File { file: file.into(), source })?;
        let packets = if training::is_capture(&octets) {
            let packets = training::packets(file, &octets)?;
            packets.into_iter().map(|packet| (packet.time, packet.ends, packet.octets)).collect()
        } else {
            let text = String::from_utf8(octets)
                .map_err(|_| TrainingError::form(file, "neither a capture nor a table in UTF-8"))?;
            table(file, &text)?
        };
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let given = Self::new(name, packets, most);
        if given.seconds() == 0 {
            return Err(TrainingError::form(file, "less than a second of IP packets"));
        }
        Ok(given)
    }

    fn new(name: String, seen: Vec<(Time, Ends, u32)>, most: Span) -> Self {
        let (mut flows, mut hosts) = (HashMap::new(), HashMap::new());
        let begin = seen.first().map_or(Time::default(), |(time, ..)| *time);
        let (mut last, mut earlier) = (Time::default(), 0);
        let mut packets = Vec::new();
        for (time, ends, octets) in seen {
            let time = Time::from_nanos(time.as_nanos().saturating_sub(begin.as_nanos()));
            if time.since(Time::default()) >= most {
                break;
            }
            earlier += u64::from(time < last);
            last = last.max(time);
            let flow = number(&mut flows, ends);
            let [source, destination] =
                [ends.source, ends.destination].map(|(address, _)| number(&mut hosts, address));
            let octets = u16::try_from(octets).unwrap_or(u16::MAX);
            packets.push(Packet { time: last, flow, source, destination, octets });
        }
        Self { name, packets, flows: flows.len() as u32, earlier }
    }

    /// Whole seconds.
    pub fn seconds(&self) -> u32 {
        self.packets.last().map_or(0, |last| (last.time.as_nanos() / 1_000_000_000) as u32)
    }

    /// The packets from a place on, before a time.
    pub(super) fn before(&self, place: usize, until: Time) -> &[Packet] {
        let rest = self.packets.get(place..).unwrap_or_default();
        let end = rest.partition_point(|packet| packet.time < until);
        rest.get(..end).unwrap_or_default()
    }

    /// How many flows it has.
    pub const fn flows(&self) -> u32 {
        self.flows
    }
}

impl Display for Given {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { name, packets, flows, earlier } = self;
        write!(formatter, "{name}: {} packets of {flows} flows in {} s", packets.len(), self.seconds())?;
        if *earlier > 0 {
            write!(formatter, ", {earlier} of them earlier than the one before")?;
        }
        Ok(())
    }
}

/// The number of a value: in the order in which they came.
fn number<T: std::hash::Hash + Eq>(known: &mut HashMap<T, u32>, value: T) -> u32 {
    let next = known.len() as u32;
    *known.entry(value).or_insert(next)
}

fn table(file: &Path, text: &str) -> Result<Vec<(Time, Ends, u32)>, TrainingError> {
    let csv = Csv::parse(file, text)?;
    if !csv.has(&COLUMNS) {
        let problem = format!("neither a capture nor a table with the columns {}", COLUMNS.join(", "));
        return Err(TrainingError::form(file, problem));
    }
    let end = |record: &Record<'_>, address: &str, port: &str| -> Result<(IpAddr, u16), TrainingError> {
        Ok((record.value(address)?, record.value(port)?))
    };
    let packets = csv.records().map(|record| {
        let ends = Ends {
            protocol: record.value("protocol")?,
            source: end(&record, "source", "source_port")?,
            destination: end(&record, "destination", "destination_port")?,
        };
        let time = Time::from_nanos((record.number("time")? * 1e9) as u64);
        Ok((time, ends, record.value("octets")?))
    });
    packets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "time,source,destination,source_port,destination_port,protocol,octets\n";

    fn read(text: &str) -> Result<Given, TrainingError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("packets.csv");
        std::fs::write(&file, text).unwrap();
        Given::read(&file, Span::from_secs(60))
    }

    // Input:  a table of packets whose time begins at 100 s, runs back once, and goes on for over a minute.
    // Output: times from zero that do not run back; flows and hosts by their order; what is behind the minute is left out.
    #[test]
    fn a_table_is_a_trace() {
        let lines = [
            "100.0,10.0.0.1,10.0.0.2,1,2,17,100",
            "101.5,10.0.0.2,10.0.0.1,2,1,17,200",
            "101.25,10.0.0.1,10.0.0.2,1,2,17,70000",
            "159.5,10.0.0.3,2001:db8::1,1,2,6,60",
            "160.0,10.0.0.3,10.0.0.1,1,2,6,60",
        ];
        let given = read(&(HEAD.to_owned() + &lines.join("\n"))).unwrap();
        let packets = given.before(0, Time::from_secs(100));
        let seen: Vec<_> = packets
            .iter()
            .map(|it| (it.time.as_nanos() / 1_000_000, it.flow, it.source, it.octets))
            .collect();
        assert_eq!(seen, [(0, 0, 0, 100), (1500, 1, 1, 200), (1500, 0, 0, u16::MAX), (59_500, 2, 2, 60)]);
        assert_eq!((given.seconds(), given.flows(), given.before(1, Time::from_secs(2)).len()), (59, 3, 2));
        assert_eq!(
            given.to_string(),
            "packets.csv: 4 packets of 3 flows in 59 s, 1 of them earlier than the one before"
        );
    }

    // Input:  no table, one without a column, one with a wrong address, one of half a second.
    // Output: errors that name the file, and the place or what is missing.
    #[test]
    fn wrong_tables_are_named() {
        let says = |text: &str| read(text).unwrap_err().to_string();
        assert!(says("a,b\n1,2\n").contains("with the columns time, source"));
        let wrong = says(&(HEAD.to_owned() + "0,nobody,10.0.0.2,1,2,17,100\n"));
        assert!(wrong.contains("packets.csv: line 2, column source"), "{wrong}");
        assert!(
            says(&(HEAD.to_owned() + "0.5,10.0.0.1,10.0.0.2,1,2,17,100\n")).contains("less than a second")
        );
    }
}
