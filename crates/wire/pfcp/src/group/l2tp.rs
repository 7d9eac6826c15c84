//! Groups about L2TP.

use crate::ie::{
    CalledNumber, CallingNumber, DnsServerAddress, L2tpSessionIndications, L2tpUserAuthentication,
    LnsAddress, MaximumReceiveUnit, NbnsServerAddress, TunnelPassword, TunnelPreference,
};
use crate::structure::group;

group! {
    /// L2TP Tunnel Information (Table 7.5.2.1-2). An L2TP tunnel.
    L2tpTunnelInformation<'a> = 276, "L2TP Tunnel Information" {
        req lns_address: LnsAddress,
        opt tunnel_password: TunnelPassword<'a>,
        con tunnel_preference: TunnelPreference,
    }
}

group! {
    /// L2TP Session Information (Table 7.5.2.1-3). An L2TP session.
    L2tpSessionInformation<'a> = 277, "L2TP Session Information" {
        opt calling_number: CallingNumber<'a>,
        opt called_number: CalledNumber<'a>,
        opt maximum_receive_unit: MaximumReceiveUnit,
        con l2tp_session_indications: L2tpSessionIndications,
        opt l2tp_user_authentication: L2tpUserAuthentication<'a>,
    }
}

group! {
    /// Created L2TP Session (Table 7.5.3.1-3). The allocations of the LNS.
    CreatedL2tpSession<'a> = 279, "Created L2TP Session" {
        opt_many dns_server_addresses: DnsServerAddress,
        opt_many nbns_server_addresses: NbnsServerAddress,
        opt lns_address: LnsAddress,
    }
}
