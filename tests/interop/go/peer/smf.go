package peer

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// replyTimeout is how long an SMF here waits for one reply; on loopback it comes within milliseconds.
const replyTimeout = 3 * time.Second

// restartTimeout is how long the UPF may take to ask an SMF whether it has restarted.
const restartTimeout = 10 * time.Second

// lateAnswer is how long Provoke waits for an answer that a heartbeat has overtaken.
const lateAnswer = 100 * time.Millisecond

// SMF is a PFCP peer of the UPF with its own address, socket and sequence numbers, on go-pfcp's codec.
//
// It answers the UPF's heartbeats and session reports by itself, as a live SMF does.
type SMF struct {
	Address  net.IP
	Recovery time.Time

	// Reports receives the Session Report Requests of the UPF, after they were answered.
	Reports chan *message.SessionReportRequest

	t        *testing.T
	conn     *net.UDPConn
	upf      *net.UDPAddr
	replies  chan []byte
	asked    chan struct{}
	finished sync.WaitGroup
	sequence uint32
	seids    map[uint64]uint64
	lock     sync.Mutex
}

// NewSMF binds an SMF to an address that no other test uses; the end of the test closes it.
//
// An SMF with an IPv6 address talks to the UPF's IPv6 address.
func NewSMF(t *testing.T, address string) *SMF {
	t.Helper()
	ip, upf := net.ParseIP(address), UPF(t)
	if ip.To4() == nil {
		upf = UPFOverIPv6(t)
	}
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: ip, Port: PFCPPort})
	if err != nil {
		t.Fatalf("cannot be an SMF at %s: %v", address, err)
	}
	smf := &SMF{
		Address:  ip,
		Recovery: time.Now().Truncate(time.Second),
		Reports:  make(chan *message.SessionReportRequest, 64),
		t:        t,
		conn:     conn,
		upf:      &net.UDPAddr{IP: upf, Port: PFCPPort},
		replies:  make(chan []byte, 64),
		asked:    make(chan struct{}, 1),
		seids:    map[uint64]uint64{},
	}
	smf.finished.Add(1)
	go smf.receive()
	t.Cleanup(func() {
		conn.Close()
		smf.finished.Wait()
	})
	return smf
}

// Restart gives the SMF a later Recovery Time Stamp and associates it again. It returns after the UPF has asked by a heartbeat whether that
// is true, and was answered: only then does the UPF believe it, so that nobody else can claim a restart. The answer stands before whatever
// the SMF sends next.
func (s *SMF) Restart() {
	s.t.Helper()
	select {
	case <-s.asked:
	default:
	}
	s.Recovery = s.Recovery.Add(time.Minute)
	s.Associate()
	select {
	case <-s.asked:
	case <-time.After(restartTimeout):
		s.t.Fatalf("NOT asked back within %s whether the SMF has restarted", restartTimeout)
	}
}

// receive sorts what the UPF sends into replies, and requests that it answers.
func (s *SMF) receive() {
	defer s.finished.Done()
	buffer := make([]byte, 65536)
	for {
		n, err := s.conn.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an ICMP error of an earlier send; a caller that waits for a reply will time out
		}
		raw := append([]byte(nil), buffer[:n]...)
		secondOpinion(s.t, raw)
		parsed, err := message.Parse(raw)
		if err != nil {
			s.t.Errorf("go-pfcp cannot decode % x: %v", raw, err)
			continue
		}
		switch request := parsed.(type) {
		case *message.HeartbeatRequest:
			s.write(message.NewHeartbeatResponse(request.Sequence(), ie.NewRecoveryTimeStamp(s.Recovery)))
			select {
			case s.asked <- struct{}{}:
			default:
			}
		case *message.SessionReportRequest:
			s.answerReport(request)
		default:
			s.replies <- raw
		}
	}
}

func (s *SMF) answerReport(request *message.SessionReportRequest) {
	s.lock.Lock()
	remote, known := s.seids[request.SEID()]
	s.lock.Unlock()
	cause := ie.CauseRequestAccepted
	if !known {
		cause = ie.CauseSessionContextNotFound
	}
	s.write(message.NewSessionReportResponse(0, 0, remote, request.Sequence(), 0, ie.NewCause(cause)))
	s.Reports <- request
}

// Owns tells the SMF which of the UPF's SEIDs belongs to its own, so that it can answer reports.
func (s *SMF) Owns(local, remote uint64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.seids[local] = remote
}

func (s *SMF) write(m message.Message) {
	if _, err := s.conn.WriteToUDP(s.marshal(m), s.upf); err != nil && !errors.Is(err, net.ErrClosed) {
		s.t.Errorf("send: %v", err)
	}
}

func (s *SMF) marshal(m message.Message) []byte {
	raw := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(raw); err != nil {
		s.t.Errorf("go-pfcp cannot encode a %s: %v", m.MessageTypeName(), err)
	}
	return raw
}

// Request sends a request under the next sequence number and returns the reply that carries it.
func (s *SMF) Request(m message.Message) message.Message {
	s.t.Helper()
	_, raw := s.Exchange(m)
	return s.Parse(raw)
}

// Exchange is Request with both messages as octets.
func (s *SMF) Exchange(m message.Message) (sent, received []byte) {
	s.t.Helper()
	s.sequence++
	m.SetSequenceNumber(s.sequence)
	sent = s.marshal(m)
	s.t.Logf("->  %s, sequence %d", m.MessageTypeName(), s.sequence)
	received = s.Resend(sent)
	for {
		reply := s.Parse(received)
		s.t.Logf("<-  %s, sequence %d", reply.MessageTypeName(), reply.Sequence())
		if reply.Sequence() == s.sequence {
			return sent, received
		}
		s.t.Logf("    a late answer, not to the request")
		if received = s.next(); received == nil {
			s.t.Fatalf("NOT answered within %s: sequence %d", replyTimeout, s.sequence)
		}
	}
}

// Resend sends octets as they are and returns the reply; none within the time limit ends the test.
func (s *SMF) Resend(raw []byte) []byte {
	s.t.Helper()
	s.send(raw)
	reply := s.next()
	if reply == nil {
		s.t.Fatalf("NOT answered within %s: % x", replyTimeout, raw)
	}
	return reply
}

// Provoke sends octets that need not be PFCP at all, then a heartbeat, and returns what was answered
// before the heartbeat was: nil where the UPF kept silent. An unanswered heartbeat ends the test.
func (s *SMF) Provoke(raw []byte) []byte {
	s.t.Helper()
	s.send(raw)
	s.sequence++
	s.send(s.marshal(message.NewHeartbeatRequest(s.sequence, ie.NewRecoveryTimeStamp(s.Recovery), nil)))
	var answer []byte
	for {
		reply := s.next()
		if reply == nil {
			s.t.Fatalf("NOT alive after % x", raw)
		}
		parsed := s.Parse(reply)
		if parsed.MessageType() == message.MsgTypeHeartbeatResponse && parsed.Sequence() == s.sequence {
			break
		}
		answer = reply
	}
	if answer != nil {
		return answer
	}
	// What the data plane has to carry out first is answered later than a heartbeat. An answer that comes later
	// still is passed over by Exchange.
	select {
	case answer = <-s.replies:
	case <-time.After(lateAnswer):
	}
	return answer
}

func (s *SMF) send(raw []byte) {
	s.t.Helper()
	if _, err := s.conn.WriteToUDP(raw, s.upf); err != nil {
		s.t.Fatalf("send: %v", err)
	}
}

func (s *SMF) next() []byte {
	select {
	case reply := <-s.replies:
		return reply
	case <-time.After(replyTimeout):
		return nil
	}
}

// Parse decodes a reply with go-pfcp.
func (s *SMF) Parse(raw []byte) message.Message {
	s.t.Helper()
	parsed, err := message.Parse(raw)
	if err != nil {
		s.t.Fatalf("go-pfcp cannot decode % x: %v", raw, err)
	}
	return parsed
}

// Associate sets the association up, and ends the test when the UPF refuses.
func (s *SMF) Associate() *message.AssociationSetupResponse {
	s.t.Helper()
	reply, ok := s.Request(s.AssociationSetup()).(*message.AssociationSetupResponse)
	CheckTrue(s.t, "the answer is an Association Setup Response", ok)
	CheckCause(s.t, reply.Cause, ie.CauseRequestAccepted)
	return reply
}

// AssociationSetup is the request that Associate sends.
func (s *SMF) AssociationSetup() *message.AssociationSetupRequest {
	return message.NewAssociationSetupRequest(0,
		s.NodeID(),
		ie.NewRecoveryTimeStamp(s.Recovery),
		ie.NewCPFunctionFeatures(0),
	)
}

// NodeID is the SMF's Node ID: its address.
func (s *SMF) NodeID() *ie.IE {
	if s.Address.To4() == nil {
		return ie.NewNodeID("", s.Address.String(), "")
	}
	return ie.NewNodeID(s.Address.String(), "", "")
}

// fseid is an F-SEID of the SMF.
func (s *SMF) fseid(seid uint64) *ie.IE {
	if s.Address.To4() == nil {
		return ie.NewFSEID(seid, nil, s.Address)
	}
	return ie.NewFSEID(seid, s.Address, nil)
}

// Alive proves by a heartbeat that the UPF still lives, with the same Recovery Time Stamp as before.
func (s *SMF) Alive(recovery time.Time) {
	s.t.Helper()
	reply, ok := s.Request(message.NewHeartbeatRequest(0, ie.NewRecoveryTimeStamp(s.Recovery), nil)).(*message.HeartbeatResponse)
	CheckTrue(s.t, "the answer is a Heartbeat Response", ok)
	now := Must[time.Time](s.t)(reply.RecoveryTimeStamp.RecoveryTimeStamp())
	Check(s.t, "the UPF's Recovery Time Stamp is unchanged", now.Unix(), recovery.Unix())
}

// CheckCause checks the cause of a reply.
func CheckCause(t *testing.T, cause *ie.IE, want uint8) {
	t.Helper()
	CheckTrue(t, "a Cause is present", cause != nil)
	Check(t, "Cause", Must[uint8](t)(cause.Cause()), want)
}
