"""The examples of the integrations run to their end with the real packages, without key or network."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "integrations"
NEEDED = {
    "adk_memory_service": "google.adk",
    "agent_framework_provider": "agent_framework",
    "claude_memory_tool": "anthropic",
    "langchain_retriever": "langchain_core",
    "langgraph_store": "langgraph.graph",
    "openai_agents_session": "agents",
    "strands_memory_store": "strands",
}
"""The package that each example is about."""


def test_every_example_is_run_here():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(NEEDED)


@pytest.mark.parametrize("name", NEEDED)
def test_an_agent_reads_what_holds_and_what_holds_no_longer(name, capsys, tmp_path, monkeypatch):
    pytest.importorskip(NEEDED[name], reason="the package of the example is not installed")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "26 June" in said
    older = [line for line in said.splitlines() if "12 June" in line]
    assert all("(no longer current since" in line for line in older)
    assert not list(tmp_path.iterdir())
