//! A P4 switch elsewhere as the data plane, where the binary is built with P4Runtime.

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

/// How long a switch may be away until changes of sessions are refused at once, and how long one of them may take. It is less
/// than what SMFs wait for an answer.
#[cfg_attr(not(feature = "p4runtime"), expect(dead_code, reason = "there is no switch to wait for"))]
pub(crate) const TIMEOUT: Span = Span::from_secs(2);

/// Why a switch cannot be driven.
#[cfg(feature = "p4runtime")]
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The files or the address cannot be used.
    #[error(transparent)]
    Connect(#[from] causeway_p4runtime::client::ConnectError),
    /// The program cannot serve these surroundings.
    #[error(transparent)]
    Start(#[from] causeway_switch::backend::StartError),
}

/// What became of a change so far.
pub(super) enum ApplyState {
    /// It is over.
    Done(Result<Applied, ApplyError>),
    #[cfg_attr(
        not(feature = "p4runtime"),
        expect(dead_code, reason = "only a switch elsewhere takes its time")
    )]
    /// [`Remote::poll_finished`] says what becomes of it.
    UnderWay(Operation),
}
