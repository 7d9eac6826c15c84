//! The command line and its help texts.

#[cfg(feature = "p4runtime")]
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

#[cfg(feature = "p4runtime")]
use causeway_p4runtime::server::PROFILES;
use causeway_upf::config::Overrides;
#[cfg(feature = "p4runtime")]
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

use crate::commands::associations::AssociationsArgs;
use crate::commands::capture::CaptureArgs;
use crate::commands::completion::CompletionArgs;
use crate::commands::config::ShowArgs;
use crate::commands::coordinator::CoordinatorArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::drain::DrainArgs;
use crate::commands::drops::DropsArgs;
use crate::commands::events::EventsArgs;
use crate::commands::explain::ExplainArgs;
use crate::commands::heavy::HeavyArgs;
#[cfg(feature = "p4runtime")]
use crate::commands::identifiers::count;
use crate::commands::interfaces::InterfacesArgs;
use crate::commands::log_level::LogLevelArgs;
use crate::commands::man::ManArgs;
use crate::commands::memory_server::MemoryServerArgs;
use crate::commands::peers::PeersArgs;
use crate::commands::placement::PlacementArgs;
use crate::commands::pools::PoolsArgs;
use crate::commands::release::ReleaseArgs;
use crate::commands::reload::ReloadArgs;
use crate::commands::session::SessionArgs;
use crate::commands::sessions::SessionsArgs;
use crate::commands::status::StatusArgs;
use crate::commands::support_bundle::SupportBundleArgs;
use crate::commands::top::TopArgs;
use crate::commands::trace::TraceArgs;
use crate::commands::workers::WorkersArgs;

/// Causeway, a 5G User Plane Function.
#[derive(Parser)]
#[command(name = "causeway", version, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  causeway run --config /etc/causeway/upf.yaml
  causeway config check --config upf.yaml
  causeway config keys
  causeway status
  causeway session 10.45.0.2
  causeway demo
  causeway plan --profile hip4 --ratio 1:10
  causeway experiment hip4
  causeway train --positive 'udp 192.0.2.0/24' capture.pcap
  causeway switch-model --listen 127.0.0.1:9559
  causeway memory-server --listen 192.0.2.1 --size 1GiB

Exit codes: 0 done, 1 failed, 2 wrong command line or (run) wrong configuration.";

const RUN_HELP: &str = "\
SIGTERM and SIGINT release the associations and stop; a second one stops immediately.
SIGHUP reloads the configuration: `causeway config keys` marks the keys that change without a restart.
TUN devices need CAP_NET_ADMIN.

Examples:
  causeway run --config /etc/causeway/upf.yaml
  causeway run --config upf.yaml --log-level debug --pfcp-address 192.0.2.1,2001:db8::1
  CAUSEWAY_CONFIG=upf.yaml causeway run

Exit codes: 0 stopped by a signal, 1 failed at start or at work, 2 wrong command line or configuration.";

/// The end of the help of each command that asks a running UPF.
macro_rules! asks {
    ($($example:literal)*) => {
        concat!(
            "Examples:\n",
            $("  ", $example, "\n",)*
            "\nExit codes: 0 done, 1 the UPF does not answer or refuses, 2 wrong command line."
        )
    };
}

const DEMO_HELP: &str = "\
Ten UEs, two gNBs, an SMF and a data network are emulated; their packets cross real kernel interfaces. Two of the UEs have IPv6.
A step that fails says where its packets were last seen. Without root it runs in a user namespace, where the kernel permits that.
With --keep, SIGINT or SIGTERM releases the sessions and ends the demo; a second one ends it at once.

Examples:
  causeway demo
  causeway demo --keep
  causeway demo --dataplane switch --out switch-demo

Exit codes: 0 every step passed, 1 a step failed or the demo cannot run, 2 wrong command line, 128 + N ended by signal N.";

const BENCH_HELP: &str = "\
Examples:
  causeway bench
  causeway bench pipeline --sessions 10k,1M --direction uplink,downlink,both
  causeway bench all --quick
  causeway bench pipeline --core 1 --json pipeline.json

Exit codes: 0 measured, 1 it could not be measured, 2 wrong command line.";

const PLAN_HELP: &str = "\
Places the tables of a UPF in P4 into the stages of a Tofino pipeline, without a compiler: how many UEs fit, whether so many \
do, or whether tables of given sizes do. docs/planner.md describes the model and how near it comes to a compiler.

Examples:
  causeway plan
  causeway plan --profile direct --ratio 1:5 --filters shared --svg stages.svg
  causeway plan --ues 120000 --ratio 1:10 --partitions 2 --why
  causeway plan --sizes accounting_egress=400000,dl_from_n6_simple=200000
  causeway plan accuracy

Exit codes: 0 it fits, 1 it does not or cannot be planned, 2 wrong command line.";

const EXPERIMENT_HELP: &str = "\
Experiments of HiP4-UPF (ATC'24) with the mechanisms of the switch backend over a modelled switch. Times are model time: they are \
the same on any machine, and the same seed gives the same files. docs/experiments.md says what is modelled.
Experiments on heavy hitters with Causeway's detectors and those of others on generated traces: docs/heavy-hitters.md.
The memory path of X-PLANE (MobiCom '23) over modelled memory servers, also in docs/experiments.md.
Experiments on cloud gaming with Causeway's tree and a released one, on data that --data names: docs/application-classes.md.

Examples:
  causeway experiment
  causeway experiment hip4
  causeway experiment hip4-fig12 --ues 1M --runs 5
  causeway experiment hip4 --quick --out quick
  causeway experiment hh-fig31 --only causeway
  causeway experiment xplane-memory
  causeway experiment gaming --data /srv/data

Exit codes: 0 carried out (also if a figure is not reached), 1 it could not be, 2 wrong command line.";

const CAPTURE_HELP: &str = "\
The interfaces of the file are N3 in, N3 out, N6 in and N6 out. All packets begin with their IP \
header; those of N3 have headers of IP, UDP and GTP-U. A comment to each packet has its PDR, FAR, \
QERs and URRs, and what became of it. A packet thread observes at most 2,000 packets in a second; \
how many were not captured is said at the end, and stands in the file.

Examples:
  causeway capture 10.45.0.2 -w ue.pcapng
  causeway capture 10.45.0.2 -c 100 -s 128 -w ue.pcapng
  causeway capture 0x2a --seconds 60 -w - | tshark -r -

Exit codes: 0 done, also after Ctrl-C, 1 failed, 2 wrong command line.";

const MEMORY_SERVER_HELP: &str = "\
RDMA READ, WRITE and atomic operations on one region of memory, by reliable connections in UDP, without an adapter that does RDMA.
Clients set up connections by the messages of InfiniBand's communication management, and learn the remote key so. Nothing is \
encrypted and nobody is asked who they are: whoever reaches the port has the memory. The memory is empty after a start, and clients \
learn of a restart. SIGTERM and SIGINT end it, with what it did.

P4 profile `xplane` on Tofino 1 cannot add pad octets and CRC behind a packet. --requests-without-crc names the addresses of such switches. Octets \
that change on the way from there are not noticed.

Examples:
  causeway memory-server
  causeway memory-server --listen 192.0.2.1 --size 1GiB
  causeway memory-server --listen [2001:db8::1]:4791 --size 64MiB --queue-pairs 8
  causeway memory-server --listen 192.0.2.1 --requests-without-crc 192.0.2.65

Exit codes: 0 ended by a signal, 1 it cannot listen or has not so much memory, 2 wrong command line.";

const TRAIN_HELP: &str = "\
A class of traffic, such as cloud gaming, is told from others by counts, sizes and gaps of its packets in a window. The tree that does \
so is trained on labelled flows, and validated on sessions, games or networks that it has not seen. The classification \"never\" stands \
beside each score. docs/application-classes.md leads from a capture to a model.

Examples:
  causeway train --positive 'udp 192.0.2.0/24 port 1000-2000' capture.pcap --out model.json
  causeway train --labels labels.csv --window 300 a.pcap b.pcapng --group session=file
  causeway train --positive 'udp 13.104.0.0/16' --group session=file --group game=folder:3 data/*/*/*/Features/*.csv
  causeway train vectors.csv --group network=column:network --report report.json

Exit codes: 0 trained, 1 a file is wrong or cannot be written, 2 wrong command line, or no samples of a class.";

#[cfg(feature = "p4runtime")]
const SWITCH_MODEL_HELP: &str = "\
Any controller that speaks P4Runtime can drive it: read and set the program, write and read entries, counters and meters, send and \
get packets. Frames have no ports to come by but the CPU's: a packet-out with command PROCESS goes through the tables, and what \
would leave by a port is counted. docs/p4runtime.md says more. SIGTERM and SIGINT end it.

Examples:
  causeway switch-model
  causeway switch-model --listen 127.0.0.1:0 --profile baseline --timing paper
  causeway switch-model --empty --not-atomic

Exit codes: 0 ended by a signal, 1 it cannot listen or run the program, 2 wrong command line.";

/// The subcommand.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the UPF until SIGTERM or SIGINT
    #[command(after_help = RUN_HELP)]
    Run(Box<ConfigArgs>),
    /// Check or explain a configuration without running it
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Demonstrate a complete 5G user plane on this host, in network namespaces, in under a minute
    #[command(
        after_help = DEMO_HELP
    )]
    Demo(DemoArgs),
    /// Run benchmarks of this build on this host, or list them
    #[command(after_help = BENCH_HELP)]
    Bench(Box<causeway_bench::Arguments>),
    /// Repeat the experiments of papers on a modelled switch, modelled memory or generated traces, and compare the figures
    #[command(after_help = EXPERIMENT_HELP)]
    Experiment(Box<causeway_experiment::Arguments>),
    /// Compute the UE capacity of a UPF in P4 on a switch, and draw the placement of its tables
    #[command(after_help = PLAN_HELP)]
    Plan(Box<causeway_plan::Arguments>),
    /// Train a model of application classes, such as cloud gaming, on labelled tables and captures
    #[command(after_help = TRAIN_HELP)]
    Train(Box<causeway_experiment::training::TrainArguments>),
    /// Show the state of a running UPF
    #[command(after_help = asks!("causeway status" "causeway status --management https://upf.example --ca ca.crt --token-file token -o json"))]
    Status(StatusArgs),
    /// List the PFCP sessions of a running UPF
    #[command(after_help = asks!("causeway sessions --dnn internet --gnb 198.51.100.7" "causeway sessions --imsi 001010000000001" "causeway sessions --all -o json"))]
    Sessions(Box<SessionsArgs>),
    /// Show one session whole: its rules, tunnels, rates, usage and buffer
    #[command(after_help = asks!("causeway session 10.45.0.2" "causeway session 0x2a -o json"))]
    Session(SessionArgs),
    /// List the associations with SMFs
    #[command(after_help = asks!("causeway associations"))]
    Associations(AssociationsArgs),
    /// List the GTP-U paths to gNBs and other UPFs, as Echo Requests find them
    #[command(after_help = asks!("causeway peers" "causeway peers --down"))]
    Peers(PeersArgs),
    /// List the pools of UE addresses
    #[command(after_help = asks!("causeway pools"))]
    Pools(PoolsArgs),
    /// List the packet threads with their load and rates
    #[command(after_help = asks!("causeway workers"))]
    Workers(WorkersArgs),
    /// Show live rates by session, DNN, gNB and packet thread on a terminal
    #[command(after_help = asks!("causeway top" "causeway top --by dnn" "causeway top --gnb 198.51.100.7 --limit 1000"))]
    Top(Box<TopArgs>),
    /// List the packet ports with their counters
    #[command(after_help = asks!("causeway interfaces"))]
    Interfaces(InterfacesArgs),
    /// Show why packets are dropped, how many, and what to do
    #[command(after_help = asks!("causeway drops" "causeway drops --interval 10" "causeway drops --all -o json"))]
    Drops(DropsArgs),
    /// List the flows of a high rate: `upf.traffic.heavy_hitters`
    #[command(after_help = asks!("causeway heavy" "causeway heavy --limit 10 -o json"))]
    Heavy(HeavyArgs),
    /// Show which rules are on the switch of `upf.dataplane: hybrid`, and what has moved
    #[command(after_help = asks!("causeway placement" "causeway placement 0x2a" "causeway placement --limit 10 -o json"))]
    Placement(PlacementArgs),
    /// Show the packets of a session as they pass, with their rules and what becomes of them
    #[command(after_help = asks!("causeway trace 10.45.0.2" "causeway trace 10.45.0.2 --packets 10" "causeway trace 0x2a --seconds 600 -o json"))]
    Trace(TraceArgs),
    /// Capture the packets of a session, in and out, into a pcapng file
    #[command(after_help = CAPTURE_HELP)]
    Capture(CaptureArgs),
    /// Show what would become of a packet, and by which rules; nothing is sent or counted
    #[command(
        after_help = asks!("causeway explain uplink 10.45.0.2 203.0.113.1 --protocol tcp --port 443" "causeway explain downlink 10.45.0.2 203.0.113.1 --length 1400" "causeway explain uplink 10.45.0.2 203.0.113.1 --teid 0x1a2b3c4d --qfi 9 -o json" "causeway explain -r ue.pcapng --packet 3")
    )]
    Explain(ExplainArgs),
    /// Show sessions, associations, paths and reports as they change
    #[command(after_help = asks!("causeway events" "causeway events --count 10 -o json"))]
    Events(EventsArgs),
    /// Check whether this host has what a configuration needs, and say what to do
    #[command(after_help = "Examples:\n  sudo causeway doctor --config /etc/causeway/upf.yaml\n\n\
                            Exit codes: 0 no failure, 1 a failure, 2 wrong command line or configuration.")]
    Doctor(Box<DoctorArgs>),
    /// Accept no new sessions, and wait for the end of the present ones
    #[command(after_help = asks!("causeway drain" "causeway drain --release --within 60" "causeway drain --undo"))]
    Drain(DrainArgs),
    /// Request an SMF to release its association, or end it at once
    #[command(after_help = asks!("causeway release 192.0.2.21" "causeway release smf.example.net --now"))]
    Release(ReleaseArgs),
    /// Have a running UPF read its configuration file again
    #[command(after_help = asks!("causeway reload"))]
    Reload(ReloadArgs),
    /// Collect the state of this UPF and its host for support, without secrets, in one file
    #[command(after_help = asks!("sudo causeway support-bundle" "sudo causeway support-bundle -o upf1.tar.gz --events 60"))]
    SupportBundle(SupportBundleArgs),
    /// Set the level of the logs of a running UPF
    #[command(after_help = asks!("causeway log-level debug"))]
    LogLevel(LogLevelArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Examples:\n  causeway completion bash > /etc/bash_completion.d/causeway\n\nExit codes: 0 done, 2 wrong command line."
    )]
    Completion(CompletionArgs),
    /// Print a manual page, or write all of them
    #[command(
        after_help = "Examples:\n  causeway man session | man -l -\n  causeway man --out /usr/local/share/man/man1\n\n\
                      Exit codes: 0 done, 1 no such page or folder, 2 wrong command line."
    )]
    Man(ManArgs),
    /// Decide which of two daemons is the primary of their chain, until a signal ends it
    #[command(
        after_help = "Examples:\n  causeway coordinator --listen 198.51.100.3 --file /var/lib/causeway/chain\n\n\
                      It runs on a third host; docs/chain.md says how to set up a chain.\n\n\
                      Exit codes: 1 the address or the file cannot be used, 2 wrong command line."
    )]
    Coordinator(CoordinatorArgs),
    /// Serve memory over RoCEv2 to clients that keep state outside, until SIGTERM or SIGINT
    #[command(after_help = MEMORY_SERVER_HELP)]
    MemoryServer(MemoryServerArgs),
    #[cfg(feature = "p4runtime")]
    /// Serve the model of a P4 switch over P4Runtime, until SIGTERM or SIGINT
    #[command(after_help = SWITCH_MODEL_HELP)]
    SwitchModel(SwitchModelArgs),
}

/// The options of the switch model.
#[cfg(feature = "p4runtime")]
#[derive(Args)]
pub(crate) struct SwitchModelArgs {
    /// Listening address; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9559")]
    pub(crate) listen: SocketAddr,
    /// The profile of the P4 program
    #[arg(long, default_value = "hip4", value_parser = PossibleValuesParser::new(PROFILES.map(|(name, _)| name)))]
    pub(crate) profile: String,
    /// Start without a program; a controller sets it
    #[arg(long, conflicts_with = "profile")]
    pub(crate) empty: bool,
    /// The id of the device
    #[arg(long, value_name = "ID", default_value_t = 1, value_parser = count)]
    pub(crate) device_id: u64,
    /// The port whose frames are sent to the controller
    #[arg(long, value_name = "PORT", default_value_t = 510, value_parser = clap::value_parser!(u16).range(1..512))]
    pub(crate) cpu_port: u16,
    /// GTP-U addresses, until a controller sets others
    #[arg(long, value_name = "IPV4", value_delimiter = ',', default_value = "192.0.2.1")]
    pub(crate) local: Vec<Ipv4Addr>,
    /// Delay of requests
    #[arg(long, value_enum, default_value_t = SwitchTiming::Instant)]
    pub(crate) timing: SwitchTiming,
    /// Refuse atomic batches, as the P4Runtime server of BMv2 does
    #[arg(long)]
    pub(crate) not_atomic: bool,
    /// Refuse to read registers, as the P4Runtime server of BMv2 does
    #[arg(long)]
    pub(crate) no_register_reads: bool,
}

/// The delay of a switch.
#[cfg(feature = "p4runtime")]
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SwitchTiming {
    /// No added delay
    Instant,
    /// As HiP4-UPF's driver, according to its figures
    Paper,
    /// As HiP4-UPF's driver with the slowest writes that its figures allow for
    PaperAllDriver,
}

/// The options of the demo.
#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Folder for captures, log and report
    #[arg(short, long, value_name = "FOLDER", default_value = "demo-out")]
    pub(crate) out: PathBuf,

    /// Data plane of the UPF: fastpath, slowpath, switch (a model of a P4 switch), hybrid (such a model before the fast path), or xplane
    /// (tables in the memory of a server beside the UPF)
    #[arg(short, long, value_name = "WORD", value_parser = ["fastpath", "slowpath", "switch", "hybrid", "xplane"])]
    pub(crate) dataplane: Option<String>,

    /// Keep everything up after the steps with traffic, until Ctrl-C, and print commands to try
    #[arg(short, long)]
    pub(crate) keep: bool,
}

/// The actions on a configuration.
#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the effective configuration and `ok`, or every error with its line
    #[command(after_help = "Exit codes: 0 the configuration is right, 1 it is wrong, 2 wrong command line.")]
    Check(Box<ConfigArgs>),
    /// List every key with its meaning, its default, and whether a reload changes it
    Keys(KeysArgs),
    /// Print the JSON Schema of the configuration file, for editors and checks before a deployment
    #[command(after_help = "Examples:\n  causeway config schema > upf.schema.json")]
    Schema,
    /// Print the configuration in force of a running UPF
    #[command(after_help = asks!("causeway config show" "causeway config show -o json"))]
    Show(ShowArgs),
}

/// The options of `causeway config keys`.
#[derive(Args)]
pub(crate) struct KeysArgs {
    /// Form of the list; markdown is docs/configuration.md
    #[arg(short, long, value_enum, default_value_t = KeysForm::Text)]
    pub(crate) output: KeysForm,
}

/// The form of the list of keys.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum KeysForm {
    /// A line for each key
    Text,
    /// An array of objects
    Json,
    /// A page with tables
    Markdown,
}

/// The sources of the configuration. A flag takes precedence over the environment, and the environment over the file.
#[derive(Args)]
pub(crate) struct ConfigArgs {
    /// Configuration file; without it every key has its default
    #[arg(short, long, value_name = "FILE", env = "CAUSEWAY_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    flags: Flags,
}

/// Flags that replace keys of the file.
#[derive(Args)]
#[command(next_help_heading = "Options that replace keys of the file")]
struct Flags {
    /// logger.level: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", env = "CAUSEWAY_LOG_LEVEL")]
    log_level: Option<String>,
    /// logger.format: text or json
    #[arg(long, value_name = "FORMAT", env = "CAUSEWAY_LOG_FORMAT")]
    log_format: Option<String>,
    /// upf.node_id: an address or a host name
    #[arg(long, value_name = "ID", env = "CAUSEWAY_NODE_ID")]
    node_id: Option<String>,
    /// upf.max_sessions
    #[arg(long, value_name = "N", env = "CAUSEWAY_MAX_SESSIONS")]
    max_sessions: Option<String>,
    /// upf.pfcp.server: N4 addresses, comma-separated
    #[arg(long, value_name = "ADDRESS[:PORT]", env = "CAUSEWAY_PFCP_ADDRESS", value_delimiter = ',')]
    pfcp_address: Vec<String>,
    /// upf.pfcp.client.smf: SMFs to which the UPF sends an Association Setup Request
    #[arg(long, value_name = "ADDRESS[:PORT]", env = "CAUSEWAY_SMF_ADDRESS", value_delimiter = ',')]
    smf_address: Vec<String>,
    /// upf.gtpu.server: N3 and N9 addresses, comma-separated
    #[arg(long, value_name = "ADDRESS[:PORT]", env = "CAUSEWAY_GTPU_ADDRESS", value_delimiter = ',')]
    gtpu_address: Vec<String>,
    /// upf.metrics.server: addresses of /metrics and /api, comma-separated
    #[arg(long, value_name = "ADDRESS[:PORT]", env = "CAUSEWAY_METRICS_ADDRESS", value_delimiter = ',')]
    metrics_address: Vec<String>,
    /// Any key, repeatedly; `causeway config keys` lists them. In the environment: CAUSEWAY__UPF__MAX_SESSIONS=1000 for
    /// upf.max_sessions
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// The environment variables for single keys.
fn variables() -> Vec<(String, String)> {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    std::env::vars_os()
        .map(|(name, value)| (text(name), text(value)))
        .filter(|(name, _)| name.starts_with(Overrides::PREFIX))
        .collect()
}

impl ConfigArgs {
    /// The values from flags or the environment.
    pub(crate) fn overrides(&self) -> Overrides {
        let flags = &self.flags;
        Overrides {
            variables: variables(),
            log_level: flags.log_level.clone(),
            log_format: flags.log_format.clone(),
            node_id: flags.node_id.clone(),
            max_sessions: flags.max_sessions.clone(),
            pfcp_address: flags.pfcp_address.clone(),
            smf_address: flags.smf_address.clone(),
            gtpu_address: flags.gtpu_address.clone(),
            metrics_address: flags.metrics_address.clone(),
            set: flags.set.clone(),
        }
    }
}
