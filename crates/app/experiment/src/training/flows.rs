//! Flow tables: a line for each direction of a flow, with its mean size and gap.
//!
//! The columns are those of the tables that the Leris Lab published: `SrcIP`, `DstIP`, `SrcPort`, `DstPort`, `Protocol`, `PS` (mean size of
//! frames), `IPI` (mean gap in seconds) and `FlowSizePackets`. Others are left out.

use std::collections::HashMap;
use std::path::Path;

use causeway_traffic::classes::{Feature, Vector};
use causeway_types::Span;

use super::TrainingError;
use super::csv::{Csv, Record};
use super::rule::{Ends, Orientation, protocol};

/// The columns of a flow table.
pub(super) const COLUMNS: [&str; 8] =
    ["SrcIP", "DstIP", "SrcPort", "DstPort", "Protocol", "PS", "IPI", "FlowSizePackets"];

/// Averages of one direction of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Averages {
    /// Packets.
    pub packets: u64,
    /// Octets of an IP packet.
    pub size: f64,
    /// Seconds between packets.
    pub gap: f64,
}

/// Both directions of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pair {
    /// The ends; the source is the UE.
    pub ends: Ends,
    /// From the UE.
    pub uplink: Averages,
    /// To the UE.
    pub downlink: Averages,
    /// The line of one of them.
    pub line: usize,
}

impl Pair {
    /// What a window of this length holds on average. Counts are rounded down.
    pub fn vector(&self, window: Span) -> Vector {
        let count = |averages: &Averages| window.as_secs_f64() / averages.gap;
        let size = |averages: &Averages| averages.size * f64::from(Feature::UplinkSize.parts());
        let gap = |averages: &Averages| averages.gap * 1e6 * f64::from(Feature::UplinkGap.parts());
        let (up, down) = (&self.uplink, &self.downlink);
        // A cast of too great a number gives the greatest.
        Vector::new([
            count(up) as u32,
            count(down) as u32,
            size(up).round() as u32,
            size(down).round() as u32,
            gap(up).round() as u32,
            gap(down).round() as u32,
        ])
    }
}

/// What a table had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowCounts {
    /// Lines: a direction of a flow each.
    pub lines: u64,
    /// Lines without the other direction.
    pub single: u64,
    /// Pairs of which a direction has no gap.
    pub without_gap: u64,
    /// Pairs that can be used.
    pub pairs: u64,
}

/// Reads the flows of a table. `overhead` are octets that sizes have beyond the IP packet.
pub(super) fn read(
    file: &Path,
    csv: &Csv<'_>,
    orientation: &Orientation,
    overhead: f64,
) -> Result<(Vec<(Pair, usize)>, FlowCounts), TrainingError> {
    let mut counts = FlowCounts::default();
    let mut known: HashMap<Ends, (usize, usize)> = HashMap::new();
    let mut lines = Vec::new();
    for (place, record) in csv.records().enumerate() {
        let line = line(&record, overhead)?;
        if let Some((_, other)) = known.insert(line.0, (place, record.line)) {
            let problem = format!("the same flow as in line {other}");
            return Err(TrainingError::line(file, record.line, problem));
        }
        lines.push((line, record.line));
        counts.lines += 1;
    }
    let mut pairs = Vec::new();
    for (place, ((ends, averages), number)) in lines.iter().enumerate() {
        let Some((partner, _)) = known.get(&ends.reversed()) else {
            counts.single += 1;
            continue;
        };
        // Each pair once, with its first line.
        let Some(((_, others), _)) = lines.get(*partner).filter(|_| *partner > place) else { continue };
        if averages.gap <= 0.0 || others.gap <= 0.0 {
            counts.without_gap += 1;
            continue;
        }
        counts.pairs += 1;
        let (ends, uplink, downlink) = if orientation.is_uplink(ends) {
            (*ends, *averages, *others)
        } else {
            (ends.reversed(), *others, *averages)
        };
        pairs.push((Pair { ends, uplink, downlink, line: *number }, place));
    }
    Ok((pairs, counts))
}

fn line(record: &Record<'_>, overhead: f64) -> Result<(Ends, Averages), TrainingError> {
    let text = record.text("Protocol")?;
    let wrong = || record.wrong("Protocol", format!("{text:?}: UDP, TCP or a number is expected"));
    let ends = Ends {
        protocol: protocol(text).ok_or_else(wrong)?,
        source: (record.value("SrcIP")?, record.value("SrcPort")?),
        destination: (record.value("DstIP")?, record.value("DstPort")?),
    };
    let averages = Averages {
        packets: record.value("FlowSizePackets")?,
        size: (record.number("PS")? - overhead).max(0.0),
        gap: record.number("IPI")?,
    };
    Ok((ends, averages))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "ID,SrcIP,DstIP,SrcPort,DstPort,Protocol,PS,IPI,FlowSizePackets\n";

    fn table(lines: &str) -> Result<(Vec<(Pair, usize)>, FlowCounts), TrainingError> {
        let text = format!("{HEAD}{lines}");
        let file = Path::new("flows.csv");
        read(file, &Csv::parse(file, &text).unwrap(), &Orientation::default(), 14.0)
    }

    // Input:  both directions of a flow, one direction of another, and a flow with one packet each way.
    // Output: one pair, oriented by its ports, with the sizes of IP packets; the others are counted; its window.
    #[test]
    fn directions_are_paired() {
        let (pairs, counts) = table(
            "1,13.104.0.1,10.0.0.1,1036,51089,UDP,1114.5,0.001,1000\n2,10.0.0.1,13.104.0.1,51089,1036,UDP,154,0.008,125\n\
             3,10.0.0.2,10.0.0.9,9,10,TCP,60,1,3\n4,::1,::2,5,6,17,70,0,1\n5,::2,::1,6,5,17,70,0,1\n",
        )
        .unwrap();
        assert_eq!(counts, FlowCounts { lines: 5, single: 1, without_gap: 1, pairs: 1 });
        let [(pair, 0)] = pairs[..] else { panic!("{pairs:?}") };
        assert_eq!((pair.ends.source.1, pair.uplink.size, pair.downlink.size), (51_089, 140.0, 1100.5));
        let vector = pair.vector(Span::from_millis(300));
        assert_eq!(vector.values(), [37, 300, 140 * 16, 17_608, 128_000, 16_000]);
    }

    // Input:  a wrong address, a negative gap, an unknown protocol, and a flow that is there twice.
    // Output: errors with line and column.
    #[test]
    fn errors_name_line_and_column() {
        let says = |lines: &str| table(lines).unwrap_err().to_string();
        assert!(says("1,x,10.0.0.1,1,2,UDP,60,1,1\n").starts_with("flows.csv: line 2, column SrcIP"));
        assert!(says("1,::1,::2,1,2,UDP,60,-1,1\n").starts_with("flows.csv: line 2, column IPI"));
        assert!(says("1,::1,::2,1,2,QUIC,60,1,1\n").starts_with("flows.csv: line 2, column Protocol"));
        let twice = "1,::1,::2,1,2,UDP,60,1,1\n";
        assert!(says(&format!("{twice}{twice}")).ends_with("line 3: the same flow as in line 2"));
    }
}
