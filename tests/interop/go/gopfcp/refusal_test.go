package gopfcp

import (
	"testing"

	"causeway/interop/peer"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// expectRefusal sends a request and checks the cause and, unless it is 0, the type of the offending IE.
func expectRefusal(t *testing.T, smf *peer.SMF, request message.Message, cause uint8, offending uint16) {
	t.Helper()
	var gotCause, gotOffending *ie.IE
	reply := smf.Request(request)
	peer.Check(t, "the answer is of the request's kind", reply.MessageType(), request.MessageType()+1)
	switch m := reply.(type) {
	case *message.AssociationSetupResponse:
		gotCause, gotOffending = m.Cause, offendingIE(m.IEs)
	case *message.AssociationReleaseResponse:
		gotCause = m.Cause
	case *message.SessionEstablishmentResponse:
		gotCause, gotOffending = m.Cause, m.OffendingIE
		peer.CheckTrue(t, "no UP F-SEID: no session was made", m.UPFSEID == nil)
	case *message.SessionModificationResponse:
		gotCause, gotOffending = m.Cause, m.OffendingIE
	case *message.SessionDeletionResponse:
		gotCause, gotOffending = m.Cause, m.OffendingIE
	default:
		t.Fatalf("NOT an answer that can refuse: %s", reply.MessageTypeName())
	}
	peer.CheckCause(t, gotCause, cause)
	if offending != 0 {
		peer.CheckTrue(t, "Offending IE is present", gotOffending != nil)
		peer.Check(t, "Offending IE", peer.Must[uint16](t)(gotOffending.OffendingIE()), offending)
	}
}

func offendingIE(ies []*ie.IE) *ie.IE {
	for _, i := range ies {
		if i.Type == ie.OffendingIE {
			return i
		}
	}
	return nil
}

// without returns the IEs that are not of that type.
func without(ies []*ie.IE, kind uint16) []*ie.IE {
	var kept []*ie.IE
	for _, i := range ies {
		if i.Type != kind {
			kept = append(kept, i)
		}
	}
	return kept
}

// Input:  establishments that each lack one mandatory IE, at the top or inside a rule.
// Output: cause 66, or 67 inside a group that is conditional itself (TS 29.244 clause 7.2.3.2), and the type of the
// missing IE; a complete request for the same UE is accepted afterwards.
func TestMissingMandatoryIE(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.10")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1210, "10.45.1.10")
	whole := session.EstablishmentIEs()
	inRule := func(rule *ie.IE) []*ie.IE { return append(without(whole, rule.Type), rule) }

	cases := []struct {
		name    string
		ies     []*ie.IE
		missing uint16
	}{
		{"Node ID", without(whole, ie.NodeID), ie.NodeID},
		{"CP F-SEID", without(whole, ie.FSEID), ie.FSEID},
		{"Create PDR", without(whole, ie.CreatePDR), ie.CreatePDR},
		{"Create FAR", without(whole, ie.CreateFAR), ie.CreateFAR},
		{"PDI of a PDR", inRule(ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1))), ie.PDI},
		{"Precedence of a PDR", inRule(ie.NewCreatePDR(ie.NewPDRID(1),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess)), ie.NewFARID(1))), ie.Precedence},
		{"Source Interface of a PDI", inRule(ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1),
			ie.NewPDI(ie.NewQFI(1)), ie.NewFARID(1))), ie.SourceInterface},
		{"Apply Action of a FAR", inRule(ie.NewCreateFAR(ie.NewFARID(1))), ie.ApplyAction},
		{"Gate Status of a QER", inRule(ie.NewCreateQER(ie.NewQERID(1))), ie.GateStatus},
		{"Measurement Method of a URR", inRule(ie.NewCreateURR(ie.NewURRID(1),
			ie.NewReportingTriggers(2, 0, 0))), ie.MeasurementMethod},
	}
	for _, c := range cases {
		t.Logf("    without %s", c.name)
		cause := ie.CauseMandatoryIEMissing
		if c.missing == ie.GateStatus || c.missing == ie.MeasurementMethod {
			cause = ie.CauseConditionalIEMissing
		}
		expectRefusal(t, smf, session.Establishment(c.ies...), cause, c.missing)
	}
	session.Establish()
	session.Delete()
}

// Input:  Association Setup Requests without Node ID, and without Recovery Time Stamp.
// Output: cause 66, no association.
func TestMissingMandatoryIEOfAssociation(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.11")
	node, recovery := smf.NodeID(), ie.NewRecoveryTimeStamp(smf.Recovery)
	expectRefusal(t, smf, message.NewAssociationSetupRequest(0, recovery), ie.CauseMandatoryIEMissing, 0)
	expectRefusal(t, smf, message.NewAssociationSetupRequest(0, node), ie.CauseMandatoryIEMissing, 0)
	session := peer.NewSession(t, smf, 0x1211, "10.45.1.11")
	expectRefusal(t, smf, session.Establishment(session.EstablishmentIEs()...), ie.CauseNoEstablishedPFCPAssociation, 0)
}

// Input:  a modification and a deletion with a SEID that the UPF never gave out.
// Output: cause 65, in a header with SEID 0.
func TestUnknownSession(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.12")
	smf.Associate()
	const unknown = 0xdead_beef_0000_0001
	session := peer.NewSession(t, smf, 0x1212, "10.45.1.12")
	expectRefusal(t, smf, message.NewSessionModificationRequest(0, 0, unknown, 0, 0, session.Idle()),
		ie.CauseSessionContextNotFound, 0)
	deletion := smf.Request(message.NewSessionDeletionRequest(0, 0, unknown, 0, 0))
	peer.Check(t, "SEID of the header", deletion.SEID(), 0)
	reply, ok := deletion.(*message.SessionDeletionResponse)
	peer.CheckTrue(t, "the answer is a Session Deletion Response", ok)
	peer.CheckCause(t, reply.Cause, ie.CauseSessionContextNotFound)
}

// Input:  establishments and modifications whose rules name a FAR, a QER or a URR that is not there.
// Output: refused, and the session that exists stays as it was.
func TestRulesThatNameNothing(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.13")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1213, "10.45.1.13")
	for _, kind := range []uint16{ie.CreateQER, ie.CreateURR} {
		reply, ok := smf.Request(session.Establishment(without(session.EstablishmentIEs(), kind)...)).(*message.SessionEstablishmentResponse)
		peer.CheckTrue(t, "the answer is a Session Establishment Response", ok)
		cause := peer.Must[uint8](t)(reply.Cause.Cause())
		peer.CheckTrue(t, "refused", cause >= ie.CauseRequestRejected)
	}
	session.Establish()
	bad := message.NewSessionModificationRequest(0, 0, session.Remote, 0, 0,
		ie.NewUpdatePDR(ie.NewPDRID(peer.UplinkPDR), ie.NewFARID(99)))
	reply, ok := smf.Request(bad).(*message.SessionModificationResponse)
	peer.CheckTrue(t, "the answer is a Session Modification Response", ok)
	cause := peer.Must[uint8](t)(reply.Cause.Cause())
	peer.CheckTrue(t, "refused", cause >= ie.CauseRequestRejected)
	session.Modify(session.Idle())
	session.Delete()
}

// Input:  an establishment with an IE of an unknown type and one of a vendor in front.
// Output: the IEs that no one knows are ignored and the session is accepted.
func TestUnknownIEsAreIgnored(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.14")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x1214, "10.45.1.14")
	strange := append([]*ie.IE{
		ie.New(9999, []byte{1, 2, 3}),
		ie.NewVendorSpecificIE(0x8001, 10415, []byte{4, 5}),
	}, session.EstablishmentIEs()...)
	raw, received := smf.Exchange(session.Establishment(strange...))
	t.Logf("    %d octets, with an unknown and a vendor IE in front", len(raw))
	reply, ok := smf.Parse(received).(*message.SessionEstablishmentResponse)
	peer.CheckTrue(t, "the answer is a Session Establishment Response", ok)
	peer.CheckCause(t, reply.Cause, ie.CauseRequestAccepted)
	session.Adopt(reply)
	session.Delete()
}
