// The IEs of the PFCP session messages that the switch answers, one header for each length of a value; and the fields that the
// parser stores values in. A word `forms_` says which IEs are there, and in which of their lengths or of which of their types.
//
// Generated from the codec's IEs (crates/dataplane/accel/src/switch): run `scripts/p4 pfcp`.

header pfcp_group_h {
    bit<16> ie;
    bit<16> length;
}

// Node ID, 5 octets.
header pfcp_node_1_h {
    bit<32> head;
    bit<8> node_kind;
    bit<32> node;
}

// F-SEID, 13 octets.
header pfcp_cp_1_h {
    bit<32> head;
    bit<8> cp_flags;
    bit<32> cp_high;
    bit<32> cp_low;
    bit<32> cp_address;
}

// PDR ID, 2 octets.
header pfcp_pdr_id_1_h {
    bit<32> head;
    bit<16> pdr_id;
}

// Precedence, 4 octets.
header pfcp_precedence_1_h {
    bit<32> head;
    bit<32> precedence;
}

// Source Interface, 1 octets.
header pfcp_source_1_h {
    bit<32> head;
    bit<8> source;
}

// F-TEID, 1 octets.
header pfcp_f_teid_1_h {
    bit<32> head;
    bit<8> f_teid;
}

// F-TEID, 2 octets.
header pfcp_f_teid_2_h {
    bit<32> head;
    bit<8> f_teid;
    bit<8> choose_id;
}

// Network Instance, 8 octets.
header pfcp_pdi_network_1_h {
    bit<32> head;
    bit<64> pdi_network;
}

// Network Instance, 9 octets.
header pfcp_pdi_network_2_h {
    bit<32> head;
    bit<64> pdi_network;
    bit<8> pdi_network_rest;
}

// UE IP Address, 5 octets.
header pfcp_ue_1_h {
    bit<32> head;
    bit<8> ue_flags;
    bit<32> ue;
}

// QFI, 1 octets.
header pfcp_pdi_qfi_1_h {
    bit<32> head;
    bit<8> pdi_qfi;
}

// 3GPP Interface Type, 1 octets.
header pfcp_pdi_type_1_h {
    bit<32> head;
    bit<8> pdi_type;
}

// Outer Header Removal, 1 octets.
header pfcp_removal_1_h {
    bit<32> head;
    bit<8> removal;
}

// Outer Header Removal, 2 octets.
header pfcp_removal_2_h {
    bit<32> head;
    bit<8> removal;
    bit<8> removal_rest;
}

// FAR ID, 4 octets.
header pfcp_pdr_far_1_h {
    bit<32> head;
    bit<16> pdr_far_high;
    bit<16> pdr_far;
}

// QER ID, 4 octets.
header pfcp_pdr_qer_1_h {
    bit<32> head;
    bit<32> pdr_qer;
}

// FAR ID, 4 octets.
header pfcp_far_id_1_h {
    bit<32> head;
    bit<16> far_high;
    bit<16> far_id;
}

// Apply Action, 1 octets.
header pfcp_action_1_h {
    bit<32> head;
    bit<8> apply_action;
}

// Apply Action, 2 octets.
header pfcp_action_2_h {
    bit<32> head;
    bit<8> apply_action;
    bit<8> apply_action_rest;
}

// Destination Interface, 1 octets.
header pfcp_destination_1_h {
    bit<32> head;
    bit<8> destination;
}

// Network Instance, 8 octets.
header pfcp_far_network_1_h {
    bit<32> head;
    bit<64> far_network;
}

// Network Instance, 9 octets.
header pfcp_far_network_2_h {
    bit<32> head;
    bit<64> far_network;
    bit<8> far_network_rest;
}

// Outer Header Creation, 10 octets.
header pfcp_peer_1_h {
    bit<32> head;
    bit<16> peer_description;
    bit<32> peer_teid;
    bit<32> peer;
}

// 3GPP Interface Type, 1 octets.
header pfcp_far_type_1_h {
    bit<32> head;
    bit<8> far_type;
}

// QER ID, 4 octets.
header pfcp_qer_id_1_h {
    bit<32> head;
    bit<32> qer_id;
}

// Gate Status, 1 octets.
header pfcp_gates_1_h {
    bit<32> head;
    bit<8> gates;
}

// MBR, 10 octets.
header pfcp_mbr_1_h {
    bit<32> head;
    bit<40> mbr_uplink;
    bit<40> mbr_downlink;
}

// QFI, 1 octets.
header pfcp_qer_qfi_1_h {
    bit<32> head;
    bit<8> qer_qfi;
}

// PDN Type, 1 octets.
header pfcp_pdn_type_1_h {
    bit<32> head;
    bit<8> pdn_type;
}

// APN/DNN, 8 octets.
header pfcp_dnn_1_h {
    bit<32> head;
    bit<64> dnn;
}

// APN/DNN, 9 octets.
header pfcp_dnn_2_h {
    bit<32> head;
    bit<64> dnn;
    bit<8> dnn_rest;
}

struct pfcp_t {
    bit<16> forms_pdr;
    bit<16> forms_far;
    bit<8> forms_qer;
    bit<8> forms_message;
    bit<8> node_kind;
    bit<32> node;
    bit<8> cp_flags;
    bit<32> cp_high;
    bit<32> cp_low;
    bit<32> cp_address;
    bit<16> pdr_length;
    bit<16> far_length;
    bit<16> qer_length;
    bit<8> pdn_type;
    bit<64> dnn;
    bit<8> dnn_rest;
    bit<16> pdr_id;
    bit<32> precedence;
    bit<16> pdi_length;
    bit<8> removal;
    bit<8> removal_rest;
    bit<16> pdr_far_high;
    bit<16> pdr_far;
    bit<32> pdr_qer;
    bit<8> source;
    bit<8> f_teid;
    bit<8> choose_id;
    bit<64> pdi_network;
    bit<8> pdi_network_rest;
    bit<8> ue_flags;
    bit<32> ue;
    bit<8> pdi_qfi;
    bit<8> pdi_type;
    bit<16> far_high;
    bit<16> far_id;
    bit<8> apply_action;
    bit<8> apply_action_rest;
    bit<16> parameters_length;
    bit<8> destination;
    bit<64> far_network;
    bit<8> far_network_rest;
    bit<16> peer_description;
    bit<32> peer_teid;
    bit<32> peer;
    bit<8> far_type;
    bit<32> qer_id;
    bit<8> gates;
    bit<40> mbr_uplink;
    bit<40> mbr_downlink;
    bit<8> qer_qfi;
}

#define PFCP_NO_PDR 0 &&& 0x1
#define PFCP_HAS_PDR 0x1 &&& 0x1
#define PFCP_NO_REMOVAL 0 &&& 0x6
#define PFCP_HAS_REMOVAL 0x2 &&& 0x6
#define PFCP_NO_PDR_QER 0 &&& 0x8
#define PFCP_HAS_PDR_QER 0x8 &&& 0x8
#define PFCP_NO_F_TEID 0 &&& 0x30
#define PFCP_HAS_F_TEID 0x10 &&& 0x30
#define PFCP_NO_PDI_NETWORK 0 &&& 0xc0
#define PFCP_HAS_PDI_NETWORK 0x40 &&& 0xc0
#define PFCP_NO_PDI_QFI 0 &&& 0x100
#define PFCP_HAS_PDI_QFI 0x100 &&& 0x100
#define PFCP_NO_PDI_TYPE 0 &&& 0x200
#define PFCP_HAS_PDI_TYPE 0x200 &&& 0x200
#define PFCP_NO_FAR 0 &&& 0x3
#define PFCP_HAS_FAR 0x1 &&& 0x3
#define PFCP_NO_ACTION 0 &&& 0xc
#define PFCP_HAS_ACTION 0x4 &&& 0xc
#define PFCP_NO_PARAMETERS 0 &&& 0x30
#define PFCP_HAS_PARAMETERS 0x10 &&& 0x30
#define PFCP_NO_DESTINATION 0 &&& 0x40
#define PFCP_HAS_DESTINATION 0x40 &&& 0x40
#define PFCP_NO_FAR_NETWORK 0 &&& 0x180
#define PFCP_HAS_FAR_NETWORK 0x80 &&& 0x180
#define PFCP_NO_PEER 0 &&& 0x200
#define PFCP_HAS_PEER 0x200 &&& 0x200
#define PFCP_NO_FAR_TYPE 0 &&& 0x400
#define PFCP_HAS_FAR_TYPE 0x400 &&& 0x400
#define PFCP_NO_QER 0 &&& 0x1
#define PFCP_HAS_QER 0x1 &&& 0x1
#define PFCP_NO_MBR 0 &&& 0x2
#define PFCP_HAS_MBR 0x2 &&& 0x2
#define PFCP_NO_QER_QFI 0 &&& 0x4
#define PFCP_HAS_QER_QFI 0x4 &&& 0x4
#define PFCP_NO_NODE 0 &&& 0x1
#define PFCP_HAS_NODE 0x1 &&& 0x1
#define PFCP_NO_CP 0 &&& 0x2
#define PFCP_HAS_CP 0x2 &&& 0x2
#define PFCP_NO_PDN_TYPE 0 &&& 0x4
#define PFCP_HAS_PDN_TYPE 0x4 &&& 0x4
#define PFCP_NO_DNN 0 &&& 0x18
#define PFCP_HAS_DNN 0x8 &&& 0x18

#define PFCP_PDR_KEY \
    meta.pfcp.forms_pdr : exact @name("forms_pdr"); \
    meta.pfcp.pdr_length : exact @name("pdr_length"); \
    meta.pfcp.pdr_id : exact @name("pdr_id"); \
    meta.pfcp.precedence : exact @name("precedence"); \
    meta.pfcp.pdi_length : exact @name("pdi_length"); \
    meta.pfcp.removal : exact @name("removal"); \
    meta.pfcp.removal_rest : exact @name("removal_rest"); \
    meta.pfcp.pdr_far_high : exact @name("pdr_far_high"); \
    meta.pfcp.pdr_qer : exact @name("pdr_qer"); \
    meta.pfcp.source : exact @name("source"); \
    meta.pfcp.f_teid : exact @name("f_teid"); \
    meta.pfcp.choose_id : exact @name("choose_id"); \
    meta.pfcp.pdi_network : exact @name("pdi_network"); \
    meta.pfcp.pdi_network_rest : exact @name("pdi_network_rest"); \
    meta.pfcp.ue_flags : exact @name("ue_flags"); \
    meta.pfcp.pdi_qfi : exact @name("pdi_qfi");

#define PFCP_FAR_KEY \
    meta.pfcp.forms_far : exact @name("forms_far"); \
    meta.pfcp.far_length : exact @name("far_length"); \
    meta.pfcp.far_high : exact @name("far_high"); \
    meta.pfcp.apply_action : exact @name("apply_action"); \
    meta.pfcp.apply_action_rest : exact @name("apply_action_rest"); \
    meta.pfcp.parameters_length : exact @name("parameters_length"); \
    meta.pfcp.destination : exact @name("destination"); \
    meta.pfcp.far_network : exact @name("far_network"); \
    meta.pfcp.far_network_rest : exact @name("far_network_rest"); \
    meta.pfcp.peer_description : exact @name("peer_description");

#define PFCP_QER_KEY \
    meta.pfcp.forms_qer : exact @name("forms_qer"); \
    meta.pfcp.qer_length : exact @name("qer_length"); \
    meta.pfcp.qer_id : exact @name("qer_id"); \
    meta.pfcp.gates : exact @name("gates"); \
    meta.pfcp.mbr_uplink : exact @name("mbr_uplink"); \
    meta.pfcp.mbr_downlink : exact @name("mbr_downlink"); \
    meta.pfcp.qer_qfi : exact @name("qer_qfi");

#define PFCP_MESSAGE_KEY \
    meta.pfcp.forms_message : exact @name("forms_message"); \
    meta.pfcp.node_kind : exact @name("node_kind"); \
    meta.pfcp.cp_flags : exact @name("cp_flags"); \
    meta.pfcp.pdn_type : exact @name("pdn_type");

#define PFCP_CLEAR \
    meta.pfcp.forms_pdr = 0; \
    meta.pfcp.forms_far = 0; \
    meta.pfcp.forms_qer = 0; \
    meta.pfcp.forms_message = 0; \
    meta.pfcp.node_kind = 0; \
    meta.pfcp.node = 0; \
    meta.pfcp.cp_flags = 0; \
    meta.pfcp.cp_high = 0; \
    meta.pfcp.cp_low = 0; \
    meta.pfcp.cp_address = 0; \
    meta.pfcp.pdr_length = 0; \
    meta.pfcp.far_length = 0; \
    meta.pfcp.qer_length = 0; \
    meta.pfcp.pdn_type = 0; \
    meta.pfcp.dnn = 0; \
    meta.pfcp.dnn_rest = 0; \
    meta.pfcp.pdr_id = 0; \
    meta.pfcp.precedence = 0; \
    meta.pfcp.pdi_length = 0; \
    meta.pfcp.removal = 0; \
    meta.pfcp.removal_rest = 0; \
    meta.pfcp.pdr_far_high = 0; \
    meta.pfcp.pdr_far = 0; \
    meta.pfcp.pdr_qer = 0; \
    meta.pfcp.source = 0; \
    meta.pfcp.f_teid = 0; \
    meta.pfcp.choose_id = 0; \
    meta.pfcp.pdi_network = 0; \
    meta.pfcp.pdi_network_rest = 0; \
    meta.pfcp.ue_flags = 0; \
    meta.pfcp.ue = 0; \
    meta.pfcp.pdi_qfi = 0; \
    meta.pfcp.pdi_type = 0; \
    meta.pfcp.far_high = 0; \
    meta.pfcp.far_id = 0; \
    meta.pfcp.apply_action = 0; \
    meta.pfcp.apply_action_rest = 0; \
    meta.pfcp.parameters_length = 0; \
    meta.pfcp.destination = 0; \
    meta.pfcp.far_network = 0; \
    meta.pfcp.far_network_rest = 0; \
    meta.pfcp.peer_description = 0; \
    meta.pfcp.peer_teid = 0; \
    meta.pfcp.peer = 0; \
    meta.pfcp.far_type = 0; \
    meta.pfcp.qer_id = 0; \
    meta.pfcp.gates = 0; \
    meta.pfcp.mbr_uplink = 0; \
    meta.pfcp.mbr_downlink = 0; \
    meta.pfcp.qer_qfi = 0;
