"""The tables of a DuckLake catalogue, version 1.0 of the format, in the ledger's database.

Layout and types are those that DuckDB gives them there. They follow from the ledger's own tables and can be filled anew
at any time, so they are no part of its schema: neither its version nor its backups know them.
"""

from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

FORMAT: Final = "1.0"
"""Version of the format."""

METADATA: Final = sa.MetaData()


class _Instant(sa.TypeDecorator[datetime]):
    """An instant; in SQLite, which has no such type, the text that DuckDB writes there."""

    impl = sa.String
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        """Return the column's type in a database."""
        return sa.String() if dialect.name == "sqlite" else sa.DateTime(timezone=True)

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> Any:
        """Return the value as the database takes it."""
        if value is None or dialect.name != "sqlite":
            return value
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}+00"


_YES: Final = sa.Boolean(create_constraint=False).with_variant(sa.BigInteger(), "sqlite")
_UUID: Final = sa.String().with_variant(postgresql.UUID(as_uuid=False), "postgresql")
_TEXTS: Final = (
    "key value scope path encryption_key column_name column_type initial_default default_value default_value_type "
    "default_value_dialect schema_name table_name view_name dialect sql column_aliases file_format format changes_made "
    "author commit_message commit_extra_info min_value max_value extra_stats variant_path shredded_type transform "
    "partition_value type source_name macro_name parameter_name parameter_type expression sort_direction null_order"
)
_TYPES: Final[dict[str, Any]] = {
    **dict.fromkeys(_TEXTS.split(), sa.String()),
    **dict.fromkeys(["path_is_relative", "nulls_allowed", "contains_nan", "contains_null", "is_partition"], _YES),
    **dict.fromkeys(["snapshot_time", "schedule_start"], _Instant()),
    **dict.fromkeys(["schema_uuid", "table_uuid", "view_uuid"], _UUID),
}
"""Types of columns by name; all others are whole numbers."""

_KEYED: Final = {"snapshot", "snapshot_changes", "schema", "data_file", "delete_file"}
"""Tables whose first column is their key."""


def _table(name: str, columns: str) -> sa.Table:
    first = columns.split(maxsplit=1)[0]
    return sa.Table(
        f"ducklake_{name}",
        METADATA,
        *(
            sa.Column(
                column,
                _TYPES.get(column, sa.BigInteger()),
                primary_key=name in _KEYED and column == first,
                autoincrement=False,
            )
            for column in columns.split()
        ),
    )


OPTIONS: Final = _table("metadata", "key value scope scope_id")
SNAPSHOTS: Final = _table("snapshot", "snapshot_id snapshot_time schema_version next_catalog_id next_file_id")
CHANGES: Final = _table("snapshot_changes", "snapshot_id changes_made author commit_message commit_extra_info")
SCHEMAS: Final = _table("schema", "schema_id schema_uuid begin_snapshot end_snapshot schema_name path path_is_relative")
TABLES: Final = _table(
    "table", "table_id table_uuid begin_snapshot end_snapshot schema_id table_name path path_is_relative"
)
COLUMNS: Final = _table(
    "column",
    "column_id begin_snapshot end_snapshot table_id column_order column_name column_type initial_default default_value "
    "nulls_allowed parent_column default_value_type default_value_dialect",
)
FILES: Final = _table(
    "data_file",
    "data_file_id table_id begin_snapshot end_snapshot file_order path path_is_relative file_format record_count "
    "file_size_bytes footer_size row_id_start partition_id encryption_key mapping_id partial_max",
)
MAPPINGS: Final = _table("column_mapping", "mapping_id table_id type")
NAMES: Final = _table("name_mapping", "mapping_id column_id source_name target_field_id parent_column is_partition")

_UNUSED: Final = {
    "view": "view_id view_uuid begin_snapshot end_snapshot schema_id view_name dialect sql column_aliases",
    "tag": "object_id begin_snapshot end_snapshot key value",
    "column_tag": "table_id column_id begin_snapshot end_snapshot key value",
    "file_column_stats": "data_file_id table_id column_id column_size_bytes value_count null_count min_value max_value "
    "contains_nan extra_stats",
    "file_variant_stats": "data_file_id table_id column_id variant_path shredded_type column_size_bytes value_count "
    "null_count min_value max_value contains_nan extra_stats",
    "delete_file": "delete_file_id table_id begin_snapshot end_snapshot data_file_id path path_is_relative format "
    "delete_count file_size_bytes footer_size encryption_key partial_max",
    "table_stats": "table_id record_count next_row_id file_size_bytes",
    "table_column_stats": "table_id column_id contains_null contains_nan min_value max_value extra_stats",
    "partition_info": "partition_id table_id begin_snapshot end_snapshot",
    "partition_column": "partition_id table_id partition_key_index column_id transform",
    "file_partition_value": "data_file_id table_id partition_key_index partition_value",
    "files_scheduled_for_deletion": "data_file_id path path_is_relative schedule_start",
    "inlined_data_tables": "table_id table_name schema_version",
    "schema_versions": "begin_snapshot schema_version table_id",
    "macro": "schema_id macro_id macro_name begin_snapshot end_snapshot",
    "macro_impl": "macro_id impl_id dialect sql type",
    "macro_parameters": "macro_id impl_id column_id parameter_name parameter_type default_value default_value_type",
    "sort_info": "sort_id table_id begin_snapshot end_snapshot",
    "sort_expression": "sort_id table_id sort_key_index expression dialect sort_direction null_order",
}
"""Tables that readers ask for and that stay empty. No values of rows stand in the catalogue, so none can outlive an
erasure: readers take minima and maxima from the files."""

for _name, _columns in _UNUSED.items():
    _table(_name, _columns)
