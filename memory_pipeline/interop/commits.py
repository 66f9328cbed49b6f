"""Reads from a folder's git history when each file was first committed, and runs nothing that the folder configures.

A repository's configuration, hooks and attributes name programs that git starts. So git is given a repository of our
own, empty but for a pointer to the objects of the folder's one, and no configuration of anybody. Not here: what the
dates are used for (`markdown`).
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Final

_SECONDS: Final = 30
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REFERENCE: Final = re.compile(r"ref: (refs/[\w./-]+)")
_CONFIG: Final = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
_ENVIRONMENT: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C.UTF-8",
}


def first_committed(path: Path) -> dict[str, str]:
    """Return when each file of a folder under git was first committed, by its path in the folder.

    Empty where there is no history that can be read: no git, no repository, a repository elsewhere (`.git` is a file),
    or one of another format.
    """
    found = _repository(path)
    if found is None:
        return {}
    top, commit = found
    inside = path.resolve().relative_to(top).as_posix()
    relative = [] if inside == "." else [f"--relative={inside}/"]
    command = [
        "git",
        "log",
        commit,
        "--reverse",
        "--diff-filter=AR",
        "--name-only",
        "-z",
        "--format=%x01%aI",
        *relative,
    ]
    try:
        with tempfile.TemporaryDirectory() as own:
            _prepare(Path(own), top / ".git" / "objects")
            environment = {**_ENVIRONMENT, "GIT_DIR": own, "HOME": own, "PATH": os.environ.get("PATH", os.defpath)}
            done = subprocess.run(  # noqa: S603 - arguments of our own
                [*command, "--", inside],
                cwd=own,
                env=environment,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
                text=True,
                errors="replace",
            )
    except (OSError, subprocess.SubprocessError):
        return {}
    return _first(done.stdout)


def _repository(path: Path) -> tuple[Path, str] | None:
    """Return the folder of the repository that holds a folder, and the id of its commit; None if there is none."""
    whole = path.resolve()
    top = next((folder for folder in (whole, *whole.parents) if (folder / ".git").exists()), None)
    if top is None or not path.is_dir() or not (top / ".git" / "objects").is_dir():
        return None
    try:
        head = (top / ".git" / "HEAD").read_text("utf-8").strip()
        reference = _REFERENCE.fullmatch(head)
        commit = head if reference is None else _resolved(top / ".git", reference[1])
    except (OSError, UnicodeDecodeError):
        return None
    return (top, commit) if _COMMIT.fullmatch(commit) else None


def _resolved(folder: Path, reference: str) -> str:
    """Return the commit that a reference names, or an empty text."""
    if ".." in reference.split("/"):
        return ""
    if (file := folder / reference).is_file():
        return file.read_text("utf-8").strip()
    packed = folder / "packed-refs"
    lines = packed.read_text("utf-8").splitlines() if packed.is_file() else []
    return next((line.split(" ")[0] for line in lines if line.endswith(f" {reference}")), "")


def _prepare(own: Path, objects: Path) -> None:
    """Make an empty repository that reads the objects of another."""
    for folder in ("objects/info", "refs/heads"):
        (own / folder).mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/none\n", "utf-8")
    (own / "config").write_text(_CONFIG, "utf-8")
    (own / "objects" / "info" / "alternates").write_text(f"{objects}\n", "utf-8")


def _first(listing: str) -> dict[str, str]:
    first, at = dict[str, str](), ""
    for part in listing.split("\0"):
        name = part.strip("\n")
        if name.startswith("\x01"):
            at = name[1:].strip()
        elif name:
            first.setdefault(name, at)
    return first
