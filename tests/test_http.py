"""The HTTP service as its callers meet it, in this process: real tokens, real runs. Real ports: `test_http_docs`."""

import json
import os
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

import dagster_storage
import homes
import httpx
import pytest
from commands import as_json, refused
from serving import OneProcess, bearer, serving, within
from waiting import PATIENCE, until

from memory_pipeline.lake.tables import Lake
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.auth_tokens import Role
from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.http_server import application


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("http") / "data"
    homes.filled(folder, homes.events(memories=8)).close()
    dagster_storage.prepare(folder)
    return folder


@pytest.fixture(scope="module")
def granted(home):
    """Headers of an administrator, of an agent of the first profile, and of one whose token is revoked."""
    admin, _ = auth_tokens.create(home, Role.ADMIN)
    agent, _ = auth_tokens.create(home, Role.AGENT, profile_id="sample-1")
    gone, grant = auth_tokens.create(home, Role.ADMIN)
    auth_tokens.revoke(home, grant.token_id)
    return {"admin": bearer(admin), "agent": bearer(agent), "gone": bearer(gone)}


@pytest.fixture(scope="module")
def client(home):
    with within(home, runs=OneProcess) as client:
        yield client


@pytest.mark.parametrize("path", ["/consolidate", "/consolidate/status", "/metrics", "/nothing", "/docs/x"])
def test_without_a_valid_token_every_path_answers_the_same(client, granted, path):
    wrong = [
        {},
        granted["gone"],
        bearer("mpt_x"),
        {"Authorization": "Bearer"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "x"},
    ]
    answers = [client.request(method, path, headers=headers) for method in ("GET", "POST") for headers in wrong]
    answers.append(client.post(path, headers=wrong[2], content=b"{not json"))
    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert len({answer.content for answer in answers}) == 1
    assert "memory-pipeline token create" in answers[0].json()["detail"]


def test_the_token_is_looked_up_by_the_constant_time_comparison(home, granted, monkeypatch):
    seen = []
    real = auth_tokens.identify
    monkeypatch.setattr(auth_tokens, "identify", lambda *args: seen.append(args) or real(*args))
    app = application(home, Runs(home))
    transport = httpx.ASGITransport(app)

    async def ask():
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [await client.get("/nothing", headers=headers) for headers in (granted["admin"], bearer("mpt_x"))]

    import anyio  # noqa: PLC0415

    answers = anyio.run(ask)
    assert [answer.status_code for answer in answers] == [404, 401]
    assert [args[1][:4] for args in seen] == ["mpt_", "mpt_"]


def test_health_needs_no_token_and_tells_nothing_but_the_position(client):
    assert client.head("/health").status_code == 200, "as load balancers ask"
    found = client.get("/health")
    assert found.status_code == 200
    assert set(found.json()) == {"status", "position", "lag_seconds"}
    assert found.json()["status"] == "ok"
    assert found.json()["position"] > 20
    assert found.json()["lag_seconds"] > 0


def test_an_agent_sees_and_consolidates_its_own_profile_alone(client, granted):
    for answer in (
        client.post("/consolidate", headers=granted["agent"], json={"profile_id": "sample-2"}),
        client.post("/consolidate", headers=granted["agent"], json={"profile_id": "sample-2", "dry_run": True}),
        client.post("/consolidate", headers=granted["agent"], json={"profile_id": "nobody"}),
        client.get("/consolidate/status", headers=granted["agent"], params={"profile_id": "sample-2"}),
    ):
        assert (answer.status_code, answer.json()["detail"]) == (403, "the token is only for profile 'sample-1'")
    assert client.get("/metrics", headers=granted["agent"]).status_code == 403
    found = client.get("/consolidate/status", headers=granted["agent"]).json()
    assert [row["profile_id"] for row in found["profiles"]] == ["sample-1"]
    assert not {"home", "default_profile", "position", "dead_letters", "disk_bytes"} & set(found)


def test_an_administrator_sees_every_profile(client, granted, home):
    found = client.get("/consolidate/status", headers=granted["admin"]).json()
    assert [row["profile_id"] for row in found["profiles"]] == ["sample-1", "sample-2"]
    assert found["home"] == str(home)
    assert {"last_decay", "last_creative", "last_cluster", "last_forget", "history", "requests"} <= set(found)
    only = client.get("/consolidate/status", headers=granted["admin"], params={"profile_id": "sample-2"}).json()
    assert [row["profile_id"] for row in only["profiles"]] == ["sample-2"]


@pytest.mark.parametrize(
    ("body", "code", "parts"),
    [
        (
            {"task": "fly"},
            422,
            ("task is 'fly'; give one of decay, creative, cluster, forget, promote, or leave it out",),
        ),
        ({"scope": "some"}, 422, ("scope is 'some'; give one of all, recent, user:NAME",)),
        ({"dry_run": "perhaps"}, 422, ("dry_run is 'perhaps'; give true or false, or leave it out",)),
        ({"dry_run": "yes"}, 422, ("dry_run is 'yes'; give true or false",)),
        ({"profile_id": ""}, 422, ("profile_id is ''; give a text that is not blank",)),
        ({"profile_id": 3}, 422, ("profile_id is 3; give a text that is not blank",)),
        ({"profil_id": "x"}, 422, ("'profil_id' is not a known field; the closest match is 'profile_id'",)),
        ({"task": "decay", "lightweight": True}, 422, ("lightweight and task cannot be combined",)),
        ([], 422, ("the body is []; give a JSON object, with Content-Type: application/json",)),
        ("{not json", 422, ("the body is not JSON: ", "; send JSON")),
        ("[" * 100_000, 422, ("the body cannot be read: it is nested too deeply", "; send plain JSON")),
        ('{"profile_id": ' + "9" * 5_000 + "}", 422, ("the body cannot be read", "too long a number")),
        ({"profile_id": "nobody"}, 404, ("profile 'nobody' has no memory",)),
    ],
)
def test_a_wrong_request_is_answered_in_one_line(client, granted, body, code, parts):
    content = body if isinstance(body, str) else json.dumps(body)
    headers = granted["admin"] | {"Content-Type": "application/json"}
    answer = client.post("/consolidate", headers=headers, content=content)
    assert answer.status_code == code, answer.text
    said = answer.json()["detail"]
    assert "\n" not in said
    assert all(part in said for part in parts), said


def test_other_wrong_requests(client, granted):
    unknown = client.post("/consolidate?dry_run=true", headers=granted["admin"])
    assert (unknown.status_code, unknown.json()["detail"]) == (
        422,
        "'dry_run' is not a known parameter; choose one of profile_id",
    )
    two = client.post("/consolidate?profile_id=a", headers=granted["admin"], json={"profile_id": "b"})
    assert (two.status_code, two.json()["detail"]) == (422, "profile_id is 'a', but 'b' in the body; give one")
    other = client.post("/consolidate?profile_id=sample-2", headers=granted["agent"])
    assert other.status_code == 403
    asked = client.get("/consolidate/status", headers=granted["admin"], params={"profile_id": "nobody"})
    assert (asked.status_code, asked.json()) == (404, {"detail": "profile 'nobody' has no memory"})
    form = client.post("/consolidate", headers=granted["admin"], data={"task": "decay"})
    assert form.status_code == 422
    assert "Content-Type: application/json" in form.json()["detail"]
    assert client.get("/consolidate", headers=granted["admin"]).status_code == 405


def test_the_schema_names_paths_codes_and_the_token(client):
    schema = client.get("/openapi.json").json()
    assert schema["openapi"].startswith("3.")
    assert {path: set(methods) for path, methods in schema["paths"].items()} == {
        "/consolidate": {"post"},
        "/consolidate/status": {"get"},
        "/health": {"get"},
        "/metrics": {"get"},
        "/memories": {"get", "post"},
        "/memories/{memory_id}": {"get", "patch", "delete"},
        "/memories/{memory_id}/protect": {"post"},
        "/memories/{memory_id}/restore": {"post"},
        "/memories/{memory_id}/feedback": {"post"},
        "/review": {"get", "post"},
        "/undo": {"post"},
        "/tick": {"post"},
        "/users/{user_id}": {"delete"},
        "/questions": {"delete"},
        "/profiles/{profile_id}": {"delete"},
        "/recall": {"post"},
        "/sessions/{session_id}/start": {"post"},
        "/sessions/{session_id}/end": {"post"},
        "/explain/{memory_id}": {"get"},
    }
    for path, methods in schema["paths"].items():
        for route in methods.values():
            assert route["description"]
            assert all(field["description"] for field in route.get("parameters", []))
            assert path == "/health" or route["security"] == [{"HTTPBearer": []}]
    asked = ("NewMemory", "Question", "Conditions", "SessionStart", "Change", "Protection", "Feedback", "UndoTarget")
    for name in asked:
        fields = schema["components"]["schemas"][name]["properties"]
        assert all(field.get("description") for field in fields.values()), name
    post = schema["paths"]["/consolidate"]["post"]
    assert set(post["responses"]) == {"200", "202", "401", "403", "404", "409", "422", "429", "503"}
    assert post["security"] == [{"HTTPBearer": []}]
    assert "security" not in schema["paths"]["/health"]["get"]
    fields = schema["components"]["schemas"]["Consolidation"]["properties"]
    assert set(fields) == {"profile_id", "lightweight", "task", "scope", "dry_run"}
    assert all(field["description"] for field in fields.values())
    assert references(schema) <= {f"#/components/schemas/{name}" for name in schema["components"]["schemas"]}


def references(part):
    if isinstance(part, dict):
        own = {part["$ref"]} if "$ref" in part else set()
        return own.union(*(references(value) for value in part.values()))
    return set().union(*(references(value) for value in part)) if isinstance(part, list) else set()


def test_a_dry_run_answers_with_the_plan_of_the_command_line_and_writes_nothing(client, granted, home):
    with Lake(home) as lake:
        before = lake.ledger.position()
    answer = client.post("/consolidate", headers=granted["admin"], json={"dry_run": True})
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert document["format"] == "memory-pipeline/plan@1"
    assert document["plan"]
    as_of = document["profiles"][0]["as_of"]
    same = as_json("consolidate", "--dry-run", "--as-of", as_of, home=home)
    assert same["plan"] == document["plan"]
    assert [row.items() - {("trigger", "cli")} for row in same["profiles"]] == [
        row.items() - {("trigger", "http")} for row in document["profiles"]
    ]
    own = client.post("/consolidate", headers=granted["agent"], json={"dry_run": True}).json()
    assert {row["profile_id"] for row in own["plan"]} == {"sample-1"}
    with Lake(home) as lake:
        assert lake.ledger.position() == before


def test_a_dry_run_of_a_store_that_cannot_be_opened_says_why(client, home, granted):
    place = home / "store.json"
    before = place.read_bytes() if place.exists() else None
    place.write_text("[", "utf-8")
    try:
        answer = client.post("/consolidate", headers=granted["admin"], json={"dry_run": True})
    finally:
        place.unlink() if before is None else place.write_bytes(before)
    assert (answer.status_code, "restore it from a backup" in answer.json()["detail"]) == (503, True), answer.text


def test_metrics_are_in_the_format_of_prometheus(client, granted):
    answer = client.get("/metrics", headers=granted["admin"])
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "memory_pipeline_consolidation_lag_seconds" in answer.text
    timed = 'memory_pipeline_request_seconds_count{method="GET",route="/metrics",status="200"}'
    assert timed in client.get("/metrics", headers=granted["admin"]).text


def test_a_broken_settings_file_is_said_and_mended_without_a_restart(client, home, granted):
    file = home / "memory_pipeline.toml"
    file.write_text("[policy]\nlinkge = 1\n", "utf-8")
    try:
        for answer in (
            client.get("/consolidate/status", headers=granted["admin"]),
            client.post("/consolidate", headers=granted["admin"], json={"dry_run": True}),
            client.post("/consolidate", headers=granted["admin"]),
        ):
            assert answer.status_code == 503
            assert "did you mean 'linkage'?" in answer.json()["detail"]
    finally:
        file.unlink()
    assert client.get("/consolidate/status", headers=granted["admin"]).status_code == 200


def test_a_revoked_token_is_worthless_at_once(client, home):
    token, grant = auth_tokens.create(home, Role.ADMIN)
    assert client.get("/consolidate/status", headers=bearer(token)).status_code == 200
    auth_tokens.revoke(home, grant.token_id)
    assert client.get("/consolidate/status", headers=bearer(token)).status_code == 401


def test_a_port_that_is_taken_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused("serve", "--port", port, home=tmp_path / "data")
    assert f"--port {port}" in said
    assert "choose another" in said
    assert "--port" in refused("serve", "--port", "70000", home=tmp_path, status=2)


@pytest.mark.drill
def test_a_run_whose_process_is_killed_says_so(granted, home):
    with serving(home) as client:
        with Lake(home) as lake, lake.ledger.exclusive():  # so that no run can end
            killed = client.post("/consolidate", headers=granted["admin"], json={"task": "promote"}).json()["run_id"]
            os.kill(worker(client), signal.SIGKILL)
            until(client.server, lambda: requests(client, granted)[0]["state"] == "failed")
        (found,) = requests(client, granted)
        assert found["run_id"] == killed
        assert "was killed" in found["error"]


def requests(client, granted):
    return client.get("/consolidate/status", headers=granted["admin"]).json()["requests"]


@pytest.mark.drill
def test_runs_are_made_one_after_the_other(client, granted, home):
    """On the store of the whole file, so that one application does for all of it."""

    def ask(body, who, **parameters):
        return client.post("/consolidate", headers=granted[who], json=body, params=parameters)

    with Lake(home) as lake:
        with lake.ledger.exclusive():  # so that no run can end
            first = ask({"lightweight": True}, "admin", profile_id="sample-2")
            with ThreadPoolExecutor(2) as pool:
                answers = list(pool.map(ask, [{"task": "decay"}] * 2, ["agent"] * 2))
            second, again = sorted(answers, key=lambda answer: answer.status_code)
            assert (first.status_code, second.status_code) == (202, 202), (first.text, second.text)
            ids = [answer.json()["run_id"] for answer in (first, second)]
            assert again.status_code == 409
            assert again.json()["detail"].startswith(f"the same run is queued already: {ids[1]};")
            states = {row["run_id"]: row["state"] for row in requests(client, granted)}
            assert (states[ids[0]], states[ids[1]]) == ("running", "queued")
            assert client.get("/health").status_code == 200
            assert client.post("/recall", headers=granted["agent"], json={"query": "garden"}).json()["recalled"]
        for run in client.app.state.runs.started:
            run.result.result(PATIENCE)
        ended = {row["run_id"]: row for row in requests(client, granted)}
        ended = [ended[run_id] for run_id in ids]
        runs = lake.ledger.runs()
    assert [(row["state"], row["error"]) for row in ended] == [("succeeded", None)] * 2
    assert [row["profile_id"] for row in ended] == ["sample-2", "sample-1"]
    assert [row["committed_run_id"] for row in ended] == ids == runs.sort("commit_seq")["run_id"].to_list()
    assert set(runs["trigger"]) == {"http"}
    found = client.get("/consolidate/status", headers=granted["admin"]).json()
    assert {row["run_id"] for row in found["history"]} == set(ids)
    assert {"task", "ran_at", "memories_processed", "duration_seconds"} <= set(found["history"][0])
    own = client.get("/consolidate/status", headers=granted["agent"]).json()
    assert {row["profile_id"] for row in (*own["history"], *own["requests"])} == {"sample-1"}


def worker(client):
    """The process in which a server makes its runs."""

    def found():
        lines = subprocess.run(["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
        rows = [line.split(maxsplit=2) for line in lines.splitlines()]
        return [int(pid) for pid, parent, args in rows if parent == str(client.server.pid) and "spawn_main" in args]

    return until(client.server, found)[-1]
