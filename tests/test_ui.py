"""Dagster's own UI over a home, in a real browser: the graph, an asset's documentation, and a run launched by hand.

With the variable MEMORY_PIPELINE_SCREENSHOT naming a file, the picture of the asset graph is written there.
"""

import json
import os
import re
import shutil
import socket
import urllib.error
import urllib.request

import dagster as dg
import homes
import pytest
import servers
from playwright.sync_api import expect, sync_playwright

from memory_pipeline import Settings, build_defs
from memory_pipeline.definitions import GROUPS
from memory_pipeline.lake.schemas import TABLES
from memory_pipeline.service import launch

SECONDS = 120
SIZE = {"width": 1600, "height": 1000}
BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync")  # fmt: skip
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no browser; install one with `apt-get install chromium`, or Google Chrome"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A small store in which no sensor has anything to ask for."""
    folder = tmp_path_factory.mktemp("home")
    with homes.filled(folder, homes.events(memories=60)) as lake:
        lake.project()
    return folder


def answers(address):
    try:
        with urllib.request.urlopen(f"{address}/server_info", timeout=5) as reply:  # noqa: S310 - our own address
            return reply.status == 200
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


@pytest.fixture(scope="module")
def server(home):
    """Run Dagster's UI and daemon; yields the address and a function that waits for a condition."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"http://127.0.0.1:{port}"
    command = ("dagster", "dev", "-h", "127.0.0.1", "-p", port)
    with servers.served(home, *command, reflection="false") as process:

        def wait(condition):
            return servers.until(process, condition, seconds=SECONDS, log=home / "server.log")

        wait(lambda: answers(address))
        yield address, wait


@pytest.fixture(scope="module")
def page():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=SWITCHES)
        opened = browser.new_page(viewport=SIZE)
        opened.set_default_timeout(SECONDS * 1000)
        expect.set_options(timeout=SECONDS * 1000)
        kept = {
            "asset-graph-direction": json.dumps("vertical"),
            "asset-node-facets": json.dumps(["checks", "latest-event"]),
            "dagster-nav-collapsed": "true",
        }
        opened.add_init_script("".join(f"localStorage[{json.dumps(k)}] = {json.dumps(v)};" for k, v in kept.items()))
        yield opened
        browser.close()


def graph(page, address):
    """Open the global asset graph with all groups expanded."""
    page.goto(f"{address}/asset-groups?expanded={','.join(f'global%40global%3A{group}' for group in GROUPS)}")
    names = page.locator("foreignObject [class*=assetName]")
    expect(names).to_have_count(sum(map(len, GROUPS.values())))
    return names


def test_the_graph_shows_every_asset(page, server, home):
    shown = graph(page, server[0]).all_inner_texts()
    patterns = [re.compile(re.escape(name).replace("…", ".*")) for name in shown]  # long names are cut in the middle
    keys = build_defs(settings=Settings(home=home)).resolve_asset_graph().get_all_asset_keys()
    for name in {key.to_user_string() for key in keys}:
        assert any(pattern.fullmatch(name) for pattern in patterns), name
    for group in GROUPS:
        expect(page.get_by_text(group, exact=True).first).to_be_visible()


def test_an_asset_page_describes_the_asset_and_its_columns(page, server):
    page.goto(f"{server[0]}/assets/clusters")
    expect(page.get_by_text("Groups of near duplicates and of similar memories.").first).to_be_visible()
    for name, column in TABLES["clusters"].schema.columns().items():
        expect(page.get_by_text(name, exact=True).first).to_be_visible()
        expect(page.get_by_text(column.description, exact=True).first).to_be_visible()


def test_a_full_run_launched_by_hand_succeeds_and_leaves_a_snapshot(page, server, home):
    address, wait = server
    page.goto(f"{address}/locations/memory_pipeline/jobs/full/playground")
    expect(page.get_by_text("No errors")).to_be_visible()
    page.get_by_role("button", name="Launch Run").click()
    with launch.instance(home) as instance:
        done = dg.RunsFilter(job_name="full", statuses=[dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE])
        (run,) = wait(lambda: instance.get_runs(filters=done))
    assert run.status == dg.DagsterRunStatus.SUCCESS
    assert (home / "snapshots" / "memories.duckdb").exists()
    page.goto(f"{address}/runs/{run.run_id}")
    expect(page.get_by_text("Success", exact=True).first).to_be_visible()


def test_the_graph_is_green_after_it(page, server):
    """Also the picture of the documentation."""
    names = graph(page, server[0])
    page.get_by_label("panel_show_right").first.click()
    page.mouse.dblclick(SIZE["width"] - 100, 180)  # fits the graph into what the side panel has made free
    green = page.locator("foreignObject [style*='--color-accent-green']")
    expect(green).to_have_count(names.count())
    if picture := os.environ.get("MEMORY_PIPELINE_SCREENSHOT"):
        page.screenshot(path=picture, animations="disabled")
