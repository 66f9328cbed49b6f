"""The lock file of developers fits what the project declares."""

import itertools
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LINES = [line for line in (ROOT / "dev.lock").read_text("utf-8").splitlines() if not line.startswith("#")]
LOCKED = dict(line.split("==") for line in LINES)


def test_the_lock_has_versions_that_are_declared():
    groups = PROJECT["dependency-groups"]
    included = [groups[one["include-group"]] if isinstance(one, dict) else [one] for one in groups["dev"]]
    declared = map(Requirement, [*PROJECT["project"]["dependencies"], *itertools.chain(*included)])
    wanted = {canonicalize_name(one.name): one.specifier for one in declared}
    del wanted[PROJECT["project"]["name"]]
    unfit = {name: str(range_) for name, range_ in wanted.items() if LOCKED.get(name, "") not in range_}
    assert unfit == {}, "write it anew: make lock"


def test_the_lock_names_no_place_of_any_machine():
    assert not [line for line in LINES if "/" in line or "@" in line]
