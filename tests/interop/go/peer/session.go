package peer

import (
	"net"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// Rule ids of the one PDU session that these tests bring up.
const (
	UplinkPDR   = 1
	DownlinkPDR = 2
	UplinkFAR   = 1
	DownlinkFAR = 2
	SessionQER  = 1
	SessionURR  = 1
	SessionQFI  = 1
)

// Values of Apply Action, UE IP Address flags and F-TEID flags (TS 29.244 clauses 8.2.26, 8.2.62, 8.2.3).
const (
	actionDrop          = 0x01
	actionForward       = 0x02
	actionBufferAndTell = 0x0c
	ueSource            = 0x02
	ueDestination       = 0x06
	chooseIPv4          = 0x05
	chosenUESource      = 0x10
	chosenUEDestination = 0x14
	gtpuUDPIPv4         = 0x0100
	volumeOnlyThreshold = 0x01
	triggerVolume       = 0x02
	sendEndMarker       = 0x02
)

// Session is one PDU session: what the SMF asked for and what the UPF chose.
type Session struct {
	UE        net.IP // nil: the UPF chooses it
	Local     uint64 // the SMF's SEID
	Remote    uint64 // the UPF's SEID
	Tunnel    uint32 // the UPF's TEID for uplink packets
	Threshold uint64 // of the URR, octets in both directions together

	smf *SMF
	t   *testing.T
}

// NewSession describes a session; nothing is sent.
func NewSession(t *testing.T, smf *SMF, seid uint64, ue string) *Session {
	return &Session{UE: net.ParseIP(ue).To4(), Local: seid, Threshold: 1 << 40, smf: smf, t: t}
}

// EstablishmentIEs are the IEs of the request: two PDRs, two FARs, a QER and a URR. Downlink is dropped at first.
func (s *Session) EstablishmentIEs() []*ie.IE {
	return []*ie.IE{
		s.smf.NodeID(),
		s.smf.fseid(s.Local),
		s.uplinkPDR(), s.downlinkPDR(),
		ie.NewCreateFAR(ie.NewFARID(UplinkFAR), ie.NewApplyAction(actionForward), ie.NewForwardingParameters(
			ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance("internet"))),
		ie.NewCreateFAR(ie.NewFARID(DownlinkFAR), ie.NewApplyAction(actionDrop)),
		ie.NewCreateQER(ie.NewQERID(SessionQER), ie.NewGateStatus(ie.GateStatusOpen, ie.GateStatusOpen),
			ie.NewMBR(200_000, 400_000), ie.NewQFI(SessionQFI)),
		ie.NewCreateURR(ie.NewURRID(SessionURR), ie.NewMeasurementMethod(0, 1, 0),
			ie.NewReportingTriggers(triggerVolume, 0, 0),
			ie.NewVolumeThreshold(volumeOnlyThreshold, s.Threshold, 0, 0)),
		ie.NewPDNType(ie.PDNTypeIPv4),
	}
}

func (s *Session) uplinkPDR() *ie.IE {
	return ie.NewCreatePDR(ie.NewPDRID(UplinkPDR), ie.NewPrecedence(255),
		ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess),
			ie.NewFTEID(chooseIPv4, 0, nil, nil, 0),
			s.ueAddress(ueSource, chosenUESource),
			ie.NewQFI(SessionQFI)),
		ie.NewOuterHeaderRemoval(0, 0),
		ie.NewFARID(UplinkFAR), ie.NewURRID(SessionURR), ie.NewQERID(SessionQER))
}

func (s *Session) downlinkPDR() *ie.IE {
	return ie.NewCreatePDR(ie.NewPDRID(DownlinkPDR), ie.NewPrecedence(255),
		ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance("internet"),
			s.ueAddress(ueDestination, chosenUEDestination)),
		ie.NewFARID(DownlinkFAR), ie.NewURRID(SessionURR), ie.NewQERID(SessionQER))
}

// ueAddress is the UE IP Address of a PDI: the given one, or one that the UPF is to choose.
func (s *Session) ueAddress(given, chosen uint8) *ie.IE {
	if s.UE == nil {
		return ie.NewUEIPAddress(chosen, "", "", 0, 0)
	}
	return ie.NewUEIPAddress(given, s.UE.String(), "", 0, 0)
}

// Establishment is the request made of the given IEs.
func (s *Session) Establishment(ies ...*ie.IE) *message.SessionEstablishmentRequest {
	return message.NewSessionEstablishmentRequest(0, 0, 0, 0, 0, ies...)
}

// Establish brings the session up and notes what the UPF chose.
func (s *Session) Establish() *message.SessionEstablishmentResponse {
	s.t.Helper()
	reply, ok := s.smf.Request(s.Establishment(s.EstablishmentIEs()...)).(*message.SessionEstablishmentResponse)
	CheckTrue(s.t, "the answer is a Session Establishment Response", ok)
	CheckCause(s.t, reply.Cause, ie.CauseRequestAccepted)
	s.Adopt(reply)
	return reply
}

// Adopt takes the UPF's SEID and TEID from an accepted establishment.
func (s *Session) Adopt(reply *message.SessionEstablishmentResponse) {
	s.t.Helper()
	Check(s.t, "the header carries the SMF's SEID", reply.SEID(), s.Local)
	CheckTrue(s.t, "UP F-SEID is present", reply.UPFSEID != nil)
	fseid := Must[*ie.FSEIDFields](s.t)(reply.UPFSEID.FSEID())
	CheckTrue(s.t, "UP F-SEID is not zero", fseid.SEID != 0)
	CheckTrue(s.t, "UP F-SEID names the UPF's address",
		fseid.IPv4Address.Equal(s.smf.upf.IP) || fseid.IPv6Address.Equal(s.smf.upf.IP))
	s.Remote = fseid.SEID
	s.smf.Owns(s.Local, s.Remote)
	for _, created := range reply.CreatedPDR {
		s.adoptAddress(created)
		if Must[uint16](s.t)(created.PDRID()) != UplinkPDR {
			continue
		}
		fteid := Must[*ie.FTEIDFields](s.t)(created.FTEID())
		CheckTrue(s.t, "the chosen TEID is not zero", fteid.TEID != 0)
		Check(s.t, "the chosen F-TEID names the UPF's N3 address", fteid.IPv4Address.String(), UPF(s.t).String())
		s.Tunnel = fteid.TEID
	}
	CheckTrue(s.t, "Created PDR with an F-TEID for the uplink PDR is present", s.Tunnel != 0)
}

// adoptAddress takes the UE address that the UPF chose, which is the same for both PDRs.
func (s *Session) adoptAddress(created *ie.IE) {
	s.t.Helper()
	address, err := created.UEIPAddress()
	if err != nil {
		return // none was asked for
	}
	CheckTrue(s.t, "both PDRs have the same UE address", s.UE == nil || s.UE.Equal(address.IPv4Address))
	s.UE = address.IPv4Address.To4()
}

// Modify sends a modification and returns the accepted answer.
func (s *Session) Modify(ies ...*ie.IE) *message.SessionModificationResponse {
	s.t.Helper()
	request := message.NewSessionModificationRequest(0, 0, s.Remote, 0, 0, ies...)
	reply, ok := s.smf.Request(request).(*message.SessionModificationResponse)
	CheckTrue(s.t, "the answer is a Session Modification Response", ok)
	CheckCause(s.t, reply.Cause, ie.CauseRequestAccepted)
	Check(s.t, "the header carries the SMF's SEID", reply.SEID(), s.Local)
	return reply
}

// ForwardTo is the Update FAR that sends downlink packets into a tunnel of a gNB.
func (s *Session) ForwardTo(gnb net.IP, teid uint32) *ie.IE {
	return ie.NewUpdateFAR(ie.NewFARID(DownlinkFAR), ie.NewApplyAction(actionForward),
		ie.NewUpdateForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess),
			ie.NewOuterHeaderCreation(gtpuUDPIPv4, teid, gnb.String(), "", 0, 0, 0)))
}

// HandOverTo is ForwardTo with an End Marker for the old tunnel.
func (s *Session) HandOverTo(gnb net.IP, teid uint32) *ie.IE {
	return ie.NewUpdateFAR(ie.NewFARID(DownlinkFAR), ie.NewApplyAction(actionForward),
		ie.NewUpdateForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess),
			ie.NewOuterHeaderCreation(gtpuUDPIPv4, teid, gnb.String(), "", 0, 0, 0),
			ie.NewPFCPSMReqFlags(sendEndMarker)))
}

// Idle is the Update FAR that buffers downlink packets and asks to be told of the first.
func (s *Session) Idle() *ie.IE {
	return ie.NewUpdateFAR(ie.NewFARID(DownlinkFAR), ie.NewApplyAction(actionBufferAndTell))
}

// Delete ends the session and returns the accepted answer.
func (s *Session) Delete() *message.SessionDeletionResponse {
	s.t.Helper()
	request := message.NewSessionDeletionRequest(0, 0, s.Remote, 0, 0)
	reply, ok := s.smf.Request(request).(*message.SessionDeletionResponse)
	CheckTrue(s.t, "the answer is a Session Deletion Response", ok)
	CheckCause(s.t, reply.Cause, ie.CauseRequestAccepted)
	Check(s.t, "the header carries the SMF's SEID", reply.SEID(), s.Local)
	return reply
}
