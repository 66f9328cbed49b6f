"""Examples in docstrings run, and show what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "memory_pipeline").rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where an example makes its store
    failed, tried = doctest.testmod(import_module(name), report=True)
    assert tried > 0
    assert failed == 0, "the report stands in the output above"


def test_the_client_has_an_example():
    assert "memory_pipeline.recall.client.memory_client" in MODULES
