package gopfcp

import (
	"net"
	"testing"
	"time"

	"causeway/interop/peer"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// urr is the Create URR of the session with other measurement and triggers (TS 29.244 clause 8.2.19).
func urr(triggers [3]uint8, ies ...*ie.IE) *ie.IE {
	ies = append([]*ie.IE{
		ie.NewURRID(peer.SessionURR), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(triggers[:]...),
	}, ies...)
	return ie.NewCreateURR(ies...)
}

// establishWith brings a session up with one Create IE in the place of those of its kind.
func establishWith(t *testing.T, smf *peer.SMF, session *peer.Session, instead *ie.IE) {
	t.Helper()
	ies := append(without(session.EstablishmentIEs(), instead.Type), instead)
	reply, ok := smf.Request(session.Establishment(ies...)).(*message.SessionEstablishmentResponse)
	peer.CheckTrue(t, "the answer is a Session Establishment Response", ok)
	peer.CheckCause(t, reply.Cause, ie.CauseRequestAccepted)
	session.Adopt(reply)
}

// Input:  two sessions whose UE address the UPF is to choose (CHV4), with a ping each.
// Output: addresses of the network's pool, one for each session, and the pings are answered.
func TestUEAddressChosenByTheUPF(t *testing.T) {
	smf, gnb := peer.NewSMF(t, "127.0.1.40"), peer.NewGNB(t, "127.0.1.140")
	smf.Associate()
	_, pool, _ := net.ParseCIDR("10.45.0.0/16")
	var addresses []string
	for number := range uint32(2) {
		session := peer.NewSession(t, smf, 0x1240+uint64(number), "")
		session.Establish()
		peer.CheckTrue(t, "the UE address is of the pool", pool.Contains(session.UE))
		peer.CheckTrue(t, "it is not the gateway's", !session.UE.Equal(peer.Gateway(t)))
		addresses = append(addresses, session.UE.String())
		session.Modify(session.ForwardTo(gnb.Address, firstTunnel+number))
		pingThrough(t, gnb, session, firstTunnel+number, 1)
		defer session.Delete()
	}
	peer.CheckTrue(t, "the sessions have different addresses", addresses[0] != addresses[1])
}

// Input:  a measurement period of one second.
// Output: a periodic usage report of what passed.
func TestPeriodicReport(t *testing.T) {
	smf, gnb := peer.NewSMF(t, "127.0.1.41"), peer.NewGNB(t, "127.0.1.141")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1241, "10.45.1.41")
	establishWith(t, smf, session, urr([3]uint8{0x01, 0, 0}, ie.NewMeasurementPeriod(time.Second)))
	session.Modify(session.ForwardTo(gnb.Address, firstTunnel))
	pingThrough(t, gnb, session, firstTunnel, 1)
	usage := peer.OneUsage(t, nextReport(t, smf).UsageReport)
	peer.Check(t, "the trigger is the period", usage.Periodic, true)
	last := peer.OneUsage(t, session.Delete().UsageReport)
	peer.CheckTrue(t, "every octet is in exactly one report", usage.Total+last.Total <= 2*84)
}

// Input:  a volume quota of 400 octets (VOLQU), pings of 84 octets each way; then a quota of 10000 more.
// Output: a usage report by volume quota; nothing more passes and no more than the quota was counted; with the new
// quota pings are answered again.
func TestVolumeQuota(t *testing.T) {
	const quota = 400
	smf, gnb := peer.NewSMF(t, "127.0.1.42"), peer.NewGNB(t, "127.0.1.142")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1242, "10.45.1.42")
	establishWith(t, smf, session, urr([3]uint8{0, 0x01, 0}, ie.NewVolumeQuota(0x01, quota, 0, 0)))
	session.Modify(session.ForwardTo(gnb.Address, firstTunnel))
	for sequence := range uint16(5) {
		gnb.Uplink(session.Tunnel, peer.SessionQFI, peer.Ping(session.UE, peer.Gateway(t), sequence+1, 56))
	}
	usage := peer.OneUsage(t, nextReport(t, smf).UsageReport)
	peer.Check(t, "the trigger is the volume quota", usage.VolumeQuota, true)
	peer.CheckTrue(t, "no more than the quota was counted", usage.Total <= quota)
	for gnb.Receive(300*time.Millisecond) != nil {
	}
	gnb.Uplink(session.Tunnel, peer.SessionQFI, peer.Ping(session.UE, peer.Gateway(t), 6, 56))
	peer.CheckTrue(t, "nothing passes an exhausted quota", gnb.Receive(300*time.Millisecond) == nil)
	session.Modify(ie.NewUpdateURR(ie.NewURRID(peer.SessionURR), ie.NewVolumeQuota(0x01, 10_000, 0, 0)))
	pingThrough(t, gnb, session, firstTunnel, 7)
	session.Delete()
}

// Input:  PFDs of an application by PFD Management, and a PDR for it, before the others, whose FAR drops; pings
// to the application's server and elsewhere.
// Output: the application's packets are dropped, the others pass.
func TestApplicationByPFD(t *testing.T) {
	smf, gnb := peer.NewSMF(t, "127.0.1.43"), peer.NewGNB(t, "127.0.1.143")
	smf.Associate()
	server := net.IPv4(198, 51, 100, 77)
	pfds := ie.NewApplicationIDsPFDs(ie.NewApplicationID("backup"),
		ie.NewPFDContext(ie.NewPFDContents("permit out ip from 198.51.100.77 to assigned", "", "", "", "", nil, nil, nil)))
	reply, ok := smf.Request(message.NewPFDManagementRequest(0, pfds)).(*message.PFDManagementResponse)
	peer.CheckTrue(t, "the answer is a PFD Management Response", ok)
	peer.CheckCause(t, reply.Cause, ie.CauseRequestAccepted)

	session := peer.NewSession(t, smf, 0x1243, "10.45.1.43")
	session.Establish()
	session.Modify(session.ForwardTo(gnb.Address, firstTunnel),
		ie.NewCreatePDR(ie.NewPDRID(3), ie.NewPrecedence(1),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess),
				ie.NewFTEID(0x01, session.Tunnel, peer.UPF(t), nil, 0),
				ie.NewUEIPAddress(0x02, session.UE.String(), "", 0, 0),
				ie.NewApplicationID("backup")),
			ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(3), ie.NewURRID(2)),
		ie.NewCreateFAR(ie.NewFARID(3), ie.NewApplyAction(0x01)),
		ie.NewCreateURR(ie.NewURRID(2), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0, 0)))
	gnb.Uplink(session.Tunnel, peer.SessionQFI, peer.Ping(session.UE, server, 1, 56))
	pingThrough(t, gnb, session, firstTunnel, 2)
	// Only the ping to the gateway was forwarded, each way; the one to the application's server was not.
	reports := session.Delete().UsageReport
	for _, report := range reports {
		if peer.Must[uint32](t)(report.URRID()) == peer.SessionURR {
			peer.Check(t, "octets forwarded", peer.OneUsage(t, []*ie.IE{report}).Total, 2*84)
		}
	}
	peer.Check(t, "reports", len(reports), 2)
}

// Input:  a Traffic Endpoint with an F-TEID that the UPF is to choose, used by the uplink PDR.
// Output: Created Traffic Endpoint with the F-TEID; packets in that tunnel are answered.
func TestTrafficEndpoint(t *testing.T) {
	smf, gnb := peer.NewSMF(t, "127.0.1.44"), peer.NewGNB(t, "127.0.1.144")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1244, "10.45.1.44")
	const endpoint = 7
	uplink := ie.NewCreatePDR(ie.NewPDRID(peer.UplinkPDR), ie.NewPrecedence(255),
		ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewTrafficEndpointID(endpoint)),
		ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(peer.UplinkFAR))
	ies := []*ie.IE{uplink, ie.NewCreateTrafficEndpoint(ie.NewTrafficEndpointID(endpoint),
		ie.NewFTEID(0x05, 0, nil, nil, 0),
		ie.NewUEIPAddress(0x02, session.UE.String(), "", 0, 0))}
	for _, part := range session.EstablishmentIEs() {
		if id, err := part.PDRID(); part.Type != ie.CreatePDR || err != nil || id != peer.UplinkPDR {
			ies = append(ies, part)
		}
	}
	reply, ok := smf.Request(session.Establishment(ies...)).(*message.SessionEstablishmentResponse)
	peer.CheckTrue(t, "the answer is a Session Establishment Response", ok)
	peer.CheckCause(t, reply.Cause, ie.CauseRequestAccepted)
	peer.Check(t, "Created Traffic Endpoints", len(reply.CreatedTrafficEndpoint), 1)
	fteid := peer.Must[*ie.FTEIDFields](t)(reply.CreatedTrafficEndpoint[0].LocalFTEID())
	session.Remote = peer.Must[*ie.FSEIDFields](t)(reply.UPFSEID.FSEID()).SEID
	session.Tunnel = fteid.TEID
	smf.Owns(session.Local, session.Remote)
	session.Modify(session.ForwardTo(gnb.Address, firstTunnel))
	pingThrough(t, gnb, session, firstTunnel, 1)
	session.Delete()
}
