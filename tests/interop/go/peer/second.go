package peer

import (
	"testing"

	"github.com/free5gc/pfcp"
	"github.com/wmnsk/go-pfcp/message"
)

// secondOpinion decodes a message of the UPF with free5GC's codec too.
//
// Only Version Not Supported is left out: that codec does not know the message.
func secondOpinion(t *testing.T, raw []byte) {
	t.Helper()
	if len(raw) > 1 && raw[1] == message.MsgTypeVersionNotSupportedResponse {
		return
	}
	var decoded pfcp.Message
	if err := decoded.Unmarshal(raw); err != nil {
		t.Errorf("free5gc/pfcp cannot decode % x: %v", raw, err)
	}
}
