//! What the management API shows, as JSON. The OpenAPI description follows from these types; the commands of the
//! `causeway` binary read them.
//!
//! Times of the past are seconds since the Unix epoch. SEIDs and TEIDs are hexadecimal texts.

mod association;
mod event;
mod explanation;
mod heavy_hitter;
mod placement;
mod problem;
mod rules;
mod session;
mod state;
mod switch;
mod system;
mod trace;

pub use association::{AssociationView, Associations, EndedAssociation, RequestedRelease};
pub use event::{EventView, TimedEvent};
pub use explanation::{
    ExplanationView, FirewallView, MatchedRulesView, PacketView, PdrTrialView, QerVerdictView, ReasonView,
    SentView, SessionTrialView, UrrVerdictView, VolumeView,
};
pub use heavy_hitter::{HeavyHitterView, HeavyHittersView, TransportFlowView};
pub(crate) use heavy_hitter::{direction_text, ue_text};
pub use placement::{MovesView, PlacedRuleCounts, PlacedRuleView, PlacementView, SideView, WaitsView};
pub use problem::ProblemView;
pub use rules::{
    BarView, DirectionalVolume, FarView, Gates, LimitsView, PdrView, QerView, RateView, TunnelView, UrrView,
};
pub use session::{RuleCounts, SessionDetail, SessionPage, SessionView, UserView};
pub use state::{BufferView, SessionDropView, SessionDropsView, SessionStateView, UrrStateView, UsageView};
pub use switch::{
    AccountingPartitionView, AccountingView, SwitchStateView, SwitchTableView, SwitchView, TableStageView,
};
pub use system::{
    ConfigView, DrainRequest, DrainView, DropView, Drops, InterfaceView, Interfaces, LogLevelView,
    MemoryView, NamedCount, PeerView, Peers, PoolView, Pools, ReloadedView, StatusView, WorkerView, Workers,
};
pub use trace::{TraceEnd, TraceEvent, TracedPacketView};
