"""N3 with scapy: user packets through a session, error indications, rubbish."""

import random
import unittest

from scapy.contrib import gtp
from scapy.layers.inet import ICMP, IP

import peers
from session import QFI, Session

TUNNEL = 0x0600_0006


class UserPackets(unittest.TestCase):
    def test_ping_through_the_tunnel(self):
        """A ping in a G-PDU with PDU Session Container comes back in the gNB's tunnel, QFI and payload intact."""
        smf, gnb = peers.Smf(self, "127.0.5.1"), peers.Gnb(self, "127.0.5.101")
        smf.associate()
        session = Session(self, smf, seid=0x5001, ue="10.45.5.1")
        session.establish()
        session.forward_to(gnb.address, TUNNEL)
        payload = bytes(range(64))
        gnb.uplink(session.tunnel, QFI, IP(src=session.ue, dst=peers.GATEWAY) / ICMP(id=7, seq=1) / payload)
        reply = gnb.message()
        self.assertIsNotNone(reply, "no answer in the tunnel")
        self.assertEqual(reply.teid, TUNNEL)
        container = reply[gtp.GTPPDUSessionContainer]
        self.assertEqual((container.type, container.QFI), (0, QFI))
        pong = reply[IP]
        self.assertEqual((pong.src, pong.dst), (peers.GATEWAY, session.ue))
        self.assertEqual((pong[ICMP].type, pong[ICMP].id, pong[ICMP].seq), (0, 7, 1))
        self.assertEqual(bytes(pong[ICMP].payload), payload)
        session.delete()

    def test_spoofed_source(self):
        """An uplink packet whose source is not the UE's address is not carried, and the session works on."""
        smf, gnb = peers.Smf(self, "127.0.5.2"), peers.Gnb(self, "127.0.5.102")
        smf.associate()
        session = Session(self, smf, seid=0x5002, ue="10.45.5.2")
        session.establish()
        session.forward_to(gnb.address, TUNNEL)
        gnb.uplink(session.tunnel, QFI, IP(src="10.45.5.200", dst=peers.GATEWAY) / ICMP(seq=1))
        self.assertIsNone(gnb.message(limit=0.3))
        gnb.uplink(session.tunnel, QFI, IP(src=session.ue, dst=peers.GATEWAY) / ICMP(seq=2))
        self.assertEqual(gnb.message()[ICMP].seq, 2)
        session.delete()

    def test_rubbish_in_a_live_tunnel(self):
        """300 G-PDUs of a live session, each with some octets changed (fixed seed): a ping still passes."""
        smf, gnb = peers.Smf(self, "127.0.5.3"), peers.Gnb(self, "127.0.5.103")
        smf.associate()
        session = Session(self, smf, seid=0x5003, ue="10.45.5.3")
        session.establish()
        session.forward_to(gnb.address, TUNNEL)
        whole = bytes(
            gtp.GTP_U_Header(teid=session.tunnel, gtp_type=255, E=1, next_ex=0x85)
            / gtp.GTPPDUSessionContainer(type=1, QFI=QFI)
            / IP(src=session.ue, dst=peers.GATEWAY) / ICMP(seq=1))
        rng = random.Random(3)
        for _ in range(300):
            octets = bytearray(whole[:rng.randrange(1, len(whole) + 1)])
            for _ in range(rng.randrange(1, 4)):
                octets[rng.randrange(len(octets))] = rng.randrange(256)
            gnb.send(bytes(octets))
        while gnb.receive(limit=0.3) is not None:
            pass
        gnb.uplink(session.tunnel, QFI, IP(src=session.ue, dst=peers.GATEWAY) / ICMP(seq=4321))
        self.assertEqual(gnb.message()[ICMP].seq, 4321)
        session.delete()


class Signalling(unittest.TestCase):
    def test_echo(self):
        """An Echo Request is answered with its sequence number and a Recovery of 0."""
        gnb = peers.Gnb(self, "127.0.5.4")
        gnb.send(bytes(gtp.GTPHeader(gtp_type=1, S=1, seq=77) / gtp.GTPEchoRequest()))
        reply = gnb.message()
        self.assertIsNotNone(reply, "no Echo Response")
        self.assertEqual((reply.gtp_type, reply.seq, reply.teid), (2, 77, 0))
        self.assertEqual(peers.leftovers(reply), [])
        self.assertEqual(reply[gtp.GTPEchoResponse].IE_list[0].restart_counter, 0)

    def test_error_indication(self):
        """A G-PDU for a tunnel that is not there is answered with its TEID and the UPF's address."""
        gnb = peers.Gnb(self, "127.0.5.5")
        gnb.uplink(0x7777_7777, 1, IP(src="10.45.5.5", dst=peers.GATEWAY) / ICMP())
        reply = gnb.message()
        self.assertIsNotNone(reply, "no Error Indication")
        self.assertEqual(reply.gtp_type, 26)
        self.assertEqual(peers.leftovers(reply), [])
        parts = {type(part): part for part in reply[gtp.GTPErrorIndication].IE_list}
        self.assertEqual(parts[gtp.IE_TEIDI].TEIDI, 0x7777_7777)
        self.assertEqual(parts[gtp.IE_GSNAddress].ipv4_address, peers.UPF)


if __name__ == "__main__":
    unittest.main()
