#!/usr/bin/env python3
"""An SMF with one session, its gNB and its UE, for the guides. PFCP and GTP-U are put together by hand: it needs no package.

    emulator.py start UPF SMF GNB        runs in the background
    emulator.py session UE [KBPS [QFI]]  establishes the session, with a maximum rate in each direction
    emulator.py ping HOST                ten pings of the UE
    emulator.py flood HOST KBPS          datagrams of the UE for three seconds at that rate
    emulator.py stream HOST PORT SIZE MS SECONDS
                                         datagrams of the UE with so many octets of payload, so far apart
    emulator.py application NAME QFI     downlink packets of that Application ID get a QER with that QFI
    emulator.py reflect PORT...          runs in the background, on the host: sends datagrams to these ports back
    emulator.py gate open|closed         the downlink gate
"""
import os
import select
import socket
import struct
import sys
import time

CONTROL = "/run/causeway-emulator.sock"


def ie(kind, *parts):
    value = b"".join(parts)
    return struct.pack("!HH", kind, len(value)) + value


def address(text):
    return socket.inet_aton(text)


def checksum(octets):
    octets += b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(source, to, protocol, payload):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0, address(source), address(to))
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def echo(number):
    head = struct.pack("!BBHHH", 8, 0, 0, 7, number)
    return head[:2] + struct.pack("!H", checksum(head)) + head[4:]


class Emulator:
    def __init__(self, upf, smf, gnb):
        self.upf, self.smf_address, self.gnb_address = upf, smf, gnb
        self.smf = self.bound(smf, 8805)
        self.gnb = self.bound(gnb, 2152)
        self.sequence, self.ue, self.seid, self.teid, self.qfi = 0, None, None, None, 9

    @staticmethod
    def bound(at, port):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((at, port))
        return sock

    def request(self, kind, ies, seid=None):
        """Sends until the response comes. Returns its IEs."""
        self.sequence += 1
        body = (struct.pack("!Q", seid) if seid is not None else b"") + struct.pack("!I", self.sequence << 8) + ies
        octets = struct.pack("!BBH", 0x21 if seid is not None else 0x20, kind, len(body)) + body
        for _ in range(20):
            self.smf.sendto(octets, (self.upf, 8805))
            end = time.monotonic() + 1
            while (left := end - time.monotonic()) > 0 and select.select([self.smf], [], [], left)[0]:
                reply = self.smf.recv(65535)
                if reply[1] == kind + 1:
                    return reply[16 if reply[0] & 1 else 8:]
                self.answer(reply)
        raise RuntimeError(f"no response to message type {kind}")

    def answer(self, octets):
        """Heartbeats and reports of the UPF."""
        start = 12 if octets[0] & 1 else 4
        sequence = octets[start:start + 4]
        if octets[1] == 1:
            body = sequence + ie(96, struct.pack("!I", 0xE0000000))
            self.smf.sendto(struct.pack("!BBH", 0x20, 2, len(body)) + body, (self.upf, 8805))
        elif octets[1] == 56:
            body = struct.pack("!Q", self.seid or 0) + sequence + ie(19, b"\x01")
            self.smf.sendto(struct.pack("!BBH", 0x21, 57, len(body)) + body, (self.upf, 8805))

    def find(self, ies, kind):
        while len(ies) >= 4:
            this, length = struct.unpack("!HH", ies[:4])
            value = ies[4:4 + length]
            if this == kind:
                return value
            if this == 8 and (inner := self.find(value, kind)):
                return inner
            ies = ies[4 + length:]
        return None

    def accepted(self, ies):
        cause = self.find(ies, 19)
        if cause != b"\x01":
            raise RuntimeError(f"cause {cause}")

    def associate(self):
        self.accepted(self.request(5, self.node() + ie(96, struct.pack("!I", 0xE0000000))))

    def node(self):
        return ie(60, b"\0", address(self.smf_address))

    def session(self, ue, kbps=10_000_000, qfi=9):
        self.ue, self.qfi = ue, int(qfi)
        rate = int(kbps).to_bytes(5, "big")
        internet = ie(22, b"\x08internet")
        ref = lambda kind, number: ie(kind, struct.pack("!I", number))
        rules = ref(81, 1) + ref(109, 1)
        ies = self.node() + ie(57, b"\x02", struct.pack("!Q", 1), address(self.smf_address))
        ies += ie(1, ie(56, b"\0\x01"), ie(29, struct.pack("!I", 255)),
                  ie(2, ie(20, b"\0"), ie(21, b"\x05"), ie(93, b"\x02", address(ue)), ie(124, bytes([self.qfi]))),
                  ie(95, b"\0"), ref(108, 1), rules)
        ies += ie(1, ie(56, b"\0\x02"), ie(29, struct.pack("!I", 255)),
                  ie(2, ie(20, b"\x01"), internet, ie(93, b"\x06", address(ue))), ref(108, 2), rules)
        ies += ie(3, ref(108, 1), ie(44, b"\x02"), ie(4, ie(42, b"\x01"), internet))
        ies += ie(3, ref(108, 2), ie(44, b"\x02"),
                  ie(4, ie(42, b"\0"), ie(84, b"\x01\0", struct.pack("!I", 0x11), address(self.gnb_address))))
        ies += ie(7, ref(109, 1), ie(25, b"\0"), ie(26, rate, rate), ie(124, bytes([self.qfi])))
        ies += ie(6, ref(81, 1), ie(62, b"\x02"), ie(37, b"\x02\0"), ie(31, b"\x01", struct.pack("!Q", 1 << 40)))
        ies += ie(113, b"\x01")
        reply = self.request(50, ies, 0)
        self.accepted(reply)
        self.seid = struct.unpack("!Q", self.find(reply, 57)[1:9])[0]
        self.teid = self.find(reply, 21)[1:5]
        return f"session of {ue} is up"

    def gate(self, state):
        closed = {"open": b"\0", "closed": b"\x01"}[state]
        self.accepted(self.request(52, ie(14, ie(109, struct.pack("!I", 1)), ie(25, closed)), self.seid))
        return f"downlink gate {state}"

    def uplink(self, packet):
        body = b"\0\0\0\x85" + bytes([1, 0x10, self.qfi, 0]) + packet
        self.gnb.sendto(struct.pack("!BBH", 0x34, 255, len(body)) + self.teid + body, (self.upf, 2152))

    def drain(self, seconds):
        """What the UE receives meanwhile."""
        packets, end = [], time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            for sock in select.select([self.gnb, self.smf], [], [], left)[0]:
                octets = sock.recv(65535)
                if sock is self.smf:
                    self.answer(octets)
                elif octets[1] == 255 and octets[4:8] == b"\0\0\0\x11":
                    at = 12
                    if octets[0] & 4 and octets[11] == 0x85:
                        at += octets[12] * 4
                    packets.append(octets[at:])
        return packets

    def ping(self, host, count=10):
        replies = set()
        for number in range(int(count)):
            self.uplink(ipv4(self.ue, host, 1, echo(number)))
            replies |= self.echoes(self.drain(0.1))
        end = time.monotonic() + 5
        while len(replies) < int(count) and time.monotonic() < end:
            replies |= self.echoes(self.drain(0.1))
        return f"{count} packets transmitted, {len(replies)} received"

    @staticmethod
    def echoes(packets):
        return {packet[26:28] for packet in packets if packet[9] == 1 and packet[20] == 0}

    def flood(self, host, kbps):
        packet = ipv4(self.ue, host, 17, struct.pack("!HHHH", 5001, 5001, 1180, 0) + bytes(1172))
        interval, start, sent = len(packet) * 8 / (int(kbps) * 1000), time.monotonic(), 0
        while (now := time.monotonic() - start) < 3:
            while sent * interval < now:
                self.uplink(packet)
                sent += 1
            self.drain(0.005)
        return f"{sent} datagrams sent"

    def stream(self, host, port, size, millis, seconds):
        """Paced datagrams, which the host sends back: what a call or a video looks like."""
        size, interval = int(size), int(millis) / 1000
        packet = ipv4(self.ue, host, 17, struct.pack("!HHHH", int(port), int(port), 8 + size, 0) + bytes(size))
        start, sent, back = time.monotonic(), 0, 0
        while (now := time.monotonic() - start) < float(seconds):
            while sent * interval < now:
                self.uplink(packet)
                sent += 1
            back += len(self.drain(interval / 2))
        return f"{sent} datagrams sent, {back} received"

    def application(self, name, qfi):
        """A PDR of the application before the others, with a QER of its own."""
        ref = lambda kind, number: ie(kind, struct.pack("!I", number))
        ies = ie(7, ref(109, 2), ie(25, b"\0"), ie(124, bytes([int(qfi)])))
        ies += ie(1, ie(56, b"\0\x03"), ie(29, struct.pack("!I", 100)),
                  ie(2, ie(20, b"\x01"), ie(22, b"\x08internet"), ie(93, b"\x06", address(self.ue)), ie(24, name.encode())),
                  ref(108, 2), ref(109, 2))
        self.accepted(self.request(52, ies, self.seid))
        return f"{name} has QFI {qfi}"

    def serve(self):
        control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        control.bind(CONTROL)
        control.listen()
        while True:
            for sock in select.select([control, self.smf, self.gnb], [], [])[0]:
                if sock is self.smf:
                    self.answer(sock.recv(65535))
                elif sock is self.gnb:
                    sock.recv(65535)
                else:
                    self.command(control.accept()[0])

    def command(self, peer):
        with peer:
            name, *args = peer.recv(4096).decode().split()
            try:
                answer = "0" + getattr(self, name)(*args)
            except Exception as error:  # every reason is for the one who asked
                answer = f"1{type(error).__name__}: {error}"
            peer.sendall(answer.encode())


def start(upf, smf, gnb):
    emulator = Emulator(upf, smf, gnb)
    emulator.associate()
    if os.fork():
        while not os.path.exists(CONTROL):
            time.sleep(0.01)
        return
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    emulator.serve()


def reflect(*ports):
    sockets = [Emulator.bound("0.0.0.0", int(port)) for port in ports]
    if os.fork():
        return
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    while True:
        for sock in select.select(sockets, [], [])[0]:
            sock.sendto(*sock.recvfrom(65535))


def main(name, *args):
    if name in ("start", "reflect"):
        return {"start": start, "reflect": reflect}[name](*args)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.connect(CONTROL)
        peer.sendall(" ".join((name, *args)).encode())
        answer = b""
        while octets := peer.recv(4096):
            answer += octets
    print(answer[1:].decode())
    sys.exit(int(answer[:1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
