//! The page about idle sessions says what the cases say.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use causeway_cold::MemoryStore;
use causeway_conformance::{Backend, Setup, dialect_column, limits, load_all, load_fragments, run};
use causeway_dataplane::{PacketEngine, Topology};
use causeway_fastpath::FastPath;
use causeway_types::Span;

/// The part of the page that is rendered, between these lines.
const BEGIN: &str =
    "<!-- The table is rendered from the cases: CAUSEWAY_RECORD=1 cargo test -p causeway-conformance -->\n";
const END: &str = "<!-- The end of the table -->\n";

/// The software fast path, whose sessions move to cold storage after each packet and plan, as far as they can.
struct ColdBackend;

impl Backend for ColdBackend {
    fn name(&self) -> &'static str {
        "fastpath with cold storage"
    }

    fn build(&self, topology: Topology, setup: &Setup) -> Box<dyn PacketEngine> {
        let plane = FastPath::new(topology, limits(setup)).expect("a data plane");
        let store = Box::new(MemoryStore::default());
        Box::new(plane.with_cold_storage(store, Span::ZERO, |notice| panic!("{notice}")))
    }
}

/// What the messages of an SMF leave.
#[derive(Default)]
struct Share {
    cases: usize,
    /// Sessions after each message, and how many of them are in cold storage then.
    sessions: u64,
    cold: u64,
    /// The behaviours of which some session stays in memory: how many times, of all.
    stay: BTreeMap<String, (u64, u64)>,
}

impl Share {
    fn add(&mut self, behaviour: &str, places: &[(u64, u64)]) {
        let (sessions, cold) =
            places.iter().fold((0, 0), |(sessions, cold), place| (sessions + place.0, cold + place.1));
        self.cases += 1;
        self.sessions += sessions;
        self.cold += cold;
        if cold < sessions {
            let of_behaviour = self.stay.entry(behaviour.to_owned()).or_default();
            *of_behaviour = (of_behaviour.0 + sessions - cold, of_behaviour.1 + sessions);
        }
    }

    fn write(&self, name: &str, out: &mut String) {
        let Self { cases, sessions, cold, stay } = self;
        let percent = 100.0 * *cold as f64 / (*sessions).max(1) as f64;
        let stay = stay.iter().map(|(behaviour, (some, all))| format!("{behaviour} ({some} of {all})"));
        let stay = stay.collect::<Vec<_>>().join("; ");
        let _ = writeln!(out, "| {name} | {cases} | {sessions} | {cold} ({percent:.0} %) | {stay} |");
    }
}

// Input:  the cases below cases/dialects, on a data plane whose sessions move to cold storage after each packet and plan, as far as they can.
// Output: all of them pass; the table of docs/idle-sessions.md.
#[test]
fn the_sessions_of_smfs_that_go_cold_are_those_of_the_cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = load_all(&folder.join("cases/dialects")).unwrap_or_else(|error| panic!("{error}"));
    let fragments = load_fragments(&folder.join("fragments.yaml")).unwrap_or_else(|error| panic!("{error}"));
    let mut shares: BTreeMap<usize, (&str, Share)> = BTreeMap::new();
    for case in &cases {
        let Some((column, name)) = dialect_column(case) else { continue };
        let transcript = run(case, &fragments, &ColdBackend).unwrap_or_else(|error| panic!("{error}"));
        let share = &mut shares.entry(column).or_insert((name, Share::default())).1;
        share.add(case.behaviour.as_deref().unwrap_or_default(), &transcript.places);
    }
    let mut table = String::from(
        "| SMF | cases | sessions after each message | of them go cold | behaviours of which some stay in memory |\n\
         |---|---|---|---|---|\n",
    );
    shares.into_values().for_each(|(name, share)| share.write(name, &mut table));
    let path = folder.join("../docs/idle-sessions.md");
    let page = std::fs::read_to_string(&path).expect("docs/idle-sessions.md");
    let (head, rest) = page.split_once(BEGIN).expect("where the table begins");
    let (written, tail) = rest.split_once(END).expect("where it ends");
    if std::env::var_os("CAUSEWAY_RECORD").is_some() {
        let page = [head, BEGIN, "\n", &table, "\n", END, tail].concat();
        std::fs::write(path, page).expect("docs/idle-sessions.md");
    } else {
        assert!(written.trim() == table.trim(), "docs/idle-sessions.md is stale: record anew");
    }
}
