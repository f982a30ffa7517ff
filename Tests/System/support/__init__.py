"""Everything the tests of the running daemon share: one module per subject, named after what it holds."""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# The demo's receiver is also the backend of the tests, and its guard ends what a killed test leaves behind.
if (_demo := str(ROOT / "etc" / "demo")) not in sys.path:
    sys.path.insert(0, _demo)
