"""Commits files of a folder under git, and runs nothing that the folder configures.

A repository's configuration, hooks and attributes name programs that git starts, and a folder may come from anybody.
So no hook, filter, file monitor, signature or transport takes part: files are committed as they are, by commands that
neither look at the working tree nor ask an attribute. Not here: writing the files (`folder`), and reading a history
(`interop/commits`).
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

_SAFE: Final = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")
_OFF: Final = "MEMORY_PIPELINE_OFF"
"""Variable that holds the value of what is turned off."""
_ENVIRONMENT: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    _OFF: "false",
}
_AUTHOR: Final = ("-c", "user.name=memory-pipeline", "-c", "user.email=memory-pipeline@localhost")
_OWN: Final = "refs/memory-pipeline/written"
"""Holds the commit until it becomes that of the branch."""
_FILE: Final = "100644"
"""Mode of a file."""
_PROGRAM: Final = "100755"
"""Mode of a file that can be run."""
_GONE: Final = "0"
"""Mode that takes a file out of the index."""


def commit(folder: Path, message: str, *, paths: Collection[str]) -> str | None:
    """Commit these files if the folder is a git repository, and return the commit; None if nothing changed.

    What else is staged stays staged. A RuntimeError says why git refused; the files are written.
    """
    if not (folder / ".git").exists():
        return None
    head = _git(folder, "rev-parse", "--quiet", "--verify", "HEAD^{commit}", may_fail=True)
    kind = _git(folder, "rev-parse", "--show-object-format")
    committed = _committed(folder) if head else {}
    contents = {path: (folder / path).read_bytes() for path in paths if (folder / path).is_file()}
    entries = {
        path: (_PROGRAM if os.access(folder / path, os.X_OK) else _FILE, _blob(kind, content))
        for path, content in contents.items()
    }
    changed = sorted(path for path in {*paths} if entries.get(path) != committed.get(path))
    if not changed:
        return None
    files = {path: (entries[path][0], contents[path]) if path in entries else None for path in changed}
    safe, stream = _hooks_off(folder), _stream(_author(folder), message, head, files)
    _git(folder, *safe, "fast-import", "--quiet", "--date-format=raw", given=stream)
    made = _git(folder, "rev-parse", "--verify", _OWN)
    _git(folder, *safe, "update-ref", "-m", f"commit: {message}", "HEAD", made, head or "0" * len(made))
    _git(folder, *safe, "update-ref", "-d", _OWN)
    gone = (_GONE, "0" * len(made))
    index = ((*entries.get(path, gone), path) for path in changed)
    given = [f"{mode} {blob}\t{path}\0".encode() for mode, blob, path in index]
    # Whoever writes an index compares files as old as it with their entries, through the filters of the repository;
    # in an empty working tree there is none.
    where = _git(folder, "rev-parse", "--absolute-git-dir")
    with tempfile.TemporaryDirectory() as nothing:
        apart = ("-C", nothing, f"--git-dir={where}", f"--work-tree={nothing}")
        _git(folder, *safe, *apart, "update-index", "-z", "--index-info", given=given)
    return made


def _hooks_off(folder: Path) -> list[str]:
    """Return the options that turn off each hook that a configuration names, which `core.hooksPath` does not."""
    names = _git(folder, "config", "-z", "--name-only", "--get-regexp", r"^hook\..*\.command$", may_fail=True)
    return [f"--config-env={name.removesuffix('command')}enabled={_OFF}" for name in names.split("\0") if name]


def _committed(folder: Path) -> dict[str, tuple[str, str]]:
    lines = _git(folder, "ls-tree", "-r", "-z", "--full-tree", "HEAD").split("\0")
    described = (line.partition("\t") for line in lines if line)
    return {path: (mode, blob) for about, _, path in described for mode, _, blob in [about.split(" ")]}


def _blob(kind: str, content: bytes) -> str:
    """Return the id of a content, by the hash of the repository."""
    return hashlib.new(kind, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _author(folder: Path) -> str:
    """Return who commits, and when: the user as git knows them, else this program."""
    named = all(_git(folder, "config", "--default", "", "--get", f"user.{name}") for name in ("name", "email"))
    return _git(folder, *(() if named else _AUTHOR), "var", "GIT_COMMITTER_IDENT")


def _stream(author: str, message: str, head: str, files: Mapping[str, tuple[str, bytes] | None]) -> Iterable[bytes]:
    """Yield what `git fast-import` reads: a commit of files, each with mode and content, None for one that is gone."""
    yield f"commit {_OWN}\ncommitter {author}\n".encode()
    yield _data(message.encode())
    if head:
        yield f"from {head}\n".encode()
    for path, file in files.items():
        name = path.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        if file is None:
            yield f'D "{name}"\n'.encode()
        else:
            yield f'M {file[0]} inline "{name}"\n'.encode()
            yield _data(file[1])


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _git(folder: Path, *arguments: str, given: Iterable[bytes] = (), may_fail: bool = False) -> str:
    """Run git with something on its standard input, and return what it prints."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(  # noqa: S603 - the user's own git
        ["git", *_SAFE, "-C", str(folder), *arguments],  # noqa: S607
        input=b"".join(given),
        capture_output=True,
        check=False,
        env=own | _ENVIRONMENT,
    )
    out, problem = os.fsdecode(done.stdout).strip(), done.stderr.decode(errors="replace").strip()
    if done.returncode and not may_fail:
        raise RuntimeError(
            f"{folder}: the files are written, but git refused to commit them: {problem or out}; commit them"
        )
    return out
