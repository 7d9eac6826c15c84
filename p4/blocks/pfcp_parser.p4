// The states that parse the IEs of a PFCP session message, in the order of TS 29.244; included into the parser of each main. They begin
// with `pfcp_body`, behind the header, and end with `accept`; with `meta.is_misfit`, the message is not of the class.
//
// The target defines PFCP_REST_LESS(octets), PFCP_REST and PFCP_NOTHING: the octets of the message that are left, set by the main.
//
// Generated from the codec's IEs (crates/dataplane/accel/src/switch): run `scripts/p4 pfcp`.

state pfcp_body {
    transition pfcp_behind_header;
}

state pfcp_misfit {
    meta.is_misfit = 1;
    transition accept;
}

// Nothing may follow.
state pfcp_last {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_misfit;
    }
}

state pfcp_node_1 {
    pfcp_node_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(9)
    meta.pfcp.forms_message = meta.pfcp.forms_message | 0x1;
    meta.pfcp.node_kind = ie.node_kind;
    meta.pfcp.node = ie.node;
    transition pfcp_behind_node;
}

state pfcp_cp_1 {
    pfcp_cp_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(17)
    meta.pfcp.forms_message = meta.pfcp.forms_message | 0x2;
    meta.pfcp.cp_flags = ie.cp_flags;
    meta.pfcp.cp_high = ie.cp_high;
    meta.pfcp.cp_low = ie.cp_low;
    meta.pfcp.cp_address = ie.cp_address;
    transition select(ie.cp_low) {
        0: pfcp_misfit;
        default: pfcp_behind_cp;
    }
}

state pfcp_pdr_1 {
    pfcp_group_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(4)
    meta.pfcp.forms_pdr = meta.pfcp.forms_pdr | 0x1;
    meta.pfcp.pdr_length = ie.length;
    transition pfcp_behind_pdr;
}

state pfcp_pdr_id_1 {
    pfcp_pdr_id_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(6)
    meta.pfcp.pdr_id = ie.pdr_id;
    transition pfcp_behind_pdr_id;
}

state pfcp_precedence_1 {
    pfcp_precedence_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(8)
    meta.pfcp.precedence = ie.precedence;
    transition pfcp_behind_precedence;
}

state pfcp_pdi_1 {
    pfcp_group_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(4)
    meta.pfcp.pdi_length = ie.length;
    transition pfcp_behind_pdi;
}

state pfcp_source_1 {
    pfcp_source_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(5)
    meta.pfcp.source = ie.source;
    transition pfcp_behind_source;
}

state pfcp_f_teid_1 {
    pfcp_f_teid_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(5)
    meta.pfcp.forms_pdr = meta.pfcp.forms_pdr | 0x10;
    meta.pfcp.f_teid = ie.f_teid;
    transition pfcp_behind_f_teid;
}

state pfcp_f_teid_2 {
    pfcp_f_teid_2_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(6)
    meta.pfcp.forms_pdr = meta.pfcp.forms_pdr | 0x20;
    meta.pfcp.f_teid = ie.f_teid;
    meta.pfcp.choose_id = ie.choose_id;
    transition pfcp_behind_f_teid;
}

state pfcp_pdi_network_1 {
    pfcp_pdi_network_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(12)
    meta.pfcp.forms_pdr = meta.pfcp.forms_pdr | 0x40;
    meta.pfcp.pdi_network = ie.pdi_network;
    transition pfcp_behind_pdi_network;
}

state pfcp_pdi_network_2 {
    pfcp_pdi_network_2_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(13)
    meta.pfcp.forms_pdr = meta.pfcp.forms_pdr | 0x80;
    meta.pfcp.pdi_network = ie.pdi_network;
    meta.pfcp.pdi_network_rest = ie.pdi_network_rest;
    transition pfcp_behind_pdi_network;
}

state pfcp_ue_1 {
    pfcp_ue_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(9)
    meta.pfcp.ue_flags = ie.ue_flags;
    meta.pfcp.ue = ie.ue;
    transition pfcp_behind_ue;
}

state pfcp_pdi_qfi_1 {
    pfcp_pdi_qfi_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(5)
    meta.pfcp.forms_pdr = meta.pfcp.forms_pdr | 0x100;
    meta.pfcp.pdi_qfi = ie.pdi_qfi;
    transition pfcp_behind_pdi_qfi;
}

state pfcp_pdi_type_1 {
    pfcp_pdi_type_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(5)
    meta.pfcp.forms_pdr = meta.pfcp.forms_pdr | 0x200;
    meta.pfcp.pdi_type = ie.pdi_type;
    transition pfcp_behind_pdi_type;
}

state pfcp_removal_1 {
    pfcp_removal_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(5)
    meta.pfcp.forms_pdr = meta.pfcp.forms_pdr | 0x2;
    meta.pfcp.removal = ie.removal;
    transition pfcp_behind_removal;
}

state pfcp_removal_2 {
    pfcp_removal_2_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(6)
    meta.pfcp.forms_pdr = meta.pfcp.forms_pdr | 0x4;
    meta.pfcp.removal = ie.removal;
    meta.pfcp.removal_rest = ie.removal_rest;
    transition pfcp_behind_removal;
}

state pfcp_pdr_far_1 {
    pfcp_pdr_far_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(8)
    meta.pfcp.pdr_far_high = ie.pdr_far_high;
    meta.pfcp.pdr_far = ie.pdr_far;
    transition pfcp_behind_pdr_far;
}

state pfcp_pdr_qer_1 {
    pfcp_pdr_qer_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(8)
    meta.pfcp.forms_pdr = meta.pfcp.forms_pdr | 0x8;
    meta.pfcp.pdr_qer = ie.pdr_qer;
    transition pfcp_behind_pdr_qer;
}

state pfcp_far_1 {
    pfcp_group_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(4)
    meta.pfcp.forms_far = meta.pfcp.forms_far | 0x1;
    meta.pfcp.far_length = ie.length;
    transition pfcp_behind_far;
}

state pfcp_far_2 {
    pfcp_group_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(4)
    meta.pfcp.forms_far = meta.pfcp.forms_far | 0x2;
    meta.pfcp.far_length = ie.length;
    transition pfcp_behind_far;
}

state pfcp_far_id_1 {
    pfcp_far_id_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(8)
    meta.pfcp.far_high = ie.far_high;
    meta.pfcp.far_id = ie.far_id;
    transition select(ie.far_id) {
        0: pfcp_misfit;
        default: pfcp_behind_far_id;
    }
}

state pfcp_action_1 {
    pfcp_action_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(5)
    meta.pfcp.forms_far = meta.pfcp.forms_far | 0x4;
    meta.pfcp.apply_action = ie.apply_action;
    transition pfcp_behind_action;
}

state pfcp_action_2 {
    pfcp_action_2_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(6)
    meta.pfcp.forms_far = meta.pfcp.forms_far | 0x8;
    meta.pfcp.apply_action = ie.apply_action;
    meta.pfcp.apply_action_rest = ie.apply_action_rest;
    transition pfcp_behind_action;
}

state pfcp_parameters_1 {
    pfcp_group_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(4)
    meta.pfcp.forms_far = meta.pfcp.forms_far | 0x10;
    meta.pfcp.parameters_length = ie.length;
    transition pfcp_behind_parameters;
}

state pfcp_parameters_2 {
    pfcp_group_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(4)
    meta.pfcp.forms_far = meta.pfcp.forms_far | 0x20;
    meta.pfcp.parameters_length = ie.length;
    transition pfcp_behind_parameters;
}

state pfcp_destination_1 {
    pfcp_destination_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(5)
    meta.pfcp.forms_far = meta.pfcp.forms_far | 0x40;
    meta.pfcp.destination = ie.destination;
    transition pfcp_behind_destination;
}

state pfcp_far_network_1 {
    pfcp_far_network_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(12)
    meta.pfcp.forms_far = meta.pfcp.forms_far | 0x80;
    meta.pfcp.far_network = ie.far_network;
    transition pfcp_behind_far_network;
}

state pfcp_far_network_2 {
    pfcp_far_network_2_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(13)
    meta.pfcp.forms_far = meta.pfcp.forms_far | 0x100;
    meta.pfcp.far_network = ie.far_network;
    meta.pfcp.far_network_rest = ie.far_network_rest;
    transition pfcp_behind_far_network;
}

state pfcp_peer_1 {
    pfcp_peer_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(14)
    meta.pfcp.forms_far = meta.pfcp.forms_far | 0x200;
    meta.pfcp.peer_description = ie.peer_description;
    meta.pfcp.peer_teid = ie.peer_teid;
    meta.pfcp.peer = ie.peer;
    transition select(ie.peer_teid) {
        0: pfcp_misfit;
        default: pfcp_behind_peer;
    }
}

state pfcp_far_type_1 {
    pfcp_far_type_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(5)
    meta.pfcp.forms_far = meta.pfcp.forms_far | 0x400;
    meta.pfcp.far_type = ie.far_type;
    transition pfcp_behind_far_type;
}

state pfcp_qer_1 {
    pfcp_group_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(4)
    meta.pfcp.forms_qer = meta.pfcp.forms_qer | 0x1;
    meta.pfcp.qer_length = ie.length;
    transition pfcp_behind_qer;
}

state pfcp_qer_id_1 {
    pfcp_qer_id_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(8)
    meta.pfcp.qer_id = ie.qer_id;
    transition pfcp_behind_qer_id;
}

state pfcp_gates_1 {
    pfcp_gates_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(5)
    meta.pfcp.gates = ie.gates;
    transition pfcp_behind_gates;
}

state pfcp_mbr_1 {
    pfcp_mbr_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(14)
    meta.pfcp.forms_qer = meta.pfcp.forms_qer | 0x2;
    meta.pfcp.mbr_uplink = ie.mbr_uplink;
    meta.pfcp.mbr_downlink = ie.mbr_downlink;
    transition pfcp_behind_mbr;
}

state pfcp_qer_qfi_1 {
    pfcp_qer_qfi_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(5)
    meta.pfcp.forms_qer = meta.pfcp.forms_qer | 0x4;
    meta.pfcp.qer_qfi = ie.qer_qfi;
    transition pfcp_behind_qer_qfi;
}

state pfcp_pdn_type_1 {
    pfcp_pdn_type_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(5)
    meta.pfcp.forms_message = meta.pfcp.forms_message | 0x4;
    meta.pfcp.pdn_type = ie.pdn_type;
    transition pfcp_behind_pdn_type;
}

state pfcp_dnn_1 {
    pfcp_dnn_1_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(12)
    meta.pfcp.forms_message = meta.pfcp.forms_message | 0x8;
    meta.pfcp.dnn = ie.dnn;
    transition pfcp_last;
}

state pfcp_dnn_2 {
    pfcp_dnn_2_h ie;
    pkt.extract(ie);
    PFCP_REST_LESS(13)
    meta.pfcp.forms_message = meta.pfcp.forms_message | 0x10;
    meta.pfcp.dnn = ie.dnn;
    meta.pfcp.dnn_rest = ie.dnn_rest;
    transition pfcp_last;
}

state pfcp_behind_header {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_header_ie;
    }
}

state pfcp_behind_header_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x003c0005: pfcp_node_1;
        0x0039000d: pfcp_cp_1;
        0x00010000 &&& 0xffff0000: pfcp_pdr_1;
        0x00030000 &&& 0xffff0000: pfcp_far_1;
        0x000a0000 &&& 0xffff0000: pfcp_far_2;
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_node {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_node_ie;
    }
}

state pfcp_behind_node_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x0039000d: pfcp_cp_1;
        0x00010000 &&& 0xffff0000: pfcp_pdr_1;
        0x00030000 &&& 0xffff0000: pfcp_far_1;
        0x000a0000 &&& 0xffff0000: pfcp_far_2;
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_cp {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_cp_ie;
    }
}

state pfcp_behind_cp_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00010000 &&& 0xffff0000: pfcp_pdr_1;
        0x00030000 &&& 0xffff0000: pfcp_far_1;
        0x000a0000 &&& 0xffff0000: pfcp_far_2;
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_pdr {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00380002: pfcp_pdr_id_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_pdr_id {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x001d0004: pfcp_precedence_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_precedence {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00020000 &&& 0xffff0000: pfcp_pdi_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_pdi {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00140001: pfcp_source_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_source {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00150001: pfcp_f_teid_1;
        0x00150002: pfcp_f_teid_2;
        0x00160008: pfcp_pdi_network_1;
        0x00160009: pfcp_pdi_network_2;
        0x005d0005: pfcp_ue_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_f_teid {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00160008: pfcp_pdi_network_1;
        0x00160009: pfcp_pdi_network_2;
        0x005d0005: pfcp_ue_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_pdi_network {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x005d0005: pfcp_ue_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_ue {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x007c0001: pfcp_pdi_qfi_1;
        0x00a00001: pfcp_pdi_type_1;
        0x005f0001: pfcp_removal_1;
        0x005f0002: pfcp_removal_2;
        0x006c0004: pfcp_pdr_far_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_pdi_qfi {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00a00001: pfcp_pdi_type_1;
        0x005f0001: pfcp_removal_1;
        0x005f0002: pfcp_removal_2;
        0x006c0004: pfcp_pdr_far_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_pdi_type {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x005f0001: pfcp_removal_1;
        0x005f0002: pfcp_removal_2;
        0x006c0004: pfcp_pdr_far_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_removal {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x006c0004: pfcp_pdr_far_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_pdr_far {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_pdr_far_ie;
    }
}

state pfcp_behind_pdr_far_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x006d0004: pfcp_pdr_qer_1;
        0x00030000 &&& 0xffff0000: pfcp_far_1;
        0x000a0000 &&& 0xffff0000: pfcp_far_2;
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_pdr_qer {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_pdr_qer_ie;
    }
}

state pfcp_behind_pdr_qer_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00030000 &&& 0xffff0000: pfcp_far_1;
        0x000a0000 &&& 0xffff0000: pfcp_far_2;
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_far {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x006c0004: pfcp_far_id_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_far_id {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_far_id_ie;
    }
}

state pfcp_behind_far_id_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x002c0001: pfcp_action_1;
        0x002c0002: pfcp_action_2;
        0x00040000 &&& 0xffff0000: pfcp_parameters_1;
        0x000b0000 &&& 0xffff0000: pfcp_parameters_2;
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_action {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_action_ie;
    }
}

state pfcp_behind_action_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00040000 &&& 0xffff0000: pfcp_parameters_1;
        0x000b0000 &&& 0xffff0000: pfcp_parameters_2;
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_parameters {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_parameters_ie;
    }
}

state pfcp_behind_parameters_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x002a0001: pfcp_destination_1;
        0x00160008: pfcp_far_network_1;
        0x00160009: pfcp_far_network_2;
        0x0054000a: pfcp_peer_1;
        0x00a00001: pfcp_far_type_1;
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_destination {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_destination_ie;
    }
}

state pfcp_behind_destination_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00160008: pfcp_far_network_1;
        0x00160009: pfcp_far_network_2;
        0x0054000a: pfcp_peer_1;
        0x00a00001: pfcp_far_type_1;
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_far_network {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_far_network_ie;
    }
}

state pfcp_behind_far_network_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x0054000a: pfcp_peer_1;
        0x00a00001: pfcp_far_type_1;
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_peer {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_peer_ie;
    }
}

state pfcp_behind_peer_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00a00001: pfcp_far_type_1;
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_far_type {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_far_type_ie;
    }
}

state pfcp_behind_far_type_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00070000 &&& 0xffff0000: pfcp_qer_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_qer {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x006d0004: pfcp_qer_id_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_qer_id {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00190001: pfcp_gates_1;
        default: pfcp_misfit;
    }
}

state pfcp_behind_gates {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_gates_ie;
    }
}

state pfcp_behind_gates_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x001a000a: pfcp_mbr_1;
        0x007c0001: pfcp_qer_qfi_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_mbr {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_mbr_ie;
    }
}

state pfcp_behind_mbr_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x007c0001: pfcp_qer_qfi_1;
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_qer_qfi {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_qer_qfi_ie;
    }
}

state pfcp_behind_qer_qfi_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x00710001: pfcp_pdn_type_1;
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}

state pfcp_behind_pdn_type {
    transition select(PFCP_REST) {
        PFCP_NOTHING: accept;
        default: pfcp_behind_pdn_type_ie;
    }
}

state pfcp_behind_pdn_type_ie {
    bit<32> head = pkt.lookahead<bit<32>>();
    transition select(head) {
        0x009f0008: pfcp_dnn_1;
        0x009f0009: pfcp_dnn_2;
        default: pfcp_misfit;
    }
}
