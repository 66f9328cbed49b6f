"""Column types that many tables share.

Not here: tables and their columns (the other modules of `schemas/`).
"""

import dataframely as dy


def text(description: str, *, key: bool = False, nullable: bool = False) -> dy.String:
    """Declare a text column."""
    return dy.String(primary_key=key, nullable=nullable and not key, description=description)


def instant(description: str, *, nullable: bool = False) -> dy.Datetime:
    """Declare a column of instants, in UTC to the microsecond."""
    return dy.Datetime(time_zone="UTC", time_unit="us", nullable=nullable, description=description)


def share(description: str, *, nullable: bool = False) -> dy.Float64:
    """Declare a column of numbers from 0 to 1."""
    return dy.Float64(min=0.0, max=1.0, nullable=nullable, description=description)


def number(description: str, *, nullable: bool = False) -> dy.Float64:
    """Declare a column of numbers."""
    return dy.Float64(nullable=nullable, description=description)


def count(description: str) -> dy.Int64:
    """Declare a column of whole numbers from 0."""
    return dy.Int64(min=0, description=description)


def words(description: str) -> dy.List:
    """Declare a column of lists of texts."""
    return dy.List(dy.String(), description=description)


def profile() -> dy.String:
    """Declare the column of the tenant, the first of every key."""
    return dy.String(primary_key=True, min_length=1, description="Tenant that owns the row.")
