"""Kinds of columns that many tables share."""

import dataframely as dy


def text(description: str, *, key: bool = False, nullable: bool = False) -> dy.String:
    """Declare a column: text."""
    return dy.String(primary_key=key, nullable=nullable and not key, description=description)


def instant(description: str, *, nullable: bool = False) -> dy.Datetime:
    """Declare a column: instant in UTC."""
    return dy.Datetime(time_zone="UTC", time_unit="us", nullable=nullable, description=description)


def share(description: str, *, nullable: bool = False) -> dy.Float64:
    """Declare a column: number from 0 to 1."""
    return dy.Float64(min=0.0, max=1.0, nullable=nullable, description=description)


def number(description: str, *, nullable: bool = False) -> dy.Float64:
    """Declare a column: number."""
    return dy.Float64(nullable=nullable, description=description)


def count(description: str) -> dy.Int64:
    """Declare a column: whole number from 0."""
    return dy.Int64(min=0, description=description)


def words(description: str) -> dy.List:
    """Declare a column: list of texts."""
    return dy.List(dy.String(), description=description)


def profile() -> dy.String:
    """Declare a column: the tenant, first column of every key."""
    return dy.String(primary_key=True, min_length=1, description="Tenant that owns the row.")
