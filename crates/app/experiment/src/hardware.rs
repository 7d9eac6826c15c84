//! What cannot be measured here: the parameters of ports, pipelines, recirculation, links, adapters, PCIe and drivers that
//! the experiments take into account, each with its source.
//!
//! They stand here alone. Those of external memory are [`ModelParameters::X_PLANE`], and those of a switch's driver
//! [`Timing::PAPER`]: the models that other crates have, too.

use causeway_memory::ModelParameters;
use causeway_switch::model::Timing;
use causeway_types::Span;

use crate::events::Picos;

/// A parameter of hardware that is not here.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// What it is.
    pub name: &'static str,
    /// Its value, in the unit.
    pub value: f64,
    /// The unit.
    pub unit: &'static str,
    /// The experiments that take it into account.
    pub used_by: &'static str,
    /// Paper and section, or that it is an assumption, and why.
    pub source: &'static str,
}

impl Parameter {
    /// The time of an octet, for a rate in bit/s.
    pub(crate) const fn picos_of_octet(self) -> Picos {
        (8e12 / self.value) as Picos
    }

    /// The time of one, for a rate in 1/s.
    pub(crate) const fn picos_of_one(self) -> Picos {
        (1e12 / self.value) as Picos
    }

    /// The time, for one in ns.
    pub(crate) const fn picos(self) -> Picos {
        (self.value * 1e3) as Picos
    }

    /// The time, for one in ns.
    pub(crate) const fn span(self) -> Span {
        Span::from_nanos(self.value as u64)
    }
}

const fn parameter(
    name: &'static str,
    value: f64,
    unit: &'static str,
    used_by: &'static str,
    source: &'static str,
) -> Parameter {
    Parameter { name, value, unit, used_by, source }
}

/// The switch of AccelUPF.
pub mod accel_switch {
    use super::{Parameter, parameter};

    const USED_BY: &str = "accel-table1";

    /// A port.
    pub const PORT: Parameter =
        parameter("port", 40e9, "bit/s", "accel-table1, -chain", "AccelUPF section 5");
    /// What fills it.
    pub const FULL_PORT: Parameter = parameter(
        "packets and messages of a full port",
        11.94e6,
        "packets/s",
        "accel-fig9",
        "AccelUPF table 1: IMIX; mean packets of the traces are not published, so every mix fills the port with as many",
    );
    /// Messages that wait for software.
    pub const QUEUE: Parameter = parameter(
        "messages that wait for a server, at most",
        1024.0,
        "",
        "accel-fig9",
        "an assumption: few beside the messages of a row",
    );
    /// The pipeline.
    pub const PIPELINE: Parameter =
        parameter("pipeline", 1e9, "packets/s", USED_BY, "an assumption: below the clock of Tofino 1");
    /// A pass.
    pub const PASS: Parameter =
        parameter("pass of the pipeline", 600.0, "ns", "accel-table1, -fallback, -chain", "an assumption");
    /// The way to the software, or back.
    pub const CPU_PORT: Parameter =
        parameter("port to the software, each way", 50_000.0, "ns", "accel-fallback", "an assumption");
    /// The port for recirculation.
    pub const RECIRCULATION: Parameter =
        parameter("recirculation", 100e9, "bit/s", USED_BY, "an assumption: one port of Tofino 1");
}

/// The switch, links and adapters of X-PLANE.
pub mod xplane {
    use super::{ModelParameters, Parameter, parameter};

    const USED_BY: &str = "xplane";

    /// Ports, each with a link and an adapter.
    pub const PORTS: Parameter = parameter(
        "links and adapters",
        ModelParameters::X_PLANE.ports as f64,
        "",
        USED_BY,
        "X-PLANE section 7.1: two servers of four adapters",
    );
    /// A link.
    pub const LINK: Parameter =
        parameter("link", ModelParameters::X_PLANE.link_rate as f64, "bit/s", USED_BY, "X-PLANE section 7.1");
    /// READs of an adapter.
    pub const READS: Parameter = parameter(
        "READs of an adapter",
        ModelParameters::X_PLANE.reads as f64,
        "/s",
        USED_BY,
        "X-PLANE section 7.3: near 40 million",
    );
    /// WRITEs of an adapter.
    pub const WRITES: Parameter = parameter(
        "WRITEs of an adapter",
        ModelParameters::X_PLANE.writes as f64,
        "/s",
        USED_BY,
        "X-PLANE section 7.3",
    );
    /// Half of the round trip.
    pub const ONE_WAY: Parameter = parameter(
        "way to an adapter, on idle links",
        1190.0,
        "ns",
        USED_BY,
        "X-PLANE section 7.3: 83 % of 3.1 us are the lookup; 0.19 us of these are the octets of a packet of 690 on the links, both ways, and the adapter",
    );
    /// A pass of the switch.
    pub const PASS: Parameter = parameter(
        "pass of the switch",
        265.0,
        "ns",
        USED_BY,
        "X-PLANE section 7.3: half of the other 17 %, for a packet that comes and leaves",
    );
    /// The memory of a server.
    pub const MEMORY: Parameter = parameter(
        "memory of a server",
        341e9,
        "octets/s",
        "xplane-table2",
        "X-PLANE section 7.1: 16 modules and two Xeon 4314, which have eight channels of DDR4-2666 each by the vendor",
    );
    /// What a read of tokens takes longer, at most.
    pub const SPREAD: Parameter =
        parameter("what a read takes longer, at most", 1000.0, "ns", "xplane-fig18", "an assumption");
}

/// The switch's driver and the software of the hybrid UPF.
pub mod hybrid {
    use super::{Parameter, parameter};

    const USED_BY: &str = "hybrid";

    /// Rule changes of the driver.
    pub const CHANGES: Parameter = parameter(
        "rule changes of a driver",
        3442.0,
        "/s",
        USED_BY,
        "HiP4-UPF table 4, for rules of `hip4` (docs/experiments.md)",
    );
    /// How long a packet stays in software.
    pub const STAY: Parameter = parameter(
        "stay in software of another host: link, NIC, PCIe and back",
        650_000.0,
        "ns",
        USED_BY,
        "S. K. Singh's thesis, figure 14b: 0.45 to 0.85 ms",
    );
}

/// The port that heavy hitters and delay-critical flows share.
pub mod bottleneck {
    use super::{Parameter, parameter};

    const USED_BY: &str = "hh-fig35";

    /// The port.
    pub const PORT: Parameter =
        parameter("port that is shaped", 1e9, "bit/s", USED_BY, "S. K. Singh's thesis, section 4.6.1");
    /// A queue of it.
    pub const QUEUE: Parameter = parameter(
        "packets in a queue of that port",
        1000.0,
        "",
        USED_BY,
        "an assumption: 12 ms of packets of 1,500 octets",
    );
    /// The round trip of TCP without queues.
    pub const ROUND_TRIP: Parameter = parameter(
        "round trip of TCP, on idle links",
        20e6,
        "ns",
        USED_BY,
        "an assumption: a server in the Internet",
    );
    /// A timeout of TCP.
    pub const TIMEOUT: Parameter =
        parameter("timeout of TCP", 200e6, "ns", USED_BY, "an assumption: the least of Linux");
}

/// The driver of HiP4-UPF, over PCIe.
pub mod driver {
    use super::{Parameter, Span, Timing, parameter};

    const USED_BY: &str = "hip4";

    const fn micros(span: Span) -> f64 {
        span.as_nanos() as f64 / 1e3
    }

    /// A call that reads.
    pub const READ_CALL: Parameter = parameter(
        "call that reads counters over PCIe",
        micros(Timing::PAPER.read_call),
        "us",
        USED_BY,
        "HiP4-UPF figure 12: two calls of 100 entries are 16 ms",
    );
    /// An entry that is read.
    pub const READ_ENTRY: Parameter = parameter(
        "counter that is read over PCIe",
        micros(Timing::PAPER.read_entry),
        "us",
        USED_BY,
        "HiP4-UPF figure 6: 1.9 s for both tables of 84,000 UEs",
    );
    /// A batch that is written.
    pub const WRITE_CALL: Parameter = parameter(
        "batch that is written over PCIe",
        micros(Timing::PAPER.write_call),
        "us",
        USED_BY,
        "an assumption within HiP4-UPF figure 12: less than the 1 ms of a handover",
    );
    /// An entry that is written.
    pub const WRITE_ENTRY: Parameter = parameter(
        "entry that is written over PCIe",
        micros(Timing::PAPER.write_entry),
        "us",
        USED_BY,
        "an assumption: as a counter that is read",
    );
}

/// All of them, in the order of the documentation.
pub const ALL: [Parameter; 25] = [
    accel_switch::PORT,
    accel_switch::FULL_PORT,
    accel_switch::QUEUE,
    accel_switch::PIPELINE,
    accel_switch::PASS,
    accel_switch::CPU_PORT,
    accel_switch::RECIRCULATION,
    xplane::PORTS,
    xplane::LINK,
    xplane::READS,
    xplane::WRITES,
    xplane::ONE_WAY,
    xplane::PASS,
    xplane::SPREAD,
    xplane::MEMORY,
    hybrid::CHANGES,
    hybrid::STAY,
    bottleneck::PORT,
    bottleneck::QUEUE,
    bottleneck::ROUND_TRIP,
    bottleneck::TIMEOUT,
    driver::READ_CALL,
    driver::READ_ENTRY,
    driver::WRITE_CALL,
    driver::WRITE_ENTRY,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The value with a thousand, million or milliard as one letter.
    fn short(value: f64) -> String {
        let (value, letter) = match value {
            1e9.. => (value / 1e9, " G"),
            1e6.. => (value / 1e6, " M"),
            _ => (value, " "),
        };
        format!("{value}{letter}")
    }

    fn line(parameter: &Parameter) -> String {
        let Parameter { name, value, unit, used_by, source } = parameter;
        let value = match *unit {
            "ns" if *value >= 1e6 => format!("{} ms", value / 1e6),
            unit => format!("{}{unit}", short(*value)),
        };
        format!("| {name} | {} | {used_by} | {source} |\n", value.trim_end())
    }

    // Input:  all parameters.
    // Output: each is a number above zero with a source, and the table of docs/experiments.md has them all, in order.
    #[test]
    fn each_parameter_is_documented_with_its_source() {
        assert!(ALL.iter().all(|it| it.value > 0.0 && !it.source.is_empty() && !it.used_by.is_empty()));
        let table: String = ALL.iter().map(line).collect();
        let page = include_str!("../../../../docs/experiments.md");
        assert!(page.contains(&table), "docs/experiments.md lacks this table:\n{table}");
    }

    // Input:  rates and times.
    // Output: the picoseconds of an octet, of one, and of a time.
    #[test]
    fn rates_are_times() {
        assert_eq!((accel_switch::PORT.picos_of_octet(), xplane::LINK.picos_of_octet()), (200, 80));
        assert_eq!((accel_switch::PIPELINE.picos_of_one(), xplane::READS.picos_of_one()), (1000, 25_000));
        assert_eq!((xplane::PASS.picos(), hybrid::STAY.span()), (265_000, Span::from_micros(650)));
    }
}
