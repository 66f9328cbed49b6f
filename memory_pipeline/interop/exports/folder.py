"""Writes an export into a folder that people and agents edit too, and commits it where the folder is a git repository.

A list in the folder notes the hash of every file that was written; a file with another hash was changed by others and
is not overwritten. Not here: what the files say (`markdown`).
"""

import hashlib
import json
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from memory_pipeline.ledger.validation_errors import shown

LIST: Final = ".memory-pipeline.json"
"""Name of the list of files in the folder."""

_FORMAT: Final = 1
_SHOWN: Final = 5
_AUTHOR: Final = ("-c", "user.name=memory-pipeline", "-c", "user.email=memory-pipeline@localhost")


class ChangedByOthers(ValueError):
    """Files of the folder are not as the last export left them; nothing was written."""

    def __init__(self, folder: Path, paths: Collection[str]) -> None:
        names = ", ".join(sorted(paths)[:_SHOWN]) + (", ..." if len(paths) > _SHOWN else "")
        super().__init__(
            f"{folder}: {names} changed since the last export; import the folder first (memory-pipeline import "
            "markdown), or overwrite with --force"
        )


@dataclass(frozen=True)
class Written:
    """What writing a folder changed."""

    added: int
    changed: int
    removed: int
    unchanged: int
    commit: str | None
    """Commit of the folder's git repository; None where it is none or nothing changed."""


def write(folder: Path, files: Mapping[str, str], *, profile_id: str, force: bool = False) -> Written:
    """Make the folder hold these files and none that an earlier export wrote besides; all others stay as they are.

    Each file is replaced as a whole; a process that is killed leaves a folder that can be written again.

    Args:
        folder: created if it is missing.
        files: text of each file by its path in the folder.
        profile_id: whose memories they are; another profile's folder is refused.
        force: replace files that others changed.

    Raises:
        ChangedByOthers: such files are there.
        ValueError: the folder holds another profile, or its list is damaged.
    """
    new = {path: text.encode() for path, text in files.items()}
    noted = read_list(folder, profile_id)
    old = {path: content for path in {*new, *noted} if (content := _content(folder / path)) is not None}
    changed = {path for path, content in old.items() if content != new.get(path) and _hash(content) != noted.get(path)}
    changed |= {path for path in noted if path not in old}
    if changed and not force:
        raise ChangedByOthers(folder, changed)
    replaced = [path for path, content in new.items() if old.get(path) != content]
    gone = sorted(old.keys() - new.keys())
    for path in replaced:
        _replace(folder / path, new[path])
    for path in gone:
        _remove(folder, path)
    note(folder, {path: _hash(content) for path, content in new.items()}, profile_id)
    return Written(
        added=len(new.keys() - old.keys()),
        changed=len(replaced) - len(new.keys() - old.keys()),
        removed=len(gone),
        unchanged=len(new) - len(replaced),
        commit=commit(folder, f"Memory of {profile_id}", paths=[*replaced, *gone, LIST]),
    )


def read_list(folder: Path, profile_id: str) -> dict[str, str]:
    """Return the hash of each file as the last export or import left it; empty where there was none.

    Raises:
        ValueError: the folder holds another profile, or its list is damaged.
    """
    content = _content(folder / LIST)
    if content is None:
        return {}
    try:
        noted = json.loads(content)
        owner, files = noted["profile"], dict(noted["files"])
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{folder / LIST} is damaged; remove it and export with --force") from error
    if owner != profile_id:
        raise ValueError(f"{folder} holds profile {shown(owner)}, not {shown(profile_id)}; choose another folder")
    return {path: digest for path, digest in files.items() if _is_inside(path)}


def note(folder: Path, hashes: Mapping[str, str], profile_id: str) -> None:
    """Write the list of files: as they are now, an export may replace them."""
    document = {"format": _FORMAT, "profile": profile_id, "files": dict(sorted(hashes.items()))}
    _replace(folder / LIST, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())


def commit(folder: Path, message: str, *, paths: Collection[str]) -> str | None:
    """Commit these files where the folder is a git repository, and return the commit; None where nothing changed.

    Raises:
        RuntimeError: git refused; the files are written.
    """
    if not (folder / ".git").exists():
        return None
    _git(folder, "update-index", "--add", "--remove", "-z", "--stdin", given=paths)
    staged = _git(folder, "diff", "--cached", "--name-only", "-z").split("\0")
    changed = sorted(set(paths) & set(staged))
    if not changed:
        return None
    has_name = all(_git(folder, "config", "--default", "", "--get", f"user.{name}") for name in ("name", "email"))
    options = ("--quiet", "--message", message, "--pathspec-from-file=-", "--pathspec-file-nul")
    _git(folder, "--literal-pathspecs", *(() if has_name else _AUTHOR), "commit", *options, given=changed)
    return _git(folder, "rev-parse", "HEAD")


def _git(folder: Path, *arguments: str, given: Collection[str] = ()) -> str:
    """Run git with paths on its standard input, each ended by a zero byte, and return what it prints."""
    done = subprocess.run(  # noqa: S603 - the user's own git
        ["git", "-C", str(folder), *arguments],  # noqa: S607
        input="".join(f"{path}\0" for path in given),
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise RuntimeError(f"{folder}: the files are written, but git refused to commit them: {said}; commit them")
    return done.stdout.strip()


def _is_inside(path: object) -> bool:
    return isinstance(path, str) and not PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name[:100]}.new")
    aside.write_bytes(content)
    aside.replace(path)


def _remove(folder: Path, path: str) -> None:
    (folder / path).unlink()
    above = (folder / path).parent
    if above != folder and not any(above.iterdir()):
        above.rmdir()
