"""What crosses a mobile link: the bytes of a drain and of a day, and how long a long drain takes over a bad one."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from drive import driven, hours_ago
from link import FAR, Link, Shape, Traffic
from link_server import NAME, NGINX, PORT, Certificates, Server
from measuring import Row
from support.daemon import NEVER, Beekond
from support.fake_gpsd import FakeGPSD
from support.ports import new_port
from world import EVERY_FIX, HERE, HOURS, Backlog, World

MOBILE = Shape(delay=0.025, rate=10e6)
POOR = Shape(delay=0.040, rate=1e6, loss=0.01)
CACHE = ("ssl_session_tickets off", "ssl_session_cache shared:tls:1m")
ALONE = ("unshare", "--net", "--mount", "--map-root-user")
FIXES = 10
# A day of driving: seconds of it, and between two rounds of the schedule, which are up to a tenth early.
DAY, ROUND = 8 * 3600, 0.95 * 300
DRAINS = round(DAY / ROUND)


def link(world: World) -> list:
    """In namespaces of its own."""
    reason = fault()
    if reason:
        return [Row("a drain of ten fixes on the link", "bytes", [], note=f"left out: {reason}")]
    backlog = Backlog(world, world.scaled(10_000, 500))
    plan = {"bin": world.bin, "before": os.environ.get("BENCH_BEFORE"), "sink": os.path.join(world.peers, "sink"),
            "folder": world.path(), "backlog": backlog.state, "count": backlog.count, "runs": world.runs}
    # This file once more, as the program, in a namespace.
    path = os.pathsep.join((HERE, os.path.join(HERE, "..", "System")))
    done = subprocess.run(
        [*ALONE, sys.executable, "-B", os.path.abspath(__file__)], input=json.dumps(plan), stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": path})
    if done.returncode:
        raise RuntimeError("the measurement in a namespace failed")
    return [Row(**row) for row in json.loads(done.stdout)]


def fault() -> str | None:
    """Why it cannot be measured here."""
    if not NGINX:
        return "nginx is not installed"
    if shutil.which("ip") is None:
        return "iproute2 is not installed"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "there is no /dev/net/tun"
    return None if subprocess.run([*ALONE, "true"], stderr=subprocess.DEVNULL).returncode == 0 else "no namespace can be made"


class Bench:
    """One link, and what is measured on it."""

    def __init__(self, plan: dict):
        self.plan = plan
        self.folder = tempfile.mkdtemp(dir=plan["folder"])
        self.sockets = tempfile.mkdtemp(prefix="beekond-link-", dir="/tmp")
        # nginx takes no path with a space or a quote, and this one is short.
        self.certificates = Certificates(tempfile.mkdtemp(dir=self.sockets))
        self.link = Link(MOBILE)
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w", encoding="ascii") as file:
            file.write(f"127.0.0.1 localhost\n{FAR} {NAME}\n")
        subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)

    def close(self):
        self.link.close()
        shutil.rmtree(self.sockets, ignore_errors=True)

    def server(self, *directives: str) -> Server:
        return Server(self.link, self.certificates, self.plan["sink"], *directives)

    def daemon(self, binaries: str, port: int, state: str | None = None, is_mutual: bool = False, **tracking) -> Beekond:
        os.environ["BEEKOND_BIN"] = binaries
        path = self.certificates.path
        mutual = {"client_certificate": path("client.pem"), "client_key": path("client.key")} if is_mutual else {}
        daemon = Beekond(
            tempfile.mkdtemp(dir=self.sockets), gpsd={"port": port}, tracking={"autostart": True, **EVERY_FIX, **tracking},
            sync={"url": f"https://{NAME}:{PORT}/locations", "ca_file": path("root.pem"), "interval_seconds": NEVER, **mutual})
        daemon.state = state or daemon.state
        return daemon

    def drains(self, binaries: str, *directives: str, is_mutual: bool = False) -> list[Traffic]:
        """What four drains of ten fixes take, both directions together; the first is the first of this daemon."""
        asks = (f"ssl_client_certificate {self.certificates.path('root.pem')}", "ssl_verify_client on") if is_mutual else ()
        server = self.server(*directives, *asks)
        fake = FakeGPSD()
        daemon = self.daemon(binaries, fake.port, is_mutual=is_mutual).start()
        found = []
        try:
            fake.wait_watched()
            reports = driven(os.path.join(self.plan["bin"], "beekon-sim"), 1500, hours_ago(HOURS))
            # The time settles first; then as many as the default gate admits, one every 30 s.
            fake.send(b"".join(reports[:3]))
            daemon.wait_status(lambda status: status["source"]["fixes"] >= 3, "three fixes")
            ahead = iter(reports[30::30])
            for _ in range(4):
                for _ in range(FIXES - daemon.status()["sync"]["pending"]):
                    fake.send(next(ahead))
                daemon.wait_status(lambda status: status["sync"]["pending"] == FIXES, "ten fixes pending")
                self.link.count()
                self.sync(daemon, FIXES)
                found.append(total(*self.link.count()))
            # A figure must be of what it says.
            if binaries == self.plan["bin"] and server.resumed() != [False, True, True, True]:
                raise RuntimeError(f"not every drain but the first has resumed a session: {server.resumed()}")
        finally:
            daemon.kill()
            fake.stop()
            server.stop()
        return found

    def long_drain(self, run: int) -> tuple[float, float]:
        """Seconds for the backlog over a poor link, and what its bytes and round trips need."""
        count = self.plan["count"]
        state = os.path.join(self.folder, f"state{run}")
        shutil.copytree(self.plan["backlog"], state)
        server = self.server()
        self.link.change(POOR, seed=run + 1)
        daemon = self.daemon(self.plan["bin"], new_port(), state, autostart=False).start()
        try:
            self.link.count()
            seconds = self.sync(daemon, count)
            up, down = self.link.count()
            requests = len(server.resumed())
        finally:
            daemon.kill()
            server.stop()
            self.link.change(MOBILE)
            shutil.rmtree(state)
        # One round trip each for TCP and for TLS 1.3.
        needed = (requests + 2) * 2 * POOR.delay + (up.useful + down.useful) * 8 / (POOR.rate or 1)
        return seconds, needed

    def sync(self, daemon: Beekond, count: int) -> float:
        """A drain of so many fixes; its seconds."""
        began = time.monotonic()
        with daemon.connect(timeout=600) as client:
            answer = client.call("Sync", wait=True)
        if answer["outcome"] != "drained" or answer["uploaded"] != count:
            raise RuntimeError(f"this is not a drain of {count} fixes: {answer}")
        return time.monotonic() - began


def total(*parts: Traffic) -> Traffic:
    return Traffic(*(sum(getattr(part, name) for part in parts) for name in ("packets", "link", "useful", "tcp")))


def measure(bench: Bench) -> list:
    mine, before = bench.plan["bin"], bench.plan["before"]
    full, *resumed = bench.drains(mine)
    own = "its first drain, with a full handshake"
    rows = [
        Row("drain of ten fixes, resumed: within TCP", "bytes", [drain.tcp for drain in resumed], own, [full.tcp] * 3,
            target=2430),
        Row("… on the link, with the headers of IP and TCP", "bytes", [drain.link for drain in resumed], own, [full.link] * 3),
    ]
    for name, directives, target in (("shared cache", CACHE, 0.5), ("tickets", (), None)):
        first, *others = bench.drains(mine, *directives, is_mutual=True)
        rows += [
            Row(f"mutual TLS with {name}, resumed: within TCP", "bytes", [drain.tcp for drain in others], own, [first.tcp] * 3,
                ratio_target=target),
            Row("… on the link", "bytes", [drain.link for drain in others], own, [first.link] * 3)]
    old = bench.drains(before)[1:] if before else []
    if old:
        rows.append(Row("drain of ten fixes, resumed: within TCP", "bytes", [drain.tcp for drain in resumed],
                        "the version before", [drain.tcp for drain in old]))
    day = [(full.link + (DRAINS - 1) * drain.link) / 1000 for drain in resumed]
    rows.append(Row(f"a day of driving (8 h, {DRAINS} drains): on the link", "KB", day,
                    "the version before" if old else "a full handshake for each drain",
                    [DRAINS * drain.link / 1000 for drain in old or [full] * 3]))
    times = [bench.long_drain(run) for run in range(bench.plan["runs"])]
    rows.append(Row(f"drain of {bench.plan['count']:,} fixes: round trip 80 ms, 1 % lost, 1 Mbit/s", "s",
                    [seconds for seconds, _ in times], "what its bytes and round trips need", [needed for _, needed in times],
                    ratio_target=1.3))
    return rows


def main() -> int:
    bench = Bench(json.load(sys.stdin))
    try:
        rows = measure(bench)
    finally:
        bench.close()
    print(json.dumps([vars(row) for row in rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
