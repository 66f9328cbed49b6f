"""The memory over HTTP: what one profile's agent can do with it, and that it is nobody else's."""

import shutil
from datetime import UTC, datetime

import pytest
from serving import bearer, within
from starlette.testclient import TestClient

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.ledger.payloads import MAX_LEVELS
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.auth_tokens import Role

TEXTS = ["Ana drinks green tea.", "The office moved to Basel in March.", "We never deploy on a Friday."]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("http") / "data"
    Lake(folder).close()
    return folder


@pytest.fixture(scope="module")
def granted(home):
    admin, _ = auth_tokens.create(home, Role.ADMIN)
    agents = {
        name: auth_tokens.create(home, Role.AGENT, profile_id=name)[0] for name in ("ana", "bo", "cleo", "dora", "new")
    }
    return {name: bearer(token) for name, token in ({"admin": admin} | agents).items()}


@pytest.fixture(scope="module")
def client(home):
    with within(home) as client:
        yield client


@pytest.fixture(scope="module")
def ana(client, granted):
    """Ana's agent, with three memories of hers."""
    rows = [{"text": text, "memory_id": f"a{index}", "session_id": "s1"} for index, text in enumerate(TEXTS)]
    agent = TestClient(client.app, base_url=str(client.base_url), headers=granted["ana"])
    stored = agent.post("/memories", json=rows)
    assert stored.status_code == 201, stored.text
    assert stored.json() == {"profile_id": "ana", "memory_ids": ["a0", "a1", "a2"]}
    return agent


def nested(levels):
    return [nested(levels - 1)] if levels else 1


def ids(answer):
    assert answer.status_code == 200, answer.text
    return [row["memory_id"] for row in answer.json()["recalled"]]


def test_a_contradicted_memory_is_read_with_the_other_side(client, granted, home):
    texts = ["The boathouse key hangs in the porch.", "The boathouse key is in the drawer."]
    dora = TestClient(client.app, base_url=str(client.base_url), headers=granted["dora"])
    one, other = dora.post("/memories", json=[{"text": text} for text in texts]).json()["memory_ids"]
    link = {"target_id": other, "edge_type": "contradicts", "kind": "conflict"}
    said = {"event_type": "link.asserted", "profile_id": "dora", "memory_id": one, "payload": link}
    with Lake(home) as lake:
        lake.ledger.append([parse(said, recorded_at=datetime.now(UTC), origin="test")])
    found = dora.post("/recall", json={"query": "Where is the boathouse key?", "k": 1, "record": False}).json()
    assert "contradicts another memory" in found["text"]
    assert all(text in found["text"] for text in texts)
    assert found["recalled"][0]["conflict_text"] in texts


def test_what_was_stored_a_moment_ago_is_recalled_with_its_parts(ana):
    one = ana.post("/memories", json={"text": "The spare key hangs behind the clock.", "tags": ["keys"]}).json()
    asked = {"query": "where is the spare key?", "k": 1, "record": False}
    found = ana.post("/recall", json=asked | {"parts": True, "ids": True})
    assert ids(found) == one["memory_ids"]
    first = found.json()["recalled"][0]
    assert {"name", "value", "weight"} == set(first["parts"][0])
    text = f"- [{first['created_at'][:10]}] The spare key hangs behind the clock."
    assert found.json()["text"] == f"{text} (memory_id {first['memory_id']})"
    brief = ana.post("/recall", json=asked).json()
    assert (brief["text"], "parts" in brief["recalled"][0]) == (text, False)
    assert (first["current"], first["conflicts"]) in [(None, []), (True, [])]
    assert ids(ana.post("/recall", json={"query": "key", "filters": {"tags": ["keys"]}})) == one["memory_ids"]
    assert ids(ana.post("/recall", json={"query": "key", "filters": {"tags": ["cats"]}})) == []
    assert ids(ana.post("/recall", json={"query": "key", "as_of": "2020-01-01T00:00:00Z"})) == []


def test_of_a_long_text_the_passage_is_returned_and_the_whole_on_request(ana):
    filler = "The committee heard the report on the roof. " * 300
    ana.post("/memories", json={"text": f"{filler}Otters live under the jetty. {filler}", "memory_id": "long"})
    asked = {"query": "where do otters live?", "k": 1, "record": False}
    brief, whole = (ana.post("/recall", json=asked | more).json()["recalled"][0] for more in ({}, {"whole": True}))
    assert "Otters live under the jetty." in brief["text"]
    assert len(brief["text"]) < 1_300
    assert brief["content"] is None
    assert whole["content"][whole["passage"]["start"] : whole["passage"]["end"]] == brief["text"]


def test_a_second_delivery_stores_nothing(ana):
    row = {"text": "Stored once.", "event_id": "once"}
    assert ana.post("/memories", json=row).json() == ana.post("/memories", json=row).json()
    listed = ana.get("/memories", params={"limit": 100}).json()
    assert [row["content"] for row in listed].count("Stored once.") == 1
    other = ana.post("/memories", json=[{"text": "New."}, {"text": "Another text.", "memory_id": "once"}])
    assert other.status_code == 422
    assert "rows[1]: memory_id is 'once', under which profile 'ana' has another text" in other.json()["detail"]
    assert ana.get("/memories", params={"limit": 100}).json() == listed


def test_a_long_list_is_read_page_by_page(ana):
    everything = [row["memory_id"] for row in ana.get("/memories", params={"limit": 1000}).json()]
    found, address = [], "/memories?limit=2"
    while address:
        page = ana.get(address)
        found += [row["memory_id"] for row in page.json()]
        address = page.links["next"]["url"] if "next" in page.links else None
    assert found == everything
    assert ana.get("/memories", params={"limit": 1001}).status_code == 422
    assert ana.get("/memories", params={"after": "none"}).status_code == 404


def test_single_memories_are_shown_and_changed(ana):
    assert ana.get("/memories/a1").json()["content"] == TEXTS[1]
    changed = ana.patch("/memories/a1", json={"content": "The office moved to Bern in March."})
    assert changed.json()["content"] == "The office moved to Bern in March."
    more = ana.patch("/memories/a1", json={"tags": ["office"], "importance": 0.5, "metadata": {"page": 3}}).json()
    assert (more["tags"], more["importance"], more["metadata"]) == (["office"], 0.5, {"page": 3})
    deepest = {"__proto__": nested(MAX_LEVELS - 1)}
    assert ana.patch("/memories/a1", json={"metadata": deepest}).json()["metadata"] == deepest
    assert deepest in [row["metadata"] for row in ana.get("/memories", params={"limit": 100}).json()]
    refused = ana.patch("/memories/a1", json={"metadata": {"too": nested(MAX_LEVELS)}})
    assert (refused.status_code, "levels deep" in refused.json()["detail"]) == (422, True)
    assert ana.patch("/memories/a1", json={"tags": []}).json()["tags"] == []
    assert ana.post("/memories/a1/protect", json={"reason": "address"}).json()["protected_reason"] == "address"
    assert ana.post("/memories/a1/protect").status_code == 200
    before = ana.get("/memories/a1").json()["access_count"]
    assert ana.post("/memories/a1/feedback", json={"helpful": True}).json()["access_count"] == before + 1
    assert "nothing to restore" in ana.post("/memories/a1/restore").json()["detail"]
    told = ana.get("/explain/a1").json()
    assert told["memory"]["content"] == "The office moved to Bern in March."


def test_memories_are_listed_by_conditions(ana):
    listed = ana.get("/memories", params={"session_id": "s1", "limit": 2}).json()
    assert len(listed) == 2
    assert {row["session_id"] for row in listed} == {"s1"}
    assert ana.get("/memories", params={"session_id": "nothing"}).json() == []


def test_a_session_starts_and_ends(ana, home):
    opening = ana.post("/sessions/s9/start", json={"query": "where is the office?"}).json()
    assert opening["session_id"] == "s9"
    assert opening["answer"]["recalled"]
    assert ana.post("/sessions/s9/start").json()["answer"] is None
    assert ana.post("/sessions/s9/end").status_code == 204
    with Lake(home) as lake:
        told = lake.events(profiles=["ana"]).filter(session_id="s9")["event_type"].to_list()
    assert [kind for kind in told if kind.startswith("session")][-1] == "session.ended"


def test_nobody_sees_the_memory_of_another(client, granted, ana):
    own = {"headers": granted["bo"]}
    assert ids(client.post("/recall", json={"query": TEXTS[0], "deep": True}, **own)) == []
    assert client.get("/memories", **own).json() == []
    for method, path, body in (
        ("GET", "/memories/a0", None),
        ("GET", "/explain/a0", None),
        ("PATCH", "/memories/a0", {"content": "x"}),
        ("POST", "/memories/a0/feedback", {"helpful": True}),
        ("POST", "/memories/a0/protect", None),
        ("DELETE", "/memories/a0", None),
    ):
        answer = client.request(method, path, json=body, **own)
        assert answer.status_code == 404, (method, path, answer.text)
        assert "ana" not in answer.text
        answer = client.request(method, path, json=body, params={"profile_id": "ana"}, **own)
        assert (answer.status_code, answer.json()["detail"]) == (403, "the token is only for profile 'bo'")
    assert client.post("/memories", json={"text": "x"}, params={"profile_id": "ana"}, **own).status_code == 403
    assert client.post("/recall", json={"query": "x"}, params={"profile_id": "ana"}, **own).status_code == 403
    assert ana.get("/memories/a0").json()["content"] == TEXTS[0]


def test_a_token_recalls_another_profile_only_if_it_may_read_it(client, granted, home, ana):
    both = {"query": TEXTS[0], "profiles": ["bo", "ana"], "k": 50}
    refused = client.post("/recall", json=both, headers=granted["bo"])
    assert (refused.status_code, "may not read profile 'ana'" in refused.json()["detail"]) == (403, True)
    reader = bearer(auth_tokens.create(home, Role.AGENT, profile_id="bo", reads=["ana"])[0])
    answer = client.post("/recall", json=both, headers=reader)
    assert set(ids(answer)) == {row["memory_id"] for row in ana.get("/memories").json()}
    assert {row["profile_id"] for row in answer.json()["recalled"]} == {"ana"}
    changed = client.patch("/memories/a0", json={"content": "x"}, params={"profile_id": "ana"}, headers=reader)
    assert changed.status_code == 403
    assert ids(client.post("/recall", json=both, headers=granted["admin"], params={"profile_id": "bo"})) == ids(answer)


@pytest.mark.usefixtures("ana")
def test_an_administrator_names_the_profile(client, granted):
    asked = client.post("/recall", json={"query": "tea"}, headers=granted["admin"])
    assert (asked.status_code, "profile_id is missing" in asked.json()["detail"]) == (422, True)
    named = {"headers": granted["admin"], "params": {"profile_id": "ana"}}
    assert "a0" in ids(client.post("/recall", json={"query": "tea", "record": False}, **named))
    misspelt = {"headers": granted["admin"], "params": {"profile_id": "anna"}}
    for answer in (client.post("/recall", json={"query": "tea"}, **misspelt), client.get("/memories", **misspelt)):
        assert (answer.status_code, answer.json()["detail"]) == (404, "profile 'anna' has no memory")
    assert ids(client.post("/recall", json={"query": "tea"}, headers=granted["new"])) == []


def test_an_agent_erases_a_memory_and_an_administrator_a_person_or_a_profile(client, granted, home):
    own, admin = {"headers": granted["cleo"]}, {"headers": granted["admin"]}
    rows = [
        {"text": "Cleo collects xylophones.", "memory_id": "c0"},
        {"text": "Dan fears the gyroscope.", "memory_id": "c1", "user_id": "dan"},
        {"text": "The zeppelin leaves at noon.", "memory_id": "c2"},
    ]
    assert client.post("/memories", json=rows, **own).status_code == 201
    receipt = client.delete("/memories/c0", **own)
    assert (receipt.status_code, receipt.json()["erased"]) == (200, ["c0"]), receipt.text
    assert receipt.json()["not_covered"]
    assert client.get("/memories/c0", **own).status_code == 404
    assert "xylophones" not in client.get("/explain/c0", **own).text
    assert "c0" not in ids(client.post("/recall", json={"query": "xylophones", "deep": True}, **own))
    since = receipt.json()["at"]
    assert ids(client.post("/recall", json={"query": "Are xylophones in the zeppelin?"}, **own))
    for path in ("/users/dan", "/profiles/cleo", f"/questions?since={since}"):
        answer = client.delete(path, **own)
        assert (answer.status_code, "administrator" in answer.json()["detail"]) == (403, True)
    asked = client.delete("/questions", params={"profile_id": "cleo", "since": since}, **admin)
    assert (asked.status_code, asked.json()["erased"], asked.json()["queries"]) == (200, [], 2), asked.text
    gone = client.delete("/users/dan", params={"profile_id": "cleo"}, **admin)
    assert gone.json()["erased"] == ["c1"]
    for profile in ("cleo", "nobody"):
        nobody = client.delete("/users/nobody", params={"profile_id": profile}, **admin)
        assert (nobody.status_code, "nobody" in nobody.json()["detail"]) == (404, True)
    assert client.delete("/profiles/cleo", **admin).json()["erased"] == ["c2"]
    assert client.delete("/profiles/nobody", **admin).status_code == 404
    for word in (b"xylophone", b"gyroscope", b"zeppelin"):
        assert [file for file in home.rglob("*") if file.is_file() and word in file.read_bytes()] == []


def test_ids_with_slashes_are_addressed_percent_encoded(client, granted):
    admin, asked = {"headers": granted["admin"]}, {"params": {"profile_id": "team/notes"}}
    row = {"text": "The quagga sleeps.", "memory_id": "a/b/", "user_id": "adk/eve"}
    assert client.post("/memories", json=row, **admin, **asked).status_code == 201
    assert client.get("/memories/a%2Fb%2F", **admin, **asked).json()["memory_id"] == "a/b/"
    assert client.get("/explain/a%2Fb%2F", **admin, **asked).status_code == 200
    assert client.post("/memories/a%2Fb%2F/protect", **admin, **asked).json()["protected"]
    assert client.post("/sessions/s%2F1/start", **admin, **asked).status_code == 200
    for line in ("%0A", "a%0Ab", "%0D%0A"):
        refused = client.post(f"/sessions/{line}/start", **admin, **asked)
        assert refused.status_code == 422
        assert refused.json()["detail"].startswith("session_id is")
    assert client.delete("/users/adk%2Feve", **admin, **asked).json()["erased"] == ["a/b/"]
    assert client.delete("/profiles/team%2Fnotes", **admin).json()["already"] == ["a/b/"]


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_an_agent_ticks_and_takes_back_in_its_own_profile_alone(consolidated, tmp_path):
    home = tmp_path / "data"
    shutil.copytree(consolidated, home)
    agent, _ = auth_tokens.create(home, Role.AGENT, profile_id="sample-1")
    admin, _ = auth_tokens.create(home, Role.ADMIN)
    with within(home) as client:
        own, every = {"headers": bearer(agent)}, {"headers": bearer(admin)}
        ticked = client.post("/tick", **own)
        assert (ticked.status_code, ticked.json()["task"]) == (200, "tick"), ticked.text
        assert set(ticked.json()) == {"run_id", "task", "as_of", "actions", "held"}
        for path, body in (("/tick", None), ("/undo", {"target": "night"})):
            other = client.post(path, json=body, params={"profile_id": "sample-2"}, **own)
            assert (other.status_code, other.json()["detail"]) == (403, "the token is only for profile 'sample-1'")
            unnamed = client.post(path, json=body, **every)
            assert (unnamed.status_code, "profile_id is missing" in unnamed.json()["detail"]) == (422, True)
        undone = client.post("/undo", json={"target": "night", "cascade": True}, **own)
        assert undone.status_code == 200, undone.text
        assert {row["profile_id"] for row in undone.json()["undone"]} == {"sample-1"}
        assert "--retry-reverted" in undone.json()["again"]
        again = client.post("/undo", json={"target": "night"}, **own)
        assert (again.status_code, "is about 'night'" in again.json()["detail"]) == (422, True)
        assert client.post("/undo", json={"target": "x", "cascde": True}, **own).status_code == 422
        assert client.post("/tick", params={"profile_id": "nobody"}, **every).status_code == 404
        schema = client.get("/openapi.json").json()["paths"]
    assert all(schema[path]["post"]["description"].count("\n") == 0 for path in ("/undo", "/tick"))
    with Lake(home) as lake:
        runs = lake.ledger.runs().filter(run_id="night").sort("profile_id")
    assert runs["outcome"].to_list() == ["reverted", "committed"]


def test_a_memory_is_shown_as_it_stood(ana):
    assert "a2" in ana.get("/memories/a2", params={"as_of": "2020-01-01T00:00:00Z"}).json()["detail"]
    now = datetime.now(UTC).isoformat()
    assert ana.get("/memories/a2", params={"as_of": now}).json()["content"] == TEXTS[2]


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "parts"),
    [
        ("POST", "/memories", {}, 422, ("text is missing; give the text to remember",)),
        ("POST", "/memories", None, 422, ("the body is missing; give a JSON object, with Content-Type",)),
        ("POST", "/memories", {"text": "x", "sourc": "y"}, 422, ("'sourc' is not a known field", "'source'")),
        ("POST", "/memories", {"text": ""}, 422, ("text is ''; give a text that is not blank",)),
        ("POST", "/memories", {"text": "x", "tags": ["a", 5]}, 422, ("tags[1] is 5; give a text",)),
        ("POST", "/memories", {"text": "x", "valid_from": 5}, 422, ("valid_from is 5; give an instant such as",)),
        ("POST", "/memories", {"text": " "}, 422, ("text is ' '", "not blank")),
        (
            "POST",
            "/memories",
            [{"text": "x"}, {"text": "y", "importance": 7}],
            422,
            ("[1].importance is 7; give a number from 0 to 1",),
        ),
        ("POST", "/memories", [], 422, ("the body is []; give a list of 1 or more",)),
        ("POST", "/memories", "text", 422, ("the body is 'text'; give a JSON object",)),
        ("POST", "/recall", {}, 422, ("query is missing; give a question in plain words",)),
        ("POST", "/recall", {"query": " "}, 422, ("query is ' '",)),
        ("POST", "/recall", {"query": "x", "k": 0}, 422, ("k is 0; give a whole number from 1 to 1000",)),
        ("POST", "/recall", {"query": "x", "k": "3"}, 422, ("k is '3'; give a whole number from 1 to 1000",)),
        ("POST", "/recall", {"query": "x", "deep": "yes"}, 422, ("deep is 'yes'; give true or false",)),
        (
            "POST",
            "/recall",
            {"query": "x", "token_budget": 0},
            422,
            ("token_budget is 0; give a whole number of at least 1,",),
        ),
        ("POST", "/recall", {"query": "x", "min_score": 2}, 422, ("min_score is 2; give a number from 0 to 1",)),
        ("PATCH", "/memories/a0", {"importance": 2}, 422, ("importance is 2; give a number from 0 to 1",)),
        ("PATCH", "/memories/a0", {"tags": "a"}, 422, ("tags is 'a'; give a list",)),
        ("POST", "/recall", {"query": "x", "filters": {"tags": []}}, 422, ("filters.tags is []; give a list of 1 or",)),
        (
            "POST",
            "/recall",
            {"query": "x", "filters": {"sesion_id": "s"}},
            422,
            ("filters.'sesion_id' is not a known field", "'session_id'"),
        ),
        ("POST", "/recall", {"query": "x", "as_of": "2999-01-01T00:00:00Z"}, 422, ("as_of", "future")),
        ("POST", "/recall", {"query": "x", "ranking": "engrm"}, 422, ("engrm", "engram")),
        ("GET", "/memories?limit=0", None, 422, ("limit is '0'; give a whole number from 1 to 1000",)),
        ("GET", "/memories?usr=x", None, 422, ("'usr' is not a known parameter", "'user_id'")),
        ("GET", "/memories?since=soon", None, 422, ("since is 'soon'; give an instant such as",)),
        ("GET", "/memories/m9", None, 404, ("m9",)),
        ("GET", "/explain/m9", None, 404, ("m9",)),
        ("GET", "/explain/a0?as_of=2999-01-01T00:00:00Z", None, 422, ("as_of", "future")),
        ("GET", "/memories/a0?as_of=2999-01-01T00:00:00Z", None, 422, ("as_of", "future")),
        ("PATCH", "/memories/a0", {}, 422, ("nothing to change",)),
        ("PATCH", "/memories/m9", {"content": "x"}, 404, ("m9",)),
        ("POST", "/memories/a0/feedback", {}, 422, ("helpful is missing; give whether it helped",)),
        ("POST", "/memories/m9/restore", None, 404, ("m9",)),
        ("DELETE", "/memories/m9", None, 404, ("m9", "unknown")),
    ],
)
def test_a_wrong_request_is_answered_in_one_line_and_changes_nothing(ana, home, method, path, body, code, parts):
    with Lake(home) as lake:
        before = lake.ledger.position()
    answer = ana.request(method, path, json=body)
    assert answer.status_code == code, answer.text
    said = answer.json()["detail"]
    assert "\n" not in said
    assert all(part in said for part in parts), said
    with Lake(home) as lake:
        assert lake.ledger.position() == before


def test_of_one_memory_the_message_names_no_row(ana):
    wrong = {"text": "x", "session_id": "\u2028"}
    assert ana.post("/memories", json=wrong).json()["detail"].startswith("session_id is ")
    assert ana.post("/memories", json=[{"text": "x"}, wrong]).json()["detail"].startswith("rows[1]: session_id is ")
