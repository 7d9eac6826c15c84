"""An SMF and a gNB made of scapy's PFCP and GTP layers, and the check that scapy understands every reply."""

import os
import socket
import time

from scapy.contrib import gtp, pfcp
from scapy.packet import Packet, Padding, Raw

PFCP_PORT = 8805
GTPU_PORT = 2152
REPLY_TIMEOUT = 3.0

UPF = os.environ.get("CAUSEWAY_UPF", "")
GATEWAY = os.environ.get("CAUSEWAY_GATEWAY", "")
if not UPF or not GATEWAY:
    raise SystemExit("CAUSEWAY_UPF and CAUSEWAY_GATEWAY are not set: start these tests with tests/interop/run")

# Octets past what Release 15 defines are legal in these: later releases only append feature flags.
GROWING = (
    pfcp.IE_UPFunctionFeatures, pfcp.IE_CPFunctionFeatures,
    pfcp.IE_UsageReportTrigger, pfcp.IE_ReportingTriggers,
)


def leftovers(packet):
    """Names every part of a dissected packet that scapy could not make sense of."""
    found = []
    layer = packet
    while isinstance(layer, Packet) and layer:
        if isinstance(layer, (Raw, Padding)):
            found.append(f"{type(layer).__name__} {bytes(layer).hex()}")
        if isinstance(layer, (pfcp.IE_NotImplemented, gtp.IE_NotImplementedTLV)):
            found.append(f"IE of type {layer.ietype} not implemented")
        if getattr(layer, "extra_data", b"") and not isinstance(layer, GROWING):
            found.append(f"{layer.name}: extra octets {layer.extra_data.hex()}")
        for inner in getattr(layer, "IE_list", None) or []:
            found += leftovers(inner)
        layer = layer.payload
    return found


def ies(packet, kind):
    """The IEs of one class, at any depth."""
    found = []
    for inner in getattr(packet, "IE_list", None) or []:
        if isinstance(inner, kind):
            found.append(inner)
        found += ies(inner, kind)
    return found


class Peer:
    """A UDP socket on the UPF's port of one protocol, at a loopback address that no other test uses."""

    def __init__(self, case, address, port):
        self.case, self.address, self.port = case, address, port
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, port))
        case.addCleanup(self.socket.close)

    def send(self, octets):
        self.socket.sendto(octets, (UPF, self.port))

    def receive(self, limit=REPLY_TIMEOUT):
        """The next datagram, or None when none comes in time."""
        self.socket.settimeout(max(limit, 0.001))
        try:
            return self.socket.recv(65535)
        except TimeoutError:
            return None


class Smf(Peer):
    """A PFCP peer. Its replies are dissected, and must leave nothing over."""

    def __init__(self, case, address):
        super().__init__(case, address, PFCP_PORT)
        self.sequence = 0
        self.recovery = int(time.time()) + 2_208_988_800

    def header(self, kind, seid=None):
        self.sequence += 1
        if seid is None:
            return pfcp.PFCP(S=0, message_type=kind, seq=self.sequence)
        return pfcp.PFCP(S=1, seid=seid, message_type=kind, seq=self.sequence)

    def request(self, kind, body, seid=None):
        """Sends a request; returns the reply that carries its sequence number."""
        message = self.header(kind, seid) / body
        print(f"    ->  {body.name}, sequence {self.sequence}")
        return self.exchange(bytes(message))

    def exchange(self, octets):
        self.send(octets)
        deadline = time.monotonic() + REPLY_TIMEOUT
        while time.monotonic() < deadline:
            reply = self.receive(deadline - time.monotonic())
            if reply is None:
                break
            message = self.dissect(reply)
            if message.message_type == 1:  # the UPF's own heartbeat, between request and reply
                self.answer_heartbeat(message)
            elif message.seq == self.sequence:
                print(f"    <-  {message.payload.name}, sequence {message.seq}")
                return message
        self.case.fail(f"no answer within {REPLY_TIMEOUT} s to {octets.hex()}")

    def answer_heartbeat(self, message):
        self.send(bytes(pfcp.PFCP(S=0, message_type=2, seq=message.seq) / pfcp.PFCPHeartbeatResponse(
            IE_list=[pfcp.IE_RecoveryTimeStamp(timestamp=self.recovery)])))

    def dissect(self, octets):
        message = pfcp.PFCP(octets)
        self.case.assertEqual(leftovers(message), [], f"scapy cannot read all of {octets.hex()}")
        self.case.assertEqual(bytes(message), octets, "scapy builds other octets from what it has read")
        return message

    def provoke(self, octets):
        """Sends octets that need not be PFCP, then a heartbeat; returns what came before its answer."""
        self.send(octets)
        answers = []
        beat = self.header(1) / pfcp.PFCPHeartbeatRequest(
            IE_list=[pfcp.IE_RecoveryTimeStamp(timestamp=self.recovery)])
        self.send(bytes(beat))
        while True:
            reply = self.receive()
            self.case.assertIsNotNone(reply, f"the UPF is not alive after {octets.hex()}")
            message = self.dissect(reply)
            if message.message_type == 2 and message.seq == self.sequence:
                return answers
            answers.append(message)

    def associate(self):
        reply = self.request(5, pfcp.PFCPAssociationSetupRequest(IE_list=[
            pfcp.IE_NodeId(id_type="IPv4", ipv4=self.address),
            pfcp.IE_RecoveryTimeStamp(timestamp=self.recovery),
        ]))
        self.case.assertIsInstance(reply.payload, pfcp.PFCPAssociationSetupResponse)
        self.case.assertEqual(cause(reply), 1)
        return reply


def cause(message):
    """The cause of a reply as a number."""
    return ies(message.payload, pfcp.IE_Cause)[0].cause


class Gnb(Peer):
    """A GTP-U peer."""

    def __init__(self, case, address):
        super().__init__(case, address, GTPU_PORT)

    def uplink(self, teid, qfi, packet):
        self.send(bytes(
            gtp.GTP_U_Header(teid=teid, gtp_type=255, E=1, next_ex=0x85)
            / gtp.GTPPDUSessionContainer(type=1, QFI=qfi) / packet))

    def message(self, limit=REPLY_TIMEOUT):
        """The next GTP-U message, dissected whole, or None when none comes in time."""
        octets = self.receive(limit)
        if octets is None:
            return None
        message = gtp.GTP_U_Header(octets) if octets[1] == 255 else gtp.GTPHeader(octets)
        return message
