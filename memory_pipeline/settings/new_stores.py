"""What a new store begins with: settings that are better than the defaults, which older stores keep.

Not here: how settings are read (`loading`) and written on request (`service/config_file`).
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from memory_pipeline.settings.values import LEDGER_FILE

EMBEDDER: Final = "reader"
"""Embedder of new stores. Stores made before it existed keep the default, `hashing`, until somebody sets another."""
_COMMENT: Final = "chosen when this store was made; see: memory-pipeline config show"


def is_new(folder: Path) -> bool:
    """Return whether a data folder holds no store yet whose ledger is a file."""
    return not (folder / LEDGER_FILE).exists()


def begin(file: Path) -> None:
    """Write into the settings file of a new store what it begins with, unless the file or a variable sets it.

    A file that cannot be read or written is left alone: the defaults apply then.
    """
    if "MEMORY_PIPELINE_EMBEDDER" in os.environ:
        return
    import tomlkit  # noqa: PLC0415 - slow to import, and only a new store needs it
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    with suppress(OSError, TOMLKitError):
        document = tomlkit.parse(file.read_text("utf-8-sig") if file.exists() else "")
        policy = document.setdefault("policy", tomlkit.table())
        if "embedder" in policy:
            return
        policy["embedder"] = tomlkit.item(EMBEDDER).comment(_COMMENT)
        aside = file.with_name(f".{file.name}.{secrets.token_hex(8)}.aside")
        try:
            aside.write_text(tomlkit.dumps(document), "utf-8")
            if file.exists():
                aside.chmod(file.stat().st_mode)
            aside.replace(file)
        finally:
            aside.unlink(missing_ok=True)
