// Package free5gc drives the UPF with github.com/free5gc/pfcp, the library inside free5GC's SMF.
package free5gc

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"causeway/interop/peer"

	"github.com/free5gc/pfcp"
	"github.com/free5gc/pfcp/pfcpType"
	"github.com/free5gc/pfcp/pfcpUdp"
)

// smf is free5GC's own PFCP server: its socket, its retransmissions, its transaction table.
type smf struct {
	t        *testing.T
	address  net.IP
	server   *pfcpUdp.PfcpServer
	upf      *net.UDPAddr
	recovery *pfcpType.RecoveryTimeStamp
	sequence uint32
	remote   atomic.Uint64 // the UPF's SEID of the one session, for answers to its reports
	reports  chan pfcp.PFCPSessionReportRequest
}

func newSMF(t *testing.T, address string) *smf {
	t.Helper()
	s := &smf{
		t:        t,
		address:  net.ParseIP(address).To4(),
		server:   pfcpUdp.NewPfcpServer(address),
		upf:      &net.UDPAddr{IP: peer.UPF(t), Port: pfcpUdp.PFCP_PORT},
		recovery: &pfcpType.RecoveryTimeStamp{RecoveryTimeStamp: time.Now()},
		reports:  make(chan pfcp.PFCPSessionReportRequest, 16),
	}
	if err := s.server.Listen(); err != nil {
		t.Fatalf("cannot be an SMF at %s: %v", address, err)
	}
	var receiving sync.WaitGroup
	receiving.Go(s.receive)
	t.Cleanup(func() {
		s.server.Close()
		receiving.Wait()
	})
	return s
}

// receive runs the library's receiver: responses are passed to their waiting callers, requests are answered here.
func (s *smf) receive() {
	for {
		message, err := s.server.ReadFrom()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			s.t.Errorf("free5gc/pfcp cannot take a message of the UPF: %v", err)
		case message.PfcpMessage.IsRequest():
			s.answer(message)
		}
	}
}

func (s *smf) answer(message *pfcpUdp.Message) {
	response := pfcp.Message{Header: pfcp.Header{
		Version:        pfcp.PfcpVersion,
		SequenceNumber: message.PfcpMessage.Header.SequenceNumber,
	}}
	switch request := message.PfcpMessage.Body.(type) {
	case pfcp.HeartbeatRequest:
		response.Header.MessageType = pfcp.PFCP_HEARTBEAT_RESPONSE
		response.Body = pfcp.HeartbeatResponse{RecoveryTimeStamp: s.recovery}
	case pfcp.PFCPSessionReportRequest:
		response.Header.MessageType = pfcp.PFCP_SESSION_REPORT_RESPONSE
		response.Header.S = pfcp.SEID_PRESENT
		response.Header.SEID = s.remote.Load()
		response.Body = pfcp.PFCPSessionReportResponse{
			Cause: &pfcpType.Cause{CauseValue: pfcpType.CauseRequestAccepted},
		}
		// Told once the answer is out: the test may end, and close the socket, as soon as it knows.
		defer func() { s.reports <- request }()
	default:
		s.t.Errorf("a request that this SMF does not know: type %d", message.MessageType())
		return
	}
	raw, err := response.Marshal()
	if err != nil {
		s.t.Errorf("free5gc/pfcp cannot encode: %v", err)
		return
	}
	if _, err := s.server.Conn.WriteToUDP(raw, message.RemoteAddr); err != nil {
		s.t.Errorf("send: %v", err)
	}
}

// nodeRequest sends a message about the association and returns the body of the answer.
func (s *smf) nodeRequest(kind pfcp.MessageType, body any) any {
	s.t.Helper()
	return s.request(pfcp.Header{MessageType: kind}, body).Body
}

// sessionRequest sends a message about the UPF's session and returns the answer.
func (s *smf) sessionRequest(kind pfcp.MessageType, seid uint64, body any) *pfcp.Message {
	s.t.Helper()
	return s.request(pfcp.Header{MessageType: kind, S: pfcp.SEID_PRESENT, SEID: seid}, body)
}

func (s *smf) request(header pfcp.Header, body any) *pfcp.Message {
	s.t.Helper()
	s.sequence++
	header.Version, header.SequenceNumber = pfcp.PfcpVersion, s.sequence
	s.t.Logf("->  %T, sequence %d", body, s.sequence)
	reply, err := s.server.WriteRequestTo(&pfcp.Message{Header: header, Body: body}, s.upf)
	if err != nil {
		s.t.Fatalf("NOT answered: %v", err)
	}
	s.t.Logf("<-  %T, sequence %d", reply.PfcpMessage.Body, reply.PfcpMessage.Header.SequenceNumber)
	return reply.PfcpMessage
}

func (s *smf) nodeID() *pfcpType.NodeID {
	return &pfcpType.NodeID{NodeIdType: pfcpType.NodeIdTypeIpv4Address, IP: s.address}
}

// associate sets the association up the way free5GC's SMF does at its start.
func (s *smf) associate() pfcp.PFCPAssociationSetupResponse {
	s.t.Helper()
	reply, ok := s.nodeRequest(pfcp.PFCP_ASSOCIATION_SETUP_REQUEST, pfcp.PFCPAssociationSetupRequest{
		NodeID:             s.nodeID(),
		RecoveryTimeStamp:  s.recovery,
		CPFunctionFeatures: &pfcpType.CPFunctionFeatures{},
	}).(pfcp.PFCPAssociationSetupResponse)
	peer.CheckTrue(s.t, "the answer is an Association Setup Response", ok)
	checkCause(s.t, reply.Cause, pfcpType.CauseRequestAccepted)
	return reply
}

func checkCause(t *testing.T, cause *pfcpType.Cause, want uint8) {
	t.Helper()
	peer.CheckTrue(t, "a Cause is present", cause != nil)
	peer.Check(t, "Cause", cause.CauseValue, want)
}
