"""Archives that exports come in: what is read of them, and how far they may expand."""

import bz2
import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from frames import AS_OF

from memory_pipeline.interop import formats, unpacking
from memory_pipeline.interop.files import Broken, members
from memory_pipeline.interop.items import Noticed, Skipped
from memory_pipeline.interop.unpacking import TooLarge

LINE = b'{"type": "entity", "name": "Ana", "entityType": "person", "observations": ["tea"]}'
ZEROS = bytes(3 << 20)


def zipped(files: dict[str, bytes]) -> bytes:
    """Return a ZIP file with these files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w") -> bytes:
    """Return a tar file with these files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def contents(path: Path) -> dict[str, bytes]:
    """Return the files of an export by name."""
    found = {}
    for member in members(path):
        with member.reading() as file:
            found[member.name] = file.read()
    return found


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "memory.jsonl.gz": gzip.compress,
    "memory.jsonl.bz2": bz2.compress,
    "memory.jsonl.xz": lzma.compress,
    "export.tgz": lambda data: tarred({"memory.jsonl": data}, "w:gz"),
    "export.tar.bz2": lambda data: tarred({"memory.jsonl": data}, "w:bz2"),
    "export.txz": lambda data: tarred({"memory.jsonl": data}, "w:xz"),
    "export.tar": lambda data: tarred({"memory.jsonl": data}),
    "export.zip": lambda data: zipped({"memory.jsonl": data}),
    "of-archives.zip": lambda data: zipped({"part.zip": zipped({"inner.tar.gz": tarred({"m.jsonl": data}, "w:gz")})}),
    "of-packed.zip": lambda data: zipped({"m.jsonl.gz": gzip.compress(data)}),
}


@pytest.mark.parametrize("name", PACKED)
def test_what_an_archive_holds_is_read_however_it_is_packed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(PACKED[name](LINE))
    assert list(contents(tmp_path / name).values()) == [LINE]
    items = list(formats.events(formats.FORMATS["mcp-memory"], tmp_path / name, recorded_at=AS_OF))
    assert [json.loads(item.payload_json())["content"] for item in items]


@pytest.mark.parametrize("name", PACKED)
def test_an_archive_that_expands_too_far_is_refused_with_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).write_bytes(PACKED[name](ZEROS))
    monkeypatch.setattr(unpacking, "FREE", 1 << 20)
    monkeypatch.setattr(unpacking, "SPOOLED_FREE", 1 << 20)
    if name == "export.tar":  # expands to nothing more
        assert list(contents(tmp_path / name).values()) == [ZEROS]
        return
    with pytest.raises(TooLarge, match=rf"{name}: has [\d,]+ bytes and .* more than 1,048,576.*, the limit; unpack it"):
        contents(tmp_path / name)


def test_files_of_an_archive_count_together_and_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "FREE", 1 << 20)
    (tmp_path / "a.zip").write_bytes(zipped({f"{index}.json": bytes(300_000) for index in range(4)}))
    with pytest.raises(TooLarge):
        contents(tmp_path / "a.zip")
    opened = members(tmp_path / "a.zip")
    one = next(opened)
    assert {len(one.head(10**6)) for _ in range(20)} == {300_000}


def test_archives_within_an_archive_are_spooled_within_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "SPOOLED_FREE", 1 << 20)
    (tmp_path / "a.zip").write_bytes(zipped({"inner.zip": zipped({"x.json": b"{}"}) + ZEROS}))
    with pytest.raises(TooLarge, match="takes more than 1,048,576 of temporary space"):
        contents(tmp_path / "a.zip")
    several = {f"{index}.tar": tarred({f"{index}.json": bytes(600_000)}) for index in range(4)}
    (tmp_path / "b.zip").write_bytes(zipped(several))
    assert len(contents(tmp_path / "b.zip")) == 4, "one after the other, each leaves the temporary folder again"


def test_an_archive_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_FILES", 20)
    (tmp_path / "a.zip").write_bytes(
        zipped({f"{index}.zip": zipped({f"{inner}.json": b"{}" for inner in range(5)}) for index in range(5)})
    )
    with pytest.raises(TooLarge, match=r"a\.zip: holds more than 20 files"):
        contents(tmp_path / "a.zip")
    (tmp_path / "b.tar").write_bytes(tarred({f"{index}.json": b"" for index in range(30)}))
    with pytest.raises(TooLarge, match=r"b\.tar: holds more than 20 files"):
        contents(tmp_path / "b.tar")


@pytest.mark.parametrize("pack", [lambda data: zipped({"a.zip": data}), lambda data: tarred({"a.zip": data}, "w:gz")])
def test_archives_within_one_another_are_opened_to_a_depth(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    data = zipped({"x.json": b"{}"})
    for _ in range(12):
        data = zipped({"a.zip": data})
    name = "a.zip" if pack(b"")[:2] == b"PK" else "a.tgz"
    (tmp_path / name).write_bytes(pack(data))
    with pytest.raises(TooLarge, match=r"a\.zip: is an archive within 8 others; unpack it"):
        contents(tmp_path / name)


@pytest.mark.parametrize("how", ["zip", "tar"])
def test_links_are_not_followed_and_names_lead_nowhere(tmp_path: Path, how: str) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes(LINE)
    export, made = tmp_path / "exports" / f"a.{how}", io.BytesIO()
    export.parent.mkdir()
    if how == "zip":
        with zipfile.ZipFile(made, "w") as archive:
            link = zipfile.ZipInfo("link.jsonl")
            link.create_system, link.external_attr = 3, 0o120777 << 16
            archive.writestr(link, str(secret))
            archive.writestr("../../outside.jsonl", LINE)
            archive.writestr("/tmp/absolute.jsonl", LINE)  # noqa: S108 - nothing is written there
    else:
        with tarfile.open(fileobj=made, mode="w") as archive:
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
                entry = tarfile.TarInfo("link.jsonl")
                entry.type, entry.linkname = kind, str(secret)
                archive.addfile(entry)
            for name in ("../../outside.jsonl", "/tmp/absolute.jsonl"):  # noqa: S108 - nothing is written there
                entry = tarfile.TarInfo(name)
                entry.size = len(LINE)
                archive.addfile(entry, io.BytesIO(LINE))
    export.write_bytes(made.getvalue())
    before = sorted(tmp_path.rglob("*"))
    assert sorted(contents(export)) == ["../../outside.jsonl", "/tmp/absolute.jsonl"]  # noqa: S108
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("/tmp/absolute.jsonl").exists()  # noqa: S108


def test_temporary_files_are_gone_after_an_import_and_after_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("memory_pipeline.interop.files._SPOOLED", 10)
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    (tmp_path / "good.zip").write_bytes(zipped({"inner.zip": zipped({"x.json": os.urandom(1000)})}))
    assert len(contents(tmp_path / "good.zip")) == 1
    (tmp_path / "bad.zip").write_bytes(zipped({"inner.zip": os.urandom(1000)}))
    with pytest.raises(ValueError, match="is not a complete ZIP file"):
        contents(tmp_path / "bad.zip")
    monkeypatch.setattr(unpacking, "SPOOLED_FREE", 100)
    (tmp_path / "large.zip").write_bytes(zipped({"inner.zip": bytes(100_000)}))
    with pytest.raises(TooLarge):
        contents(tmp_path / "large.zip")
    assert not list((tmp_path / "temporary").iterdir())
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


def test_a_file_that_only_seems_compressed_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl.gz").write_bytes(LINE)  # a browser may have uncompressed it
    assert contents(tmp_path / "memory.jsonl.gz") == {"memory.jsonl.gz": LINE}


@pytest.mark.parametrize("name", PACKED)
def test_notes_are_read_however_they_are_packed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name.replace("memory.jsonl", "boat.md")
    if name.startswith("memory"):
        path.write_bytes(PACKED[name](b"- The boat is red.\n"))
    else:
        packed = gzip.compress(b"- The boat is red.\n")
        path.write_bytes(zipped({"boat.md.gz": packed}) if name.endswith("zip") else tarred({"boat.md.gz": packed}))
    (item,) = (
        one
        for one in formats.events(formats.FORMATS["markdown"], path, recorded_at=AS_OF)
        if not isinstance(one, Skipped | Noticed)
    )
    payload = json.loads(item.payload_json())
    assert (payload["content"], json.loads(payload["metadata"])["file"]) == ("The boat is red.", "boat.md")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_notes_of_windows_are_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "kiosk.md").write_bytes("# Caf\u00e9\r\n\r\n- Closes at six.\r\n".encode(encoding))
    items = formats.events(formats.FORMATS["markdown"], tmp_path, recorded_at=AS_OF)
    (payload,) = (json.loads(one.payload_json()) for one in items if not isinstance(one, Skipped | Noticed))
    assert (payload["content"], payload["tags"]) == ("Closes at six.", ["Caf\u00e9"])


def test_a_file_without_a_time_in_an_archive_is_of_the_time_of_the_archive(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(zipfile.ZipInfo("boat.md"), "- The boat is red.\n")
        archive.writestr(zipfile.ZipInfo("mast.md", (2025, 3, 1, 8, 0, 0)), "- The mast is new.\n")
    (tmp_path / "a.zip").write_bytes(made.getvalue())
    (tmp_path / "a.tar").write_bytes(tarred({"boat.md": b"- The boat is red.\n"}))
    for name, years in (("a.zip", [2026, 2025]), ("a.tar", [2026])):
        os.utime(tmp_path / name, (1_770_000_000, 1_770_000_000))
        assert [one.modified.year for one in members(tmp_path / name)] == years


def test_what_cannot_be_read_in_an_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"history.db": b"SQLite format 3\0", "memory.jsonl": LINE, "m.zst": b"x"}))
    items = list(formats.events(formats.FORMATS["mcp-memory"], tmp_path / "a.zip", recorded_at=AS_OF))
    assert items[0] == Skipped("databases and packed files that have to be unpacked first", 2)
    (tmp_path / "b.zip").write_bytes(zipped({"store.sqlite": b"SQLite format 3\0"}))
    with pytest.raises(ValueError, match=r"store\.sqlite is not read where it is; unpack it"):
        formats.events(formats.FORMATS["langgraph"], tmp_path / "b.zip", recorded_at=AS_OF)


def test_an_encrypted_file_in_an_archive_is_named(tmp_path: Path) -> None:
    data = bytearray(zipped({"memory.jsonl": LINE}))
    data[6] |= 1  # the flags of the file itself
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and of the list of files
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(Broken, match="is encrypted; unpack it"):
        contents(tmp_path / "a.zip")


@pytest.mark.drill
def test_a_small_archive_of_large_ones_spools_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spooled, write = 0, unpacking.Limits.spool

    def counted(self: unpacking.Limits, count: int) -> None:
        nonlocal spooled
        write(self, count)
        spooled += max(count, 0)

    monkeypatch.setattr(unpacking.Limits, "spool", counted)
    inner = zipped({"conversations.json": bytes(64 << 20)})
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for index in range(20):
            with archive.open(f"{index}.zip", "w", force_zip64=True) as file:
                file.write(inner)
                for _ in range(150):
                    file.write(bytes(1 << 20))
    with pytest.raises(TooLarge):
        contents(tmp_path / "a.zip")
    assert spooled < 20 * (tmp_path / "a.zip").stat().st_size + (64 << 20)
