package gopfcp

import (
	"bytes"
	"testing"
	"time"

	"causeway/interop/peer"

	gtp "github.com/wmnsk/go-gtp/gtpv1/message"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

const firstTunnel, secondTunnel = 0x0100_0001, 0x0200_0002

// Input:  a session is established, pointed at a gNB, pinged through, queried, and deleted.
// Output: every ping is answered in the gNB's tunnel with the session's QFI; the query and the final report count
// exactly the octets of the inner packets.
func TestSessionLifeCycle(t *testing.T) {
	smf, gnb := peer.NewSMF(t, "127.0.1.20"), peer.NewGNB(t, "127.0.1.120")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1220, "10.45.1.20")
	session.Establish()
	session.Modify(session.ForwardTo(gnb.Address, firstTunnel))

	ping := peer.Ping(session.UE, peer.Gateway(t), 1, 56)
	pingThrough(t, gnb, session, firstTunnel, 1)
	queried := session.Modify(ie.NewQueryURR(ie.NewURRID(peer.SessionURR)))
	usage := peer.OneUsage(t, queried.UsageReport)
	octets := uint64(len(ping))
	peer.Check(t, "the trigger is an immediate report", usage.Immediate, true)
	peer.Check(t, "uplink octets", usage.Uplink, octets)
	peer.Check(t, "downlink octets", usage.Downlink, octets)
	peer.Check(t, "total octets", usage.Total, 2*octets)

	pingThrough(t, gnb, session, firstTunnel, 2)
	pingThrough(t, gnb, session, firstTunnel, 3)
	last := peer.OneUsage(t, session.Delete().UsageReport)
	peer.Check(t, "the trigger is the termination", last.Termination, true)
	peer.Check(t, "the report's sequence number is the next", last.Sequence, usage.Sequence+1)
	peer.Check(t, "total octets since the query", last.Total, 4*octets)

	gnb.Uplink(session.Tunnel, peer.SessionQFI, ping)
	_, isError := gnb.Receive(2 * time.Second).(*gtp.ErrorIndication)
	peer.CheckTrue(t, "after the deletion the tunnel is unknown: Error Indication", isError)
	expectRefusal(t, smf, message.NewSessionDeletionRequest(0, 0, session.Remote, 0, 0), ie.CauseSessionContextNotFound, 0)
}

func pingThrough(t *testing.T, gnb *peer.GNB, session *peer.Session, tunnel uint32, sequence uint16) {
	t.Helper()
	gnb.Uplink(session.Tunnel, peer.SessionQFI, peer.Ping(session.UE, peer.Gateway(t), sequence, 56))
	teid, qfi, packet := gnb.Downlink()
	peer.Check(t, "TEID of the downlink packet", teid, tunnel)
	peer.Check(t, "QFI of the downlink packet", qfi, peer.SessionQFI)
	peer.CheckPong(t, packet, session.UE, sequence)
}

// Input:  the same establishment, octet for octet, three times; then the same deletion twice.
// Output: the same answer, octet for octet: one session was made, and one deleted.
func TestRetransmission(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.21")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1221, "10.45.1.21")
	sent, first := smf.Exchange(session.Establishment(session.EstablishmentIEs()...))
	for range 2 {
		peer.CheckTrue(t, "the duplicate has the same answer", bytes.Equal(smf.Resend(sent), first))
	}
	reply, ok := smf.Parse(first).(*message.SessionEstablishmentResponse)
	peer.CheckTrue(t, "the answer is a Session Establishment Response", ok)
	peer.CheckCause(t, reply.Cause, ie.CauseRequestAccepted)
	session.Adopt(reply)
	sent, first = smf.Exchange(message.NewSessionDeletionRequest(0, 0, session.Remote, 0, 0))
	peer.CheckTrue(t, "the duplicate has the same answer", bytes.Equal(smf.Resend(sent), first))
	deleted, ok := smf.Parse(first).(*message.SessionDeletionResponse)
	peer.CheckTrue(t, "the answer is a Session Deletion Response", ok)
	peer.CheckCause(t, deleted.Cause, ie.CauseRequestAccepted)
}

// Input:  an idle UE (BUFF and NOCP) gets three downlink packets; the gNB's tunnel then comes back.
// Output: one Downlink Data Report for the downlink PDR; the buffered packets arrive in order, before a later one.
func TestBufferingAndPaging(t *testing.T) {
	smf, gnb := peer.NewSMF(t, "127.0.1.22"), peer.NewGNB(t, "127.0.1.122")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1222, "10.45.1.22")
	session.Establish()
	session.Modify(session.Idle())
	for sequence := range uint16(3) {
		gnb.Uplink(session.Tunnel, peer.SessionQFI, peer.Ping(session.UE, peer.Gateway(t), sequence+1, 56))
	}
	report := nextReport(t, smf)
	peer.Check(t, "SEID of the report is the SMF's", report.SEID(), session.Local)
	peer.CheckTrue(t, "the report is of downlink data", report.ReportType.HasDLDR())
	peer.Check(t, "PDR ID", peer.Must[uint16](t)(report.DownlinkDataReport.PDRID()), peer.DownlinkPDR)
	peer.CheckTrue(t, "the gNB got nothing yet", gnb.Receive(200*time.Millisecond) == nil)

	session.Modify(session.ForwardTo(gnb.Address, firstTunnel))
	gnb.Uplink(session.Tunnel, peer.SessionQFI, peer.Ping(session.UE, peer.Gateway(t), 4, 56))
	for sequence := range uint16(4) {
		_, _, packet := gnb.Downlink()
		peer.CheckPong(t, packet, session.UE, sequence+1)
	}
	session.Delete()
}

func nextReport(t *testing.T, smf *peer.SMF) *message.SessionReportRequest {
	t.Helper()
	select {
	case report := <-smf.Reports:
		t.Logf("<-  %s, sequence %d", report.MessageTypeName(), report.Sequence())
		return report
	case <-time.After(5 * time.Second):
		t.Fatal("NOT a Session Report Request within 5 s")
		return nil
	}
}

// Input:  a handover: Update FAR to another gNB, with SNDEM.
// Output: one End Marker in the old tunnel, and packets in the new one.
func TestHandover(t *testing.T) {
	smf, source, target := peer.NewSMF(t, "127.0.1.23"), peer.NewGNB(t, "127.0.1.123"), peer.NewGNB(t, "127.0.1.124")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1223, "10.45.1.23")
	session.Establish()
	session.Modify(session.ForwardTo(source.Address, firstTunnel))
	pingThrough(t, source, session, firstTunnel, 1)
	session.Modify(session.HandOverTo(target.Address, secondTunnel))
	marker, ok := source.Receive(2 * time.Second).(*gtp.EndMarker)
	peer.CheckTrue(t, "the old gNB receives an End Marker", ok)
	peer.Check(t, "TEID of the End Marker", marker.TEID(), uint32(firstTunnel))
	pingThrough(t, target, session, secondTunnel, 2)
	peer.CheckTrue(t, "the old gNB receives nothing more", source.Receive(200*time.Millisecond) == nil)
	session.Delete()
}

// Input:  a volume threshold of 300 octets; pings of 84 octets each way.
// Output: a usage report by volume threshold, of what was counted when the threshold was crossed.
func TestVolumeThreshold(t *testing.T) {
	smf, gnb := peer.NewSMF(t, "127.0.1.25"), peer.NewGNB(t, "127.0.1.125")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1225, "10.45.1.25")
	session.Threshold = 300
	session.Establish()
	session.Modify(session.ForwardTo(gnb.Address, firstTunnel))
	pingThrough(t, gnb, session, firstTunnel, 1)
	pingThrough(t, gnb, session, firstTunnel, 2)
	report := nextReport(t, smf)
	peer.CheckTrue(t, "the report is of usage", report.ReportType.HasUSAR())
	usage := peer.OneUsage(t, report.UsageReport)
	peer.Check(t, "the trigger is the volume threshold", usage.VolumeThreshold, true)
	peer.CheckTrue(t, "at least the threshold was counted", usage.Total >= session.Threshold)
	last := peer.OneUsage(t, session.Delete().UsageReport)
	peer.Check(t, "every octet is in exactly one report", usage.Total+last.Total, 4*84)
}

// Input:  the uplink gate is closed by an Update QER, then opened.
// Output: pings vanish while it is closed and pass when it is open; what was dropped is not counted.
func TestGate(t *testing.T) {
	smf, gnb := peer.NewSMF(t, "127.0.1.26"), peer.NewGNB(t, "127.0.1.126")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1226, "10.45.1.26")
	session.Establish()
	session.Modify(session.ForwardTo(gnb.Address, firstTunnel))
	session.Modify(ie.NewUpdateQER(ie.NewQERID(peer.SessionQER), ie.NewGateStatus(ie.GateStatusClosed, ie.GateStatusOpen)))
	gnb.Uplink(session.Tunnel, peer.SessionQFI, peer.Ping(session.UE, peer.Gateway(t), 1, 56))
	peer.CheckTrue(t, "a closed gate lets nothing through", gnb.Receive(300*time.Millisecond) == nil)
	session.Modify(ie.NewUpdateQER(ie.NewQERID(peer.SessionQER), ie.NewGateStatus(ie.GateStatusOpen, ie.GateStatusOpen)))
	pingThrough(t, gnb, session, firstTunnel, 2)
	usage := peer.OneUsage(t, session.Delete().UsageReport)
	peer.Check(t, "octets counted", usage.Total, 2*84)
}
