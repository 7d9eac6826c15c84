//! A P4 switch outside this process as the data plane, if the binary is built with P4Runtime.

#[cfg(not(feature = "p4runtime"))]
mod absent;
#[cfg(feature = "p4runtime")]
mod configured;
#[cfg(feature = "p4runtime")]
mod switch;

use causeway_dataplane::{Applied, ApplyError};
use causeway_switch::backend::Operation;
use causeway_types::Span;

#[cfg(not(feature = "p4runtime"))]
pub(crate) use absent::remote;
#[cfg(not(feature = "p4runtime"))]
pub use absent::{Remote, RemoteError};
#[cfg(feature = "p4runtime")]
pub(crate) use configured::remote;
#[cfg(feature = "p4runtime")]
pub use switch::Remote;

/// How long a switch may be unreachable before changes of sessions are refused immediately, and how long one change may
/// take. It is shorter than the response timeout of SMFs.
#[cfg_attr(not(feature = "p4runtime"), expect(dead_code, reason = "there is no switch to wait for"))]
pub(crate) const TIMEOUT: Span = Span::from_secs(2);

/// A failure to start the P4Runtime driver.
#[cfg(feature = "p4runtime")]
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The files or the address cannot be used.
    #[error(transparent)]
    Connect(#[from] causeway_p4runtime::client::ConnectError),
    /// The program does not support the topology.
    #[error(transparent)]
    Start(#[from] causeway_switch::backend::StartError),
}

/// The state of a change.
pub(super) enum ApplyState {
    /// The change has completed.
    Done(Result<Applied, ApplyError>),
    #[cfg_attr(
        not(feature = "p4runtime"),
        expect(dead_code, reason = "only a switch elsewhere takes its time")
    )]
    /// The change is in flight; [`Remote::poll_finished`] returns its result.
    UnderWay(Operation),
}
