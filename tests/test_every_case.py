"""No case of a real system is skipped, and the pages about the designs name what there is.

What is not here: the cases themselves (`conformance/`).
"""

import ast
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

from memory_pipeline.settings import Policy, Settings, preset_names

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
SYSTEMS = {"automem": "automem", "cognitive": "cogmem", "engram": "adr", "superlocal": "slm", "three_tier": "tt"}
"""Files of cases by the preset that follows their system, and how the ids of their cases begin."""
CASE = re.compile(rf"\b(?:{'|'.join(SYSTEMS.values())})(?:-[a-z]+)?-\d+\b")
CODE = re.compile(r"`([^`]+)`")


def segment(lines, node):
    """Source of a node; `ast.get_source_segment` splits the whole file each time."""
    own = lines[node.lineno - 1 : node.end_lineno]
    own[-1] = own[-1][: node.end_col_offset]
    own[0] = own[0][node.col_offset :]
    return b"".join(own).decode()


@cache
def sources_of(path):
    """Source of each test of a file by its name: decorators, body, and what it reads of the file's own constants."""
    text = path.read_bytes()
    nodes, lines = ast.parse(text).body, text.splitlines(keepends=True)
    constants = {
        name.id: segment(lines, node)
        for node in nodes
        if isinstance(node, ast.Assign)
        for name in node.targets
        if isinstance(name, ast.Name)
    }
    found = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            parts = [*node.decorator_list, node]
            read = {part.id for tree in parts for part in ast.walk(tree) if isinstance(part, ast.Name)}
            own = [segment(lines, part) for part in parts]
            found[node.name] = "\n".join([*own, *(constants[name] for name in sorted(read & constants.keys()))])
    return found


def table(page, columns):
    """Rows of the tables of a page that have so many columns, without their heads."""
    lines = (DOCS / page).read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    heads = {index for index, row in enumerate(rows) if row[0] in {"case", "the design says", "the fault"}}
    for row in rows:
        assert len(row) == columns, f"{page}: {row[0]}"
    return [row for index, row in enumerate(rows) if index not in heads]


def named(cell):
    """Cases that a cell names: `automem-05, -07` are two."""
    found, stem = [], ""
    for part in cell.split(", "):
        stem = part.rpartition("-")[0] or stem
        found.append(part if CASE.fullmatch(part) else f"{stem}-{part.lstrip('-')}")
    return found


DIFFERENCES = table("how-we-differ.md", 4)
DESIGNS = table("designs.md", 3)


def cases_read(text):
    """Cases that the tests of a source read: those that take `real_system` and name the case in code.

    A docstring or a comment is no code. The constants of the module that a test uses belong to it.
    """
    nodes = ast.parse(text).body
    constants = {
        name.id: node
        for node in nodes
        if isinstance(node, ast.Assign)
        for name in node.targets
        if isinstance(name, ast.Name)
    }
    cases = set()
    for node in nodes:
        if not (isinstance(node, ast.FunctionDef) and node.name.startswith("test_")):
            continue
        if "real_system" not in {argument.arg for argument in node.args.args}:
            continue
        statements = node.body[1:] if ast.get_docstring(node) else node.body
        code = [part for tree in (*node.decorator_list, *statements) for part in ast.walk(tree)]
        names = {part.id for part in code if isinstance(part, ast.Name)}
        code += [part for name in names & constants.keys() for part in ast.walk(constants[name])]
        texts = [part.value for part in code if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        cases |= {text for text in texts if CASE.fullmatch(text)}
    return cases


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_case_of_a_real_system_is_a_test(system, real_system):
    read = {case for path in (HERE / "conformance").glob("test_*.py") for case in cases_read(path.read_text("utf-8"))}
    assert set(real_system(system)) - read == set()


def test_a_case_that_only_a_docstring_names_is_not_read():
    source = """
IDS = ("tt-access-3",)

def test_one(real_system):
    '''As in adr-rec-8.'''
    assert real_system("engram")["adr-rec-1"]  # not adr-rec-5

def test_two(real_system):
    assert all(real_system("three_tier")[name] for name in IDS)

def test_three():
    assert "adr-rec-7"
"""
    assert cases_read(source) == {"adr-rec-1", "tt-access-3"}


def test_every_difference_is_about_a_case_or_a_behaviour_of_a_preset(real_system):
    cases = {case for system in SYSTEMS for case in real_system(system)}
    for cell, *rest in DIFFERENCES:
        assert all(rest), f"{cell}: an empty cell"
        system, colon, behaviour = cell.partition(": ")
        if colon:
            assert system in SYSTEMS, cell
            assert system in preset_names(), cell
            assert behaviour, cell
        else:
            assert set(named(cell)) <= cases, cell


def place(cell):
    """Where a row belongs: by system, area and number of its first case; what has no case comes last."""
    first, behaviour = re.match(r"([\w-]+)(:?)", cell).groups()
    stem, _, number = first.rpartition("-")
    order = [name for pair in SYSTEMS.items() for name in pair]
    return order.index((stem or first).partition("-")[0]) // 2, bool(behaviour), stem, int(number) if stem else cell


def test_differences_are_in_the_order_of_their_cases():
    cells = [row[0] for row in DIFFERENCES]
    assert cells == sorted(cells, key=place)


def test_what_the_page_of_designs_names_is_there():
    wrong = {
        said or row: missing for row, (said, done, proved) in enumerate(DESIGNS) if (missing := unknown(done, proved))
    }
    assert all(said for said, *_ in DESIGNS)
    assert wrong == {}


def unknown(done, proved):
    """Names in a row of the page that are nowhere: settings and functions, and tests."""
    files = re.findall(r"`(?:([\w/]+\.py)::)?(test_\w+)`", proved)
    found = [] if files and CODE.search(done) else ["nothing is named"]
    found += [name for name in CODE.findall(done) if not there(name)]
    path = ""
    for name, test in files:
        path = name or path
        if test not in sources_of(HERE / path):
            found.append(f"{path}::{test}")
    return found


def there(name):
    """Whether a name is a setting or a function of the package."""
    if name in Policy.model_fields or name in Settings.model_fields:
        return True
    try:
        return callable(pkgutil.resolve_name(f"memory_pipeline.{name}"))
    except (AttributeError, ImportError):
        return False
