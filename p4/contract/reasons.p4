// Why a packet is not forwarded, and what the CPU port's header says: numbers of the contract.
//
// The numbers are counter indices and header values, seen by the control plane: they are added to, never reused.
// Where the software UPF knows the same reason, the name is its label. A new one goes into `crates/dataplane/p4` by itself.

#ifndef CAUSEWAY_REASONS
#define CAUSEWAY_REASONS

// Cells of the counter `drops`. Zero is no reason: the packet goes on.
enum bit<8> DropReason {
    NONE = 0,
    // The GTP-U header or an extension header is cut short or contradicts itself.
    MALFORMED_GTPU = 1,
    // The GTP version is not 1, or the protocol type is GTP'.
    UNSUPPORTED_GTP_VERSION = 2,
    // An extension header that must be understood is not, or there are more than the parser walks.
    UNSUPPORTED_EXTENSION = 3,
    // The user packet is not a well-formed IP packet, or the checksum of its IPv4 header is wrong.
    MALFORMED_IP = 4,
    // The frame is no IP packet of a family that this build carries.
    UNSUPPORTED_FRAME = 5,
    // No PDR of any session is for this tunnel, QFI and packet.
    UNKNOWN_TEID = 6,
    // No PDR of any session is for this UE address and packet.
    UNKNOWN_UE = 7,
    // The source address of an uplink packet is not the UE's.
    SPOOFED_SOURCE = 8,
    // The FAR says DROP.
    FAR_DROP = 9,
    // The gate of a QER is closed.
    GATE_CLOSED = 10,
    // The meter of the packet's QER is red.
    MBR_EXCEEDED = 11,
    // The network marked the outer header as congested, and the user packet cannot carry that on.
    CONGESTED = 12,
    // No route leads to the packet's next address.
    NO_EGRESS = 13,
    // A PDR matched whose forwarding data are not there: the control plane has not finished, or erred.
    NO_FORWARDING = 14,
    // A frame of the CPU port asks for something that is not in the contract.
    BAD_COMMAND = 15,
    // The FAR forwards, and a quota of the packet's rule is exhausted.
    QUOTA_EXHAUSTED = 16,
    // The packet would leave to a data network for an address of the UPF or of its machine. The last two bits of these three say which.
    LOCAL_ADDRESS = 17,
    // The same for an address that no machine has: loopback, a group, an unspecified or an IPv4-mapped address.
    UNROUTABLE = 18,
    // The same for an address or a group of the link.
    LINK_LOCAL = 19
#if defined(FIREWALL) || defined(VXLAN)
    ,
    // The operator's firewall denies a packet of a UE.
    FIREWALL_UPLINK = 20,
    // It denies a packet to a UE.
    FIREWALL_DOWNLINK = 21,
    // No segment has this VNI, other end and MAC address.
    UNKNOWN_SEGMENT = 22,
    // The VXLAN header does not say that its VNI is valid.
    MALFORMED_VXLAN = 23,
    // The packet exceeds the MTU of the segment that it leaves to.
    TOO_BIG = 24
#endif
#ifdef CHAIN
    ,
    // The switch is the standby of a chain: messages and user packets are the primary's.
    STANDBY = 25,
    // A record of another epoch than the chain's, or by another port than the primary's.
    OTHER_EPOCH = 26,
    // The session changed before the record of it was made, or is the software's at the standby; the SMF repeats the message.
    NOT_RECORDED = 27
#endif
}

// Cells that `drops` has: room for more reasons without another size.
#define DROP_REASONS 32

// Why a frame goes to the CPU port: `code` of its header. Zero is no such reason.
enum bit<8> PuntReason {
    NONE = 0,
    // A copy: the FAR has NOCP.
    NOTIFY = 1,
    // The FAR has BUFF: the software UPF keeps the packet. This code is used on its port, not the CPU's.
    BUFFER = 2,
    // GTP-U signalling: Echo, Error Indication, End Marker, Supported Extension Headers Notification.
    SIGNALLING = 3,
    // Addressed to the UPF itself, and not GTP-U on UDP in one unfragmented datagram without IP options.
    LOCAL = 4,
    // The last hop of the packet ends here: its sender is to be told.
    TTL_EXPIRED = 5,
    // ARP.
    ARP = 6
#ifdef SOFTWARE_PORTS
    ,
    // In no header: the frame goes to the software's port as it came.
    SOFTWARE = 8
#endif
#ifdef HEAVY_HITTERS
    ,
    // A copy of a packet with which its rule has become heavy.
    HEAVY_HITTER = 7
#endif
#ifdef APPLICATION_CLASSES
    ,
    // A copy of a packet with which its session has another class. Codes between are those of other programs.
    APPLICATION_CLASS = 15
#endif
}

// What a frame from the CPU port asks for: `code` of its header.
enum bit<8> CpuCommand {
    NONE = 0,
    // Treat the IP packet as if it had come from a network: buffered packets that are released.
    PROCESS = 1,
    // The IP packet is complete, an End Marker or Echo Response in its tunnel: route it by its destination.
    ROUTE = 2,
    // Send the frame out of `port`, in `queue`.
    SEND = 3
}

#endif
