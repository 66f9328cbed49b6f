"""Writes an export into a folder that people and agents edit too, and commits it if the folder is a git repository.

A list in the folder has the hash of every file that was written; a file with another hash was changed by others and
is not overwritten. Not here: what the files say (`markdown`), and the commit
(`git_commit`).
"""

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from memory_pipeline.interop import markdown_notes
from memory_pipeline.interop.exports.git_commit import commit
from memory_pipeline.ledger.validation_errors import shown

LIST: Final = ".memory-pipeline.json"
"""Name of the list of files in the folder."""

_FORMAT: Final = 1
_SHOWN: Final = 5


class ChangedByOthers(ValueError):
    """Files of the folder are not as they were left or read; nothing was written."""

    def __init__(self, folder: Path, paths: Collection[str], *, remedy: str) -> None:
        names = ", ".join(sorted(paths)[:_SHOWN]) + (", ..." if len(paths) > _SHOWN else "")
        super().__init__(f"{folder}: {names} changed meanwhile; {remedy}")


@dataclass(frozen=True)
class Listed:
    """Contents of the list in a folder."""

    files: Mapping[str, str]
    """Hash of each file as the last export left it, or an import read it."""
    memories: Sequence[str]
    """Memories that the last export wrote."""


@dataclass(frozen=True)
class Written:
    """Changes made by writing a folder."""

    added: int
    changed: int
    removed: int
    unchanged: int
    commit: str | None
    """Commit of the folder's git repository; None without a repository or changes."""


def write(
    folder: Path,
    files: Mapping[str, str],
    *,
    profile_id: str,
    force: bool = False,
    first: Callable[[Path], None] | None = None,
) -> Written:
    """Write these files into the folder and remove the others of an earlier export; all other files stay as they are.

    Each file is replaced as a whole; a process that is killed leaves a folder that can be written again.

    Args:
        folder: created if it is missing; another profile's folder is refused.
        first: called with the folder once it is known that it can be written, and before it is.

    Raises:
        ChangedByOthers: others changed files, which `force` would replace.
        ValueError: the folder holds another profile, or its list is damaged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        return _written(folder, files, profile_id, force=force, first=first)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder, so that what is compared is what is written: another command waits. No file tells of it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:  # some network file systems have no locks
            if error.errno not in {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}:
                raise
        yield
    finally:
        os.close(handle)


def _written(
    folder: Path, files: Mapping[str, str], profile_id: str, *, force: bool, first: Callable[[Path], None] | None
) -> Written:
    _check_inside(folder, files)
    new = {path: text.encode() for path, text in files.items()}
    noted = read_list(folder, profile_id).files
    old = {path: content for path in {*new, *noted} if (content := _content(folder / path)) is not None}
    changed = {path for path, content in old.items() if content != new.get(path) and _hash(content) != noted.get(path)}
    changed |= {path for path in noted if path not in old}
    if changed and not force:
        remedy = "import the folder first (memory-pipeline import markdown), or overwrite with --force"
        raise ChangedByOthers(folder, changed, remedy=remedy)
    if first is not None:
        first(folder)
    replaced = [path for path, content in new.items() if old.get(path) != content]
    gone = sorted(old.keys() - new.keys())
    for path in replaced:
        replace_file(folder / path, new[path])
    for path in gone:
        _remove(folder, path)
    _write_list(folder, {path: _hash(content) for path, content in new.items()}, _ids(files.values()), profile_id)
    return Written(
        added=len(new.keys() - old.keys()),
        changed=len(replaced) - len(new.keys() - old.keys()),
        removed=len(gone),
        unchanged=len(new) - len(replaced),
        commit=commit(folder, f"Memory of {profile_id}", paths=[*replaced, *gone, LIST]),
    )


def owner(folder: Path) -> str | None:
    """Return the profile that a folder is an export of; None if it is not an export, or its list is damaged."""
    try:
        profile = json.loads(_content(folder / LIST) or b"{}").get("profile")
    except (ValueError, AttributeError, RecursionError):
        return None
    return profile if isinstance(profile, str) else None


def read_list(folder: Path, profile_id: str) -> Listed:
    """Return what was noted of the folder last; a ValueError, if that is damaged or of another profile."""
    content = _content(folder / LIST)
    if content is None:
        return Listed({}, ())
    try:
        noted = json.loads(content)
        profile, files, memories = noted["profile"], dict(noted["files"]), tuple(noted["memories"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{folder / LIST} is damaged; remove it and export with --force") from error
    if profile != profile_id:
        raise ValueError(f"{folder} holds profile {shown(profile)}, not {shown(profile_id)}; choose another folder")
    _check_inside(folder, files)
    return Listed(files, memories)


@contextmanager
def being_imported(folder: Path, profile_id: str | None) -> Iterator[None]:
    """Record after an import which files of an export of the profile it read as they are: exports replace them."""
    profile = owner(folder)
    if profile is None or profile_id not in {None, profile}:
        yield
        return
    with _alone(folder):
        noted = read_list(folder, profile)
        seen = {path: _hash(content) for path in noted.files if (content := _content(folder / path)) is not None}
        yield
        _write_list(folder, seen, noted.memories, profile)


def _write_list(folder: Path, files: Mapping[str, str], memories: Iterable[str], profile_id: str) -> None:
    document = {
        "format": _FORMAT,
        "profile": profile_id,
        "files": dict(sorted(files.items())),
        "memories": sorted(memories),
    }
    replace_file(folder / LIST, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())


def change(
    folder: Path,
    before: Mapping[str, str],
    after: Mapping[str, str | None],
    message: str,
    *,
    profile_id: str,
    first: Callable[[Path], None] | None = None,
    taken_back: bool = False,
) -> str | None:
    """Replace, add and remove files, or none if somebody else changed one meanwhile; return the commit, if any.

    The list notes the memories whose ids the files have, so that an import ends those that others remove. Those that
    this change removes leave the list before they leave the files: a process that is killed in between ends none.

    Args:
        folder: the folder, which need not be an export.
        before: expected text of the files.
        after: new text of each file that changes; None: it is removed.
        first: called with the folder once it is known that the files can be changed, and before one is.
        taken_back: the change takes an earlier one back: a list that names nothing then goes too.

    Raises:
        ChangedByOthers: a file is not as expected; nothing was written.
        ValueError: the folder holds another profile.
    """
    with _alone(folder):
        _change(folder, before, after, profile_id, first)
        if taken_back and read_list(folder, profile_id) == Listed({}, ()):
            (folder / LIST).unlink()
        return commit(folder, message, paths=[*after, LIST])


def _change(
    folder: Path,
    before: Mapping[str, str],
    after: Mapping[str, str | None],
    profile_id: str,
    first: Callable[[Path], None] | None,
) -> None:
    _check_inside(folder, after)
    noted = read_list(folder, profile_id)
    now = {path: _content(folder / path) for path in after}
    old = {path: before[path].encode() if path in before else None for path in after}
    if changed := [path for path in after if now[path] != old[path]]:
        raise ChangedByOthers(folder, changed, remedy="run the command again")
    if first is not None:
        first(folder)
    memories = {*noted.memories} - _ids(before[path] for path in after if path in before)
    _write_list(folder, noted.files, memories, profile_id)
    for path, text in after.items():
        if text is None:
            _remove(folder, path)
        else:
            replace_file(folder / path, text.encode())
    changed_files = {path: _hash(text.encode()) for path, text in after.items() if text is not None}
    files = {path: digest for path, digest in noted.files.items() if path not in after}
    files |= {path: digest for path, digest in changed_files.items() if path in noted.files}
    memories |= _ids(text for text in after.values() if text is not None)
    _write_list(folder, files, memories, profile_id)


def _ids(texts: Iterable[str]) -> set[str]:
    return {note.fields["memory_id"] for text in texts for note in markdown_notes.read(text)}


def _check_inside(folder: Path, paths: Iterable[str]) -> None:
    """Refuse paths that lead out of the folder: by themselves, or through a link."""
    root = folder.resolve()
    inside = dict[PurePosixPath, bool]()  # a folder of ten thousand files has few folders
    for path in paths:
        plain = PurePosixPath(path)
        above = plain.parent
        if above not in inside:
            inside[above] = ".." not in above.parts and (folder / above).resolve().is_relative_to(root)
        if plain.is_absolute() or plain.name == ".." or not inside[above]:
            raise ValueError(f"{folder}: {path} points outside the folder; remove that link or list")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole: a process that is killed leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name[:100]}.new")
    aside.unlink(missing_ok=True)  # a link of that name would lead the text out of the folder
    with aside.open("xb") as out:
        out.write(content)
    aside.replace(path)


def _remove(folder: Path, path: str) -> None:
    (folder / path).unlink()
    above = (folder / path).parent
    if above != folder and not any(above.iterdir()):
        above.rmdir()
