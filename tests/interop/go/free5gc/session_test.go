package free5gc

import (
	"net"
	"testing"
	"time"

	"causeway/interop/peer"

	"github.com/free5gc/pfcp"
	"github.com/free5gc/pfcp/pfcpType"
)

const (
	seid   = 0x2001
	tunnel = 0x0300_0003
	qfi    = 1
)

// Input:  the messages of one PDU session as free5GC's SMF sends them: the downlink FAR drops until the gNB's
// tunnel is known, Network Instances are FQDN-encoded, the QFI is in the QER only, PFCPSMReq-Flags are empty.
// Output: association, session, pings through it, usage report at the end, release.
func TestSessionOfFree5GC(t *testing.T) {
	smf, gnb := newSMF(t, "127.0.2.1"), peer.NewGNB(t, "127.0.2.101")
	setup := smf.associate()
	peer.Check(t, "Node ID", setup.NodeID.IP.String(), peer.UPF(t).String())
	peer.CheckTrue(t, "UP Function Features: FTUP", setup.UPFunctionFeatures.SupportedFeatures&pfcpType.UpFunctionFeaturesFtup != 0)

	ue := net.ParseIP("10.45.2.1").To4()
	reply := smf.sessionRequest(pfcp.PFCP_SESSION_ESTABLISHMENT_REQUEST, 0, smf.establishment(ue))
	established, ok := reply.Body.(pfcp.PFCPSessionEstablishmentResponse)
	peer.CheckTrue(t, "the answer is a Session Establishment Response", ok)
	checkCause(t, established.Cause, pfcpType.CauseRequestAccepted)
	peer.Check(t, "the header carries the SMF's SEID", reply.Header.SEID, seid)
	peer.CheckTrue(t, "UP F-SEID is present", established.UPFSEID != nil)
	peer.CheckTrue(t, "Created PDR has an F-TEID", established.CreatedPDR != nil && established.CreatedPDR.LocalFTEID != nil)
	chosen := established.CreatedPDR.LocalFTEID
	remote := established.UPFSEID.Seid

	reply = smf.sessionRequest(pfcp.PFCP_SESSION_MODIFICATION_REQUEST, remote, smf.activation(gnb.Address))
	modified, ok := reply.Body.(pfcp.PFCPSessionModificationResponse)
	peer.CheckTrue(t, "the answer is a Session Modification Response", ok)
	checkCause(t, modified.Cause, pfcpType.CauseRequestAccepted)

	gnb.Uplink(chosen.Teid, qfi, peer.Ping(ue, peer.Gateway(t), 1, 100))
	teid, gotQFI, packet := gnb.Downlink()
	peer.Check(t, "TEID of the downlink packet", teid, uint32(tunnel))
	peer.Check(t, "QFI of the downlink packet", gotQFI, qfi)
	peer.CheckPong(t, packet, ue, 1)

	reply = smf.sessionRequest(pfcp.PFCP_SESSION_DELETION_REQUEST, remote, pfcp.PFCPSessionDeletionRequest{})
	deleted, ok := reply.Body.(pfcp.PFCPSessionDeletionResponse)
	peer.CheckTrue(t, "the answer is a Session Deletion Response", ok)
	checkCause(t, deleted.Cause, pfcpType.CauseRequestAccepted)
	peer.Check(t, "number of usage reports", len(deleted.UsageReport), 1)
	volume := deleted.UsageReport[0].VolumeMeasurement
	peer.Check(t, "uplink octets", volume.UplinkVolume, 128)
	peer.Check(t, "downlink octets", volume.DownlinkVolume, 128)
	peer.CheckTrue(t, "the trigger is the termination", deleted.UsageReport[0].UsageReportTrigger.Termr)

	released, ok := smf.nodeRequest(pfcp.PFCP_ASSOCIATION_RELEASE_REQUEST,
		pfcp.PFCPAssociationReleaseRequest{NodeID: smf.nodeID()}).(pfcp.PFCPAssociationReleaseResponse)
	peer.CheckTrue(t, "the answer is an Association Release Response", ok)
	checkCause(t, released.Cause, pfcpType.CauseRequestAccepted)
}

// Input:  the UE goes idle: the downlink FAR is updated to BUFF and NOCP; then a packet comes for it.
// Output: a Session Report Request that free5GC's library decodes, with a Downlink Data Report for the downlink PDR.
func TestDownlinkDataReportOfFree5GC(t *testing.T) {
	smf, gnb := newSMF(t, "127.0.2.2"), peer.NewGNB(t, "127.0.2.102")
	smf.associate()
	ue := net.ParseIP("10.45.2.2").To4()
	established, ok := smf.sessionRequest(pfcp.PFCP_SESSION_ESTABLISHMENT_REQUEST, 0, smf.establishment(ue)).
		Body.(pfcp.PFCPSessionEstablishmentResponse)
	peer.CheckTrue(t, "the answer is a Session Establishment Response", ok)
	checkCause(t, established.Cause, pfcpType.CauseRequestAccepted)
	smf.remote.Store(established.UPFSEID.Seid)
	idle := pfcp.PFCPSessionModificationRequest{UpdateFAR: []*pfcp.UpdateFAR{{
		FARID:       &pfcpType.FARID{FarIdValue: 2},
		ApplyAction: &pfcpType.ApplyAction{Buff: true, Nocp: true},
	}}}
	modified, ok := smf.sessionRequest(pfcp.PFCP_SESSION_MODIFICATION_REQUEST, established.UPFSEID.Seid, idle).
		Body.(pfcp.PFCPSessionModificationResponse)
	peer.CheckTrue(t, "the answer is a Session Modification Response", ok)
	checkCause(t, modified.Cause, pfcpType.CauseRequestAccepted)

	gnb.Uplink(established.CreatedPDR.LocalFTEID.Teid, qfi, peer.Ping(ue, peer.Gateway(t), 1, 100))
	select {
	case report := <-smf.reports:
		peer.CheckTrue(t, "the report is of downlink data", report.ReportType.Dldr)
		peer.Check(t, "PDR ID", report.DownlinkDataReport.PDRID.RuleId, 2)
	case <-time.After(5 * time.Second):
		t.Fatal("NOT a Session Report Request within 5 s")
	}
}

// establishment is the request of a new PDU session.
func (s *smf) establishment(ue net.IP) pfcp.PFCPSessionEstablishmentRequest {
	internet := &pfcpType.NetworkInstance{NetworkInstance: "internet", FQDNEncoding: true}
	qer := []*pfcpType.QERID{{QERID: 1}}
	urr := []*pfcpType.URRID{{UrrIdValue: 1}}
	return pfcp.PFCPSessionEstablishmentRequest{
		NodeID:  s.nodeID(),
		CPFSEID: &pfcpType.FSEID{V4: true, Seid: seid, Ipv4Address: s.address},
		CreatePDR: []*pfcp.CreatePDR{
			{
				PDRID:      &pfcpType.PacketDetectionRuleID{RuleId: 1},
				Precedence: &pfcpType.Precedence{PrecedenceValue: 255},
				PDI: &pfcp.PDI{
					SourceInterface: &pfcpType.SourceInterface{InterfaceValue: pfcpType.SourceInterfaceAccess},
					LocalFTEID:      &pfcpType.FTEID{Ch: true, V4: true},
					NetworkInstance: internet,
					UEIPAddress:     &pfcpType.UEIPAddress{V4: true, Ipv4Address: ue},
				},
				OuterHeaderRemoval: &pfcpType.OuterHeaderRemoval{
					OuterHeaderRemovalDescription: pfcpType.OuterHeaderRemovalGtpUUdpIpv4},
				FARID: &pfcpType.FARID{FarIdValue: 1}, QERID: qer, URRID: urr,
			},
			{
				PDRID:      &pfcpType.PacketDetectionRuleID{RuleId: 2},
				Precedence: &pfcpType.Precedence{PrecedenceValue: 255},
				PDI: &pfcp.PDI{
					SourceInterface: &pfcpType.SourceInterface{InterfaceValue: pfcpType.SourceInterfaceCore},
					NetworkInstance: internet,
					UEIPAddress:     &pfcpType.UEIPAddress{V4: true, Sd: true, Ipv4Address: ue},
				},
				FARID: &pfcpType.FARID{FarIdValue: 2}, QERID: qer, URRID: urr,
			},
		},
		CreateFAR: []*pfcp.CreateFAR{
			{
				FARID:       &pfcpType.FARID{FarIdValue: 1},
				ApplyAction: &pfcpType.ApplyAction{Forw: true},
				ForwardingParameters: &pfcp.ForwardingParametersIEInFAR{
					DestinationInterface: &pfcpType.DestinationInterface{InterfaceValue: pfcpType.DestinationInterfaceCore},
					NetworkInstance:      internet,
				},
			},
			{FARID: &pfcpType.FARID{FarIdValue: 2}, ApplyAction: &pfcpType.ApplyAction{Drop: true}},
		},
		CreateQER: []*pfcp.CreateQER{{
			QERID:             &pfcpType.QERID{QERID: 1},
			GateStatus:        &pfcpType.GateStatus{ULGate: pfcpType.GateOpen, DLGate: pfcpType.GateOpen},
			MaximumBitrate:    &pfcpType.MBR{ULMBR: 1_000_000, DLMBR: 2_000_000},
			QoSFlowIdentifier: &pfcpType.QFI{QFI: qfi},
		}},
		CreateURR: []*pfcp.CreateURR{{
			URRID:             &pfcpType.URRID{UrrIdValue: 1},
			MeasurementMethod: &pfcpType.MeasurementMethod{Volum: true},
			ReportingTriggers: &pfcpType.ReportingTriggers{Volth: true},
			VolumeThreshold:   &pfcpType.VolumeThreshold{Tovol: true, TotalVolume: 1 << 40},
		}},
		PDNType: &pfcpType.PDNType{PdnType: pfcpType.PDNTypeIpv4},
	}
}

// activation is the request that follows once the gNB has told its tunnel.
func (s *smf) activation(gnb net.IP) pfcp.PFCPSessionModificationRequest {
	return pfcp.PFCPSessionModificationRequest{
		CPFSEID: &pfcpType.FSEID{V4: true, Seid: seid, Ipv4Address: s.address},
		UpdateFAR: []*pfcp.UpdateFAR{{
			FARID:       &pfcpType.FARID{FarIdValue: 2},
			ApplyAction: &pfcpType.ApplyAction{Forw: true},
			UpdateForwardingParameters: &pfcp.UpdateForwardingParametersIEInFAR{
				DestinationInterface: &pfcpType.DestinationInterface{InterfaceValue: pfcpType.DestinationInterfaceAccess},
				NetworkInstance:      &pfcpType.NetworkInstance{NetworkInstance: "internet", FQDNEncoding: true},
				OuterHeaderCreation: &pfcpType.OuterHeaderCreation{
					OuterHeaderCreationDescription: pfcpType.OuterHeaderCreationGtpUUdpIpv4,
					Teid:                           tunnel,
					Ipv4Address:                    gnb,
				},
				PFCPSMReqFlags: &pfcpType.PFCPSMReqFlags{},
			},
		}},
	}
}
