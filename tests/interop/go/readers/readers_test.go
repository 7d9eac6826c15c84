package readers

import (
	"fmt"
	"os"
	"sort"
	"testing"

	"github.com/free5gc/pfcp"
	"github.com/wmnsk/go-pfcp/message"
)

// A decoder of an SMF.
type decoder struct {
	name string
	read func([]byte) error
	// unreadable are the IEs that it cannot read, and why each is sent all the same.
	unreadable map[uint16]string
	// messages are the types that it does not know at all.
	messages map[byte]string
}

func decoders() []decoder {
	return []decoder{
		{
			name: "free5gc/pfcp 1.1.2",
			read: func(octets []byte) error {
				var got pfcp.Message
				return got.Unmarshal(octets)
			},
			// Of these the library has a type and no decoder, so that it discards the whole message.
			unreadable: map[uint16]string{
				51:  "Load Control Information: sent to SMFs that say to know LOAD, which free5GC's does not (clause 6.2.3)",
				54:  "Overload Control Information: sent to SMFs that say to know OVRL, which free5GC's does not (clause 6.2.4)",
				90:  "Usage Information: sent around a Monitoring Time, which free5GC does not provision (table 7.5.8.3-1)",
				102: "User Plane Path Failure Report: tells of a peer that is down, and nothing else could (table 7.4.5.1.1-1)",
				111: "PFCP Association Release Request: the library takes its flags for a group (clause 8.2.75)",
				125: "Query URR Reference: sent back to SMFs that send one (table 7.5.8.3-1)",
				126: "Additional Usage Reports Information: answers QAURR, when usage does not fit (table 7.5.5.1-1)",
				144: "MAC Addresses Detected: reported in Ethernet sessions, when MACAR asks for it",
				145: "MAC Addresses Removed: as MAC Addresses Detected",
			},
			messages: map[byte]string{
				11: "Version Not Supported Response: answers another version of PFCP",
				17: "Session Set Modification Response: answers a request that it does not know either",
			},
		},
		{
			name: "go-pfcp 0.0.24",
			read: func(octets []byte) error {
				_, err := message.Parse(octets)
				return err
			},
			unreadable: map[uint16]string{},
			messages: map[byte]string{
				17: "Session Set Modification Response: of Release 17, which it does not have",
			},
		},
	}
}

// Input:  every PFCP message that the UPF sends in the conformance cases.
// Output: each decoder reads it; those with an IE that is listed as unreadable are read without it. What is listed occurs.
func TestEverythingIsRead(t *testing.T) {
	path := os.Getenv("CAUSEWAY_CAPTURE")
	if path == "" {
		t.Skip("CAUSEWAY_CAPTURE names no capture of the conformance cases")
	}
	datagrams, err := readCapture(path)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, datagram := range datagrams {
		split, err := messages(datagram)
		if err != nil {
			t.Errorf("%x: %v", datagram, err)
		}
		all = append(all, split...)
	}
	if len(all) < 1000 {
		t.Fatalf("%s has %d PFCP messages: the cases send more", path, len(all))
	}
	for _, decoder := range decoders() {
		t.Run(decoder.name, func(t *testing.T) { decoder.readAll(t, all) })
	}
}

func (d decoder) readAll(t *testing.T, all [][]byte) {
	met, failures, readable := map[uint16]int{}, map[string]int{}, 0
	for _, octets := range all {
		if d.messages[octets[1]] != "" {
			met[uint16(octets[1])|0x8000]++
			continue
		}
		err := d.tryRead(octets)
		if err == nil {
			readable++
			continue
		}
		held := map[uint16]bool{}
		types(octets[headerLen(octets):], held)
		gone := map[uint16]bool{}
		for kind := range d.unreadable {
			if held[kind] {
				gone[kind] = true
				met[kind]++
			}
		}
		if err := d.tryRead(without(octets, gone)); err != nil {
			failures[fmt.Sprintf("message type %d: %v", octets[1], err)]++
		}
	}
	for failure, count := range failures {
		t.Errorf("%d times cannot be read: %s", count, failure)
	}
	for kind, why := range d.unreadable {
		if met[kind] == 0 {
			t.Errorf("IE %d is listed as unreadable and makes nothing unreadable (%s)", kind, why)
		}
	}
	for kind, why := range d.messages {
		if met[uint16(kind)|0x8000] == 0 {
			t.Errorf("message type %d is listed as unknown and does not occur (%s)", kind, why)
		}
	}
	t.Logf("ok  %d of %d messages are read as they are", readable, len(all))
	for _, kind := range sorted(d.unreadable) {
		t.Logf("ok  IE %d is not read, in %d messages: %s", kind, met[kind], d.unreadable[kind])
	}
}

// tryRead reads one message; a decoder that panics has not read it.
func (d decoder) tryRead(octets []byte) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	return d.read(octets)
}

func sorted(listed map[uint16]string) []uint16 {
	kinds := make([]uint16, 0, len(listed))
	for kind := range listed {
		kinds = append(kinds, kind)
	}
	sort.Slice(kinds, func(i, j int) bool { return kinds[i] < kinds[j] })
	return kinds
}
