//! Enumerated values.

use serde::{Serialize, Serializer};

use super::values::NamedValue;

/// Defines an enum of words. The first is the default.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $first:ident = $first_word:literal $first_doc:literal, $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub enum $name {
            #[doc = $first_doc]
            #[default]
            $first,
            $($(#[$vdoc])* $variant,)*
        }

        impl $name {
            /// Every value.
            pub const ALL: &[Self] = &[Self::$first, $(Self::$variant,)*];

            /// The word in the file.
            pub const fn word(self) -> &'static str {
                match self { Self::$first => $first_word, $(Self::$variant => $word,)* }
            }
        }

        impl NamedValue for $name {
            const WORDS: &[Self] = Self::ALL;

            fn spelling(self) -> &'static str {
                self.word()
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }
    };
}

pub(super) use words;

words!(
    /// The packet that is dropped when a buffer is full.
    WhenFull {
        DropNewest = "drop_newest" "The arriving packet.",
        /// The oldest buffered packet.
        DropOldest = "drop_oldest",
    }
);

words!(
    /// What becomes of packets that no rule of the firewall matches.
    FirewallDefault {
        Permit = "permit" "They pass.",
        /// They are dropped.
        Deny = "deny",
    }
);

words!(
    /// The protocol in which a domain name of an application must appear.
    NameIn {
        Any = "any" "In any of the others, or in an HTTP Host header.",
        /// In a DNS query.
        Dns = "dns",
        /// In the server name of a TLS ClientHello.
        Tls = "tls",
    }
);

words!(
    /// What is one flow, when heavy hitters are looked for. Uplink and downlink are flows of their own.
    HeavyFlow {
        UeAddress = "ue_address" "All packets of a UE: an IPv4 address, or an IPv6 prefix of 64 bits.",
        /// Packets of equal addresses, ports and protocol.
        FiveTuple = "five_tuple",
    }
);

words!(
    /// The severity of a log line.
    Level {
        Info = "info" "Events for the operator: associations, start, stop.",
        /// A failure that needs attention.
        Error = "error",
        /// A refused request or an unexpected condition.
        Warn = "warn",
        /// Every session event.
        Debug = "debug",
        /// Every message.
        Trace = "trace",
    }
);

words!(
    /// The format of log lines.
    LogFormat {
        Text = "text" "One readable line each.",
        /// One JSON object each.
        Json = "json",
    }
);

words!(
    /// The traffic of a switch route.
    RouteOf {
        Network = "network" "Packets to the data network.",
        /// Tunnels to gNBs and other UPFs.
        Tunnels = "tunnels",
        /// The other ends of VXLAN segments.
        Underlay = "underlay",
    }
);

words!(
    /// How long the requests to a switch model take.
    DriverTiming {
        Instant = "instant" "No time.",
        /// That of the driver of HiP4-UPF, with its slowest writes.
        Paper = "paper",
    }
);

words!(
    /// The kind of GTP-U ports.
    GtpuMode {
        Udp = "udp" "UDP sockets of the kernel: available on every host.",
        /// Packet rings on one interface, below the kernel's IP.
        Tpacket = "tpacket",
        /// AF_XDP sockets on one interface, bypassing the kernel's IP.
        AfXdp = "af_xdp",
        /// VXLAN segments.
        Vxlan = "vxlan",
    }
);

words!(
    /// How N4 is received.
    N4Mode {
        Udp = "udp" "UDP sockets of the kernel: available on every host.",
        /// AF_XDP sockets on the interfaces of the addresses, and UDP sockets for what these leave to the kernel.
        AfXdp = "af_xdp",
    }
);

words!(
    /// The kind of port of an IP data network.
    N6Mode {
        Tun = "tun" "A TUN device of the kernel: available on every host.",
        /// AF_XDP sockets on an Ethernet interface, bypassing the kernel's IP.
        AfXdp = "af_xdp",
        /// A VXLAN segment.
        Vxlan = "vxlan",
    }
);

words!(
    /// The addresses of the host that UEs cannot reach.
    HostAddresses {
        All = "all" "All local addresses of the kernel, as they change.",
        /// The addresses in the configuration.
        Configured = "configured",
    }
);

words!(
    /// The handling of frames to unknown stations.
    UnknownStations {
        Drop = "drop" "They are dropped.",
        /// They are sent to every session of the network that accepts all frames.
        Flood = "flood",
    }
);

words!(
    /// A switch for an optional function.
    Switch {
        On = "on" "Enabled.",
        /// Disabled.
        Off = "off",
    }
);

words!(
    /// Who may read the packets of sessions over the management API.
    Capture {
        Restricted = "restricted" "Whoever shows a token or a client certificate, or may use the Unix socket.",
        /// Whoever may call the management API.
        Everyone = "everyone",
        /// Nobody.
        Off = "off",
    }
);

words!(
    /// The handling of the sessions of an SMF that does not respond to Heartbeat Requests.
    PathFailure {
        Keep = "keep" "They stay, and their traffic continues.",
        /// They are removed, and the association ends.
        Purge = "purge",
    }
);

words!(
    /// The destination port of requests to an SMF.
    RequestPort {
        Standard = "standard" "8805, independent of the port from which the SMF sends.",
        /// The source port of its association request.
        Learnt = "learnt",
    }
);
