"""`mcp install` enters the server in the files of clients, shows it first, and leaves everything else as it was."""

import json
import os
import sys
import tomllib

import pytest
from commands import call, refused

from memory_pipeline.service import mcp_install

COMMAND = ("/bin/memory-pipeline", "--home", "/data", "mcp", "--profile", "ana")
OWN = {"command": COMMAND[0], "args": [*COMMAND[1:]]}


@pytest.mark.parametrize(
    ("client", "below"),
    [
        ("claude-code", ".claude.json"),
        ("cursor", ".cursor/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini-cli", ".gemini/settings.json"),
        pytest.param("zed", ".config/zed/settings.json", marks=pytest.mark.skipif(os.name == "nt", reason="elsewhere")),
    ],
)
def test_each_client_has_its_file(tmp_path, client, below):
    assert mcp_install.place(client, project=None, home=tmp_path, environment={}) == tmp_path / below


@pytest.mark.parametrize(
    ("client", "variable", "below"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        pytest.param(
            "zed",
            "XDG_CONFIG_HOME",
            "zed/settings.json",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="elsewhere"),
        ),
    ],
)
def test_a_client_whose_settings_were_moved_has_its_file_there(tmp_path, client, variable, below):
    given = {"home": tmp_path, "environment": {variable: str(tmp_path / "moved")}}
    assert mcp_install.place(client, project=None, **given) == tmp_path / "moved" / below
    if client == "claude-code":
        assert mcp_install.place(client, project=tmp_path, **given) == tmp_path / ".mcp.json"


def test_a_project_and_an_application_have_their_own(tmp_path):
    given = {"project": tmp_path, "home": tmp_path / "home", "environment": {"XDG_CONFIG_HOME": "x"}}
    assert mcp_install.place("claude-code", **given) == tmp_path / ".mcp.json"
    with pytest.raises(ValueError, match="leave out --project"):
        mcp_install.place("codex", **given)
    with pytest.raises(ValueError, match="closest match is 'cursor'"):
        mcp_install.place("curser", **given)
    file = mcp_install.place("claude-desktop", **given | {"project": None})
    assert file.name == "claude_desktop_config.json"


def test_each_client_gets_an_entry_that_it_reads(tmp_path):
    def entered(client):
        return json.loads(mcp_install.entry(client, tmp_path / "none.json", COMMAND).text)

    assert entered("gemini-cli") == {"mcpServers": {"memory": OWN}}
    assert entered("zed") == {"context_servers": {"memory": OWN}}
    assert entered("vscode") == {"servers": {"memory": {"type": "stdio"} | OWN}}
    given = {"project": None, "home": tmp_path, "environment": {"APPDATA": str(tmp_path)}}
    assert mcp_install.place("vscode", **given).parts[-3:] == ("Code", "User", "mcp.json")
    assert mcp_install.place("vscode", **given | {"project": tmp_path}) == tmp_path / ".vscode" / "mcp.json"


def test_a_file_with_comments_is_left_alone_and_the_entry_shown(tmp_path):
    file = tmp_path / "settings.json"
    file.write_text('// mine\n{"theme": "One Dark",}\n', "utf-8")
    with pytest.raises(ValueError, match=r"(?s)comments would be lost.*context_servers"):
        mcp_install.entry("zed", file, COMMAND)
    assert file.read_text("utf-8").startswith("// mine")


def test_what_else_is_in_a_file_stays_and_is_not_shown(tmp_path):
    file = tmp_path / "mcp.json"
    others = {"theme": "dark", "mcpServers": {"other": {"command": "x", "env": {"KEY": "secret"}}}}
    file.write_text(json.dumps(others), "utf-8")
    change = mcp_install.entry("cursor", file, COMMAND)
    assert json.loads(change.text) == others | {"mcpServers": others["mcpServers"] | {"memory": OWN}}
    assert json.loads(change.shown) == {"mcpServers": {"memory": OWN}}
    assert change.replaced is None
    mine = {"mcpServers": {"memory": {"command": "old", "args": [], "env": {"KEY": "secret"}}}}
    file.write_text(json.dumps(mine), "utf-8")
    again = mcp_install.entry("cursor", file, COMMAND)
    assert json.loads(again.text)["mcpServers"]["memory"] == OWN | {"env": {"KEY": "secret"}}
    assert "old" in again.replaced
    assert "secret" not in again.replaced + again.shown


def test_comments_of_a_toml_file_stay(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text('model = "x"  # mine\n\n[mcp_servers.other]\ncommand = "y"\n', "utf-8")
    text = mcp_install.entry("codex", file, COMMAND, name="mem").text
    assert text.startswith('model = "x"  # mine\n')
    assert tomllib.loads(text)["mcp_servers"] == {"other": {"command": "y"}, "mem": OWN}
    assert tomllib.loads(mcp_install.entry("codex", tmp_path / "new.toml", COMMAND).text) == {
        "mcp_servers": {"memory": OWN}
    }


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', "\ufeff{}"])
def test_a_file_that_is_not_understood_is_left_alone(tmp_path, text):
    file = tmp_path / "mcp.json"
    file.write_text(text, "utf-8")
    with pytest.raises(ValueError, match="fix it, or move it away"):
        mcp_install.entry("cursor", file, COMMAND)


def test_the_command_shows_the_entry_and_writes_it_when_it_may(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / ".cursor" / "mcp.json"
    shown = call("mcp", "install", "cursor", "--profile", "ana", home=tmp_path / "data")
    assert (shown.returncode, file.exists()) == (2, False)
    assert '"mcpServers"' in shown.stdout
    line = f"memory-pipeline --home {tmp_path / 'data'} mcp install cursor --profile ana --yes"
    assert f"write it with: {line}" in " ".join(shown.stderr.split())
    done = call("mcp", "install", "cursor", "--profile", "ana", "--yes", home=tmp_path / "data")
    assert (done.returncode, done.stderr) == (0, "")
    entered = json.loads(file.read_text("utf-8"))["mcpServers"]["memory"]
    assert entered["args"] == ["--home", str(tmp_path / "data"), "mcp", "--profile", "ana"]
    assert "options of `mcp` go after" in refused("mcp", "--read-only", "install", "cursor", home=tmp_path, status=2)
