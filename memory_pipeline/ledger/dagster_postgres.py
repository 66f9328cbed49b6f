"""Rewrites texts in Dagster's history if a data folder's `dagster.yaml` stores it in PostgreSQL."""

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
import yaml

from memory_pipeline.ledger.database import LakeError
from memory_pipeline.settings.extras import pip_install

_PORT: Final = 5432
_AT_ONCE: Final = 1000
"""Rows fetched in one step."""


def url_of(home: Path) -> sa.URL | None:
    """Return where the history is, as the data folder's `dagster.yaml` says; None if it is not in PostgreSQL.

    Raises LakeError: the file cannot be read, or names a variable that is not set.
    """
    path = home / "dagster" / "dagster.yaml"
    if not path.is_file():
        return None
    try:
        config = yaml.safe_load(path.read_text("utf-8")) or {}
        postgres = (config.get("storage") or {}).get("postgres")
        if postgres is None:
            return None
        if "postgres_url" in postgres:
            return sa.make_url(_value(postgres["postgres_url"]))
        given = postgres["postgres_db"]
        return sa.URL.create(
            "postgresql+psycopg2",
            username=_value(given["username"]),
            password=_value(given["password"]),
            host=_value(given["hostname"]),
            port=int(_value(given.get("port", _PORT))),
            database=_value(given["db_name"]),
        )
    except KeyError as error:
        raise LakeError(f"{path}: storage.postgres: {error} is missing, so nothing was erased; set it") from None
    except (OSError, AttributeError, TypeError, ValueError, yaml.YAMLError, sa.exc.ArgumentError) as error:
        readable = isinstance(error, OSError | yaml.YAMLError)
        why = str(error).splitlines()[0] if readable else "storage.postgres is invalid"
        raise LakeError(f"{path}: {why}, so nothing was erased; correct it") from None


def _value(given: Any) -> str:
    """Return a value given in the file, or in an environment variable that it names."""
    return os.environ[given["env"]] if isinstance(given, Mapping) else str(given)


def rewrite_texts(url: sa.URL, rewrite: Callable[[str], str]) -> bool:
    """Rewrite the text cells of every table in one transaction, and leave none of the old ones in its files.

    `rewrite` returns the new text of a cell. Returns whether there was anything to rewrite. Cost: reads all texts once.
    Raises LakeError: the database cannot be reached or written.
    """
    try:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        layout = sa.MetaData()
        layout.reflect(engine)
        with engine.connect() as reader, engine.begin() as writer:
            changed = [table for table in layout.sorted_tables if _rewritten(reader, writer, table, rewrite)]
        if changed:
            with closing(engine.execution_options(isolation_level="AUTOCOMMIT").connect()) as connection:
                for table in changed:
                    connection.execute(sa.text(f"VACUUM FULL {engine.dialect.identifier_preparer.format_table(table)}"))
    except ImportError as error:
        raise LakeError(
            f"Dagster's history is in PostgreSQL, and {error.name} is not installed, so nothing was erased; install it "
            f"with: {pip_install('postgres')}"
        ) from error
    except sa.exc.SQLAlchemyError as error:
        why = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise LakeError(
            f"Dagster's history in PostgreSQL at {url.host or 'its socket'} cannot be rewritten ({why}), so nothing "
            "was erased; make the server reachable, then erase again"
        ) from None
    return bool(changed)


def _rewritten(reader: sa.Connection, writer: sa.Connection, table: sa.Table, rewrite: Callable[[str], str]) -> bool:
    """Rewrite the text cells of a table; return whether there were any to rewrite."""
    changed = False
    for column in table.columns:
        if isinstance(column.type, sa.String):
            cells = reader.execution_options(yield_per=_AT_ONCE).scalars(sa.select(column).where(column.is_not(None)))
            for cell in cells:
                if (new := rewrite(cell)) != cell:
                    changed = True
                    writer.execute(sa.update(table).where(column == cell).values({column: new}))
    return changed
