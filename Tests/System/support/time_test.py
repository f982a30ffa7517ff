"""What the tests of the clocks share: fixes at chosen moments, and the times of what was stored."""
from __future__ import annotations

from collections.abc import Iterable

from support.clocks import ClockTest
from support.fake_gpsd import tpv

SECOND, HOUR, DAY = 1000, 3_600_000, 86_400_000
ERA = 1024 * 7 * DAY
# 2027-03-15T08:00:00Z: later than the release date in the source, and the same in every run.
NOW = 1_805_097_600_000
STORED = "SELECT ts FROM locations ORDER BY seq"


class TimeTest(ClockTest):
    def tracks(self, at: int | None = NOW, synchronised: bool = False, **sections) -> tuple:
        """A fake gpsd, a daemon that is tracking with it, and that daemon's clocks."""
        gps = self.fake(start_ms=NOW)
        # Every settled fix is stored.
        sections["tracking"] = {"distance_meters": 0, **sections.get("tracking", {})}
        daemon, clocks = self.clocked(gps.port, at, synchronised, **sections)
        daemon.start().call("Start")
        gps.wait_watched()
        return gps, daemon, clocks

    def times(self, daemon) -> list:
        return [row[0] for row in daemon.query(STORED)]

    def say(self, gps, daemon, steps: Iterable) -> list:
        """Sends fixes at these moments, in seconds from NOW, one epoch each; None makes an epoch without a fix.
        Returns the times of all fixes, once the daemon has processed them."""
        before = daemon.status()["source"]["fixes"]
        reports, times = [], []
        moment = NOW
        for step in steps:
            second, mode = step if isinstance(step, tuple) else (step, 3)
            if second is None:
                moment += 300
                reports.append(tpv(moment, mode=1))
                continue
            moment = NOW + round(second * SECOND)
            times.append(moment)
            reports.append(tpv(moment, 50 + len(times) * 1e-4, mode=mode))
        gps.report(*reports)
        daemon.wait_status(lambda status: status["source"]["fixes"] >= before + len(times), f"{len(times)} fixes read")
        return times
