"""Memory, resident and anonymous: before and after unused pages are given back, during work and after it."""
from __future__ import annotations

import os
import shutil
import socketserver
import threading
import time

from drive import SKY, driven, hours_ago
from figures_reader import ticking
from measuring import Meter, Row
from support.ports import NOBODY
from world import EVERY_FIX, World

SAME = "a C program with the same libraries"
# Seconds after which the daemon gives back what only its start needed, with allowance for a slow machine.
SETTLED = 3.0


class Watch(threading.Thread):
    """The peak memory of a process, sampled until told to stop."""

    def __init__(self, meter: Meter):
        super().__init__(daemon=True)
        self.meter, self.most = meter, meter.memory()
        self._ended = threading.Event()
        self.start()

    def run(self):
        while not self._ended.wait(0.02):
            now = self.meter.memory()
            self.most = {key: max(self.most[key], now[key]) for key in now}

    def end(self) -> dict:
        self._ended.set()
        self.join()
        return self.most


def memory(world: World) -> list:
    """Resident and anonymous memory: idle, tracking, draining."""
    peer = resident(world, "resident")
    rows = []

    def compare(name: str, found: dict, limit: float | None = None, anonymous: float | None = None):
        rows.extend([
            Row(f"memory, {name}", "MB", [found["resident"]], SAME, [peer["resident"]], target=limit),
            Row(f"… of it anonymous, {name}", "MB", [found["anonymous"]], "the same", [peer["anonymous"]],
                target=anonymous)])

    compare("at the start, before unused pages are given back", beginning(world))
    compare("idle", idle(world), 22, 4)
    compare("idle, sync configured", idle(world, sync={"url": "http://127.0.0.1:9/"}), 22, 4)
    for name, measure in (("tracking at 1 Hz for an hour", hour),
                          ("tracking for an hour, uploading every 5 minutes", hour_with_sync)):
        most, after, growth = measure(world)
        compare(f"{name}, at its most", most, 22, 4)
        compare(f"{name}, at the end", after, 22, 4)
        # SQLite's cache of 512 KB fills meanwhile; the soak test shows what a week adds.
        rows.append(Row(f"… growth of that in the last 3/4, {name}", "MB", [growth]))
    most, after = draining(world)
    compare(f"draining {world.backlog().count:,} fixes, at its most", most, 26, 8)
    compare("after that drain", after, 22, 4)
    return rows + others(world)


def others(world: World) -> list:
    """Programs that do something similar, and the alternatives for linking."""
    rows = []

    def alone(name: str, found: dict | None, reason: str = ""):
        for kind in ("resident", "anonymous"):
            rows.append(Row(f"memory of {name}" if kind == "resident" else "… of it anonymous", "MB", [], "",
                            [found[kind]] if found else [], note=reason if found is None and kind == "resident" else ""))
            if found is None:
                break

    alone("everything linked and initialised, in Swift", resident(world, "linked"))
    has_logger = shutil.which("gpxlogger")
    alone("gpxlogger", listening(world, lambda port: ["gpxlogger", "-f", "/dev/null", f"127.0.0.1:{port}"])
          if has_logger else None, "left out: there is no gpxlogger")
    publisher = shutil.which("owntracks-cli-publisher") or shutil.which("ocli")
    with Broker() as broker:
        if publisher:
            alone("owntracks-cli-publisher", listening(world, lambda port: [
                "env", "MQTT_HOST=127.0.0.1", f"MQTT_PORT={broker.port}", "GPSD_HOST=127.0.0.1", f"GPSD_PORT={port}",
                "OCLI_CLIENTID=bench", "BASE_TOPIC=owntracks/bench", publisher, "-s"], broker))
        else:
            rows.append(Row("memory of owntracks-cli-publisher", "MB", [],
                            note="left out: Debian has no package of it, and it is not in PATH"))
        alone("libgps and libmosquitto, which owntracks-cli-publisher is made of",
              listening(world, lambda port: [os.path.join(world.peers, "mqtt"), str(port), str(broker.port)], broker)
              if world.has_peer("mqtt") else None, "left out: there is no libmosquitto")
    return rows


class Broker(socketserver.ThreadingTCPServer):
    """Accepts MQTT 3.1.1 connections (CONNACK, SUBACK, PUBACK for everything), and counts the messages."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), BrokerLink)
        self.published = 0
        self.port = self.server_address[1]

    def __enter__(self) -> Broker:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class BrokerLink(socketserver.StreamRequestHandler):
    """One client of the broker."""

    server: Broker

    ANSWERS = {0x10: b"\x20\x02\x00\x00", 0x80: b"\x90\x03", 0x30: b"\x40\x02", 0xC0: b"\xd0\x00"}

    def handle(self):
        try:
            while head := self.rfile.read(1):
                self._answer(head[0], self.rfile.read(remaining_length(self.rfile)))
        except OSError:
            pass

    def _answer(self, head: int, body: bytes):
        kind = head & 0xF0
        answer = self.ANSWERS.get(kind, b"")
        if kind == 0x30:
            self.server.published += 1
            topic = int.from_bytes(body[:2], "big")
            # Only messages with QoS 1 have an identifier and are acknowledged.
            answer = answer + body[2 + topic:4 + topic] if head & 0x06 == 0x02 else b""
        elif kind == 0x80:
            answer += body[:2] + b"\x00"
        self.wfile.write(answer)


def remaining_length(stream) -> int:
    """MQTT's variable length: seven bits per byte, lowest first."""
    length, shift = 0, 0
    while True:
        byte = stream.read(1)
        if not byte:
            return 0
        length |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            return length


def resident(world: World, name: str) -> dict:
    peer = world.peer(name)
    Meter(peer.pid).wait_quiet(1)
    found = Meter(peer.pid).memory()
    peer.kill()
    return found


def listening(world: World, command, broker: Broker | None = None) -> dict:
    """Another client of gpsd, after a minute of reports."""
    fake = world.fake()
    peer = world.run(command(fake.port))
    fake.wait_watched()
    published = broker.published if broker else 0
    fake.send(b"".join(report + SKY for report in driven(os.path.join(world.bin, "beekon-sim"), 60, hours_ago(1))))
    Meter(peer.pid).wait_quiet()
    if broker and broker.published == published:
        raise RuntimeError("nothing was published")
    found = Meter(peer.pid).memory()
    fake.stop()
    peer.kill()
    return found


def beginning(world: World) -> dict:
    """The peak before the daemon gives back what only its start needed."""
    daemon = world.daemon(NOBODY, tracking={"autostart": False},
                          sync={"url": "http://127.0.0.1:9/"}).launch()
    watch = Watch(Meter(daemon.child.process.pid))
    watch.meter.wait_quiet(SETTLED)
    most = watch.end()
    daemon.kill()
    return most


def idle(world: World, **sections) -> dict:
    daemon = world.daemon(NOBODY, tracking={"autostart": False}, **sections).start()
    daemon.disconnect()
    meter = Meter(daemon.child.process.pid)
    meter.wait_quiet(SETTLED)
    found = meter.memory()
    daemon.kill()
    return found


def hour(world: World, **sections) -> tuple:
    """3,600 fixes a second apart, all stored, sent 50 times as fast: the peak, the value at the end, and the
    growth of the anonymous part over the last three quarters."""
    seconds = world.scaled(3600, 120)
    fake, daemon = world.tracking(tracking=EVERY_FIX, **sections)
    meter = Meter(daemon.child.process.pid)
    reports = driven(os.path.join(world.bin, "beekon-sim"), seconds, hours_ago(2))
    daemon.disconnect()
    meter.wait_quiet(SETTLED)
    watch = Watch(meter)
    stop = ticking(fake, reports, 0.02)
    time.sleep(seconds * 0.005)
    quarter = meter.memory()
    time.sleep(seconds * 0.015 + 2)
    stop.set()
    meter.wait_quiet()
    after = meter.memory()
    most = watch.end()
    daemon.kill()
    fake.stop()
    return most, after, after["anonymous"] - quarter["anonymous"]


def hour_with_sync(world: World) -> tuple:
    sink = world.sink()
    found = hour(world, sync={"url": sink.url, "sync_threshold": 300})
    sink.stop()
    return found


def draining(world: World) -> tuple:
    """The peak while the backlog is uploaded, and the value afterwards."""
    sink = world.sink()
    daemon = world.daemon(NOBODY, world.backlog().copy(), tracking={"autostart": False},
                          sync={"url": sink.url, "batch_size": 100}).start()
    meter = Meter(daemon.child.process.pid)
    meter.wait_quiet(SETTLED)
    watch = Watch(meter)
    with daemon.connect(timeout=600) as client:
        client.call("Sync", wait=True)
    most = watch.end()
    daemon.disconnect()
    meter.wait_quiet()
    after = meter.memory()
    daemon.kill()
    sink.stop()
    return most, after
