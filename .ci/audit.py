"""Looks up what is installed in this environment among known vulnerabilities; one that an update mends is a failure.

It asks osv.dev, in one request for all packages, where pip-audit takes one a package. Without a network it says that
nothing was looked up, and does not fail.
"""

import json
import os
import re
import sys
import urllib.request
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from importlib import metadata
from typing import Any, NamedTuple

SERVICE = os.environ.get("OSV_URL", "https://api.osv.dev")
SECONDS = 4
"""How long an answer may take."""


class Finding(NamedTuple):
    """A known vulnerability of what is installed."""

    name: str
    version: str
    identifier: str
    mended_in: list[str]


def main() -> int:
    """Print what was found; return 1 if an update would mend any of it."""
    packages = sorted({(normalized(one.name), one.version) for one in metadata.distributions()})
    try:
        found = findings(packages)
    except (OSError, HTTPException, ValueError, LookupError) as error:
        print(f"audit: not done, {SERVICE} could not be asked: {error}")
        return 0
    for one in found:
        remedy = f"mended in {', '.join(one.mended_in)}" if one.mended_in else "nothing mends it yet"
        print(f"audit: {one.name} {one.version}: {one.identifier}, {remedy}")
    print(f"audit: {len(packages)} packages, {len(found)} known vulnerabilities")
    return int(any(one.mended_in for one in found))


def findings(packages: Collection[tuple[str, str]]) -> list[Finding]:
    """Return the known vulnerabilities of packages, given as normalized names with their versions."""
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in packages]
    results = ask("querybatch", {"queries": queries})["results"]
    known = [
        (name, version, one["id"])
        for (name, version), result in zip(packages, results, strict=True)
        for one in result.get("vulns", ())
    ]
    with ThreadPoolExecutor(8) as pool:
        records = pool.map(ask, [f"vulns/{identifier}" for *_, identifier in known])
        return [
            Finding(*one, mended_in(record, one[0]))
            for one, record in zip(known, records, strict=True)
            if "withdrawn" not in record
        ]


def mended_in(record: dict[str, Any], name: str) -> list[str]:
    """Return the versions of a package, given by its normalized name, that mend a vulnerability."""
    own = [one for one in record.get("affected", ()) if normalized(one["package"]["name"]) == name]
    spans = [span for one in own for span in one.get("ranges", ()) if span["type"] == "ECOSYSTEM"]
    return [event["fixed"] for span in spans for event in span["events"] if "fixed" in event]


def normalized(name: str) -> str:
    """Return a name as the service writes it, by PEP 503: a distribution may call itself `typing_extensions`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def ask(path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an answer of the service."""
    request = urllib.request.Request(f"{SERVICE}/v1/{path}", json.dumps(body).encode() if body else None)  # noqa: S310
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - an address of the web
        return dict(json.load(answer))


if __name__ == "__main__":
    sys.exit(main())
