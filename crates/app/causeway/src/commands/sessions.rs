//! `causeway sessions`: the PFCP sessions, in pages.

use std::net::IpAddr;
use std::process::ExitCode;

use causeway_upf::management::views::{SessionPage, SessionView};
use clap::Args;

use super::identifiers::{count, cp_seid, seid, teid};
use crate::client::Client;
use crate::exit;
use crate::management::{CommandError, ManagementArgs, ask};
use crate::output::{Cell, Output, Table, ago, number};

/// The largest page of the API.
const PAGE: usize = 1000;

/// The options of `causeway sessions`.
#[derive(Args)]
pub(crate) struct SessionsArgs {
    /// Maximum number of sessions that are shown
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = count)]
    limit: u64,
    /// Show all sessions
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Continue where an earlier call ended
    #[arg(long, value_name = "PLACE", value_parser = seid)]
    after: Option<String>,

    #[command(flatten)]
    management: ManagementArgs,

    // At the end, since arguments after it would be under its heading.
    #[command(flatten)]
    filters: Filters,
}

/// Which sessions are shown. Each filter that is given must match.
#[derive(Args)]
#[command(next_help_heading = "Filters, each of which must match")]
pub(crate) struct Filters {
    /// An address of the UE, or one in its prefix or framed routes
    #[arg(long, value_name = "ADDRESS")]
    ue: Option<IpAddr>,
    /// The UPF's SEID, in decimal or, after 0x, hexadecimal
    #[arg(long, value_name = "SEID", value_parser = seid)]
    seid: Option<String>,
    /// The SMF's SEID; with @ADDRESS that of one SMF
    #[arg(long, value_name = "SEID[@ADDRESS]", value_parser = cp_seid)]
    cp_seid: Option<String>,
    /// The TEID of a local tunnel, in decimal or, after 0x, hexadecimal
    #[arg(long, value_name = "TEID", value_parser = teid)]
    teid: Option<String>,
    /// A network instance, such as a DNN
    #[arg(long, value_name = "NAME")]
    dnn: Option<String>,
    /// The IMSI, of digits, if the SMF has sent it
    #[arg(long, value_name = "DIGITS", conflicts_with = "user_id")]
    imsi: Option<String>,
    /// Any identity in the User ID: IMSI, IMEI, MSISDN, NAI, SUPI, GPSI or PEI
    #[arg(long, value_name = "IDENTITY")]
    user_id: Option<String>,
    /// The Node ID of the SMF: an address or a host name
    #[arg(long, value_name = "NODE")]
    smf: Option<String>,
    /// The address of a GTP-U peer: a gNB or another UPF
    #[arg(long, value_name = "ADDRESS")]
    gnb: Option<IpAddr>,
}

impl Filters {
    /// As the API names them.
    pub(super) fn parameters(&self) -> Vec<(&'static str, String)> {
        let address = |ip: Option<IpAddr>| ip.map(|ip| ip.to_string());
        let filters = [
            ("ue", address(self.ue)),
            ("seid", self.seid.clone()),
            ("cp_seid", self.cp_seid.clone()),
            ("teid", self.teid.clone()),
            ("dnn", self.dnn.clone()),
            ("user", self.imsi.clone().or_else(|| self.user_id.clone())),
            ("smf", self.smf.clone()),
            ("gnb", address(self.gnb)),
        ];
        filters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

pub(super) fn run(args: &SessionsArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let mut list: Box<dyn List> = if output.is_json() {
            Box::new(JsonList { separator: "" })
        } else {
            Box::new(TextList { table: None, shown: 0 })
        };
        show(args, client, output, &mut *list)
    })
}

/// Shows page after page, so that the memory that it takes does not grow with the number of sessions.
fn show(
    args: &SessionsArgs,
    client: &Client,
    output: &mut Output,
    list: &mut dyn List,
) -> Result<(), CommandError> {
    let filters = args.filters.parameters();
    let mut left = if args.all { usize::MAX } else { usize::try_from(args.limit).unwrap_or(usize::MAX) };
    let mut after = args.after.clone();
    loop {
        let mut parameters = filters.clone();
        parameters.push(("limit", left.min(PAGE).to_string()));
        parameters.extend(after.map(|after| ("after", after)));
        let page: SessionPage = client.get("/api/v1/sessions", &parameters)?;
        left = left.saturating_sub(page.sessions.len());
        list.add(output, &page.sessions)?;
        after = page.after;
        if after.is_none() || left == 0 {
            return Ok(list.end(output, page.total, after)?);
        }
    }
}

/// The sessions as they are written.
trait List {
    fn add(&mut self, output: &mut Output, sessions: &[SessionView]) -> std::io::Result<()>;

    /// `after`: where a next call continues, if sessions follow.
    fn end(&mut self, output: &mut Output, total: u64, after: Option<String>) -> std::io::Result<()>;
}

struct TextList {
    /// `None`: no session has come yet.
    table: Option<SessionTable>,
    shown: u64,
}

impl List for TextList {
    fn add(&mut self, output: &mut Output, sessions: &[SessionView]) -> std::io::Result<()> {
        self.shown += sessions.len() as u64;
        if sessions.is_empty() {
            return Ok(());
        }
        let table = self.table.get_or_insert_with(|| SessionTable::for_sessions(sessions));
        table.add(sessions);
        table.write(output)
    }

    fn end(&mut self, output: &mut Output, total: u64, after: Option<String>) -> std::io::Result<()> {
        output.flush()?;
        let of = format!("{} of {} sessions", number(self.shown), number(total));
        match after {
            Some(after) => exit::note(format_args!("{of}; more may follow: --after {after}, or --all")),
            None => exit::note(of),
        }
        Ok(())
    }
}

/// One object, as the API has it, with a session on each line.
struct JsonList {
    separator: &'static str,
}

impl List for JsonList {
    fn add(&mut self, output: &mut Output, sessions: &[SessionView]) -> std::io::Result<()> {
        for session in sessions {
            let start = if self.separator.is_empty() { "{\"sessions\":[\n" } else { self.separator };
            output.raw(start)?;
            output.raw(serde_json::to_string(session)?)?;
            self.separator = ",\n";
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output, total: u64, after: Option<String>) -> std::io::Result<()> {
        if self.separator.is_empty() {
            output.raw("{\"sessions\":[")?;
        }
        let after = after.map_or_else(String::new, |after| format!(",\"after\":\"{after}\""));
        output.line(format_args!("\n],\"total\":{total}{after}}}"))
    }
}

/// Sessions in a table.
pub(super) struct SessionTable {
    table: Table,
    has_classes: bool,
}

impl SessionTable {
    /// With a column of application classes if one of these sessions has one.
    pub(super) fn for_sessions(sessions: &[SessionView]) -> Self {
        let has_classes = sessions.iter().any(|session| session.class.is_some());
        let columns = ["SEID", "UE", "USER", "DNN", "LOCAL TUNNEL", "PEER", "SMF", ">FOR", "CLASS"];
        let shown = columns.iter().take(columns.len() - usize::from(!has_classes)).copied();
        Self { table: Table::new(&shown.collect::<Vec<_>>()), has_classes }
    }

    pub(super) fn add(&mut self, sessions: &[SessionView]) {
        for session in sessions {
            let [seid, ue, user, dnn, tunnel, peer, smf, since] = row(session);
            match self.has_classes {
                false => self.table.row([seid, ue, user, dnn, tunnel, peer, smf, since]),
                true => {
                    let class = session.class.as_deref().into();
                    self.table.row([seid, ue, user, dnn, tunnel, peer, smf, since, class]);
                }
            }
        }
    }

    pub(super) fn write(&mut self, output: &mut Output) -> std::io::Result<()> {
        self.table.write(output)
    }
}

fn row(session: &SessionView) -> [Cell; 8] {
    let user = session.user.as_ref().and_then(|user| user.identities().next().map(|(_, identity)| identity));
    [
        session.seid.as_str().into(),
        list(&session.ue),
        user.into(),
        list(&session.network_instances),
        list(&session.tunnels),
        list(&session.peers),
        session.node_id.as_str().into(),
        ago(session.since as f64).into(),
    ]
}

/// The first of them, and how many more there are.
fn list(texts: &[String]) -> Cell {
    match texts {
        [] => "-".into(),
        [one] => one.as_str().into(),
        [first, rest @ ..] => format!("{first} +{}", rest.len()).into(),
    }
}
