"""The Python environment of the tests that need packages; scripts/setup --test makes it.

    import test_environment

    test_environment.enter()

    import numpy  # from there
"""

import os
import sys
from pathlib import Path

ENVIRONMENT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lockring/test-env"


def enter():
    """Starts the test again with the environment's Python, unless that is what runs it."""
    if Path(sys.prefix) == ENVIRONMENT:
        return
    python = ENVIRONMENT / "bin/python"
    if not python.exists():
        sys.exit(f"there is no {python}; run scripts/setup --test")
    os.execv(python, [str(python), "-B", *sys.argv])
