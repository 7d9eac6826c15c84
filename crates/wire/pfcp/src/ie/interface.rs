//! The interfaces of the UP function, and their reference points.

use causeway_types::Interface;

use super::leaf::code_ies;

code_ies! {
    /// Source of the packets of a PDR (clause 8.2.2).
    SourceInterface & 0x0f = 20, "Source Interface" {
        /// From the radio network: uplink.
        Access = 0;
        /// From the core: downlink.
        Core = 1;
        /// SGi-LAN or N6-LAN.
        SgiLan = 2;
        /// The CP function.
        CpFunction = 3;
        /// 5G VN internal.
        VnInternal = 4;
    }

    /// Destination of the packets of a FAR (clause 8.2.24).
    DestinationInterface & 0x0f = 42, "Destination Interface" {
        /// To the radio network: downlink.
        Access = 0;
        /// To the core: uplink.
        Core = 1;
        /// SGi-LAN or N6-LAN.
        SgiLan = 2;
        /// The CP function.
        CpFunction = 3;
        /// Lawful interception function.
        LiFunction = 4;
        /// 5G VN internal.
        VnInternal = 5;
    }

    /// The reference point of an interface (clause 8.2.118).
    InterfaceType & 0x3f = 160, "3GPP Interface Type" {
        /// S1-U.
        S1U = 0;
        /// S5-U or S8-U.
        S5S8U = 1;
        /// S4-U.
        S4U = 2;
        /// S11-U.
        S11U = 3;
        /// S12.
        S12 = 4;
        /// Gn-U or Gp-U.
        GnGpU = 5;
        /// S2a-U.
        S2aU = 6;
        /// S2b-U.
        S2bU = 7;
        /// eNodeB, downlink data forwarding.
        EnbDlForwarding = 8;
        /// eNodeB, uplink data forwarding.
        EnbUlForwarding = 9;
        /// SGW or UPF, downlink data forwarding.
        UpfDlForwarding = 10;
        /// N3, 3GPP access.
        N3 = 11;
        /// N3, trusted non-3GPP access.
        N3Trusted = 12;
        /// N3, untrusted non-3GPP access.
        N3Untrusted = 13;
        /// N3, data forwarding.
        N3Forwarding = 14;
        /// N9.
        N9 = 15;
        /// SGi.
        Sgi = 16;
        /// N6.
        N6 = 17;
        /// N19.
        N19 = 18;
        /// S8-U.
        S8U = 19;
        /// Gp-U.
        GpU = 20;
        /// N9, roaming.
        N9Roaming = 21;
        /// Iu-U.
        IuU = 22;
        /// N9, data forwarding.
        N9Forwarding = 23;
        /// Sxa-U.
        SxaU = 24;
        /// Sxb-U.
        SxbU = 25;
        /// Sxc-U.
        SxcU = 26;
        /// N4-U.
        N4U = 27;
        /// SGW or UPF, uplink data forwarding.
        UpfUlForwarding = 28;
        /// N6mb or Nmb9.
        N6mb = 29;
        /// N3mb.
        N3mb = 30;
        /// N19mb.
        N19mb = 31;
    }
}

impl SourceInterface {
    /// `None` for spare codes.
    pub const fn interface(self) -> Option<Interface> {
        match self {
            Self::Access => Some(Interface::Access),
            Self::Core => Some(Interface::Core),
            Self::SgiLan => Some(Interface::SgiLan),
            Self::CpFunction => Some(Interface::CpFunction),
            Self::VnInternal => Some(Interface::VnInternal),
            Self::Spare(_) => None,
        }
    }
}

impl From<Interface> for SourceInterface {
    fn from(interface: Interface) -> Self {
        match interface {
            Interface::Access => Self::Access,
            Interface::Core => Self::Core,
            Interface::SgiLan => Self::SgiLan,
            Interface::CpFunction => Self::CpFunction,
            Interface::VnInternal => Self::VnInternal,
        }
    }
}

impl DestinationInterface {
    /// `None` for lawful interception and spare codes.
    pub const fn interface(self) -> Option<Interface> {
        match self {
            Self::Access => Some(Interface::Access),
            Self::Core => Some(Interface::Core),
            Self::SgiLan => Some(Interface::SgiLan),
            Self::CpFunction => Some(Interface::CpFunction),
            Self::VnInternal => Some(Interface::VnInternal),
            Self::LiFunction | Self::Spare(_) => None,
        }
    }
}

impl From<Interface> for DestinationInterface {
    fn from(interface: Interface) -> Self {
        match interface {
            Interface::Access => Self::Access,
            Interface::Core => Self::Core,
            Interface::SgiLan => Self::SgiLan,
            Interface::CpFunction => Self::CpFunction,
            Interface::VnInternal => Self::VnInternal,
        }
    }
}
