"""A folder's git history dates its notes, and nothing that the folder configures is run."""

import os
import re
import shutil
import subprocess

import pytest

from memory_pipeline.interop.commits import first_committed
from memory_pipeline.interop.exports.git_commit import commit

DAY = "2026-02-03T10:00:00+00:00"


def git(folder, *arguments, **variables):
    own = {
        "GIT_AUTHOR_DATE": DAY,
        "GIT_COMMITTER_DATE": DAY,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    names = ["-c", "user.name=Ida", "-c", "user.email=ida@example.org"]
    done = subprocess.run(
        ["git", *names, *arguments], cwd=folder, env=os.environ | own | variables, check=True, capture_output=True
    )
    return done.stdout.decode().strip()


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "vault"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "a b.md").write_text("- tea\n")
    (folder / "sub" / "c.md").write_text("- coffee\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "notes")
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_each_file_has_the_date_of_its_first_commit(notes, packed):
    if packed:
        git(notes, "gc", "-q")
        git(notes, "pack-refs", "--all")
    assert {name: at[:10] for name, at in first_committed(notes).items()} == {"a b.md": DAY[:10], "sub/c.md": DAY[:10]}
    assert {name: at[:10] for name, at in first_committed(notes / "sub").items()} == {"c.md": DAY[:10]}
    git(notes, "checkout", "-q", "--detach")
    assert set(first_committed(notes)) == {"a b.md", "sub/c.md"}


def test_no_history_is_no_error(notes, tmp_path):
    assert first_committed(tmp_path) == {}
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {notes}/.git\n")
    assert first_committed(tmp_path / "tree") == {}
    (notes / ".git" / "HEAD").write_text("ref: refs/heads/../../../etc/passwd\n")
    assert first_committed(notes) == {}


@pytest.fixture
def trapped(notes, tmp_path):
    """What is there once git has started a program that the folder names."""
    trap = tmp_path / "trap.sh"
    ran = tmp_path / "ran"
    trap.write_text(f"#!/bin/sh\necho ran >> {ran}\nexit 0\n")
    trap.chmod(0o755)
    included = tmp_path / "included"
    included.write_text(f"[core]\n\tfsmonitor = {trap}\n")
    (notes / ".git" / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n"
        f"\tfsmonitor = {trap}\n\tsshCommand = {trap}\n\tpager = {trap}\n\teditor = {trap}\n\thooksPath = {tmp_path}\n"
        f"[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {trap}\n[diff]\n\texternal = {trap}\n"
        f'[diff "md"]\n\ttextconv = {trap}\n\tcommand = {trap}\n[filter "md"]\n\tsmudge = {trap}\n\tclean = {trap}\n'
        f"[include]\n\tpath = {included}\n[extensions]\n\tworktreeConfig = true\n\tpartialClone = origin\n"
        f'[remote "origin"]\n\turl = ext::{trap}\n\tpromisor = true\n[credential]\n\thelper = {trap}\n'
        "[commit]\n\tgpgSign = true\n[protocol]\n\tallow = always\n"
        f'[hook "a=b c"]\n\tcommand = {trap}\n\tevent = reference-transaction\n\tevent = post-index-change\n'
    )
    (notes / ".git" / "config.worktree").write_text(f"[core]\n\tfsmonitor = {trap}\n")
    (notes / ".gitattributes").write_text("*.md diff=md filter=md\n")
    for folder in (notes / ".git" / "hooks", tmp_path):
        folder.mkdir(exist_ok=True)
        for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc", "pre-commit"):
            (folder / hook).write_bytes(trap.read_bytes())
            (folder / hook).chmod(0o755)
    return ran


def test_nothing_that_the_folder_configures_is_run(notes, trapped):
    assert set(first_committed(notes)) == {"a b.md", "sub/c.md"}
    (notes / "a b.md").write_bytes(b"- tea\r\n- milk\r\n")
    (notes / "sub" / "c.md").unlink()
    (notes / 'new "one".md').write_text("- rain\n")
    made = commit(notes, "Dream", paths=["a b.md", "sub/c.md", 'new "one".md', "nowhere.md"])
    assert not trapped.exists()
    (notes / ".git" / "config").write_text("")
    (notes / ".gitattributes").unlink()
    (notes / ".git" / "config.worktree").unlink()
    shutil.rmtree(notes / ".git" / "hooks")
    assert git(notes, "log", "--format=%H %s").splitlines()[0] == f"{made} Dream"
    assert git(notes, "show", "--name-status", "--format=", made).splitlines() == [
        "M\ta b.md",
        'A\t"new \\"one\\".md"',
        "D\tsub/c.md",
    ]
    assert git(notes, "status", "--short") == ""
    git(notes, "fsck", "--strict")


def test_a_hook_that_the_configuration_names_is_off_where_git_would_run_it(notes, trapped, tmp_path, monkeypatch):
    """Of git from 2.54 on; an older one knows no such hooks, so the options are what is checked here."""
    real, log = shutil.which("git"), tmp_path / "log"
    stand_in = tmp_path / "bin" / "git"
    stand_in.parent.mkdir()
    stand_in.write_text(f'#!/bin/sh\necho "$@" >> "{log}"\nexec "{real}" "$@"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}:{os.environ['PATH']}")
    (notes / "a b.md").write_text("- milk\n")
    assert commit(notes, "Dream", paths=["a b.md"])
    writes = [line for line in log.read_text().splitlines() if re.search("fast-import|update-ref|update-index", line)]
    assert len(writes) == 4
    assert all("--config-env=hook.a=b c.enabled=MEMORY_PIPELINE_OFF" in line for line in writes)
    assert not trapped.exists()


@pytest.mark.parametrize("kind", ["a file", "a worktree", "a submodule", "a link"])
def test_nothing_runs_where_the_repository_is_elsewhere(notes, trapped, tmp_path, kind):
    config, attributes = (notes / ".git" / "config").read_text(), (notes / ".gitattributes").read_bytes()
    (notes / ".git" / "config").write_text("")
    there = tmp_path / "there"
    if kind == "a worktree":
        git(notes, "worktree", "add", "-q", str(there), "-b", "side")
        shutil.copy(notes / ".git" / "config.worktree", notes / ".git" / "worktrees" / "there" / "config.worktree")
        own = notes / ".git"
    elif kind == "a submodule":
        outer = tmp_path / "outer"
        outer.mkdir()
        git(outer, "init", "-q")
        git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(notes), "sub")
        there, own = outer / "sub", outer / ".git" / "modules" / "sub"
    else:
        there.mkdir()
        own = notes / ".git"
        (there / ".git").write_text(f"gitdir: {own}\n") if kind == "a file" else (there / ".git").symlink_to(own)
    with (own / "config").open("a") as file:
        file.write(config)
    (there / ".gitattributes").write_bytes(attributes)
    trapped.unlink(missing_ok=True)
    first_committed(there)
    (there / "a b.md").write_text("- milk\n")
    assert commit(there, "Dream", paths=["a b.md"])
    assert not trapped.exists()


def test_no_filter_runs_over_files_that_are_as_old_as_the_index(notes, trapped):
    for path in (notes / "a b.md", notes / "sub" / "c.md"):
        os.utime(path, (1e9, 1e9))
    git(notes, "-c", "filter.md.clean=", "update-index", "--refresh")
    os.utime(notes / ".git" / "index", (1e9, 1e9))
    trapped.unlink(missing_ok=True)
    (notes / "a b.md").write_text("- milk\n")
    assert commit(notes, "Dream", paths=["a b.md"])
    assert not trapped.exists()


def test_a_commit_leaves_a_branch_and_what_is_staged_as_they_are(notes):
    git(notes, "checkout", "-q", "--detach")
    (notes / "staged.md").write_text("- sun\n")
    git(notes, "add", "staged.md")
    assert commit(notes, "Dream", paths=["a b.md"]) is None
    (notes / "a b.md").write_text("- tea\n- milk\n")
    (notes / "a b.md").chmod(0o755)
    made = commit(notes, "Dream", paths=["a b.md"])
    assert git(notes, "rev-parse", "HEAD") == made
    assert git(notes, "rev-parse", "main") == git(notes, "rev-parse", "HEAD~")
    assert git(notes, "ls-files", "-s", "a b.md")[:6] == "100755"
    assert git(notes, "status", "--short") == "A  staged.md"


def test_no_variable_of_the_caller_reaches_git(notes, tmp_path, monkeypatch):
    ran = tmp_path / "ran"
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {ran}")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.pager")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {ran}")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert set(first_committed(notes)) == {"a b.md", "sub/c.md"}
    assert not ran.exists()
