"""What the tests of beekon-server share. They use the support of beekond's own tests, too."""
import glob
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "Tests" / "System"))
sys.path.insert(0, str(ROOT / "etc" / "demo"))
# The tests run in the root's environment; what only the server's tests need is in an environment of its own.
for folder in glob.glob(str(ROOT / "server" / ".build" / "venv" / "lib" / "python3*" / "site-packages")):
    sys.path.append(folder)

# What judges time or memory sets this before it starts anything: servers then have the page, and PostgreSQL is on a disk, for
# which it waits.
IS_MEASURED = False
# Where beekon-server is.
SERVER_BIN = os.environ.get("BEEKON_SERVER_BIN", str(ROOT / "server" / ".build" / "debug"))
