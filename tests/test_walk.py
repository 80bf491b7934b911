"""A call stays easy to follow: it visits few modules of the package, and rarely goes from one to another."""

import json
import subprocess
import sys

from tests.support.program import IMPORT_PATH

# What `seq 1 100000 | tokcap -n 100` counts now. Lower these numbers when the flow gets shorter.
MODULES = 60
SWITCHES = 512
# Python versions differ a little in what they call.
MARGIN_MODULES = 2
MARGIN_SWITCHES = 12

SEQ = b"".join(b"%d\n" % number for number in range(1, 100_001))


def test_a_call_visits_no_more_modules_than_before(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.walk", "-n", "100"],
        input=SEQ,
        capture_output=True,
        # As for a user: output is stored, and the call is logged.
        env={"HOME": str(tmp_path), "PYTHONPATH": IMPORT_PATH, "PYTHONSAFEPATH": "1"},
        check=True,
        timeout=120,
    )
    walked = json.loads(done.stdout)
    assert "tokcap.pipeline" in walked["names"]
    assert walked["modules"] <= MODULES + MARGIN_MODULES, walked["names"]
    assert walked["switches"] <= SWITCHES + MARGIN_SWITCHES
