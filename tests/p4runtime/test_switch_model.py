"""finsy, an independent P4Runtime client, talks to `causeway switch-model`.

The switch runs `hip4`, and has the address in CAUSEWAY_SWITCH; tests/p4runtime/run sees to both.
"""

import asyncio
import os
import unittest
from pathlib import Path

import finsy as fy
import grpc
from finsy.proto import p4r
from finsy.switch import SwitchFailFastError

ADDRESS = os.environ.get("CAUSEWAY_SWITCH", "")
if not ADDRESS:
    raise SystemExit("CAUSEWAY_SWITCH is not set: start these tests with tests/p4runtime/run")
P4INFO = Path(__file__).parents[2] / "p4" / "p4info"
ABORTED, EXISTS = fy.GRPCStatusCode.ABORTED, fy.GRPCStatusCode.ALREADY_EXISTS
# Above that of any other controller here: finsy raises its own until it is primary.
HIGHEST = 1 << 30
CPU_HEADER = bytes.fromhex("88b5")


def controller(election_id=10, profile="hip4", force=False):
    """A controller with that program; `force` loads it whatever the switch runs."""
    options = fy.SwitchOptions(
        p4info=P4INFO / f"{profile}.bmv2.txtpb",
        p4blob=Path(__file__),  # the model keeps it and needs none
        p4force=force,
        initial_election_id=election_id,
        fail_fast=True,
    )
    return fy.Switch("model", ADDRESS, options)


def counted(rule):
    return fy.P4TableEntry("pre_qos_a", match=fy.Match(rule=rule), action=fy.Action("count_pre_a"))


def guard(teid, priority):
    match = fy.Match(teid=f"{teid:#x}/&0xffffff") if teid else None
    return fy.P4TableEntry("source_guard", match=match, action=fy.Action("pass"), priority=priority)


# An ARP frame.
ARP = b"\xff" * 6 + b"\x02\x00\x00\x00\x00\x08" + b"\x08\x06" + bytes(46)


class SwitchModel(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        async with controller(force=True):
            pass

    async def entities(self, switch, entity):
        return [found async for found in switch.read(entity)]

    async def raw(self, switch, *entities):
        """Reads by messages."""
        request = p4r.ReadRequest(device_id=1, entities=entities)
        return [found async for answer in switch._p4client.request_iter(request) for found in answer.entities]

    async def batch(self, switch, updates, atomicity=p4r.WriteRequest.CONTINUE_ON_ERROR):
        """Writes by messages."""
        election = p4r.Uint128(low=switch.election_id)
        request = p4r.WriteRequest(device_id=1, election_id=election, updates=updates, atomicity=atomicity)
        await switch._p4client.request(request)

    # Input:  a program is set; entries of exact, ternary and longest-prefix tables are inserted, read, modified and deleted.
    # Output: they are read as they were written, octet by octet, and gone after they were deleted.
    async def test_entries(self):
        async with controller() as switch:
            hop = fy.Action("hop", port=3, source="02:00:00:00:00:01", neighbour="02:00:00:00:00:02")
            route = fy.P4TableEntry("network_lpm", match=fy.Match(destination="10.0.0.0/8"), action=hop)
            written = [counted(7), counted(8), guard(0x12345, 7), guard(0, 1), route]
            await switch.insert(written)
            schema = switch.p4info
            read = await self.entities(switch, fy.P4TableEntry())
            encoded = sorted(entity.encode(schema).SerializeToString() for entity in read)
            self.assertEqual(encoded, sorted(entity.encode(schema).SerializeToString() for entity in written))
            other = fy.Action("hop", port=4, source="02:00:00:00:00:01", neighbour="02:00:00:00:00:02")
            changed = fy.P4TableEntry("network_lpm", match=route.match, action=other)
            await switch.modify([changed])
            (read,) = await self.entities(switch, fy.P4TableEntry("network_lpm"))
            self.assertEqual(read.encode(schema), changed.encode(schema))
            await switch.delete(written)
            self.assertEqual(await self.entities(switch, fy.P4TableEntry()), [])

    # Input:  everything that can be read, by the wildcard of each kind.
    # Output: entries, all counters, all meters and the value set; nothing of what the program does not have.
    async def test_wildcards(self):
        async with controller() as switch:
            await switch.insert([counted(7)])
            self.assertEqual(len(await self.entities(switch, fy.P4TableEntry())), 1)
            self.assertEqual(len(await self.entities(switch, fy.P4DirectCounterEntry("pre_qos_usage_a"))), 1)
            self.assertEqual(len(await self.entities(switch, fy.P4CounterEntry())), 64)
            self.assertEqual(len(await self.entities(switch, fy.P4CounterEntry("drops"))), 32)
            self.assertEqual(len(await self.entities(switch, fy.P4MeterEntry("rule_meters"))), 5632)
            self.assertEqual(len(await self.raw(switch, p4r.Entity(value_set_entry=p4r.ValueSetEntry()))), 1)
            self.assertEqual(await self.entities(switch, fy.P4ActionProfileMember()), [])

    # Input:  a meter is set; addresses are written into the parser's value set.
    # Output: rates and addresses are read as they were written.
    async def test_meters_and_value_sets(self):
        async with controller() as switch:
            rates = fy.P4MeterConfig(cir=100, cburst=200, pir=300, pburst=400)
            await switch.modify([fy.P4MeterEntry("rule_meters", index=5, config=rates)])
            (read,) = await self.entities(switch, fy.P4MeterEntry("rule_meters", index=5))
            self.assertEqual(read.config, rates)
            # The set's only key has no name, so that finsy's own words for it do not serve.
            exact = p4r.FieldMatch(field_id=1, exact=p4r.FieldMatch.Exact(value=bytes([192, 0, 2, 7])))
            (before,) = await self.raw(switch, p4r.Entity(value_set_entry=p4r.ValueSetEntry()))
            value_set = before.value_set_entry.value_set_id
            entry = p4r.ValueSetEntry(value_set_id=value_set, members=[p4r.ValueSetMember(match=[exact])])
            entity = p4r.Entity(value_set_entry=entry)
            await self.batch(switch, [p4r.Update(type=p4r.Update.MODIFY, entity=entity)])
            read = await self.raw(switch, p4r.Entity(value_set_entry=p4r.ValueSetEntry(value_set_id=value_set)))
            self.assertEqual(read, [entity])

    # Input:  batches that cannot be carried out, with each atomicity.
    # Output: the status of each update; nothing is written of those that are all or nothing.
    async def test_batches(self):
        async with controller() as switch:
            await switch.insert([counted(1)])
            entries = [counted(rule).encode(switch.p4info) for rule in (2, 1, 3)]
            updates = [p4r.Update(type=p4r.Update.INSERT, entity=entry) for entry in entries]
            for atomicity in (p4r.WriteRequest.ROLLBACK_ON_ERROR, p4r.WriteRequest.DATAPLANE_ATOMIC):
                with self.assertRaises(fy.P4ClientError) as raised:
                    await self.batch(switch, updates, atomicity)
                codes = {place: detail.canonical_code for place, detail in raised.exception.details.items()}
                self.assertEqual(codes, {0: ABORTED, 1: EXISTS, 2: ABORTED})
                self.assertEqual(len(await self.entities(switch, fy.P4TableEntry("pre_qos_a"))), 1)
            with self.assertRaises(fy.P4ClientError) as raised:
                await self.batch(switch, updates)
            codes = {place: detail.canonical_code for place, detail in raised.exception.details.items()}
            self.assertEqual(codes, {1: EXISTS})
            self.assertEqual(len(await self.entities(switch, fy.P4TableEntry("pre_qos_a"))), 3)

    # Input:  a second controller with a higher election id.
    # Output: it is primary, and may write; the first is told, and may not.
    async def test_arbitration(self):
        async with controller(10) as first:
            self.assertTrue(first.is_primary)
            lost = first.ee.event_future(fy.SwitchEvent.BECOME_BACKUP)
            async with controller(20) as second:
                await asyncio.wait_for(lost, 60)
                self.assertTrue(second.is_primary)
                await second.insert([counted(1)])
                with self.assertRaises(fy.P4ClientError) as raised:
                    await first.insert([counted(2)])
                self.assertEqual(raised.exception.code, fy.GRPCStatusCode.PERMISSION_DENIED)
                self.assertEqual(len(await self.entities(first, fy.P4TableEntry("pre_qos_a"))), 1)

    # Input:  an ARP frame by packet-out.
    # Output: it comes back by packet-in, with the header that says why, and by which port it came.
    async def test_packets(self):
        async with grpc.aio.insecure_channel(ADDRESS) as channel:
            # finsy sends packets of programs with packet metadata only; its messages serve.
            stream = channel.stream_stream(
                "/p4.v1.P4Runtime/StreamChannel",
                request_serializer=p4r.StreamMessageRequest.SerializeToString,
                response_deserializer=p4r.StreamMessageResponse.FromString,
            )()
            arbitration = p4r.MasterArbitrationUpdate(device_id=1, election_id=p4r.Uint128(low=HIGHEST))
            await stream.write(p4r.StreamMessageRequest(arbitration=arbitration))
            answer = await asyncio.wait_for(stream.read(), 60)
            self.assertEqual(answer.arbitration.status.code, fy.GRPCStatusCode.OK)
            packet = p4r.PacketOut(payload=ARP)
            await stream.write(p4r.StreamMessageRequest(packet=packet))
            answer = await asyncio.wait_for(stream.read(), 60)
            header = CPU_HEADER + b"\x06\x00" + (510).to_bytes(2, "big") + bytes(4)
            self.assertEqual(answer.packet.payload, ARP[:12] + header + ARP[12:])

    # Input:  another profile's program, over entries of this one; then one that the model does not run.
    # Output: its tables are there, empty; the other is refused.
    async def test_programs(self):
        async with controller() as switch:
            await switch.insert([counted(1)])
        async with controller(profile="baseline", force=True) as switch:
            self.assertIn("far", [table.alias for table in switch.p4info.tables])
            self.assertEqual(await self.entities(switch, fy.P4TableEntry()), [])
        with self.assertRaises(SwitchFailFastError), self.assertLogs("finsy") as logs:
            async with controller(profile="hip4-outer-ipv6", force=True):
                pass
        self.assertIn("the model does not support tunnels over IPv6", "".join(logs.output))


if __name__ == "__main__":
    unittest.main()
