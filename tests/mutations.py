"""Damage to JSON values at random: parts dropped, replaced, or of another type."""

JUNK = (
    None,
    True,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "\ud800",
    "\0",
    [],
    {},
    [[]],
    {"x": []},
    "9999-99-99",
    float("1e308"),
    ["a", 1],
)


def damaged(value, chance):
    """Return a value with one part of it dropped, replaced by junk, or repeated."""
    places = list(paths(value))
    if not places:
        return value
    return changed(value, chance.choice(places), chance)


def paths(value, path=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from paths(part, (*path, key))


def changed(value, path, chance):
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        copy[key] = changed(copy[key], rest, chance)
    elif chance.random() < 0.3:
        del copy[key]
    else:
        copy[key] = chance.choice(JUNK)
    return copy
