"""The lake: tables as Parquet files in an object store, publishing, compaction, snapshots and the data dictionary."""
