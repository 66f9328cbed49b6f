"""Opens the object store of a data folder: the folder itself, or the bucket that a setting names."""

from pathlib import Path
from typing import Final

from memory_pipeline.lake.files import TABLES_PREFIX
from memory_pipeline.lake.object_store import LocalObjectStore, ObjectStore
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.settings import LOCAL, lake_address
from memory_pipeline.settings.extras import pip_install

_ADDRESS: Final = "lake.address"
"""File of a data folder that says where its lake is, so that a program without the setting does not begin another."""


def opened(home: Path, *, address: str | None = None) -> ObjectStore:
    """Open the store of a data folder's files; creates nothing and contacts no server.

    The address is a value of the setting `lake`; default: that of the environment or the folder's settings file. Raises
    LakeError: the folder has files of its own, or the library of object storage is missing. SettingsError: the setting
    is invalid.
    """
    place, local = address or lake_address(home), LocalObjectStore(home)
    if place == LOCAL:
        if local.exists(_ADDRESS):
            with local.get(_ADDRESS) as file:
                there = file.read().decode()
            raise LakeError(
                f"{home}: its lake is {there}, says {_ADDRESS}, and the setting lake does not name it; set lake (or "
                f"MEMORY_PIPELINE_LAKE) to it, or remove {_ADDRESS} if that lake is gone"
            )
        return local
    if local.list(TABLES_PREFIX):
        raise LakeError(
            f"{home}: has files of its own, lake/, and the setting lake names another place; move the store with "
            "backup and restore-backup (docs/deployment.md), or unset lake"
        )
    try:
        from memory_pipeline.lake.s3_object_store import S3ObjectStore  # noqa: PLC0415 - an optional library
    except ModuleNotFoundError as error:
        raise LakeError(f"lake = {place}: the library {error.name} is missing; {pip_install('s3')}") from error
    return S3ObjectStore(place)


def note(home: Path, store: ObjectStore) -> None:
    """Record in a data folder where its lake is, if that is elsewhere."""
    address, local = store.uri("").encode(), LocalObjectStore(home)
    if not store.elsewhere:
        return
    if local.exists(_ADDRESS):
        with local.get(_ADDRESS) as file:
            if file.read() == address:
                return
    local.put(_ADDRESS, address)
