"""Who may import whom, and that pure rooms stay pure."""

import ast
import re
from collections.abc import Callable
from functools import cache
from graphlib import TopologicalSorter
from inspect import signature
from pathlib import Path

import pytest

from memory_pipeline.consolidation import pipeline

ROOT = Path(__file__).parent.parent / "memory_pipeline"
LAYERS = [
    {"schemas", "settings"},
    {"text", "llm", "consolidation"},
    {"ledger"},
    {"lake", "engine"},
    {"runs", "erasure"},
    {"recall", "evaluation", "interop"},
    {"assets", "sensors", "integrations"},
    {"jobs"},
    {"definitions", "components"},
    {"service"},
]
TEXT_LAYERS = [
    {"arrays", "credentials", "difference", "display", "lang", "shown_lines", "word_cache"},
    {"parse"},
    {"embed", "score"},
    {"compare"},
    {"classification", "content_hash", "enrich", "noise", "quoting"},
]
CONSOLIDATION_LAYERS = [{"state"}, {"edges", "groups"}, {"summaries"}, {"plans"}]
RECALL_LAYERS = [
    *("closed_statements", "wording", "filters", "models", "reviews", "openings"),
    *("index", "rank", "live", "client"),
]
PURE = ("text", "consolidation")
IMPURE_MODULES = {
    "dagster", "duckdb", "sqlalchemy", "sqlite3", "os", "time", "random", "secrets", "uuid", "pathlib", "io",
    "subprocess", "socket", "tempfile", "shutil", "requests", "httpx",
}  # fmt: skip
IMPURE_CALLS = {"open", "now", "utcnow", "today", "getenv", "default_rng", "seed"} | {
    f"{verb}_{kind}" for verb in ("read", "scan", "write", "sink") for kind in ("parquet", "csv", "ipc", "delta")
}
MODULES = {
    str(path.relative_to(ROOT)).removesuffix(".py").replace("/", ".").removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}


def room(module: str) -> str:
    return module.partition(".")[0]


def layer(module: str) -> int:
    return next((number for number, rooms in enumerate(LAYERS) if room(module) in rooms), -1)


def imports(path: Path) -> frozenset[str]:
    """Modules that a file imports, as `package.module` where it imports a module from a package."""
    return contents(path)[0]


@cache
def contents(path: Path) -> tuple[frozenset[str], tuple[tuple[int, str], ...]]:
    """What a file imports, and the line and the last name of each call in it."""
    found, calls = set(), []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            own = node.module.removeprefix("memory_pipeline").strip(".")
            for alias in node.names:
                deeper = ".".join(part for part in (own, alias.name) if part)
                is_module = node.module.startswith("memory_pipeline") and deeper in MODULES
                found.add(f"memory_pipeline.{deeper}" if is_module else node.module)
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            calls.append((node.lineno, name))
    return frozenset(found), tuple(calls)


def ours(module: str) -> list[str]:
    """Modules of the package that a module imports."""
    targets = {name.removeprefix("memory_pipeline.") for name in imports(MODULES[module]) if "memory_pipeline." in name}
    return sorted(targets)


def of_room(name: str) -> list[str]:
    return [module for module in MODULES if module.startswith(f"{name}.")]


def above(modules: list[str], is_above: Callable[[str, str], bool]) -> list[str]:
    """Every import, of all modules, of what lies above: `module imports target`."""
    return [f"{module} imports {target}" for module in modules for target in ours(module) if is_above(module, target)]


def test_a_module_imports_only_its_own_layer_and_those_below():
    modules = [name for name in MODULES if name != "__init__" and layer(name) >= 0]
    assert above(modules, lambda module, target: layer(target) > layer(module)) == []


def test_rooms_import_each_other_in_no_circle():
    graph = {room(module): set() for module in MODULES}
    for module, path in MODULES.items():
        used = {room(name.removeprefix("memory_pipeline.")) for name in imports(path) if "memory_pipeline." in name}
        graph[room(module)] |= used - {room(module)}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_modules_import_each_other_in_no_circle():
    graph = {}
    for module, path in MODULES.items():
        used = {name.removeprefix("memory_pipeline.") for name in imports(path) if name.startswith("memory_pipeline.")}
        graph[module] = {name for name in used if not f"{module}.".startswith(f"{name}.")}
    del graph["__init__"]  # the public door, whose names are imported on first use
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def text_layer(module: str) -> int:
    return next(number for number, rooms in enumerate(TEXT_LAYERS) if module.split(".")[1] in rooms)


def test_a_subroom_of_text_imports_only_its_own_layer_and_those_below():
    def is_above(module, target):
        return target.startswith("text.") and text_layer(target) > text_layer(module)

    assert above(of_room("text"), is_above) == []


def test_a_subroom_of_recall_imports_only_itself_and_those_below():
    def is_above(module, target):
        below = RECALL_LAYERS[: RECALL_LAYERS.index(module.split(".")[1]) + 1]
        return target.startswith("recall.") and target.split(".")[1] not in below

    assert above(of_room("recall"), is_above) == []


def consolidation_layer(module: str) -> int | None:
    """Layer of a subroom; None for the modules beside them, which stand alone."""
    subroom = module.split(".")[1]
    return next((number for number, rooms in enumerate(CONSOLIDATION_LAYERS) if subroom in rooms), None)


def test_a_subroom_of_consolidation_imports_no_other_of_its_layer_and_none_above():
    def is_above(module, target):
        if not target.startswith("consolidation.") or target.split(".")[1] == module.split(".")[1]:
            return False
        own, other = consolidation_layer(module), consolidation_layer(target)
        return own is not None and other is not None and other >= own

    assert above(of_room("consolidation"), is_above) == []


def test_subrooms_of_consolidation_and_the_modules_beside_them_import_each_other_in_no_circle():
    graph = {}
    for module in (name for name in MODULES if name.startswith("consolidation.")):
        unit = module.split(".")[1]
        used = {name.removeprefix("memory_pipeline.") for name in imports(MODULES[module])}
        used = {name.split(".")[1] for name in used if name.startswith("consolidation.")}
        graph.setdefault(unit, set()).update(used - {unit})
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_every_module_belongs_to_a_layer():
    assert [name for name in MODULES if layer(name) < 0 and name not in {"__init__", ""}] == []


def libraries(module: str) -> set[str]:
    return {name.split(".")[0] for name in imports(MODULES[module])}


def test_nothing_below_the_assets_imports_dagster():
    below = [name for name in MODULES if 0 <= layer(name) < layer("assets")]
    assert [name for name in below if "dagster" in libraries(name)] == []


def test_pure_rooms_read_no_clock_file_environment_or_random_source():
    pure = [name for name in MODULES if room(name) in PURE]
    assert {name: used for name in pure if (used := libraries(name) & IMPURE_MODULES)} == {}
    calls = {name: contents(MODULES[name])[1] for name in pure}
    assert [(name, *call) for name in pure for call in calls[name] if call[1] in IMPURE_CALLS] == []


@pytest.mark.parametrize("library", ["sqlalchemy", "sqlite3"])
def test_sql_stands_in_the_ledger_room_alone(library):
    users = {name for name in MODULES if library in libraries(name)}
    assert {room(name) for name in users} <= {"ledger"}, users


FRAMEWORKS = {
    "langgraph": {"langgraph"},
    "langchain": {"langchain_core"},
    "anthropic": {"anthropic"},
    "openai_agents": {"agents"},
    "agent_framework": {"agent_framework"},
    "adk": {"google"},
    "strands": {"strands"},
}
"""Libraries of each integration, imported in its module alone."""


def test_a_framework_is_imported_by_its_integration_alone():
    known = set().union(*FRAMEWORKS.values())
    users = {name: libraries(name) & known for name in MODULES}
    assert {name: used for name, used in users.items() if used} == {
        f"integrations.{name}": libraries for name, libraries in FRAMEWORKS.items()
    }


def test_nothing_imports_the_integrations():
    users = {name for name, path in MODULES.items() if any("memory_pipeline.integrations" in i for i in imports(path))}
    assert {name for name in users if room(name) != "integrations"} == set()


def test_queries_of_snapshots_stand_in_their_module():
    users = {name for name, path in MODULES.items() if "duckdb" in imports(path)}
    assert users == {"lake.snapshot", "lake.snapshot_file"}


def test_files_of_the_lake_are_reached_through_the_object_store():
    modules = {name for name in MODULES if room(name) == "lake"} - {
        "lake.object_store",
        "lake.s3_object_store",
        "lake.snapshot",
        "lake.bucket_snapshots",
    }
    assert {name for name in modules if imports(MODULES[name]) & {"os", "shutil", "tempfile"}} == set()


def test_nothing_imports_the_service_room():
    users = {name for name, path in MODULES.items() if any("memory_pipeline.service" in i for i in imports(path))}
    assert {name for name in users if room(name) != "service"} == set()


def test_a_stage_hands_tables_on_by_name():
    """Where several tables are passed by position, no checker sees that two are exchanged."""
    calls = [
        node
        for name in MODULES
        if name.startswith("consolidation.stages.")
        for node in ast.walk(ast.parse(MODULES[name].read_text("utf-8")))
        if isinstance(node, ast.Call)
    ]
    tables = {
        ast.unparse(call): sum(
            ast.unparse(given).isidentifier() or ast.unparse(given).startswith("inputs.") for given in call.args
        )
        for call in calls
    }
    assert {call for call, by_position in tables.items() if by_position > 2} == {
        "context.complete(requests, inputs.completions, share)"
    }


def test_the_modules_of_stages_stand_in_the_order_of_a_run():
    names = [name.rpartition(".")[2] for name in MODULES if name.startswith("consolidation.stages.")]
    assert [name.partition("_")[2] for name in names] == [stage.name for stage in pipeline.ORDER]
    assert all(re.fullmatch(r"s\d{3}_\w+", name) for name in names)


def test_a_stage_takes_its_inputs_and_at_most_a_policy_and_a_context():
    assert max(len(signature(stage.function).parameters) for stage in pipeline.ORDER) <= 3
