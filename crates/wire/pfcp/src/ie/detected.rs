//! The application of a usage report.

use std::borrow::Cow;

use crate::ie::ApplicationId;
use crate::{Ie, IeError};

/// Application ID (clause 8.2.6) of a detected application. Unlike [`ApplicationId`] it may own its octets, so that
/// a report may outlive the rules it is based on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DetectedApplicationId<'a>(pub Cow<'a, [u8]>);

impl std::fmt::Debug for DetectedApplicationId<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        ApplicationId(&self.0).fmt(f)
    }
}

impl<'a> Ie<'a> for DetectedApplicationId<'a> {
    const TYPE: u16 = ApplicationId::TYPE;
    const NAME: &'static str = ApplicationId::NAME;

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        ApplicationId::decode(value).map(|id| Self(Cow::Borrowed(id.0)))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        ApplicationId(&self.0).encode(out);
    }
}
