//! The conditions of figures.

use std::fs;
use std::time::SystemTime;

use serde::Serialize;

/// Whether the cost of getting packets in and out is in the figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IoCost {
    /// It is not: packets come from memory and stay there.
    Net,
    /// It is.
    Gross,
}

/// The conditions that the figures of a report hold under.
#[derive(Clone, Debug, Serialize)]
pub struct Conditions {
    /// The processor, as it names itself.
    pub processor: String,
    /// Cores of the machine.
    pub cores: usize,
    /// The kernel's release.
    pub kernel: String,
    /// Memory of the machine in GiB.
    pub memory_gib: u64,
    /// How the kernel gives out transparent huge pages.
    pub huge_pages: String,
    /// The commit that was built.
    pub revision: String,
    /// `release` or `debug`, and the instructions that the compiler may use.
    pub build: String,
    /// When it was measured.
    pub date: String,
    /// Whether the cost of I/O is in the figures.
    pub io: IoCost,
    /// What else is the same for all rows: what, and how it is.
    pub more: Vec<(String, String)>,
}

impl Conditions {
    /// This machine, this build, now.
    pub fn here(io: IoCost) -> Self {
        let uname = rustix::system::uname();
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        Self {
            processor: value("/proc/cpuinfo", "model name"),
            cores: cores(),
            kernel: uname.release().to_string_lossy().into_owned(),
            memory_gib: memory_gib(),
            huge_pages: huge_pages(),
            revision: env!("CAUSEWAY_REVISION").into(),
            build: format!("{profile}, {}", env!("CAUSEWAY_TARGET_FEATURES")),
            date: httpdate::fmt_http_date(SystemTime::now()),
            io,
            more: Vec::new(),
        }
    }

    /// Also this.
    #[must_use]
    pub fn with(mut self, what: &str, how: impl Into<String>) -> Self {
        self.more.push((what.into(), how.into()));
        self
    }

    /// As lines for a table: what, and how it is.
    pub(super) fn lines(&self) -> Vec<(String, String)> {
        let io = match self.io {
            IoCost::Net => "net of I/O",
            IoCost::Gross => "I/O included",
        };
        let machine = format!(
            "{}, {} cores, {} GiB, Linux {}, huge pages {}",
            self.processor, self.cores, self.memory_gib, self.kernel, self.huge_pages
        );
        let mut lines = vec![
            ("machine".into(), machine),
            ("build".into(), format!("{} ({})", self.revision, self.build)),
            ("date".into(), self.date.clone()),
            ("figures".into(), io.into()),
        ];
        lines.extend(self.more.iter().cloned());
        lines
    }
}

/// What stands behind the colon of a line.
fn value(file: &str, name: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.split_once(':'));
    line.map_or("unknown", |(_, value)| value.trim()).into()
}

/// However many of them this thread may use.
fn cores() -> usize {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let listed = text.lines().filter(|line| line.starts_with("processor")).count();
    if listed > 0 { listed } else { std::thread::available_parallelism().map_or(1, usize::from) }
}

fn memory_gib() -> u64 {
    let text = value("/proc/meminfo", "MemTotal");
    let kilobytes: u64 = text.trim_end_matches(" kB").parse().unwrap_or(0);
    kilobytes.div_ceil(1 << 20)
}

/// The chosen word, which stands in brackets.
fn huge_pages() -> String {
    let text = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or("unknown", |(word, _)| word).into()
}
