"""Dagster's own UI over a home, in a real browser: the graph, an asset's documentation, and a run launched by hand.

With the variable MEMORY_PIPELINE_SCREENSHOT naming a file, the picture of the asset graph is written there.
"""

import http.client
import json
import os
import re
import shutil
import socket

import dagster as dg
import homes
import pytest
import servers
from playwright.sync_api import expect, sync_playwright
from waiting import PATIENCE

from memory_pipeline import Settings, build_defs
from memory_pipeline.assets.catalogue import GROUPS
from memory_pipeline.schemas import TABLES
from memory_pipeline.service import launch

SIZE = {"width": 1600, "height": 1000}
BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync")  # fmt: skip
pytestmark = [
    pytest.mark.drill,
    pytest.mark.skipif(
        BROWSER is None, reason="no browser; install one with `apt-get install chromium`, or Google Chrome"
    ),
]


@pytest.fixture
def home(tmp_path):
    """A small store in which no sensor has anything to ask for."""
    with homes.filled(tmp_path, homes.events(memories=60)) as lake:
        lake.project()
    return tmp_path


LOADED = (
    "{workspaceOrError {... on Workspace {locationEntries {locationOrLoadError {"
    "... on PythonError {message causes {message}}}}}}}"
)
"""Asks whether the definitions are loaded, and why not."""


def loaded(port):
    """Whether the UI answers and has loaded the definitions; fails with its reason if it could not."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/graphql", json.dumps({"query": LOADED}), headers)
        (location,) = json.load(connection.getresponse())["data"]["workspaceOrError"]["locationEntries"]
    except (ConnectionError, TimeoutError):
        return False
    finally:
        connection.close()
    assert not location["locationOrLoadError"], location
    return location["locationOrLoadError"] is not None


@pytest.fixture
def server(home):
    """Run Dagster's UI and daemon; yields the address and a function that waits for a condition."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ("dg", "dev", "--host", "127.0.0.1", "--port", str(port))
    with servers.served(home, *command, reflection="false") as process:

        def wait(condition):
            return servers.until(process, condition, home=home)

        wait(lambda: loaded(port))
        yield f"http://127.0.0.1:{port}", wait
    said = (home / "server.log").read_text("utf-8")
    warned = [line for line in said.splitlines() if re.search("warning|deprecated", line, re.IGNORECASE)]
    assert not [line for line in warned if "No cursor for event type" not in line], said  # of every new instance


@pytest.fixture
def page():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=SWITCHES)
        opened = browser.new_page(viewport=SIZE)
        opened.set_default_timeout(PATIENCE * 1000)
        expect.set_options(timeout=PATIENCE * 1000)
        kept = {
            "asset-graph-direction": json.dumps("vertical"),
            "asset-node-facets": json.dumps(["checks", "latest-event"]),
            "dagster-nav-collapsed": "true",
        }
        opened.add_init_script("".join(f"localStorage[{json.dumps(k)}] = {json.dumps(v)};" for k, v in kept.items()))
        yield opened
        browser.close()


def names_in(page, address, group):
    """Open the global asset graph with one group expanded, and return the names in it."""
    page.goto(f"{address}/asset-groups?expanded=global%40global%3A{group}")
    names = page.locator("foreignObject [class*=assetName]")
    expect(names).to_have_count(len(GROUPS[group]))
    return names


def shows_five_groups_and_every_asset(page, address, home):
    page.goto(f"{address}/asset-groups")
    for group in GROUPS:
        expect(page.get_by_text(group, exact=True).first).to_be_visible()
    expect(page.locator("foreignObject [class*=assetName]")).to_have_count(0)  # collapsed until somebody opens one
    shown = [name for group in GROUPS for name in names_in(page, address, group).all_inner_texts()]
    patterns = [re.compile(re.escape(name).replace("…", ".*")) for name in shown]  # long names are cut in the middle
    keys = build_defs(settings=Settings(home=home), key_prefix="").resolve_asset_graph().get_all_asset_keys()
    for name in {key.to_user_string() for key in keys}:
        assert any(pattern.fullmatch(name) for pattern in patterns), name


def documents_an_asset(page, address):
    page.goto(f"{address}/assets/clusters")
    expect(page.get_by_text(TABLES["clusters"].description).first).to_be_visible()
    for name, column in TABLES["clusters"].schema.columns().items():
        expect(page.get_by_text(name, exact=True).first).to_be_visible()
        expect(page.get_by_text(column.description, exact=True).first).to_be_visible()


def launches_a_full_run(page, address, home, wait):
    page.goto(f"{address}/locations/memory_pipeline/jobs/full/playground")
    expect(page.get_by_text("No errors")).to_be_visible()
    page.get_by_role("button", name="Launch Run").click()
    with launch.instance(home) as instance:
        done = dg.RunsFilter(job_name="full", statuses=[dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE])
        (run,) = wait(lambda: instance.get_runs(filters=done))
    assert run.status == dg.DagsterRunStatus.SUCCESS
    page.goto(f"{address}/runs/{run.run_id}")
    expect(page.get_by_text("Success", exact=True).first).to_be_visible()


def shows_what_was_committed(page, address):
    page.goto(f"{address}/assets/consolidation_commit")
    expect(page.get_by_text(re.compile(r"^memory-pipeline --home .+ undo [0-9a-f-]{36}$")).first).to_be_visible()
    for column in ("rule", "status", "decisions"):
        expect(page.get_by_role("columnheader", name=column, exact=True).first).to_be_visible()


def shows_that_all_is_well(page, address):
    for group in GROUPS:
        names = names_in(page, address, group)
        expect(page.locator("foreignObject [style*='--color-accent-green']").first).to_be_visible()
        expect(names.first).to_be_visible()
    if picture := os.environ.get("MEMORY_PIPELINE_SCREENSHOT"):
        page.goto(f"{address}/asset-groups")
        expect(page.get_by_text("publication", exact=True).first).to_be_visible()
        page.screenshot(path=picture, animations="disabled")


@pytest.mark.drill
def test_a_person_sees_the_graph_reads_about_an_asset_and_launches_a_run(page, server, home):
    address, wait = server
    shows_five_groups_and_every_asset(page, address, home)
    documents_an_asset(page, address)
    with launch.instance(home) as instance:
        assert instance.get_runs_count() == 0, "looking starts no run"
    launches_a_full_run(page, address, home, wait)
    assert (home / "snapshots" / "memories.duckdb").exists()
    shows_what_was_committed(page, address)
    shows_that_all_is_well(page, address)
