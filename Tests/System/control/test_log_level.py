"""What is logged can be changed while running; at debug each request is followed, and no position is ever logged."""
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.system_test import SystemTest
from support.waiting import wait_for

STAGES = ["frozen", "post", "answer", "acknowledged"]
# Where the fence is: digits that stand for nothing else. The vehicle leaves it northwards.
LATITUDE, LONGITUDE, RADIUS = 48.85837, 2.29448, 1234.567


def stages(text: str, batch: str = "") -> list:
    return re.findall(rf"beekond: ({'|'.join(STAGES)}): batch {batch}", text)


class LogLevelTests(SystemTest):
    def test_a_level_applies_without_a_restart(self):
        backend = self.backend()
        fake, daemon = self.tracking(sync={"url": backend.url})
        daemon.sync()
        self.assertEqual(stages(daemon.text()), [])
        daemon.call("Configure", settings={"log.level": "debug"})
        fake.drive(1)
        daemon.wait_stored(2)
        daemon.sync()
        batch = backend.requests[-1].batch_id
        wait_for(lambda: stages(daemon.text(), batch) == STAGES, "each stage, in order")
        daemon.call("ResetConfig", keys=["log.level"])
        before = daemon.text()
        fake.drive(1)
        daemon.wait_stored(3)
        daemon.sync()
        self.assertEqual(stages(daemon.text()), stages(before))

    def test_a_file_says_so_and_a_reload_changes_it(self):
        backend = self.backend()
        fake, daemon = self.tracking(sync={"url": backend.url}, log={"level": "error"})
        self.assertNotIn("is running", daemon.text())
        daemon.configure(log={"level": "debug"})
        daemon.call("Reload")
        daemon.sync()
        wait_for(lambda: stages(daemon.text()) == STAGES, "the file's level")
        daemon.configure(log={"level": "warning"})
        daemon.call("Reload")
        before = daemon.text()
        daemon.call("Stop")
        daemon.call("Start")
        self.assertEqual(daemon.text(), before, "nothing is wrong")
        with self.assertRaises(Refusal):
            daemon.call("Configure", settings={"log.level": "verbose"})

    def test_no_position_is_logged_at_any_level(self):
        backend = self.backend(answers=[500, 200])
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": backend.url}, log={"level": "debug"}).start()
        fence = {"id": "depot", "latitude": LATITUDE, "longitude": LONGITUDE, "radius_meters": RADIUS}
        daemon.call("AddGeofences", geofences=[fence])
        daemon.call("Start")
        fake.wait_watched()
        for step in range(50):
            fake.drive(1, lat=LATITUDE + step * 0.0005, lon=LONGITUDE)
        wait_for(lambda: "left geofence" in daemon.text(), "the fence is crossed")
        daemon.call("GetCurrentLocation", max_age_seconds=60.0)
        daemon.sync()
        daemon.sync()
        with self.assertRaises(Refusal):
            daemon.call("AddGeofences", geofences=[{**fence, "longitude": 999.0}])
        daemon.terminate()
        text = daemon.text()
        self.assertIn("acknowledged: batch", text, "it is the debug log that is searched")
        # However many of its digits are written.
        self.assertEqual(re.findall(r".*(?:48\.8[5-9]|2\.29|1234\.5).*", text), [])


if __name__ == "__main__":
    unittest.main()
