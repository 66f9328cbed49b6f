"""How many examples a property is tried on: few and the same ones in a push, many and random ones in a drill.

A quick check tries two.
"""

from typing import Any, Final

from hypothesis import Phase, settings

PUSH: Final = "push"
DRILL: Final = "drill"
QUICK: Final = "quick"
FEW: Final = 5
"""Examples of a property in a push, unless it says otherwise."""
DRILL_FACTOR: Final = 80
"""How many times as many a drill tries."""
_TWO: Final = 2


def register() -> None:
    """Register all profiles and load the one of a push; `--hypothesis-profile=drill` and `--quick` load another one."""
    settings.register_profile(PUSH, deadline=None, derandomize=True, max_examples=FEW)
    settings.register_profile(DRILL, deadline=None, derandomize=False, max_examples=FEW * DRILL_FACTOR)
    settings.register_profile(QUICK, settings.get_profile(PUSH), max_examples=_TWO)
    settings.load_profile(PUSH)


def examples(count: int, *, drill: int | None = None, **options: Any) -> settings:
    """Settings of a property whose examples are costly: so many in a push, in a drill as many times more, or as given.

    None in a push leaves those that the property names.
    """
    profile = settings.get_current_profile_name()
    if profile == DRILL:
        return settings(max_examples=drill or count * DRILL_FACTOR, **options)
    if not count:
        return settings(phases=(Phase.explicit,), **options)
    return settings(max_examples=min(count, _TWO) if profile == QUICK else count, **options)
