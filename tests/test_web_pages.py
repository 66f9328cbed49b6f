"""The pages for people: what each shows, what its forms do, and who may see it."""

import json
import re
import shutil
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import homes
import polars as pl
import pytest
from markupsafe import escape
from playwright.sync_api import expect, sync_playwright
from serving import beside, listening, within
from waiting import PATIENCE

from memory_pipeline.consolidation.core_memory import SEPARATOR
from memory_pipeline.lake.tables import Lake
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.rank.reasons import reasons
from memory_pipeline.service import actions, auth_tokens, report_runs
from memory_pipeline.service.auth_tokens import Role
from memory_pipeline.service.background_runs import RequestedRun, Runs
from memory_pipeline.service.ui import charts
from memory_pipeline.service.ui.sign_in import LIFETIME_SECONDS, MOST, SignIns

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
OWN, OTHER = "sample-1", "sample-2"
SCRIPT = "<script>alert('memory')</script> & \"quotes\" of the launch"
MENU = ("search", "core", "review", "plan", "runs", "faded", "health")


class Here(Runs):
    """Plans in this process; of what is applied it keeps the plan, and runs nothing."""

    made: ClassVar[list[dict]] = []
    applied: ClassVar[list[Path]] = []
    without: ClassVar[list[list[str]]] = []

    def plan(self, request, *, trigger):
        self.made.append(actions.consolidate(self._home, request, trigger=trigger))
        return self.made[-1]

    def start(self, request, *, trigger) -> RequestedRun:
        assert (trigger, request.kind, request.profile_id) == ("http", "apply", OWN)
        assert json.loads(request.plan_file.read_text("utf-8")) == self.made[-1]
        assert request.plan_file.is_relative_to(self._home)
        self.applied.append(request.plan_file)
        self.without.append(request.without)
        result = Future()
        result.set_result({"run_id": "r"})
        return RequestedRun("r", request, homes.NIGHT, result)


@pytest.fixture(scope="module")
def home(consolidated, tmp_path_factory):
    """A store after a run, with a memory that is HTML."""
    folder = tmp_path_factory.mktemp("pages") / "data"
    shutil.copytree(consolidated, folder, symlinks=True)
    with MemoryClient(folder, profile_id=OWN) as memory:
        memory.remember(SCRIPT, memory_id="script", tags=["<b>"], session_id="<i>")
    return folder


@pytest.fixture(scope="module")
def tokens(home):
    return {
        "admin": auth_tokens.create(home, Role.ADMIN)[0],
        "agent": auth_tokens.create(home, Role.AGENT, profile_id=OWN)[0],
    }


@pytest.fixture(scope="module")
def served(home):
    with within(home, runs=Here, pages=True) as client:
        yield client


@pytest.fixture
def client(served):
    served.cookies.clear()
    return served


def enter(client, token):
    """Sign in, and return the fields that every form of the page has."""
    answer = client.post("/ui/sign-in", data={"token": token})
    assert answer.status_code == 200, answer.text
    return {"form_key": re.search(r'name="form_key" value="([0-9a-f]+)"', answer.text)[1]}


def test_nothing_is_shown_before_signing_in(client, tokens):
    for path in (*MENU, "memory?id=script"):
        answer = client.get(f"/ui/{path}", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"], answer.content) == (303, "sign-in", b"")
    for path in ("plan", "apply", "undo", "answer", "sign-out"):
        answer = client.post(f"/ui/{path}", data={"profile": OWN, "target": "night"}, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "sign-in")
    bearer = {"Authorization": f"Bearer {tokens['admin']}"}
    assert client.get("/ui/core", headers=bearer, follow_redirects=False).status_code == 303
    wrong = client.post("/ui/sign-in", data={"token": "mpt_wrong"})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    assert escape(auth_tokens.REFUSED) in wrong.text
    assert client.get("/ui").url.path == "/ui/sign-in"
    assert client.get("/uix").status_code == client.get("/memories").status_code == 401


def test_the_cookie_is_out_of_reach_and_the_pages_load_nothing(client, tokens):
    answer = client.post("/ui/sign-in", data={"token": tokens["agent"]}, follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert tokens["agent"] not in cookie
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/ui"))
    assert "max-age" not in cookie.lower()
    page = client.get("/ui/search")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert page.headers["cache-control"] == "no-store"
    for path in MENU:
        text = client.get(f"/ui/{path}").text
        assert not [place for place in re.findall(r'(?:src|href|action)="([^"]*)', text) if "//" in place], path
        assert not re.search(r"<script(?! src=\"review.js\" defer></script>)|\sstyle=|\son[a-z]+=", text), path
    reviewing = client.get("/ui/review")
    assert reviewing.headers["content-security-policy"].endswith("; script-src 'self'")
    assert client.get("/ui/review.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/ui/style.css").headers["content-type"].startswith("text/css")


def test_search_shows_the_reasons_of_each_score_and_records_no_access(client, tokens, home):
    enter(client, tokens["agent"])
    assert escape(SCRIPT) in client.get("/ui/search").text  # among the newest
    with Lake(home) as lake:
        before = lake.ledger.position()
    found = client.get("/ui/search", params={"q": "launch", "k": "3", "deep": "yes", "ranking": "default"})
    assert found.status_code == 200
    assert escape(SCRIPT) in found.text
    assert SCRIPT not in found.text
    assert found.text.count('class="score"') == 3
    with MemoryClient(home, profile_id=OWN) as memory:
        best = memory.recall("launch", 3, deep=True, record=False)[0]
    first, *_ = reasons(best.parts)
    assert f"score {best.score:.2f}: {first.name} {100 * first.share:.0f} %" in found.text
    assert all(escape(words) in found.text for words, _ in first.parts)
    holding = client.get("/ui/search", params={"q": "launch", "k": "9", "current": "yes"}).text
    assert 'class="score"' in holding
    assert "no longer current" not in holding
    unsure = "Perhaps none of them answers this."
    assert unsure not in client.get("/ui/search", params={"q": best.content}).text
    assert unsure in client.get("/ui/search", params={"q": "Who tuned the zeppelin?"}).text
    with Lake(home) as lake:
        assert lake.ledger.position() == before


def test_a_search_of_two_profiles_says_whose_each_memory_is(client, tokens, home):
    reader, _ = auth_tokens.create(home, Role.AGENT, profile_id=OWN, reads=[OTHER])
    with MemoryClient(home, profile_id=OTHER) as memory:
        text = memory.list(limit=1)[0].text
    asked = {"q": text, "also": OTHER, "profile": OWN}
    enter(client, reader)
    found = client.get("/ui/search", params=asked).text
    assert f"· of {OTHER}" in found
    assert f"<p>{escape(text)}</p>" in found, "an agent that may only recall it has no link to it"
    assert f"profile={OTHER}" not in found
    enter(client, tokens["agent"])
    assert client.get("/ui/search", params=asked).status_code == 403
    enter(client, tokens["admin"])
    assert f"profile={OTHER}" in client.get("/ui/search", params=asked).text


def test_a_bug_is_told_without_a_traceback(client, tokens, monkeypatch):
    enter(client, tokens["agent"])
    monkeypatch.setattr(MemoryClient, "core_memory", lambda _: {}["secret"])
    answer = client.get("/ui/core")
    assert (answer.status_code, "KeyError: a bug in memory-pipeline" in answer.text) == (500, True)
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("path", "params", "code", "said"),
    [
        ("search", {"q": "x", "k": "many"}, 422, "k is 'many'; give a whole number"),
        ("search", {"q": "x", "ranking": "<b>"}, 422, "ranking is '<b>'"),
        ("search", {"q": "x", "as_of": "soon"}, 422, "as_of is 'soon'"),
        ("memory", {"id": "<b>nobody"}, 404, "memory '<b>nobody' is unknown"),
        ("memory", {}, 422, "id is missing"),
        ("core", {"profile": "<b>"}, 404, "profile '<b>' has no memory"),
        ("nothing", {}, 404, "Not Found"),
    ],
)
def test_what_cannot_be_shown_is_a_page_that_says_why(client, tokens, path, params, code, said):
    enter(client, tokens["admin"])
    answer = client.get(f"/ui/{path}", params=params)
    assert (answer.status_code, answer.headers["content-type"]) == (code, "text/html; charset=utf-8")
    assert escape(said) in answer.text
    assert "<b>" not in answer.text
    known = path in {"search", "memory"}
    assert ('aria-label="Pages"' in answer.text, 'href="search"' in answer.text) == (known, not known)


def test_a_memory_has_its_history_its_links_and_why_it_stands(client, tokens, home):
    enter(client, tokens["agent"])
    page = client.get("/ui/memory", params={"id": "script"})
    assert f"<blockquote>{escape(SCRIPT)}</blockquote>" in page.text
    assert "No run has processed it yet" in page.text
    assert "it is not live" not in page.text
    assert "&lt;i&gt;" in page.text
    with MemoryClient(home, profile_id=OWN) as memory:
        summary = next(row for row in memory.list(limit=1000, deep=True) if row.members)
        edge = memory.explain(summary.memory_id).edges[0]
        linked = memory.get(edge["other"]).text
        member = memory.explain(summary.members[0])
    page = client.get("/ui/memory", params={"id": summary.memory_id})
    assert edge["edge_type"] in page.text
    assert escape(linked) in page.text
    assert f"<dt>Kind</dt><dd>a joint text of {len(summary.members)} memories</dd>" in page.text
    page = client.get("/ui/memory", params={"id": member.memory_id})
    assert "It was merged into " in page.text
    assert ">Open that one.</a>" in page.text
    assert "repeats -&gt; 1" in page.text
    assert f"undo?profile={OWN}&amp;target=" in page.text
    for decision in member.decisions:
        assert escape(decision["reason"]) in page.text
    for event in member.events:
        assert event["event_type"] in page.text
    for access in member.accesses:
        assert escape(access["query"] or "") in page.text
    assert escape(member.text()) in page.text


def test_the_history_of_a_memory_has_each_text_that_it_had(tmp_path):
    with MemoryClient(tmp_path, profile_id=OWN) as memory:
        memory.remember("Ana is allergic to peanuts.", memory_id="m1")
        memory.update("m1", content="Ana is allergic to nuts.")
        texts = [event["content"] for event in memory.explain("m1").events]
    assert texts == ["Ana is allergic to peanuts.", "Ana is allergic to nuts."]
    with within(tmp_path, runs=Here, pages=True) as client:
        enter(client, auth_tokens.create(tmp_path, Role.ADMIN)[0])
        page = client.get("/ui/memory", params={"id": "m1"})
    assert all(f'<td data-label="text">{text}</td>' in page.text for text in texts)


def test_core_memory_what_faded_and_health(client, tokens, home):
    enter(client, tokens["agent"])
    with MemoryClient(home, profile_id=OWN) as memory:
        blocks = memory.core_memory()
        members = [row for row in memory.list(limit=1000, deep=True) if row.superseded_kind == "summary"]
    core = client.get("/ui/core").text
    assert blocks
    assert all(escape(fact) in core for block in blocks for fact in block.content.split(SEPARATOR))
    faded = client.get("/ui/faded").text
    assert members
    assert all(escape(row.text) in faded for row in members)
    assert '<svg class="chart"' in faded
    assert ">0</text>" in faded, "its axis says how many"
    health = client.get("/ui/health").text
    assert re.search(r"<polyline[^>]+points=\"0\.0,", health)
    with MemoryClient(home, profile_id=OWN) as memory:
        assert (f"{memory.review(1).waiting} pair" in health) == bool(memory.review(1).waiting)
    assert "Dead letters" not in health
    assert str(home) not in client.get("/ui/health", params={"doctor": "yes"}).text
    enter(client, tokens["admin"])
    assert str(home) in client.get("/ui/health").text
    examined = client.get("/ui/health", params={"doctor": "yes"}).text
    assert "every file is present and intact" in examined


def test_pages_open_on_the_default_profile(client, tokens, monkeypatch):
    enter(client, tokens["admin"])
    for name in (OWN, OTHER):
        monkeypatch.setenv("MEMORY_PIPELINE_DEFAULT_PROFILE", name)
        assert f"<option selected>{name}</option>" in client.get("/ui/core").text


def test_an_agent_sees_and_changes_its_own_profile_alone(client, tokens):
    keys = enter(client, tokens["agent"])
    for path in (*MENU, "memory?id=script"):
        answer = client.get(f"/ui/{path}{'&' if '?' in path else '?'}profile={OTHER}")
        assert answer.status_code == 403
        assert escape(f"the token is only for profile '{OWN}'") in answer.text
    for path in ("plan", "apply", "undo"):
        assert client.post(f"/ui/{path}", data=keys | {"profile": OTHER, "target": "night"}).status_code == 403
    assert OTHER not in client.get("/ui/search").text
    enter(client, tokens["admin"])
    assert f"<option selected>{OTHER}</option>" in client.get("/ui/core", params={"profile": OTHER}).text


def test_a_form_of_another_page_does_nothing(client, tokens):
    keys = enter(client, tokens["agent"]) | {"profile": OWN, "target": "night"}
    refused = [
        client.post("/ui/undo", data=keys | {"form_key": "0" * 64}),
        client.post("/ui/undo", data={"profile": OWN, "target": "night"}),
        client.post("/ui/undo", data=keys, headers={"Origin": "http://127.0.0.1:1"}),
        client.post("/ui/undo", data=keys, headers={"Origin": "http://elsewhere.example"}),
        client.post("/ui/undo", data=keys, headers={"Origin": "null"}),
        client.post("/ui/sign-in", data={"token": tokens["agent"]}, headers={"Origin": "http://127.0.0.1:1"}),
        client.post("/ui/apply", data=keys | {"plan": "0" * 64}),
        client.post("/ui/undo", content=b"\xff"),
    ]
    assert [answer.status_code for answer in refused] == [403] * 6 + [409, 422]
    assert "(undone)" not in client.get("/ui/memory", params={"id": "script"}).text
    assert client.post("/ui/sign-out", data=keys, headers={"Origin": "http://127.0.0.1"}).url.path == "/ui/sign-in"
    assert client.get("/ui/core").url.path == "/ui/sign-in"


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_a_run_is_undone_and_the_plan_read_and_applied_once(tokens, tmp_path, home):
    with homes.copied(home, tmp_path) as lake:
        homes.night(lake, as_of=homes.NIGHT + homes.days(400), run_id="later")
    with within(tmp_path, runs=Here, pages=True) as client:
        keys = enter(client, tokens["agent"]) | {"profile": OWN}
        assert "Apply" not in client.get("/ui/plan").text
        runs = client.get("/ui/runs").text
        assert runs.count("Undo…") == 2
        assert 'action="undo"' not in runs, "it asks first"
        with Lake(tmp_path) as lake:
            document = report_runs.run_document(lake, "later")
        (told,) = [row["told"] for row in document["profiles"] if row["profile_id"] == OWN]
        asked = client.get("/ui/undo", params={"target": "later"}).text
        changed = client.get("/ui/run", params={"id": "later"}).text
        assert asked.count('action="undo"') == 1
        for line in told:
            assert all(escape(line) in page for page in (runs, asked, changed))
        for path, of in (("undo", "target"), ("run", "id")):
            assert client.get(f"/ui/{path}", params={of: "nobody"}).status_code in {404, 422}
        undone = client.post("/ui/undo", data=keys | {"target": "later"})
        assert (undone.status_code, undone.url.path) == (200, "/ui/runs")
        assert re.search(r"Undone: \d+ decision", undone.text)
        assert undone.text.count("Undo…") == 1
        again = client.post("/ui/undo", data=keys | {"target": "later"})
        assert again.status_code == 422
        planned = client.post("/ui/plan", data=keys)
        assert (planned.status_code, planned.url.path) == (200, "/ui/plan")
        changes = Here.made[-1]["changes"]
        assert changes
        for row in changes:
            assert escape(row["why"]) in planned.text
            assert f'name="without-{row["row_id"]}"' in planned.text
        assert re.search(r"<button class=\"main\">Apply this plan<", planned.text)
        assert "<ins>+ " in planned.text
        stale = client.post("/ui/apply", data=keys | {"plan": "0" * 64})
        assert (stale.status_code, Here.applied) == (409, [])
        kept = {"plan": Here.made[-1]["sha256"], f"without-{changes[0]['row_id']}": "on"}
        applied = client.post("/ui/apply", data=keys | kept)
        assert (applied.status_code, applied.url.path) == (200, "/ui/runs")
        assert Here.without[-1] == [changes[0]["row_id"]]
        assert not Here.applied[-1].exists()
        assert "Apply" not in client.get("/ui/plan").text, "it is applied once"
        assert "Apply" in client.post("/ui/plan", data=keys).text
        with MemoryClient(tmp_path, profile_id=OWN) as memory:
            memory.erase("script")
        overtaken = client.get("/ui/plan").text
        assert "has changed since the plan was made; plan again" in overtaken
        assert "Apply" not in overtaken, "it may quote what is erased"


def test_signing_in_ends_with_time_revocation_and_too_many_others(home):
    now = [0.0]
    sign_ins = SignIns(home, clock=lambda: now[0])
    token, grant = auth_tokens.create(home, Role.ADMIN)
    assert sign_ins.enter("mpt_x") is None
    entered = sign_ins.enter(token)
    assert sign_ins.find(entered.key).grant == grant
    assert entered.sent(entered.form_key)
    assert not entered.sent("ä")
    now[0] += LIFETIME_SECONDS + 1
    assert sign_ins.find(entered.key) is None
    first, *_ = [sign_ins.enter(token) for _ in range(MOST + 1)]
    assert sign_ins.find(first.key) is None
    entered = sign_ins.enter(token)
    auth_tokens.revoke(home, grant.token_id)
    assert sign_ins.find(entered.key) is None


def test_the_link_of_the_terminal_signs_one_browser_in_once(home):
    now = [0.0]
    sign_ins = SignIns(home, clock=lambda: now[0])
    key = sign_ins.invite()
    assert sign_ins.accept("") is sign_ins.accept("ä") is None
    entered = sign_ins.accept(key)
    assert sign_ins.find(entered.key).grant.role is Role.ADMIN
    assert sign_ins.accept(key) is None
    late = sign_ins.invite()
    now[0] += LIFETIME_SECONDS + 1
    assert sign_ins.accept(late) is None
    with within(home, pages=True) as client:
        link = f"/ui/enter?key={client.app.state.invitation}"
        assert client.get(link).url.path == "/ui/search"
        assert client.get(link).url.path == "/ui/search", "the same browser goes on"
        client.cookies.clear()
        again = client.get(link)
        assert (again.status_code, "set-cookie" in again.headers) == (401, False)
        assert "start memory-pipeline ui again" in again.text


@pytest.mark.drill
def test_a_review_is_answered_taken_back_and_left_for_later(tmp_path):
    """Two pairs: of one a part of the older memory no longer holds."""
    with MemoryClient(tmp_path, profile_id=OWN) as memory:
        for at, text in enumerate(
            [
                "I work at Acme Corp. I ride a bike to the office.",
                "I work at Globex now.",
                "The print run is 800 copies.",
                "Imogen raised the print run to 1,200 copies.",
            ]
        ):
            memory.remember(text, memory_id=f"m{at}", occurred_at=homes.START + homes.days(9 * at))
        memory.consolidate()
        pairs = memory.review()
    assert pairs, "there is something to ask"
    with within(tmp_path, pages=True) as client:
        keys = enter(client, auth_tokens.create(tmp_path, Role.ADMIN)[0]) | {"profile": OWN}
        page = client.get("/ui/review").text
        first = pairs[0]
        assert page.count('name="relation"') == 6
        asked = re.search(f'value="{first.relation}" data-key="[a-z]"( class="main" autofocus)?', page)
        assert bool(asked[1]) == (first.confidence >= 0.5)  # Enter answers only what is likelier than not
        assert f"{pairs.waiting} pair" in page
        later = client.post("/ui/answer", data=keys | {"pair": first.pair_id, "relation": "skip"}).text
        assert first.pair_id not in later
        for _ in range(pairs.waiting):
            if found := re.search(r'name="pair" value="([0-9a-f]+)"', later):
                later = client.post("/ui/answer", data=keys | {"pair": found[1], "relation": "skip"}).text
        assert "left for later" in later
        again = client.post("/ui/answer", data=keys | {"relation": "again"}).text
        assert first.pair_id in again
        unmarked = client.post("/ui/answer", data=keys | {"pair": first.pair_id, "relation": "partial"})
        assert (unmarked.url.path, unmarked.status_code) == ("/ui/review", 200)
        assert ("Nothing is marked" in unmarked.text, first.pair_id in unmarked.text) == (True, True)
        assert unmarked.text.count("autofocus") == 1
        elsewhere = keys | {"pair": first.pair_id, "relation": "partial", "ended-1": "I sail a boat."}
        missing = client.post("/ui/answer", data=elsewhere).text
        assert ("not in the older memory" in missing, first.pair_id in missing) == (True, True)
        noted = client.post("/ui/answer", data=keys | {"pair": first.pair_id, "relation": "update"})
        assert "Noted: the newer replaces the older." in noted.text
        answer = re.search(r'name="target" value="([^"]+)"', noted.text)[1]
        with MemoryClient(tmp_path, profile_id=OWN) as memory:
            assert memory.get(first.older.memory_id).superseded_by == first.newer.memory_id
            assert memory.review().waiting == pairs.waiting - 1
        back = client.post("/ui/undo", data=keys | {"target": answer, "answer": "yes"})
        assert (back.url.path, "Taken back." in back.text) == ("/ui/review", True)
        with MemoryClient(tmp_path, profile_id=OWN) as memory:
            assert memory.review().waiting == pairs.waiting


def test_an_empty_store_has_every_page(tmp_path):
    Lake(tmp_path).close()
    token, _ = auth_tokens.create(tmp_path, Role.ADMIN)
    with within(tmp_path, pages=True) as client:
        keys = enter(client, token)
        assert {client.get(f"/ui/{path}").status_code for path in MENU} == {200}
        assert client.get("/ui/search", params={"q": "anything"}).status_code == 200
        planned = client.post("/ui/plan", data=keys | {"profile": "default"})
        assert planned.status_code == 404


def test_charts_lay_out_their_marks():
    assert charts.bars([]) is None
    drawn = charts.bars([("a", 1), ("b", 0), ("c", 4)])
    assert [(bar.y, bar.height, bar.label) for bar in drawn.bars] == [
        (charts.HEIGHT * 0.75, charts.HEIGHT * 0.25, "a: 1"),
        (0, charts.HEIGHT, "c: 4"),
    ]
    assert [tick.label for tick in drawn.up] == ["0", "1", "2", "3", "4"]
    assert [tick.label for tick in drawn.along] == ["a", "b", "c"]
    assert [tick.label for tick in charts.bars([("a", 265)]).up] == ["0", "100", "200", "300"]
    rows = {
        "created_at": [homes.START, homes.START + homes.days(5)],
        "lifecycle": ["active", "active"],
        "lifecycle_since": [homes.START] * 2,
    }
    whole = charts.growth(pl.DataFrame(rows), UTC)
    assert whole.stored == whole.live
    assert (whole.first, whole.last) == (rows["created_at"][0], rows["created_at"][1])
    rows |= {"lifecycle": ["archived", "active"], "lifecycle_since": [homes.START + homes.days(10), homes.START]}
    left = charts.growth(pl.DataFrame(rows), UTC)
    assert (left.stored_now, left.live_now, left.last) == (2, 1, homes.START + homes.days(10))
    assert left.stored.split()[0] == left.live.split()[0] == f"0.0,{charts.HEIGHT / 2}"
    assert (left.stored.split()[-1], left.live.split()[-1]) == ("640.0,0.0", f"640.0,{charts.HEIGHT / 2}")
    assert charts.growth(pl.DataFrame(rows).clear(), UTC) is None


def test_without_being_asked_for_there_are_no_pages(home):
    with within(home) as client:
        assert client.get("/ui/sign-in").status_code == 401


@contextmanager
def browsing(home, address, *, scripts=False):
    """Yield a page of a browser, signed in; it may complain of nothing and load nothing else."""
    token, _ = auth_tokens.create(home, Role.ADMIN)
    problems, asked = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(java_script_enabled=scripts).new_page()
        page.set_default_timeout(PATIENCE * 1000)
        expect.set_options(timeout=PATIENCE * 1000)
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/ui")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        yield page
        browser.close()
    assert problems == []
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(address).netloc}


needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="no browser; install one with `apt-get install chromium`, or Google Chrome"
)


@pytest.mark.drill
@needs_browser
def test_a_person_searches_and_reads_the_state_of_a_memory(home):
    with beside(home) as address, browsing(home, address) as page:
        page.get_by_label("Question or words").fill("launch")
        page.get_by_label("Question or words").press("Enter")
        expect(page.get_by_text("what it says").first).to_be_visible()
        page.get_by_text(SCRIPT).first.click()
        expect(page.get_by_role("heading", name="State", exact=True)).to_be_visible()
        expect(page.locator("blockquote")).to_have_text(SCRIPT)


@needs_browser
def test_letters_answer_a_review(tmp_path):
    with MemoryClient(tmp_path, profile_id=OWN) as memory:
        memory.remember("The print run is 800 copies.", occurred_at=homes.START)
        memory.remember("We print 1,200 copies.", occurred_at=homes.START + homes.days(9))
        memory.consolidate()
        assert memory.review()
    with beside(tmp_path) as address, browsing(tmp_path, address, scripts=True) as page:
        page.goto(f"{address}/ui/review")
        page.keyboard.press("b")
        expect(page.get_by_role("status")).to_contain_text("Noted: both are true")
        page.keyboard.press("u")
        expect(page.get_by_role("status")).to_contain_text("Taken back")


@pytest.mark.drill
@needs_browser
def test_a_narrow_screen_scrolls_tables_and_not_the_page_and_text_has_its_own_direction(home):
    with beside(home) as address, browsing(home, address) as page:
        page.set_viewport_size({"width": 320, "height": 640})
        for path in ("search?q=launch", "review", "runs", "undo?target=night", "health?doctor=yes", "memory?id=script"):
            page.goto(f"{address}/ui/{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
        assert page.locator("blockquote").evaluate("it => getComputedStyle(it).unicodeBidi") == "plaintext"


@pytest.mark.drill
@needs_browser
def test_a_person_applies_a_plan_and_undoes_it(tmp_path):
    homes.filled(tmp_path, homes.events(profiles=1, memories=60)).close()
    with listening("--home", tmp_path, "ui", "--port", "0") as (address, _), browsing(tmp_path, address) as page:
        page.get_by_role("link", name="Next plan").click()
        page.get_by_role("button", name="Make the plan").click()
        expect(page.locator("ins").first).to_be_visible()
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_text("succeeded")).to_be_visible()  # the page looks again by itself
        page.get_by_role("link", name="Undo…").first.click()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("status")).to_contain_text("Undone")
        for name in ("Core memory", "What faded", "Health"):
            page.get_by_role("link", name=name).click()
            expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    assert not list(tmp_path.rglob("*.plan.json"))


@pytest.mark.drill
@needs_browser
def test_on_a_phone_every_button_is_in_sight_and_no_field_makes_it_zoom(tmp_path):
    for name in ("a" * 60, "b"):
        with MemoryClient(tmp_path, profile_id=name) as memory:
            memory.remember("The shed key hangs behind the door.")
    with beside(tmp_path) as address, browsing(tmp_path, address, scripts=True) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{address}/ui/search?profile={'a' * 60}")
        page.get_by_text("More", exact=True).click()
        expect(page.get_by_label("Together with")).to_be_visible()
        fields = page.locator("button, input:not([type=hidden]), select").filter(visible=True)
        right = fields.evaluate_all("all => all.map(it => it.getBoundingClientRect().right)")
        assert len(right) > 8
        assert max(right) <= 390
        sizes = page.locator("input:not([type=hidden], [type=checkbox]), select")
        assert sizes.evaluate_all("all => Math.min(...all.map(it => parseFloat(getComputedStyle(it).fontSize)))") >= 16
