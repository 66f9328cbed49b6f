"""Cases of a test of which each push runs the first; `make drill` runs them all."""

import pytest


def first(case, *others):
    """Return the cases, all but the first marked for the drill."""
    return [case, *(pytest.param(other, marks=pytest.mark.drill) for other in others)]


def first_row(case, *others):
    """Return the cases of a test that takes several values, all but the first marked for the drill."""
    return [case, *(pytest.param(*other, marks=pytest.mark.drill) for other in others)]
