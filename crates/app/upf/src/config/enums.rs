//! Values that are one of a few words.

use serde::{Serialize, Serializer};

use super::values::NamedValue;

/// Defines an enum of words, the first being the default.
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

words!(
    /// Which packet goes when a buffer is full.
    WhenFull {
        DropNewest = "drop_newest" "The one that has just come.",
        /// The one that has waited longest.
        DropOldest = "drop_oldest",
    }
);

words!(
    /// Where a domain name of an application must be found.
    NameIn {
        Any = "any" "In any of the others, or in an HTTP Host header.",
        /// In a DNS query.
        Dns = "dns",
        /// In the server name of a TLS ClientHello.
        Tls = "tls",
    }
);

words!(
    /// How severe a log line is.
    Level {
        Info = "info" "What an operator wants to know: associations, start, stop.",
        /// Something failed that must be looked at.
        Error = "error",
        /// Something was refused or is not as it should be.
        Warn = "warn",
        /// Every session event.
        Debug = "debug",
        /// Every message.
        Trace = "trace",
    }
);

words!(
    /// How log lines look.
    LogFormat {
        Text = "text" "One readable line each.",
        /// One JSON object each.
        Json = "json",
    }
);

words!(
    /// What handles the packets.
    DataPlane {
        FastPath = "fastpath" "The software fast path: batches, and a line of each session that decides most packets.",
        /// The reference data plane, one packet at a time: slow, and what the fast path is compared with.
        Reference = "reference",
        /// A P4 switch, by P4Runtime; or a model of one in this process, which is slow, to try rules on.
        Switch = "switch",
    }
);

words!(
    /// What a route of a switch is for.
    RouteOf {
        Network = "network" "Packets to the data network.",
        /// Tunnels to gNBs and other UPFs.
        Tunnels = "tunnels",
    }
);

words!(
    /// How GTP-U packets are received and sent.
    GtpuMode {
        Udp = "udp" "UDP sockets of the kernel: works everywhere.",
        /// Packet rings on one interface, below the kernel's IP.
        Tpacket = "tpacket",
        /// AF_XDP sockets on one interface, past the kernel's IP.
        AfXdp = "af_xdp",
    }
);

words!(
    /// How IP packets of a data network are received and sent.
    N6Mode {
        Tun = "tun" "A TUN device of the kernel: works everywhere.",
        /// AF_XDP sockets on an Ethernet interface, past the kernel's IP.
        AfXdp = "af_xdp",
    }
);

words!(
    /// Which addresses of the machine UEs do not reach.
    HostAddresses {
        All = "all" "Whatever its kernel takes for its own, as it changes.",
        /// Those that the configuration names.
        Configured = "configured",
    }
);

words!(
    /// What becomes of frames to stations that no session is known to have.
    UnknownStations {
        Drop = "drop" "They are dropped: nothing says whose they are.",
        /// They go to every session of the network that takes all frames.
        Flood = "flood",
    }
);

words!(
    /// Whether something is done.
    Switch {
        On = "on" "It is.",
        /// It is not.
        Off = "off",
    }
);

words!(
    /// What becomes of the sessions of an SMF that answers no heartbeat.
    PathFailure {
        Keep = "keep" "They stay, and their traffic goes on.",
        /// They are removed, and the association ends.
        Purge = "purge",
    }
);

words!(
    /// The UDP port that our requests to an SMF go to.
    RequestPort {
        Standard = "standard" "8805, whatever port the SMF sends from.",
        /// The one that its association request came from.
        Learnt = "learnt",
    }
);
