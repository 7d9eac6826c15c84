//! Benchmark: packets through the ports of N3 and N6 and the kernel behind them, with and without the kernel's help.
//!
//! ```sh
//! cargo run --release -p causeway-ports --example io [-- CHUNKS [FILE]]
//! ```
//!
//! Everything happens in one thread and in a network namespace of its own, which takes root: a socket of the kernel sends
//! a chunk of packets to the port while the clock stands, the port passes them on while it runs, and what arrives is
//! counted. So the figures hold the port's system calls and what the kernel does within them, up to the receiver's socket.
//! They are nanoseconds of the thread's CPU time per packet that was received and sent. `FILE` gets them as JSON.

mod clock;
mod frames;
mod line;
mod namespace;
mod place;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use line::{Line, Way};
use namespace::Namespace;
use place::Place;

/// Whatever stands in the way of measuring.
type Failure = Box<dyn Error + Send + Sync>;

/// Octets of the user's IP packets.
const SIZES: [usize; 3] = [64, 512, 1400];

/// Chunks of each row unless said otherwise.
const CHUNKS: usize = 500;

/// Chunks of each row that are not measured.
const WARM_UP: usize = 4;

/// What was measured of one row.
#[derive(Default)]
struct Row {
    way: &'static str,
    size: usize,
    offload: String,
    nanos: Vec<f64>,
    sent: usize,
    arrived: usize,
    calls: u64,
}

impl Row {
    /// Tenth percentile, median, and packets per system call.
    fn figures(&self) -> (f64, f64, f64) {
        let at = |tenths| clock::tenths(&self.nanos, tenths).unwrap_or(f64::NAN);
        (at(1), at(5), 2.0 * self.arrived as f64 / self.calls.max(1) as f64)
    }

    fn json(&self) -> String {
        let Self { way, size, offload, sent, arrived, .. } = self;
        let (p10, median, per_call) = self.figures();
        format!(
            "{{\"way\": \"{way}\", \"size\": {size}, \"offload\": \"{offload}\", \"p10_ns\": {p10:.1}, \
             \"median_ns\": {median:.1}, \"packets_per_call\": {per_call:.1}, \"sent\": {sent}, \"arrived\": {arrived}}}"
        )
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p10, median, per_call) = self.figures();
        let (rate, lost) = (1000.0 / median, self.sent - self.arrived.min(self.sent));
        let Self { way, size, offload, .. } = self;
        write!(
            f,
            "{way:8} {size:>5} {p10:>8.0} {median:>8.0} {rate:>6.2} {per_call:>9.1} {lost:>6}  {offload}"
        )
    }
}

#[allow(clippy::print_stdout)] // The table is what it is run for.
fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let chunks = arguments.next().map_or(Ok(CHUNKS), |text| text.parse())?;
    let rows = Namespace::make()?.run(move || measure(chunks))??;
    println!("way       size   p10 ns  med. ns   Mpps  per call   lost  offload");
    rows.iter().for_each(|row| println!("{row}"));
    if let Some(path) = arguments.next() {
        let rows: Vec<String> = rows.iter().map(Row::json).collect();
        std::fs::write(path, format!("[\n{}\n]\n", rows.join(",\n")))?;
    }
    Ok(())
}

/// Measures all ways, sizes and both kinds of ports, interleaved.
fn measure(chunks: usize) -> Result<Vec<Row>, Failure> {
    let mut places = [Place::open(0, true)?, Place::open(1, false)?];
    let mut rows = BTreeMap::<(usize, Way, usize), Row>::new();
    for size in SIZES {
        let mut lines = Vec::new();
        for way in Way::ALL {
            for place in 0..places.len() {
                lines.push((Line::new(way, size, place)?, place));
            }
        }
        for chunk in 0..chunks + WARM_UP {
            for (line, index) in &lines {
                let Some(place) = places.get_mut(*index) else { continue };
                let step = line.step(place)?;
                let row = rows.entry((size, line.way(), *index)).or_insert_with(|| Row {
                    way: line.way().name(),
                    size,
                    offload: line.way().offload(place),
                    ..Row::default()
                });
                if chunk >= WARM_UP {
                    row.nanos.push(step.elapsed.as_secs_f64() * 1e9 / step.passed.max(1) as f64);
                    row.sent += frames::CHUNK;
                    row.arrived += step.arrived;
                    row.calls += step.calls;
                }
            }
        }
    }
    Ok(rows.into_values().collect())
}
