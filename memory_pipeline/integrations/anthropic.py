"""The memory tool of Claude over memories: `MemoryTool` and `AsyncMemoryTool`, for the tool runner of the SDK.

The six commands and their answers are those of the SDK's tool over a folder of files; here the files are a
`MemoryFolder`. Not here: cutting files into memories (`memory_folder`).
"""

import asyncio
import posixpath
import re
from typing import Any, Final

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)
from pydantic import ValidationError

from memory_pipeline.integrations.memory_folder import MemoryFolder, plain_path
from memory_pipeline.ledger.validation_errors import reason, shown
from memory_pipeline.recall.client.memory_client import MemoryClient

ROOT: Final = "/memories"
FOLDER_SIZE: Final = "4K"
"""Size shown for a folder, as in common file systems."""
LISTED_DEPTH: Final = 2
"""Levels below a folder that a view of it shows."""
LONGEST_PATH: Final = 256
_NUMBER_WIDTH: Final = 6
_CONTEXT: Final = 2
"""Lines shown before and after an edit."""
_NEVER_IN_A_PATH: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff]")
"""A lone half of a surrogate pair cannot be stored."""


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool for an `Anthropic` client: `client.beta.messages.run_tools(tools=[MemoryTool(memory)], ...)`.

    A command that cannot be done raises the SDK's `ToolError`, which the model reads. Paths never leave `/memories`.
    """

    def __init__(self, memory: MemoryClient, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        """Serve the files of a client's profile; the caller closes the client."""
        super().__init__(cache_control=cache_control)
        self.folder = MemoryFolder(memory)
        """The files, for the program's own use."""

    def execute(self, command: BetaMemoryTool20250818Command) -> Any:
        """Execute a command; arguments of another type, and what the store refuses, are reported to the model, too."""
        try:
            return super().execute(type(command).model_validate(command.model_dump(warnings=False)))
        except ValidationError as error:
            raise ToolError(reason(error, type(command))) from error
        except ValueError as error:
            raise ToolError(str(error)) from error

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with numbered lines, or what a folder holds."""
        path, files = _path(command.path), self.folder.files()
        if path in files:
            return _numbered(command, files[path])
        if not _is_folder(files, path):
            raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
        return _listing(command.path, path, files)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a new file."""
        path, files = _path(command.path), self.folder.files()
        if path in files or _is_folder(files, path):
            raise ToolError(f"File {command.path} already exists")
        _check_above(files, path)
        self.folder.write(path, command.file_text)
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file."""
        path, content = self._file(command.path)
        old, new = command.old_str, command.new_str or ""
        if not old:
            raise ToolError("No replacement was performed, old_str is empty. Name the text to replace, or use insert.")
        starts = [found.start() for found in re.finditer(f"(?={re.escape(old)})", content)]
        if not starts:
            raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}.")
        if content.count(old) > 1:
            lines = ", ".join(str(content[:start].count("\n") + 1) for start in starts)
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        changed = content.replace(old, new)
        self.folder.write(path, changed)
        line = content[: content.find(old)].count("\n")
        snippet = _lines(changed.split("\n"), max(0, line - _CONTEXT), line + _CONTEXT + 1)
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text after a line of a file; 0 is before the first."""
        path, content = self._file(command.path)
        lines = content.removesuffix("\n").split("\n") if content else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        changed = "\n".join(lines)
        self.folder.write(path, changed if changed.endswith("\n") else f"{changed}\n")
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder with all it holds; the validity of their memories ends."""
        path, files = _path(command.path), self.folder.files()
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        if not (gone := _within(files, path)):
            raise ToolError(f"The path {command.path} does not exist")
        self.folder.remove(*gone)
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename or move a file, or a folder with all it holds."""
        old, new, files = _path(command.old_path), _path(command.new_path), self.folder.files()
        if old == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        if new in files or _is_folder(files, new):
            raise ToolError(f"The destination {command.new_path} already exists")
        if not (moved := _within(files, old)):
            raise ToolError(f"The path {command.old_path} does not exist")
        if new.startswith(f"{old}/"):
            raise ToolError(f"Cannot move {command.old_path} into itself")
        _check_above(files, new)
        self.folder.move({path: _path(new + path.removeprefix(old)) for path in moved})
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Delete every file."""
        self.folder.remove(*self.folder.files())
        return "All memory cleared"

    def _file(self, asked: str) -> tuple[str, str]:
        path, files = _path(asked), self.folder.files()
        if path not in files:
            missing = (
                "does not exist. Please provide a valid path." if not _is_folder(files, path) else "is not a file."
            )
            raise ToolError(f"The path {asked} {missing}")
        return path, files[path]


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for an `AsyncAnthropic` client; see `MemoryTool`. One command runs at a time, in a thread."""

    def __init__(self, memory: MemoryClient, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        """Serve the files of a client's profile; the caller closes the client."""
        super().__init__(cache_control=cache_control)
        self._tool = MemoryTool(memory)
        self._turn = asyncio.Lock()

    async def execute(self, command: BetaMemoryTool20250818Command) -> Any:
        """Execute a command in a thread."""
        async with self._turn:
            return await asyncio.to_thread(self._tool.execute, command)

    view = create = str_replace = insert = delete = rename = execute

    async def clear_all_memory(self) -> str:
        """Delete every file."""
        return await asyncio.to_thread(self._tool.clear_all_memory)


def _path(asked: str) -> str:
    """Return a path in its plain form; a ToolError says that it leaves the folder, or is not valid."""
    if asked != ROOT and not asked.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {asked}")
    plain = plain_path(posixpath.normpath(asked))
    if plain != ROOT and not plain.startswith(f"{ROOT}/"):
        raise ToolError(f"Path {asked} would escape {ROOT} directory")
    if _NEVER_IN_A_PATH.search(plain) or len(plain) > LONGEST_PATH:
        raise ToolError(
            f"Path {shown(asked)} has a backslash, a control character, half a surrogate pair or over {LONGEST_PATH} "
            "characters; choose another"
        )
    return plain


def _within(files: dict[str, str], path: str) -> list[str]:
    return [name for name in files if name == path or name.startswith(f"{path}/")]


def _is_folder(files: dict[str, str], path: str) -> bool:
    return path == ROOT or any(name.startswith(f"{path}/") for name in files)


def _check_above(files: dict[str, str], path: str) -> None:
    """Refuse a path below a file."""
    while (path := posixpath.dirname(path)) != ROOT:
        if path in files:
            raise ToolError(f"The path {path} is a file, so nothing can be put into it.")


def _listing(asked: str, folder: str, files: dict[str, str]) -> str:
    """Return what a folder holds, two levels deep, without what is hidden."""
    shown = dict[str, str]()
    for path, content in files.items():
        names = path.removeprefix(f"{folder}/").split("/") if path.startswith(f"{folder}/") else []
        for depth, name in enumerate(names[:LISTED_DEPTH], start=1):
            if name.startswith("."):
                break
            size, mark = (_size(len(content.encode())), "") if depth == len(names) else (FOLDER_SIZE, "/")
            shown["/".join(names[:depth])] = f"{size}\t{asked}/{'/'.join(names[:depth])}{mark}"
    lines = [shown[path] for path in sorted(shown, key=lambda path: path.split("/"))]
    header = f"Here're the files and directories up to {LISTED_DEPTH} levels deep in {asked}, excluding hidden items:"
    return "\n".join([header, f"{FOLDER_SIZE}\t{asked}", *lines])


def _size(count: int) -> str:
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    scaled = count / 1024**power
    return f"{int(scaled) if scaled == int(scaled) else format(scaled, '.1f')}{'BKMG'[power]}"


def _numbered(command: BetaMemoryTool20250818ViewCommand, content: str) -> str:
    lines = content.split("\n")
    first, last = 0, len(lines)
    if command.view_range and len(command.view_range) == 2:  # noqa: PLR2004 - first and last line
        asked, until = command.view_range
        if until != -1 and until < max(1, asked):
            raise ToolError(
                f"Invalid `view_range` parameter: [{asked}, {until}]. "
                f"Its second line must be -1 or within the range [{max(1, asked)}, {last}]."
            )
        first, last = max(1, asked) - 1, last if until == -1 else until
    return f"Here's the content of {command.path} with line numbers:\n{_lines(lines, first, last)}"


def _lines(lines: list[str], first: int, last: int) -> str:
    return "\n".join(
        f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines[first:last], start=first + 1)
    )
