"""Who may import whom, and that pure rooms stay pure."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

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
    {"credentials", "difference", "display", "lang"},
    {"parse"},
    {"embed", "score"},
    {"compare"},
    {"classification", "content_hash", "enrich", "noise", "quoting"},
]
CONSOLIDATION_LAYERS = [{"state"}, {"edges", "groups"}, {"summaries"}, {"plans"}]
RECALL_LAYERS = ["closed_statements", "models", "index", "rank", "live", "client"]
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


@cache
def imports(path: Path) -> frozenset[str]:
    """Modules that a file imports, as `package.module` where it imports a module from a package."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            own = node.module.removeprefix("memory_pipeline").strip(".")
            for alias in node.names:
                deeper = ".".join(part for part in (own, alias.name) if part)
                is_module = node.module.startswith("memory_pipeline") and deeper in MODULES
                found.add(f"memory_pipeline.{deeper}" if is_module else node.module)
    return frozenset(found)


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__init__" and layer(name) >= 0])
def test_a_module_imports_only_its_own_layer_and_those_below(module):
    for imported in imports(MODULES[module]):
        if not imported.startswith("memory_pipeline"):
            continue
        target = imported.removeprefix("memory_pipeline").strip(".")
        if not target:
            continue
        assert layer(target) <= layer(module), f"{module} imports {target}, which lies above it"


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


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("text.")])
def test_a_subroom_of_text_imports_only_its_own_layer_and_those_below(module):
    targets = {name.removeprefix("memory_pipeline.") for name in imports(MODULES[module])}
    above = [name for name in targets if name.startswith("text.") and text_layer(name) > text_layer(module)]
    assert above == [], f"{module} imports {above}, which lie above it"


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("recall.")])
def test_a_subroom_of_recall_imports_only_itself_and_those_below(module):
    below = RECALL_LAYERS[: RECALL_LAYERS.index(module.split(".")[1]) + 1]
    targets = {name.removeprefix("memory_pipeline.") for name in imports(MODULES[module])}
    above = [name for name in targets if name.startswith("recall.") and name.split(".")[1] not in below]
    assert above == [], f"{module} imports {above}, which lie above it"


def consolidation_layer(module: str) -> int | None:
    """Layer of a subroom; None for the modules beside them, which stand alone."""
    subroom = module.split(".")[1]
    return next((number for number, rooms in enumerate(CONSOLIDATION_LAYERS) if subroom in rooms), None)


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("consolidation.")])
def test_a_subroom_of_consolidation_imports_no_other_of_its_layer_and_none_above(module):
    own, subroom = consolidation_layer(module), module.split(".")[1]
    targets = {name.removeprefix("memory_pipeline.") for name in imports(MODULES[module])}
    others = [name for name in targets if name.startswith("consolidation.") and name.split(".")[1] != subroom]
    layers = {name: consolidation_layer(name) for name in others}
    above = [name for name, number in layers.items() if own is not None and number is not None and number >= own]
    assert above == [], f"{module} imports {above}, which do not lie below it"


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


@pytest.mark.parametrize("module", [name for name in MODULES if 0 <= layer(name) < layer("assets")])
def test_nothing_below_the_assets_imports_dagster(module):
    assert not any(name.split(".")[0] == "dagster" for name in imports(MODULES[module]))


@pytest.mark.parametrize("module", [name for name in MODULES if room(name) in PURE])
def test_pure_rooms_read_no_clock_file_environment_or_random_source(module):
    path = MODULES[module]
    assert not {name.split(".")[0] for name in imports(path)} & IMPURE_MODULES
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            assert name not in IMPURE_CALLS, f"{module}:{node.lineno} calls {name}"


@pytest.mark.parametrize("library", ["sqlalchemy", "sqlite3"])
def test_sql_stands_in_the_ledger_room_alone(library):
    users = {name for name, path in MODULES.items() if any(used.split(".")[0] == library for used in imports(path))}
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
    users = {name: {used.split(".")[0] for used in imports(path)} & known for name, path in MODULES.items()}
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
        for node in ast.walk(ast.parse(MODULES["consolidation.stages"].read_text("utf-8")))
        if isinstance(node, ast.Call)
    ]
    tables = {ast.unparse(call): sum(isinstance(given, ast.Name) for given in call.args) for call in calls}
    assert {call for call, by_position in tables.items() if by_position > 2} == {
        "context.complete(requests, completions, share)"
    }
