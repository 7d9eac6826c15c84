// Package gopfcp drives the UPF with github.com/wmnsk/go-pfcp, as an SMF built on it would.
package gopfcp

import (
	"testing"
	"time"

	"causeway/interop/peer"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// Input:  an Association Setup Request, then a Heartbeat Request.
// Output: accepted, with the UPF's Node ID, Recovery Time Stamp and features; the heartbeat repeats the time stamp.
func TestAssociationSetup(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.1")
	reply := smf.Associate()
	peer.Check(t, "Node ID", peer.Must[string](t)(reply.NodeID.NodeID()), peer.UPF(t).String())
	peer.CheckTrue(t, "Recovery Time Stamp is present", reply.RecoveryTimeStamp != nil)
	recovery := peer.Must[time.Time](t)(reply.RecoveryTimeStamp.RecoveryTimeStamp())
	peer.CheckTrue(t, "Recovery Time Stamp is not in the future", !recovery.After(time.Now().Add(time.Second)))
	peer.CheckTrue(t, "UP Function Features are present", reply.UPFunctionFeatures != nil)
	peer.CheckTrue(t, "the UPF allocates F-TEIDs (FTUP)", reply.UPFunctionFeatures.HasFTUP())
	smf.Alive(recovery)
}

// Input:  the same SMF sets its association up again, with the same Recovery Time Stamp.
// Output: accepted again; the SMF has not restarted, so its session stays: anybody could have sent the setup in its name.
func TestRepeatedAssociationSetup(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.2")
	first := smf.Associate()
	session := peer.NewSession(t, smf, 0x1202, "10.45.1.2")
	session.Establish()
	second := smf.Associate()
	peer.Check(t, "the Recovery Time Stamp is the same",
		peer.Must[time.Time](t)(second.RecoveryTimeStamp.RecoveryTimeStamp()),
		peer.Must[time.Time](t)(first.RecoveryTimeStamp.RecoveryTimeStamp()))
	session.Modify(session.Idle())
	session.Delete()
}

// Input:  a Heartbeat Request from an address that has no association.
// Output: answered all the same, with the Recovery Time Stamp.
func TestHeartbeatWithoutAssociation(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.3")
	reply, ok := smf.Request(message.NewHeartbeatRequest(0, ie.NewRecoveryTimeStamp(smf.Recovery), nil)).(*message.HeartbeatResponse)
	peer.CheckTrue(t, "the answer is a Heartbeat Response", ok)
	peer.CheckTrue(t, "Recovery Time Stamp is present", reply.RecoveryTimeStamp != nil)
}

// Input:  a Session Establishment Request from an address that has no association.
// Output: cause 72, and no session.
func TestSessionBeforeAssociation(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.4")
	session := peer.NewSession(t, smf, 0x1204, "10.45.1.4")
	expectRefusal(t, smf, session.Establishment(session.EstablishmentIEs()...), ie.CauseNoEstablishedPFCPAssociation, 0)
}

// Input:  an association with a session is released; then the session is modified.
// Output: the release is accepted; the session is gone, and a new one is refused with cause 72.
func TestAssociationRelease(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.5")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1205, "10.45.1.5")
	session.Establish()

	release := message.NewAssociationReleaseRequest(0, smf.NodeID())
	reply, ok := smf.Request(release).(*message.AssociationReleaseResponse)
	peer.CheckTrue(t, "the answer is an Association Release Response", ok)
	peer.CheckCause(t, reply.Cause, ie.CauseRequestAccepted)
	peer.Check(t, "Node ID", peer.Must[string](t)(reply.NodeID.NodeID()), peer.UPF(t).String())

	gone := message.NewSessionModificationRequest(0, 0, session.Remote, 0, 0, session.Idle())
	modified, ok := smf.Request(gone).(*message.SessionModificationResponse)
	peer.CheckTrue(t, "the answer is a Session Modification Response", ok)
	cause := peer.Must[uint8](t)(modified.Cause.Cause())
	peer.CheckTrue(t, "the session is gone (cause 65 or 72)",
		cause == ie.CauseSessionContextNotFound || cause == ie.CauseNoEstablishedPFCPAssociation)
	again := peer.NewSession(t, smf, 0x1206, "10.45.1.5")
	expectRefusal(t, smf, again.Establishment(again.EstablishmentIEs()...), ie.CauseNoEstablishedPFCPAssociation, 0)
}

// Input:  an SMF comes back with a later Recovery Time Stamp: it has restarted. It answers the UPF's heartbeat that asks whether it is so.
// Output: accepted; the sessions of its former life are gone.
func TestRestartedPeer(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.6")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1207, "10.45.1.6")
	session.Establish()
	smf.Restart()
	request := message.NewSessionModificationRequest(0, 0, session.Remote, 0, 0, session.Idle())
	expectRefusal(t, smf, request, ie.CauseSessionContextNotFound, 0)
}

// Input:  an association, a session and a release over IPv6; the Node IDs and F-SEIDs are IPv6 addresses.
// Output: the same as over IPv4.
func TestOverIPv6(t *testing.T) {
	smf := peer.NewSMF(t, "fd00:ca05::21")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1208, "10.45.1.8")
	session.Establish()
	session.Modify(session.Idle())
	session.Delete()
	reply, ok := smf.Request(message.NewAssociationReleaseRequest(0, smf.NodeID())).(*message.AssociationReleaseResponse)
	peer.CheckTrue(t, "the answer is an Association Release Response", ok)
	peer.CheckCause(t, reply.Cause, ie.CauseRequestAccepted)
}
