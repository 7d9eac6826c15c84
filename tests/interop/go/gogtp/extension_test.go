package gogtp

import (
	"slices"
	"testing"
	"time"

	"causeway/interop/peer"

	"github.com/wmnsk/go-gtp/gtpv1/message"
)

const tunnel = 0x0500_0005

// Input:  G-PDUs of a live session whose extension header is of an unknown type: first one whose
// comprehension is not required, then one whose comprehension is.
// Output: the first is carried; the second is dropped and answered with the list of types that the UPF knows.
func TestUnknownExtensionHeader(t *testing.T) {
	smf, gnb := peer.NewSMF(t, "127.0.3.20"), peer.NewGNB(t, "127.0.3.120")
	smf.Associate()
	session := peer.NewSession(t, smf, 0x3020, "10.45.3.20")
	session.Establish()
	session.Modify(session.ForwardTo(gnb.Address, tunnel))

	const optional, required = 0x3e, 0xfe
	gnb.Send(withHeader(t, session, optional, 1))
	_, _, packet := gnb.Downlink()
	peer.CheckPong(t, packet, session.UE, 1)

	gnb.Send(withHeader(t, session, required, 2))
	notification, ok := gnb.Receive(2 * time.Second).(*message.SupportedExtensionHeaderNotification)
	peer.CheckTrue(t, "the answer is a Supported Extension Headers Notification", ok)
	peer.CheckTrue(t, "its list is present", notification.ExtensionHeaderTypeList != nil)
	known := peer.Must[[]uint8](t)(notification.ExtensionHeaderTypeList.ExtensionHeaderTypeList())
	peer.CheckTrue(t, "the list names the PDU Session Container",
		slices.Contains(known, message.ExtHeaderTypePDUSessionContainer))
	peer.CheckTrue(t, "the packet itself was dropped", gnb.Receive(300*time.Millisecond) == nil)
	session.Delete()
}

// withHeader is an uplink ping whose PDU Session Container follows an extension header of that type.
func withHeader(t *testing.T, session *peer.Session, kind uint8, sequence uint16) *message.TPDU {
	t.Helper()
	return message.NewTPDUWithExtentionHeader(session.Tunnel, peer.Ping(session.UE, peer.Gateway(t), sequence, 56),
		message.NewExtensionHeader(kind, []byte{1, 2}, message.ExtHeaderTypePDUSessionContainer),
		message.NewExtensionHeader(message.ExtHeaderTypePDUSessionContainer,
			[]byte{0x10, peer.SessionQFI}, message.ExtHeaderTypeNoMoreExtensionHeaders))
}
