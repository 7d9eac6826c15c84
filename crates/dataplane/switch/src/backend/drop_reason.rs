//! Drop reasons of the switch.

use causeway_dataplane::DropReason;

use crate::model::upf;

/// The reason in the data plane contract.
pub(super) const fn reason_of(reason: upf::DropReason) -> DropReason {
    match reason {
        upf::DropReason::MalformedGtpu => DropReason::MalformedGtpu,
        upf::DropReason::UnsupportedGtpVersion => DropReason::UnsupportedGtpVersion,
        upf::DropReason::UnsupportedExtension => DropReason::UnsupportedExtension,
        upf::DropReason::MalformedIp | upf::DropReason::UnsupportedFrame => DropReason::MalformedIp,
        upf::DropReason::UnknownTeid => DropReason::UnknownTeid,
        upf::DropReason::UnknownUe => DropReason::UnknownUe,
        upf::DropReason::SpoofedSource => DropReason::SpoofedSource,
        upf::DropReason::FarDrop | upf::DropReason::BadCommand => DropReason::FarDrop,
        upf::DropReason::GateClosed => DropReason::GateClosed,
        upf::DropReason::MbrExceeded => DropReason::MbrExceeded,
        upf::DropReason::Congested => DropReason::Congested,
        upf::DropReason::NoEgress => DropReason::NoEgress,
        upf::DropReason::QuotaExhausted => DropReason::QuotaExhausted,
        upf::DropReason::LocalAddress => DropReason::LocalAddress,
        upf::DropReason::Unroutable => DropReason::Unroutable,
        upf::DropReason::LinkLocal => DropReason::LinkLocal,
        upf::DropReason::NoForwarding => DropReason::NoTunnel,
        upf::DropReason::FirewallUplink => DropReason::FirewallUplink,
        upf::DropReason::FirewallDownlink => DropReason::FirewallDownlink,
        upf::DropReason::UnknownSegment | upf::DropReason::MalformedVxlan => DropReason::MalformedFrame,
        upf::DropReason::TooBig => DropReason::TooBig,
    }
}
