"""Ten times what the server can take, and senders of a byte every half second: those that are accepted are stored, and soon; the
others are told when to come again, each at a moment of its own; memory stays. `make overload` measures the release, alone and for
longer, and holds its figures against their bounds."""
from __future__ import annotations

import json
import os
import random
import resource
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
import unittest
import uuid
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import server_support
from server_support import load
from server_support.server_test import ServerTest
from support.waiting import wait_for

server_support.IS_MEASURED = True
# Seconds of overload. From `make overload`; without, the machine is busy with other tests, and a debug build says little of time.
SECONDS = float(os.environ.get("BEEKOND_OVERLOAD_SECONDS") or "0")
BRIEF = 3.0
DEVICES = 4
# Of a batch: vehicles that find an overloaded server have a backlog, and send it in full batches.
ROWS = 500
# Of the server, as it is by default, or few, so that a debug build has not as many to look after.
CONNECTIONS = 600 if SECONDS else 60
# Of resident memory, in MB.
MOST = 80


def resident(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1000 for line in file if line.startswith("VmRSS"))


def requests(tokens: list, seed: int, count: int) -> tuple[bytes, list]:
    """As many uploads for the generator, and the ids of what they bring."""
    chance = random.Random(seed)
    text, names = bytearray(), []
    for number in range(count):
        ids, body = load.batch(chance, ROWS)
        token = tokens[number % len(tokens)]
        head = (
            f"POST /v1/batches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Encoding: gzip\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode()
        text += struct.pack("<I", len(head) + len(body)) + head + body
        names.append(b"".join(uuid.UUID(name).bytes for name in ids))
    return bytes(text), names


class Flood:
    """Uploads that were made before, and the generator that sends them."""

    def __init__(self, folder: str, port: int, tokens: list):
        self.folder, self.port, self.tokens = folder, port, tokens
        self.names: list = []
        self.program = os.path.join(folder, "generator")
        source = Path(__file__).resolve().parents[2] / "Benchmarks" / "generator.c"
        subprocess.run(["cc", "-O2", "-o", self.program, str(source)], check=True)

    def make(self, seed: int, count: int) -> str:
        """A file of so many, which nobody else sends."""
        path = os.path.join(self.folder, f"uploads-{seed}")
        processes = os.cpu_count() or 1
        with ProcessPoolExecutor(processes) as pool, open(path, "wb") as file:
            self.names = []
            for text, names in pool.map(
                    requests, [self.tokens] * processes, [seed * 100 + part for part in range(processes)],
                    [count // processes + 1] * processes):
                file.write(text)
                self.names += names
        return path

    def closed(self, path: str, connections: int) -> dict:
        return self._run("closed", path, connections)

    def flood(self, path: str, rate: float, seconds: float) -> tuple[dict, set]:
        """What the generator says, and the ids of what was accepted."""
        most = min(19_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 1000)
        outcomes = os.path.join(self.folder, "outcomes")
        said = self._run("flood", path, most, rate, seconds, outcomes)
        accepted: set = set()
        with open(outcomes, "rb") as file:
            for name, is_accepted in zip(self.names, file.read(), strict=True):
                if is_accepted:
                    accepted.update(name[place:place + 16] for place in range(0, len(name), 16))
        return said, accepted

    def _run(self, way: str, path: str, *arguments: object) -> dict:
        words = [self.program, way, str(self.port), path, *map(str, arguments)]
        return json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)


class Senders:
    """Connections that have announced a body, and send a byte of it every half second."""

    def __init__(self, port: int, token: str, count: int):
        self.port = port
        self.head = (
            f"POST /v1/batches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000000\r\n\r\n").encode()
        self.count = count
        self.answers: list = []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _dial(self) -> socket.socket:
        link = socket.socket()
        link.setblocking(False)
        link.connect_ex(("127.0.0.1", self.port))
        return link

    def _run(self):
        links = [self._dial() for _ in range(self.count)]
        begun: set = set()
        while not self.stop.wait(0.5):
            for place, link in enumerate(links):
                try:
                    link.send(b" " if place in begun else self.head)
                    begun.add(place)
                    answer = link.recv(4096)
                    self.answers.append(answer)
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                # It is told to go, and comes back at once.
                link.close()
                begun.discard(place)
                links[place] = self._dial()
        for link in links:
            link.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


class OverloadTests(ServerTest):
    def setUp(self):
        super().setUp()
        self.under_test = self.server("--connections", str(CONNECTIONS)).start()
        self.devices = [self.under_test.add_device(f"van {number}") for number in range(DEVICES)]
        self.tokens = os.path.join(self.folder, "tokens")
        with open(self.tokens, "w", encoding="ascii") as file:
            file.write("\n".join(device["access_token"] for device in self.devices))
        assert self.under_test.child
        self.pid = self.under_test.child.process.pid
        self.most = 0.0

    def put_load(self, processes: int, connections: int, rate: float, seconds: float) -> list:
        """What each of the processes has to say."""
        started = [subprocess.Popen(
            [sys.executable, load.__file__, str(self.under_test.port), self.tokens, str(connections // processes),
             str(rate / processes), str(seconds)], stdout=subprocess.PIPE) for _ in range(processes)]
        said: list = [None] * processes
        readers = [threading.Thread(target=lambda place, process: said.__setitem__(place, process.communicate()[0]),
                                    args=(place, process)) for place, process in enumerate(started)]
        for thread in readers:
            thread.start()
        end = time.monotonic() + seconds + 120

        def ended() -> bool:
            self.most = max(self.most, resident(self.pid))
            return not any(thread.is_alive() for thread in readers)

        try:
            wait_for(ended, "the senders end", end - time.monotonic())
        finally:
            for process in started:
                process.kill()
                process.wait()
            for thread in readers:
                thread.join()
        return [json.loads(text) for text in said]

    def check(self, what: str, reports: list, capacity: float, is_prompt: bool = True):
        accepted = [name for report in reports for name in report["accepted"]]
        spans = sorted(span for report in reports for span in report["spans"])
        waits = [wait for report in reports for wait in report["waits"]]
        statuses: dict = {}
        for report in reports:
            for status, count in report["statuses"].items():
                statuses[status] = statuses.get(status, 0) + count
        sent = sum(report["sent"] for report in reports)
        seconds = max(SECONDS, BRIEF)
        p99 = spans[len(spans) * 99 // 100] if spans else 0.0
        print(f"overload, {what}: {sent / seconds:.0f} requests/s for a server that takes {capacity:.0f} "
              f"({sent / seconds / capacity:.1f} x), "
              f"{statuses}, {sum(report['broken'] for report in reports)} broken, accepted p50 "
              f"{spans[len(spans) // 2] if spans else 0:.3f} s, p99 {p99:.3f} s, RSS at most {self.most:.0f} MB")
        self.assertTrue(accepted)
        self.assertLessEqual(set(statuses), {"200", "503"})
        self.assertEqual(sum(report["unanswered"] for report in reports), 0)
        self.assertTrue(all(wait and 5 <= int(wait) <= 30 for wait in waits))
        if len(waits) > 500:
            counts = [waits.count(str(second)) for second in range(5, 31)]
            self.assertLess(max(counts), len(waits) / 10, "they do not come back together")
        # An account: what was accepted is there, and once.
        stored = self.stored()
        self.assertEqual(len(stored), len(set(stored)))
        self.assertEqual({uuid.UUID(name).bytes for name in accepted} - set(stored), set(), "nothing accepted is lost")
        self.assertGreaterEqual(len(stored), len(accepted) * load.ROWS)
        self.assertLessEqual(self.most, MOST)
        if SECONDS and is_prompt:
            self.assertLess(p99, 1)

    def capacity(self) -> float:
        """Requests that it answers with 200 in a second, when few ask."""
        reports = self.put_load(2, 16, 0, 3)
        return sum(len(report["accepted"]) / report["seconds"] for report in reports)

    def stored(self) -> list:
        with sqlite3.connect(f"file:{self.under_test.database}?mode=ro", uri=True) as database:
            return [row[0] for row in database.execute("SELECT id FROM locations")]

    def watch(self, ended: threading.Event):
        while not ended.wait(0.1):
            self.most = max(self.most, resident(self.pid))

    def test_ten_times_too_much(self):
        """At moments that do not wait for answers, each upload from a connection of its own, as vehicles come."""
        seconds = SECONDS or BRIEF
        flood = Flood(self.folder, self.under_test.port, [device["access_token"] for device in self.devices])
        trial = flood.closed(flood.make(1, 6000 if SECONDS else 100), 16)
        capacity = trial["good"] / trial["seconds"]
        # Those that are accepted, and as many as may wait at once.
        path = flood.make(2, int(capacity * seconds) + 12_000)
        ended = threading.Event()
        watcher = threading.Thread(target=self.watch, args=(ended,))
        watcher.start()
        try:
            with Senders(self.under_test.port, self.devices[0]["access_token"], CONNECTIONS // 3):
                said, accepted = flood.flood(path, capacity * 10, seconds)
        finally:
            ended.set()
            watcher.join()
        waits = {second: count for second, count in enumerate(said["said"]) if count}
        answers = said["good"] + said["busy"]
        rate = answers / said["seconds"]
        print(f"overload: {rate:.0f} uploads/s for a server that takes {capacity:.0f} "
              f"({rate / capacity:.1f} x), beside {CONNECTIONS // 3} slow senders: {said['good']} accepted, "
              f"{said['busy']} told to come again in {min(waits, default=0)} to {max(waits, default=0)} s, "
              f"{said['broken']} broken; "
              f"accepted p50 {said['p50'] / 1e3:.3f} s, p99 {said['p99'] / 1e3:.3f} s, RSS at most {self.most:.0f} MB")
        self.assertTrue(accepted)
        self.assertLess(said["late"], seconds / 10, "the generator brought them when they were due")
        self.assertEqual((said["other"], said["broken"], said["unanswered"]), (0, 0, 0))
        self.assertTrue(all(5 <= second <= 30 for second in waits), waits)
        if said["busy"] > 500:
            self.assertLess(max(waits.values()), said["busy"] / 10, "they do not come back together")
        stored = self.stored()
        self.assertEqual(len(stored), len(set(stored)))
        self.assertEqual(accepted - set(stored), set(), "nothing accepted is lost")
        self.assertLessEqual(self.most, MOST)
        if SECONDS:
            self.assertLess(said["p99"] / 1e3, 1)

    def test_more_connections_than_places(self):
        """Each sends its next as soon as it is answered."""
        capacity = self.capacity()
        with Senders(self.under_test.port, self.devices[0]["access_token"], CONNECTIONS // 3):
            self.check(
                f"with {CONNECTIONS // 3} slow senders", self.put_load(2, CONNECTIONS * 2, capacity * 10, SECONDS or BRIEF),
                capacity)

    def test_more_slow_senders_than_connections(self):
        """They hold every connection that there is; within seconds they give way, and others are served."""
        capacity = self.capacity()
        with Senders(self.under_test.port, self.devices[0]["access_token"], CONNECTIONS + 20) as slow:
            # While they hold all of it, nobody is answered; afterwards somebody always is. Who comes waits for the next to go.
            wait_for(lambda: slow.answers, "the first gives way")
            self.check(
                f"{CONNECTIONS + 20} slow senders", self.put_load(2, 10, capacity / 2, SECONDS or BRIEF), capacity,
                is_prompt=False)
        answers = [answer for answer in slow.answers if answer]
        self.assertTrue(all(answer.startswith((b"HTTP/1.1 503", b"HTTP/1.1 408")) for answer in answers), answers[:3])
        waits = {load.header(answer, b"retry-after") for answer in answers if b" 503 " in answer[:14]}
        print(f"slow senders: {len(answers)} sent away with an answer, {len(waits)} values of Retry-After")
        self.assertGreater(len(waits), 5)

    def test_announced_bytes_shut_nobody_out(self):
        """A megabyte that was announced and is not sent takes no room from others."""
        # As few as make no crowd, and twice what there is room for.
        with Senders(self.under_test.port, self.devices[0]["access_token"], 32):
            for _ in range(3):
                reports = self.put_load(1, 4, 0, 1)
                self.assertEqual(set(reports[0]["statuses"]), {"200"}, reports[0])


if __name__ == "__main__":
    unittest.main()
