"""N4 with scapy: association, session, refusals, rubbish."""

import random
import unittest

from scapy.contrib import pfcp

import peers
from session import Session


class Association(unittest.TestCase):
    def test_setup_heartbeat_release(self):
        """An association is set up, beats once and is released; scapy reads every octet of the answers."""
        smf = peers.Smf(self, "127.0.4.1")
        reply = smf.associate()
        self.assertEqual(peers.ies(reply.payload, pfcp.IE_NodeId)[0].ipv4, peers.UPF)
        stamp = peers.ies(reply.payload, pfcp.IE_RecoveryTimeStamp)[0].timestamp
        features = peers.ies(reply.payload, pfcp.IE_UPFunctionFeatures)[0]
        self.assertEqual(features.FTUP, 1)

        beat = smf.request(1, pfcp.PFCPHeartbeatRequest(
            IE_list=[pfcp.IE_RecoveryTimeStamp(timestamp=smf.recovery)]))
        self.assertEqual(peers.ies(beat.payload, pfcp.IE_RecoveryTimeStamp)[0].timestamp, stamp)

        released = smf.request(9, pfcp.PFCPAssociationReleaseRequest(
            IE_list=[pfcp.IE_NodeId(id_type="IPv4", ipv4=smf.address)]))
        self.assertEqual(peers.cause(released), 1)


class Sessions(unittest.TestCase):
    def test_life_of_a_session(self):
        """A session is made, changed, queried and deleted; the reports decode as scapy's usage reports."""
        smf = peers.Smf(self, "127.0.4.2")
        smf.associate()
        session = Session(self, smf, seid=0x4002, ue="10.45.4.2")
        session.establish()
        session.forward_to("127.0.4.102", 0x0400_0004)
        queried = session.modify(pfcp.IE_QueryURR(IE_list=[pfcp.IE_URR_Id(id=1)]))
        self.assertEqual(len(peers.ies(queried.payload, pfcp.IE_UsageReport_SMR)), 1)
        deleted = session.delete()
        self.assertEqual(len(peers.ies(deleted.payload, pfcp.IE_UsageReport_SDR)), 1)

    def test_missing_mandatory_ie(self):
        """Without its CP F-SEID an establishment is refused with cause 66 and offending IE 57."""
        smf = peers.Smf(self, "127.0.4.3")
        smf.associate()
        session = Session(self, smf, seid=0x4003, ue="10.45.4.3")
        parts = [ie for ie in session.parts() if not isinstance(ie, pfcp.IE_FSEID)]
        reply = smf.request(50, pfcp.PFCPSessionEstablishmentRequest(IE_list=parts), seid=0)
        self.assertEqual(peers.cause(reply), 66)
        self.assertEqual(peers.ies(reply.payload, pfcp.IE_OffendingIE)[0].type, 57)

    def test_order_of_ies_does_not_matter(self):
        """The IEs of an establishment, at every level, in reverse order: accepted."""
        smf = peers.Smf(self, "127.0.4.4")
        smf.associate()
        session = Session(self, smf, seid=0x4004, ue="10.45.4.4")
        session.establish(reverse(session.parts()))
        session.delete()


def reverse(parts):
    """The same IEs, last first, inside groups too."""
    turned = []
    for part in reversed(parts):
        if getattr(part, "IE_list", None):
            part.IE_list = reverse(part.IE_list)
        turned.append(part)
    return turned


class Rubbish(unittest.TestCase):
    def test_every_ie_length_lies(self):
        """An establishment with the length of each of its IEs, one after the other, set to 0 and to 65535."""
        smf = peers.Smf(self, "127.0.4.5")
        smf.associate()
        whole = bytes(smf.header(50, seid=0) / pfcp.PFCPSessionEstablishmentRequest(
            IE_list=Session(self, smf, seid=0x4005, ue="10.45.4.5").parts()))
        answered = 0
        for round_, offset in enumerate(length_offsets(whole)):
            for lie in (b"\x00\x00", b"\xff\xff"):
                octets = bytearray(whole)
                octets[offset:offset + 2] = lie
                octets[12:15] = (0x700000 + 2 * round_ + lie[0] % 2).to_bytes(3, "big")
                for answer in smf.provoke(bytes(octets)):
                    answered += 1
                    self.assertEqual(answer.message_type, 51)
                    if lie[0]:
                        self.assertNotEqual(peers.cause(answer), 1)
        print(f"    ok  {answered} answers, all of them decoded")

    def test_random_datagrams(self):
        """300 datagrams of random octets (fixed seed) behind a plausible header: the UPF answers the heartbeat."""
        smf = peers.Smf(self, "127.0.4.6")
        smf.associate()
        rng = random.Random(2)
        for _ in range(300):
            body = rng.randbytes(rng.randrange(0, 400))
            kind = rng.choice([1, 3, 5, 7, 9, 12, 14, 50, 52, 54, 56, rng.randrange(256)])
            head = bytes([0x21 if kind >= 50 else 0x20, kind]) + (len(body) % 65536).to_bytes(2, "big")
            smf.provoke(head + body)


def length_offsets(message):
    """Where the length fields of the IEs of a session message are, at every level."""
    grouped = {1, 2, 3, 4, 6, 7}
    offsets = []

    def walk(start, end):
        while start + 4 <= end:
            kind = int.from_bytes(message[start:start + 2], "big")
            length = int.from_bytes(message[start + 2:start + 4], "big")
            offsets.append(start + 2)
            if kind in grouped:
                walk(start + 4, start + 4 + length)
            start += 4 + length

    walk(16, len(message))
    return offsets


if __name__ == "__main__":
    unittest.main()
