"""Reads the data in a pickle without unpickling it: no class is imported and no code in it runs.

The opcodes are read as a list of steps on a stack of plain values; whatever would create an object becomes an `Inert`,
which only records what it would have been. Not here: which objects hold what (`mem0.py`).
"""

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

_MARK: Final = object()
_BYTES: Final = "_codecs encode"
"""What makes bytes of a text in old pickles."""


@dataclass
class Inert:
    """An object that the pickle describes and that is never created."""

    name: str
    """Its class or function, as the pickle names it."""
    arguments: Any = None
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)


def read(content: bytes) -> Any:
    """Return the numbers, texts, lists, dicts and `Inert` that a pickle describes; a ValueError, if it is damaged."""
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(content):
            _STEPS[opcode.name](machine, argument)
        return machine.stack[-1]
    except Exception as error:  # any error that damage causes
        raise ValueError(f"is not a readable pickle ({error})") from error


@dataclass
class _Machine:
    """The stack of a pickle, over plain values."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def taken(self, count: int) -> list[Any]:
        """Take the last values off the stack."""
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return items

    def marked(self) -> list[Any]:
        """Take the values behind the last mark off the stack, and the mark."""
        behind = next(count for count, item in enumerate(reversed(self.stack)) if item is _MARK)
        return self.taken(behind + 1)[1:]

    def extend(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def set(self, items: list[Any]) -> None:
        target = self.stack[-1]
        (target.items if isinstance(target, Inert) else target).update(_pairs(items))

    def build(self, state: Any) -> None:
        if isinstance(self.stack[-1], Inert):
            self.stack[-1].state = state

    def note(self, place: Any) -> None:
        self.memo[len(self.memo) if place is None else int(place)] = self.stack[-1]


def _made(of: Any, arguments: Any, *_: Any) -> Any:
    """Return what a class or function would have made of some arguments."""
    name = getattr(of, "name", "?")
    return str(arguments[0]).encode("latin-1") if name == _BYTES else Inert(name, arguments)


def _pairs(items: list[Any]) -> dict[Any, Any]:
    """Return keys and values; a key that no dict takes is left out."""
    return {
        key: value
        for key, value in zip(items[::2], items[1::2], strict=True)
        if isinstance(key, str | int | float | bytes | tuple | None)
    }


_LITERALS: Final = (
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
)
_STEPS: Final[dict[str, Callable[[_Machine, Any], Any]]] = {
    **dict.fromkeys(_LITERALS, _Machine.push),
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda _, __: None),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), _Machine.note),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), lambda machine, place: machine.push(machine.memo[int(place)])),
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(value=True),
    "NEWFALSE": lambda machine, _: machine.push(value=False),
    "MARK": lambda machine, _: machine.push(_MARK),
    "POP": lambda machine, _: machine.stack.pop(),
    "POP_MARK": lambda machine, _: machine.marked(),
    "DUP": lambda machine, _: machine.push(machine.stack[-1]),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    **dict.fromkeys(("EMPTY_LIST", "EMPTY_SET"), lambda machine, _: machine.push([])),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.marked())),
    "TUPLE1": lambda machine, _: machine.push(tuple(machine.taken(1))),
    "TUPLE2": lambda machine, _: machine.push(tuple(machine.taken(2))),
    "TUPLE3": lambda machine, _: machine.push(tuple(machine.taken(3))),
    "DICT": lambda machine, _: machine.push(_pairs(machine.marked())),
    **dict.fromkeys(("LIST", "FROZENSET"), lambda machine, _: machine.push(machine.marked())),
    "APPEND": lambda machine, _: machine.extend(machine.taken(1)),
    **dict.fromkeys(("APPENDS", "ADDITEMS"), lambda machine, _: machine.extend(machine.marked())),
    "SETITEM": lambda machine, _: machine.set(machine.taken(2)),
    "SETITEMS": lambda machine, _: machine.set(machine.marked()),
    "GLOBAL": lambda machine, name: machine.push(Inert(str(name))),
    "STACK_GLOBAL": lambda machine, _: machine.push(Inert("{} {}".format(*machine.taken(2)))),
    **dict.fromkeys(("REDUCE", "NEWOBJ"), lambda machine, _: machine.push(_made(*machine.taken(2)))),
    "NEWOBJ_EX": lambda machine, _: machine.push(_made(*machine.taken(3))),
    "BUILD": lambda machine, _: machine.build(machine.stack.pop()),
    "INST": lambda machine, name: machine.push(Inert(str(name), machine.marked())),
    "OBJ": lambda machine, _: machine.push(_made((own := machine.marked())[0], own[1:])),
    "PERSID": lambda machine, name: machine.push(Inert("persistent", name)),
    "BINPERSID": lambda machine, _: machine.push(Inert("persistent", machine.stack.pop())),
    **dict.fromkeys(("EXT1", "EXT2", "EXT4"), lambda machine, code: machine.push(Inert("extension", code))),
}
"""What each opcode does with its argument."""
