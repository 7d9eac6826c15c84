// Package peer holds what the third-party clients share: where the UPF is, a transcript, an SMF's socket
// and a second opinion on every reply.
package peer

import (
	"net"
	"os"
	"testing"
)

// Ports that both ends of N4 and N3 use.
const (
	PFCPPort = 8805
	GTPUPort = 2152
)

// Environment variables by which tests/interop/run says where the UPF is.
const (
	upfAddressVariable = "CAUSEWAY_UPF"
	upfIPv6Variable    = "CAUSEWAY_UPF_IPV6"
	gatewayVariable    = "CAUSEWAY_GATEWAY"
)

// UPF returns the IPv4 address of the UPF under test: its PFCP, GTP-U and metrics address.
func UPF(t *testing.T) net.IP {
	t.Helper()
	return address(t, upfAddressVariable)
}

// UPFOverIPv6 returns the IPv6 address of the UPF's N4.
func UPFOverIPv6(t *testing.T) net.IP {
	t.Helper()
	return address(t, upfIPv6Variable)
}

// Gateway returns the address of the UPF's host on the N6 side, which answers the UEs' pings.
func Gateway(t *testing.T) net.IP {
	t.Helper()
	return address(t, gatewayVariable)
}

func address(t *testing.T, variable string) net.IP {
	t.Helper()
	ip := net.ParseIP(os.Getenv(variable))
	if ip == nil {
		t.Fatalf("%s names no address: start these tests with tests/interop/run", variable)
	}
	return ip
}
