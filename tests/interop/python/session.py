"""One PDU session as scapy's IEs."""

from scapy.contrib import pfcp

import peers

UPLINK_PDR, DOWNLINK_PDR = 1, 2
QFI = 9


class Session:
    """What the SMF asks for, and what the UPF has chosen."""

    def __init__(self, case, smf, seid, ue):
        self.case, self.smf, self.seid, self.ue = case, smf, seid, ue
        self.remote = self.tunnel = None

    def parts(self):
        """The IEs of the establishment: two PDRs, two FARs, a QER, a URR. Downlink is dropped at first."""
        rules = [pfcp.IE_FAR_Id(id=1), pfcp.IE_URR_Id(id=1), pfcp.IE_QER_Id(id=1)]
        uplink = pfcp.IE_CreatePDR(IE_list=[
            pfcp.IE_PDR_Id(id=UPLINK_PDR), pfcp.IE_Precedence(precedence=200),
            pfcp.IE_PDI(IE_list=[
                pfcp.IE_SourceInterface(interface="Access"),
                pfcp.IE_FTEID(CH=1, V4=1),
                pfcp.IE_UE_IP_Address(V4=1, ipv4=self.ue),
                pfcp.IE_QFI(QFI=QFI),
            ]),
            pfcp.IE_OuterHeaderRemoval(header="GTP-U/UDP/IPv4"), *rules])
        downlink = pfcp.IE_CreatePDR(IE_list=[
            pfcp.IE_PDR_Id(id=DOWNLINK_PDR), pfcp.IE_Precedence(precedence=200),
            pfcp.IE_PDI(IE_list=[
                pfcp.IE_SourceInterface(interface="Core"),
                pfcp.IE_NetworkInstance(instance="internet"),
                pfcp.IE_UE_IP_Address(V4=1, SD=1, ipv4=self.ue),
            ]),
            pfcp.IE_FAR_Id(id=2), *rules[1:]])
        return [
            pfcp.IE_NodeId(id_type="IPv4", ipv4=self.smf.address),
            pfcp.IE_FSEID(v4=1, seid=self.seid, ipv4=self.smf.address),
            uplink, downlink,
            pfcp.IE_CreateFAR(IE_list=[
                pfcp.IE_FAR_Id(id=1), pfcp.IE_ApplyAction(FORW=1),
                pfcp.IE_ForwardingParameters(IE_list=[
                    pfcp.IE_DestinationInterface(interface="Core"),
                    pfcp.IE_NetworkInstance(instance="internet")])]),
            pfcp.IE_CreateFAR(IE_list=[pfcp.IE_FAR_Id(id=2), pfcp.IE_ApplyAction(DROP=1)]),
            pfcp.IE_CreateQER(IE_list=[
                pfcp.IE_QER_Id(id=1), pfcp.IE_GateStatus(ul="OPEN", dl="OPEN"),
                pfcp.IE_MBR(ul=100_000, dl=100_000), pfcp.IE_QFI(QFI=QFI)]),
            pfcp.IE_CreateURR(IE_list=[
                pfcp.IE_URR_Id(id=1), pfcp.IE_MeasurementMethod(VOLUM=1),
                pfcp.IE_ReportingTriggers(volume_threshold=1),
                pfcp.IE_VolumeThreshold(TOVOL=1, total=1 << 40)]),
            pfcp.IE_PDNType(pdn_type="IPv4"),
        ]

    def establish(self, parts=None):
        reply = self.smf.request(50, pfcp.PFCPSessionEstablishmentRequest(IE_list=parts or self.parts()), seid=0)
        self.case.assertIsInstance(reply.payload, pfcp.PFCPSessionEstablishmentResponse)
        self.case.assertEqual(peers.cause(reply), 1)
        self.case.assertEqual(reply.seid, self.seid)
        self.remote = peers.ies(reply.payload, pfcp.IE_FSEID)[0].seid
        chosen = peers.ies(reply.payload, pfcp.IE_FTEID)[0]
        self.case.assertEqual(chosen.ipv4, peers.UPF)
        self.tunnel = chosen.TEID
        return reply

    def modify(self, *parts):
        reply = self.smf.request(52, pfcp.PFCPSessionModificationRequest(IE_list=list(parts)), seid=self.remote)
        self.case.assertEqual(peers.cause(reply), 1)
        self.case.assertEqual(reply.seid, self.seid)
        return reply

    def forward_to(self, gnb, teid):
        return self.modify(pfcp.IE_UpdateFAR(IE_list=[
            pfcp.IE_FAR_Id(id=2), pfcp.IE_ApplyAction(FORW=1),
            pfcp.IE_UpdateForwardingParameters(IE_list=[
                pfcp.IE_DestinationInterface(interface="Access"),
                pfcp.IE_OuterHeaderCreation(GTPUUDPIPV4=1, TEID=teid, ipv4=gnb)])]))

    def delete(self):
        reply = self.smf.request(54, pfcp.PFCPSessionDeletionRequest(), seid=self.remote)
        self.case.assertIsInstance(reply.payload, pfcp.PFCPSessionDeletionResponse)
        self.case.assertEqual(peers.cause(reply), 1)
        return reply
