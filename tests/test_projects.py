"""What is instructed in one project is no standing instruction of another; facts about the user hold in all."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import sampling
from commands import call
from serving import bearer, within

from memory_pipeline import MemoryClient
from memory_pipeline.service import auth_tokens

NIGHT = datetime(2026, 5, 2, 2, tzinfo=UTC)
TOLD = (
    ("Never push to main.", "shop"),
    ("Never push to main.", "blog"),
    ("Always use tabs.", "shop"),
    ("Always use spaces.", "blog"),
    ("I am allergic to penicillin.", "shop"),
    ("Please answer in short sentences.", None),
)
RULE = "Never commit without running the tests."


def filled(home, told=TOLD):
    """A store in which each text was said on a day of its own, and that was consolidated."""
    with MemoryClient(home, profile_id="ana", clock=lambda: NIGHT) as client:
        for day, (text, project) in enumerate(told):
            client.remember(text, project=project, occurred_at=NIGHT - timedelta(days=20 - day))
        client.consolidate()
    return home


def facts(client, project=None, block="standing_instructions"):
    """The facts of a block without the days on which they were said."""
    named = {one.name: one.content for one in client.core_memory(project)}
    return {fact.rpartition(" (")[0] for fact in named.get(block, "").split("\n---\n")} - {""}


@pytest.mark.usefixtures("unpublished")
def test_an_instruction_holds_in_its_project_alone(tmp_path):
    with MemoryClient(filled(tmp_path / "data"), profile_id="ana") as client:
        shop = {"shop \u203a Never push to main.", "shop \u203a Always use tabs."}
        blog = {"blog \u203a Never push to main.", "blog \u203a Always use spaces."}
        everywhere = {"Please answer in short sentences."}
        assert facts(client) == shop | blog | everywhere
        assert facts(client, "shop") == shop | everywhere
        assert facts(client, "blog") == blog | everywhere
        assert facts(client, "another") == everywhere
        assert "Always use tabs" not in client.session_start(project="blog").text()
        for project in (None, "shop", "blog"):
            assert facts(client, project, "health_and_safety") == {"shop \u203a I am allergic to penicillin."}
        with pytest.raises(ValueError, match="project is ' '; give an id"):
            client.core_memory(" ")
        with pytest.raises(ValueError, match="project is 7; give an id"):
            client.remember("Always use tabs.", project=7)


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_what_is_merged_within_a_project_stays_in_it(tmp_path):
    told = [("Always use tabs.", "shop"), ("Please always use tabs.", "shop"), ("Always use tabs.", "blog")]
    with MemoryClient(filled(tmp_path / "data", told), profile_id="ana") as client:
        assert len(client.list()) == 2
        assert facts(client, "shop") == {"shop \u203a Always use tabs."}
        assert facts(client, "another") == set()


def turn(number, text, folder):
    return {
        "type": "user",
        "uuid": f"{folder}{number}",
        "sessionId": folder,
        "cwd": f"/home/ana/{folder}",
        "timestamp": f"2026-03-0{number}T09:00:00Z",
        "message": {"role": "user", "content": text},
    }


def transcript(folder, *texts):
    return "\n".join(json.dumps(turn(number, text, folder)) for number, text in enumerate(texts, start=1))


def rollout(folder, text):
    lines = [
        {"type": "session_meta", "payload": {"id": folder, "cwd": f"/home/ana/{folder}"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": text}},
        {
            "type": "response_item",
            "timestamp": "2026-03-01T09:00:00Z",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        },
    ]
    return "\n".join(map(json.dumps, lines))


def agent(name, text):
    return {"name": name, "messages": [{"role": "user", "content": text, "created_at": "2026-03-01T09:00:00Z"}]}


NAMED = {"uuid": "u1", "name": "shop"}
SOURCES = {
    "claude-code": {"a.jsonl": transcript("shop", RULE), "b.jsonl": transcript("blog", "Always use spaces.")},
    "codex": {"a.jsonl": rollout("shop", RULE), "b.jsonl": rollout("blog", "Always use spaces.")},
    "markdown": {
        "shop/CLAUDE.md": "Use pnpm.\n",
        "shop/docs/rules.md": f"{RULE}\n",
        "blog/AGENTS.md": "Always use spaces.\n",
    },
    "hidden folders": {
        "shop/.github/copilot-instructions.md": f"{RULE}\n",
        "shop/.github/PULL_REQUEST_TEMPLATE.md": "Always use spaces.\n",
        "blog/.claude/CLAUDE.local.md": "Always use spaces.\n",
        "shop/.trash/CLAUDE.md": "Always use spaces.\n",
    },
    "auto memory": {
        "-home-ana-shop/memory/MEMORY.md": "- [Rules](rules.md)\n",
        "-home-ana-shop/memory/rules.md": f"{RULE}\n",
        "-home-ana-blog/memory/MEMORY.md": "- Always use spaces.\n",
    },
    "letta": {"team.af": json.dumps({"agents": [agent("shop", RULE), agent("blog", "Always use spaces.")]})},
    "claude": {
        "memories.json": json.dumps(
            [{"conversations_memory": "", "project_memories": {"u1": RULE, "blog": "Always use spaces."}}]
        ),
        "projects.json": json.dumps([{**NAMED, "prompt_template": RULE, "created_at": "2026-03-01T09:00:00Z"}]),
    },
}


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
@pytest.mark.parametrize("name", sampling.first(*SOURCES))
def test_transcripts_and_files_of_agents_keep_their_project(tmp_path, name):
    for file, text in SOURCES[name].items():
        place = tmp_path / "source" / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    form = "markdown" if " " in name else name
    done = call("import", form, tmp_path / "source", "--profile", "ana", home=tmp_path / "data")
    assert done.returncode == 0, done.stderr
    with MemoryClient(tmp_path / "data", profile_id="ana") as client:
        client.consolidate()
        shop, blog = ("\n".join(facts(client, project)) for project in ("shop", "blog"))
        assert RULE in shop
        assert RULE not in blog
        assert "Always use spaces." in blog
        assert "Always use spaces." not in shop


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_notes_of_people_and_exports_are_of_no_project(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text(f"- {RULE}\n")
    home = tmp_path / "data"
    assert call("import", "markdown", notes, "--profile", "ana", home=home).returncode == 0
    with MemoryClient(home, profile_id="ana") as client:
        client.consolidate()
        assert facts(client, "another") == {RULE}
    exported = tmp_path / "exported"
    assert call("export", "markdown", exported, "--profile", "ana", home=home).returncode == 0
    (exported / "AGENTS.md").write_text("- Always use spaces.\n")
    assert call("import", "markdown", exported, "--profile", "ana", home=home).returncode == 0
    with MemoryClient(home, profile_id="ana") as client:
        client.consolidate()
        assert "Always use spaces." in facts(client, "another")


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_every_interface_takes_the_project(tmp_path):
    home = filled(tmp_path / "data")
    said = call("remember", "Never edit generated files.", "--project", "shop", "-p", "ana", home=home)
    assert said.returncode == 0
    with MemoryClient(home, profile_id="ana") as client:
        client.consolidate()
    started = call("session-start", "-p", "ana", "--project", "shop", home=home).stdout
    assert "shop \u203a Never edit generated files." in started
    assert "Always use spaces." not in started
    token, _ = auth_tokens.create(home, auth_tokens.Role.AGENT, profile_id="ana")
    with within(home) as client:
        client.headers = bearer(token)
        stored = client.post("/memories", json={"text": "Use make.", "project": "shop"}).json()
        assert client.get(f"/memories/{stored['memory_ids'][0]}").json()["metadata"] == {"project": "shop"}
        begun = client.post("/sessions/s1/start", json={"project": "shop"}).json()
        assert "shop \u203a Never edit generated files." in begun["text"]
        assert "Always use spaces." not in begun["text"]
