"""What every test can ask for. Being here, it also puts this folder on the path: `import frames` works anywhere."""

import json
from pathlib import Path

import pytest

import examples

examples.register()

SHARED = Path(__file__).parents[2] / "shared" / "conformance"


@pytest.fixture(scope="session")
def real_system():
    """Read what a real system does, by its name: cases by id. Skips where the folder of cases is not there."""

    def read(name):
        if not SHARED.is_dir():
            pytest.skip(
                f"no cases of real systems in {SHARED}; the tests with our own numbers cover the same behaviour"
            )
        cases = json.loads((SHARED / f"{name}.json").read_text("utf-8"))["cases"]
        return {case["id"]: case for case in cases}

    return read
