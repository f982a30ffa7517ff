"""A server stops, reconfigures, fences and starts a vehicle in its answers, and reads what became of it."""
from __future__ import annotations

import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.command_test import ALL, FENCE, CommandTest
from support.waiting import wait_for


class EndToEndTests(CommandTest):
    def test_a_server_runs_a_vehicle(self):
        server = self.server()
        fake, daemon = self.vehicle(server)
        listener = self.listener(daemon, ["command"])
        first = daemon.status()["session_id"]
        ids = [server.command("stop"),
               server.command("set_config", settings={"tracking.interval_seconds": 7}),
               server.command("add_geofences", geofences=[FENCE]),
               server.command("start")]
        self.drain(daemon)
        results = [server.wait_result(identity) for identity in ids]
        self.assertEqual([(result["command"], result["ok"]) for result in results],
                         [("stop", True), ("set_config", True), ("add_geofences", True), ("start", True)], results)
        status = daemon.status()
        self.assertEqual((status["state"], daemon.setting("tracking.interval_seconds")), ("tracking", 7))
        self.assertNotEqual(status["session_id"], first)
        self.assertEqual(len(daemon.call("GetSessions")["sessions"]), 2)
        self.assertEqual([fence["id"] for fence in daemon.call("ListGeofences")["geofences"]], ["depot"])
        # Each is listed, was streamed in order, and logged with its origin and batch.
        listed = self.listed(daemon)
        self.assertEqual([listed[identity]["state"] for identity in ids], ["done"] * 4)
        self.assertTrue(all(listed[identity]["delivered"] and listed[identity]["origin"] == "main" for identity in ids))
        batch = {listed[identity]["batch"] for identity in ids}
        self.assertEqual(batch, {server.envelopes[0].batch_id})
        wait_for(lambda: len(listener.events) >= 4, "the events")
        self.assertEqual([event["command"]["id"] for event in listener.events], ids)
        for identity in ids:
            self.assertIn(f" {identity} ", daemon.text())
        # The server has asked for each of them in each answer; none has been done twice.
        self.assertTrue(all(len(found) == 1 for found in server.results.values()), server.results)
        # With the results it says what it takes.
        told = [envelope.root["status"]["commands"] for envelope in server.envelopes if "status" in envelope.root]
        self.assertEqual(set(told[-1]), set(ALL))
        self.assertTrue(fake.watchers)

    def test_a_persons_stop_holds(self):
        server = self.server()
        fake, daemon = self.vehicle(server)
        refused = [server.command("start"), server.command("locate"), server.command("add_geofences", geofences=[FENCE]),
                   server.command("set_config", settings={"tracking.schedule": ["mon-sun 00:00-24:00"]})]
        harmless = [server.command("stop"), server.command("sync"), server.command("remove_all_geofences"),
                    server.command("set_config", settings={"tracking.interval_seconds": 9})]
        # Once it has the results, it tries again: a server that asks for a stop as well has not taken it over.
        server.ask = lambda envelope: [{"id": "again", "command": "start"}] if envelope.results else server.open_commands()
        # The end of tracking is sent at once: with its answer the commands come, unless `Sync` is first.
        daemon.call("Stop")
        daemon.ask_for_sync()
        for identity in refused:
            result = server.wait_result(identity)
            self.assertEqual((result["ok"], result["error"].split(":")[0]), (False, "stopped_by_person"), result)
        for identity in harmless:
            self.assertTrue(server.wait_result(identity)["ok"], server.results[identity])
        wait_for(lambda: self.listed(daemon).get("again", {}).get("error") == "stopped_by_person", "the refusal")
        self.assertEqual(daemon.status()["state"], "stopped")
        self.assertEqual(daemon.call("ListGeofences")["geofences"], [])
        # The person starts, the server stops, and may then start again.
        server.ask = lambda envelope: server.open_commands()
        daemon.call("Start")
        stop = server.command("stop")
        self.drive(fake, daemon)
        self.drain_until(daemon, server, stop)
        self.assertEqual((daemon.status()["state"], daemon.status()["decided_by"]), ("stopped", "server"))
        start = "the-last"
        daemon.call("Start")
        second = server.command("stop")
        server.ask = lambda envelope: ([{"id": start, "command": "start"}] if envelope.results
                                       else [server.commands[second]])
        self.drive(fake, daemon)
        self.drain_until(daemon, server, second)
        wait_for(lambda: self.listed(daemon).get(start, {}).get("ok"), "the start")
        self.assertEqual((daemon.status()["state"], daemon.status()["decided_by"]), ("tracking", "server"))

    def test_a_stop_that_still_waits_when_a_person_starts_is_over(self):
        """It waits behind a `locate`, which takes a minute without a fix. So is it after a kill."""
        server = self.server()
        fake, daemon = self.vehicle(server)
        locate, stop = server.command("locate"), server.command("stop")
        listener = self.listener(daemon, ["command"])
        daemon.ask_for_sync()
        wait_for(lambda: len(self.listed(daemon)) == 2, "both are written down")
        daemon.call("Start")
        wait_for(lambda: any(event["command"]["id"] == stop for event in listener.events), "the event")
        self.assertEqual(self.listed(daemon)[stop]["error"], "superseded")
        self.assertEqual(self.listed(daemon)[locate]["state"], "received")
        daemon.kill()
        daemon.start()

        def located():
            fake.drive(1)
            return self.listed(daemon)[locate]["state"] == "done"

        wait_for(located, "the position")
        daemon.sync_until(lambda answer: stop in server.results, "the result of the stop")
        self.assertEqual((server.results[stop][0]["ok"], server.results[stop][0]["error"]), (False, "superseded"))
        self.assertEqual((daemon.status()["state"], daemon.status()["decided_by"]), ("tracking", "person"))

    def drive(self, fake, daemon):
        """Until something is pending: gpsd is connected to anew after a stop."""
        def moves() -> bool:
            fake.drive(1)
            return daemon.status()["sync"]["pending"] > 0

        wait_for(moves, "a fix is pending")

    def drain_until(self, daemon, server, identity: str):
        """What is pending goes, and then what came of the commands in the answer."""
        daemon.sync_until(lambda answer: identity in server.results, f"a result of {identity}")

    def test_locate_tells_where_it_is(self):
        server = self.server()
        fake, daemon = self.vehicle(server)
        identity = server.command("locate")
        daemon.ask_for_sync()
        wait_for(lambda: len(server.envelopes) >= 1, "the batch")

        def located():
            fake.drive(1)
            return "result" in self.listed(daemon).get(identity, {})

        # Results follow the rows: those that came without end would hold it back.
        wait_for(located, "a position")
        server.wait_result(identity)
        result = server.results[identity][0]
        self.assertTrue(result["ok"], result)
        self.assertEqual(result["result"]["location"]["trigger"], "manual")
        self.assertAlmostEqual(result["result"]["location"]["longitude"], 8.0)
        # A deletion takes the position out of what is kept.
        daemon.call("DeleteLocations")
        self.assertNotIn("result", self.listed(daemon)[identity])

    def test_a_fence_of_the_server_asks_for_a_stay(self):
        server = self.server()
        _, daemon = self.vehicle(server)
        identity = server.command("add_geofences", geofences=[{**FENCE, "dwell_seconds": 900}])
        self.drain(daemon)
        self.assertTrue(server.wait_result(identity)["ok"], server.results)
        self.assertEqual([fence["dwell_seconds"] for fence in daemon.call("ListGeofences")["geofences"]], [900])

    def test_sync_is_one_more_drain(self):
        server = self.server()
        fake, daemon = self.vehicle(server)
        identity = server.command("sync")
        self.drain(daemon)
        self.assertTrue(server.wait_result(identity)["ok"])
        self.assertEqual(daemon.status()["sync"]["pending"], 0)
        self.assertTrue(fake.watchers)


class DeletionTests(CommandTest):
    def test_a_result_that_is_under_way_is_cancelled(self):
        """It has a position. The next request says what became of the command, and nothing of the place."""
        server = self.server()
        fake, daemon = self.vehicle(server, timeout_seconds=600)
        held = threading.Event()
        self.addCleanup(held.set)

        take = server.take

        def slowly(body: bytes) -> tuple:
            planned = take(body)
            if any("result" in result for result in server.envelopes[-1].results):
                held.wait()
            return planned

        server.take = slowly  # type: ignore[method-assign]
        identity = server.command("locate")
        daemon.ask_for_sync()
        wait_for(lambda: len(server.envelopes) >= 1, "the batch")

        def under_way():
            fake.drive(1)
            return any(envelope.results for envelope in server.envelopes)

        wait_for(under_way, "the result is under way")
        daemon.call("DeleteLocations")
        daemon.sync_until(lambda answer: len(server.results[identity]) >= 2, "the result without the position")
        held.set()
        self.assertNotIn("result", server.results[identity][1])
        self.assertTrue(server.results[identity][1]["ok"])


class JournalTests(CommandTest):
    def test_an_id_is_answered_from_its_result(self):
        server = self.server()
        _, daemon = self.vehicle(server)
        identity = server.command("stop")
        # The server asks again, whatever it has been told.
        server.ask = lambda envelope: [server.commands[identity]]
        self.drain_once(daemon, server, identity)
        daemon.call("Start")
        daemon.sync_until(lambda answer: len(server.results[identity]) >= 2, "the result once more")
        self.assertEqual(daemon.status()["state"], "tracking", "it has not been done again")
        # With other content it is refused.
        other = {"id": identity, "command": "start"}
        server.ask = lambda envelope: [other] if len(server.results[identity]) < 4 else []
        daemon.sync_until(lambda answer: any(result.get("error") == "id_reused" for result in server.results[identity]),
                          "the refusal")
        self.assertEqual([command["state"] for command in daemon.call("GetCommands")["commands"]], ["done", "done"])

    def drain_once(self, daemon, server, identity: str):
        daemon.ask_for_sync()
        server.wait_result(identity)

    def test_commands_survive_the_power(self):
        """What was acknowledged with a batch is done after the next start, and its result arrives."""
        server = self.server()
        _, daemon = self.vehicle(server)
        identity = server.command("stop")
        daemon.ask_for_sync()
        wait_for(lambda: server.envelopes, "the batch")
        daemon.kill()
        daemon.start()
        daemon.sync_until(lambda answer: identity in server.results, "the result")
        self.assertTrue(server.results[identity][0]["ok"])
        self.assertEqual(daemon.status()["state"], "stopped")

    def test_without_permission_nothing_is_written(self):
        server = self.server()
        _, daemon = self.vehicle(server, commands={"enabled": False})
        server.command("stop")
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(daemon.call("GetCommands")["commands"], [])
        self.assertEqual(daemon.query("SELECT COUNT(*) FROM commands"), [(0,)])
        self.assertEqual((daemon.status()["state"], server.without_rows), ("tracking", []))

    def test_what_waits_is_refused_once_the_permission_is_gone(self):
        server = self.server()
        _, daemon = self.vehicle(server)
        identity = server.command("locate")
        daemon.ask_for_sync()
        daemon.wait_status(lambda status: status["sync"]["commands"] == 1, "the command is under way")
        daemon.configure(**{"sync.commands": {"enabled": False}})
        daemon.kill()
        daemon.start()
        listed = wait_for(lambda: self.listed(daemon)[identity]["state"] == "done" and self.listed(daemon), "its end")
        self.assertFalse(listed[identity]["ok"])


class ManyResultsTests(CommandTest):
    def test_an_envelope_has_32_results_at_most(self):
        """A server may pass over what is more; the others go with the next envelopes, each once."""
        server = self.server()
        _, daemon = self.vehicle(server, commands={"max": 64})
        ids = [server.command("set_config", settings={"tracking.interval_seconds": number + 5}) for number in range(50)]
        daemon.sync_until(lambda answer: len(server.results) == len(ids), "all results")
        self.assertEqual(max(len(envelope.results) for envelope in server.envelopes), 32)
        self.assertTrue(all(len(server.results[identity]) == 1 for identity in ids), server.results)
        self.assertEqual([identity for envelope in server.envelopes for identity in
                          (result["id"] for result in envelope.results)], ids)


class LoopTests(CommandTest):
    def test_a_server_that_answers_results_with_commands(self):
        """It gets the results of these with the next occasion, not at once: nothing goes round."""
        server = self.server()
        _, daemon = self.vehicle(server, heartbeat_seconds=3600)
        count = 0

        def ask(envelope) -> list:
            nonlocal count
            count += 1
            return [{"id": f"loop-{count}", "command": "sync"},
                    {"id": f"loop-{count}b", "command": "set_config",
                     "arguments": {"settings": {"tracking.interval_seconds": count}}}]

        server.ask = ask
        daemon.sync()
        # The batch, and what the commands of its answer came to.
        wait_for(lambda: len(server.without_rows) >= 1, "the first results")
        daemon.wait_status(lambda status: status["sync"]["results"] == 2 and "commands" not in status["sync"]
                           and status["sync"]["state"] == "idle", "those of its answer wait")
        before = len(server.envelopes)
        # Nothing can be waited for, but a drain of which nothing follows.
        daemon.sync()
        daemon.wait_status(lambda status: status["sync"]["results"] == 2 and status["sync"]["state"] == "idle", "again")
        self.assertEqual(len(server.envelopes), before + 1)
        self.assertLessEqual(before, 4, [envelope.root for envelope in server.envelopes])


if __name__ == "__main__":
    unittest.main()
