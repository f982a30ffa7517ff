"""What the tests of beekon-server share. They use the support of beekond's own tests, too."""
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "Tests" / "System"))
sys.path.insert(0, str(ROOT / "etc" / "demo"))

# Where beekon-server is.
SERVER_BIN = os.environ.get("BEEKON_SERVER_BIN", str(ROOT / "server" / ".build" / "debug"))
