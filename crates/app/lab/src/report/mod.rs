//! The result, as JSON (`report.json`) and as a page (`report.html`).

mod chart;
mod page;
mod sequence;

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::LabError;
use crate::demo::StepReport;
use crate::timeline::{Message, in_seconds};

/// Everything that a demo leaves behind in writing.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of Causeway.
    pub version: String,
    /// When it began, in words of HTTP, UTC.
    pub started: String,
    /// How long it took.
    #[serde(serialize_with = "in_seconds")]
    pub elapsed: Duration,
    /// Every step passed.
    pub passed: bool,
    /// Why not.
    pub reason: Option<String>,
    /// What it ran on: name and value.
    pub machine: Vec<(String, String)>,
    /// The steps that were played.
    pub steps: Vec<StepReport>,
    /// The steps that were not reached, by title.
    pub not_reached: Vec<String>,
    /// All signalling.
    pub messages: Vec<Message>,
    /// User traffic over time.
    pub samples: Vec<Sample>,
    /// The daemon's own counters.
    pub counters: Vec<CounterRow>,
    /// Other files, by name, with what they are.
    pub files: Vec<(String, String)>,
}

/// User traffic of all UEs up to a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Sample {
    /// When, on the timeline.
    #[serde(serialize_with = "in_seconds")]
    pub at: Duration,
    /// Octets from the UEs so far.
    pub uplink_octets: u64,
    /// Octets to the UEs so far.
    pub downlink_octets: u64,
}

/// One series of the daemon's metrics.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CounterRow {
    /// Name with labels.
    pub series: String,
    /// Before the first session.
    pub before: f64,
    /// After the last.
    pub after: f64,
}

impl Report {
    /// Writes `report.json` and `report.html`.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn write(&self, folder: &Path) -> Result<(), LabError> {
        let json = serde_json::to_string_pretty(self).map_err(LabError::io("report.json"))?;
        std::fs::write(folder.join("report.json"), json).map_err(LabError::io("report.json"))?;
        let html = page::render(self).into_string();
        std::fs::write(folder.join("report.html"), html).map_err(LabError::io("report.html"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::demo::{Check, LossCount, PacketPath, PlaceCount};

    /// A report with one of everything, and text that would be markup if it were not escaped.
    pub(crate) fn example() -> Report {
        let second = Duration::from_secs(1);
        let check = |what: &str, passed| Check { what: what.into(), seen: "0 % <loss>".into(), passed };
        let step = StepReport {
            number: 1,
            title: "Ping",
            about: "Every UE reaches the data network.",
            start: Duration::ZERO,
            elapsed: second,
            passed: false,
            summary: "loss: 20 %".into(),
            paths: vec![PacketPath {
                packets: 5,
                places: vec![PlaceCount { place: "received on N3 by the UPF", packets: 4 }],
                losses: vec![LossCount { counter: "gnb1 rx_overrun".into(), packets: 1 }],
                last_seen: Some("1 of 5 packets was last seen <there>".into()),
            }],
            checks: vec![check("loss", Some(false)), check("time", None), check("order", Some(true))],
        };
        let message = Message {
            at: second,
            from: "smf".into(),
            to: "upf".into(),
            label: "Heartbeat Request".into(),
            detail: String::new(),
        };
        let sample = |at, octets| Sample { at, uplink_octets: octets, downlink_octets: octets * 2 };
        Report {
            version: "0.1.0".into(),
            started: "Thu, 01 Jan 1970 00:00:00 GMT".into(),
            elapsed: second * 2,
            passed: false,
            reason: Some("loss: 20 %".into()),
            machine: vec![("kernel".into(), "6.1".into())],
            steps: vec![step],
            not_reached: vec!["TCP".into()],
            messages: vec![message],
            samples: vec![sample(Duration::ZERO, 0), sample(second, 1000), sample(second * 2, 1000)],
            counters: vec![CounterRow {
                series: "drops{reason=\"far_drop\"}".into(),
                before: 0.0,
                after: 2.0,
            }],
            files: vec![("n3.pcap".into(), "N3".into())],
        }
    }

    // Input:  a report of a failed demo.
    // Output: JSON that a parser reads, with times as seconds; a page that holds every part, escaped.
    #[test]
    fn a_report_is_written_for_machines_and_people() {
        let folder = std::env::temp_dir().join(format!("causeway-report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        example().write(&folder).unwrap();
        let json: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap();
        assert_eq!(json["elapsed"], 2.0);
        assert_eq!(json["steps"][0]["checks"][0]["passed"], false);
        assert_eq!(json["steps"][0]["paths"][0]["places"][0]["packets"], 4);
        let html = std::fs::read_to_string(folder.join("report.html")).unwrap();
        for part in [
            "0 % &lt;loss&gt;",
            "Heartbeat Request",
            "far_drop",
            "n3.pcap",
            "TCP",
            "loss: 20 %",
            "seen &lt;there&gt;",
            "gnb1 rx_overrun",
            "</html>",
        ] {
            assert!(html.contains(part), "{part} is missing");
        }
        assert!(
            !html.contains("http://") && !html.contains("https://"),
            "the page has no external resources"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}
