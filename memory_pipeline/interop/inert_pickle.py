"""Reads the data in a pickle without unpickling it: no class is imported and no code in it runs.

The opcodes are read as a list of steps on a stack of plain values; whatever would create an object becomes an `Inert`,
which only records what it would have been. Not here: which objects hold what (`mem0.py`).
"""

import pickletools
from dataclasses import dataclass, field
from typing import Any, Final

_MARK: Final = object()
_CONSTANTS: Final = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES: Final = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_LITERALS: Final = frozenset(
    {
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
        *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    }
)
_BYTES: Final = "_codecs encode"
_NOTHING: Final = frozenset({"PROTO", "FRAME", "STOP"})
_PUTS: Final = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_GETS: Final = frozenset({"GET", "BINGET", "LONG_BINGET"})


@dataclass
class Inert:
    """An object that the pickle describes and that is never created."""

    name: str
    """Its class or function, as the pickle names it."""
    arguments: Any = None
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)


def read(content: bytes) -> Any:
    """Return the value that a pickle describes: numbers, texts, bytes, lists, dicts, and `Inert` for everything else.

    Raises:
        ValueError: it is not a pickle, or damaged.
    """
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(content):
            machine.step(opcode.name, argument)
        return machine.stack[-1]
    except Exception as error:  # any error that damage causes
        raise ValueError(f"is not a readable pickle ({error})") from error


class _Machine:
    """The stack of a pickle, over plain values."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        """Execute one opcode."""
        if name in _LITERALS:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _PUTS or name == "MEMOIZE":
            self._memo[len(self._memo) if argument is None else int(argument)] = self.stack[-1]
        elif name in _GETS:
            self.stack.append(self._memo[int(argument)])
        elif name in _TUPLES:
            self._gather(_TUPLES[name], tuple)
        elif name not in _NOTHING:
            getattr(self, f"_{name.lower()}")(argument)

    def _gather(self, count: int, kind: Any) -> None:
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        self.stack.append(kind(items))

    def _marked(self) -> list[Any]:
        place = len(self.stack) - 1 - next(n for n, item in enumerate(reversed(self.stack)) if item is _MARK)
        items = self.stack[place + 1 :]
        del self.stack[place:]
        return items

    def _mark(self, _: Any) -> None:
        self.stack.append(_MARK)

    def _pop(self, _: Any) -> None:
        self.stack.pop()

    def _pop_mark(self, _: Any) -> None:
        self._marked()

    def _dup(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def _empty_dict(self, _: Any) -> None:
        self.stack.append({})

    def _empty_list(self, _: Any) -> None:
        self.stack.append([])

    def _empty_tuple(self, _: Any) -> None:
        self.stack.append(())

    def _empty_set(self, _: Any) -> None:
        self.stack.append([])

    def _tuple(self, _: Any) -> None:
        self.stack.append(tuple(self._marked()))

    def _list(self, _: Any) -> None:
        self.stack.append(self._marked())

    _frozenset = _list

    def _dict(self, _: Any) -> None:
        items = self._marked()
        self.stack.append(_pairs(items))

    def _append(self, _: Any) -> None:
        self._extend([self.stack.pop()])

    def _appends(self, _: Any) -> None:
        self._extend(self._marked())

    _additems = _appends

    def _extend(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def _setitem(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set([key, value])

    def _setitems(self, _: Any) -> None:
        self._set(self._marked())

    def _set(self, items: list[Any]) -> None:
        target = self.stack[-1]
        (target.items if isinstance(target, Inert) else target).update(_pairs(items))

    def _global(self, argument: Any) -> None:
        self.stack.append(Inert(str(argument)))

    def _stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(Inert(f"{module} {name}"))

    def _reduce(self, _: Any) -> None:
        arguments, made = self.stack.pop(), self.stack.pop()
        name = getattr(made, "name", "?")
        self.stack.append(_bytes(arguments) if name == _BYTES else Inert(name, arguments))

    _newobj = _reduce

    def _newobj_ex(self, _: Any) -> None:
        self.stack.pop()
        self._reduce(None)

    def _build(self, _: Any) -> None:
        state = self.stack.pop()
        if isinstance(self.stack[-1], Inert):
            self.stack[-1].state = state

    def _inst(self, argument: Any) -> None:
        self.stack.append(Inert(str(argument), self._marked()))

    def _obj(self, _: Any) -> None:
        made, *arguments = self._marked()
        self.stack.append(Inert(getattr(made, "name", "?"), arguments))

    def _persid(self, argument: Any) -> None:
        self.stack.append(Inert("persistent", argument))

    def _binpersid(self, _: Any) -> None:
        self.stack.append(Inert("persistent", self.stack.pop()))

    def _ext1(self, argument: Any) -> None:
        self.stack.append(Inert("extension", argument))

    _ext2 = _ext4 = _ext1


def _bytes(arguments: Any) -> bytes:
    """Return the bytes that old pickles write as a text to be encoded."""
    return str(arguments[0]).encode("latin-1")


def _pairs(items: list[Any]) -> dict[Any, Any]:
    """Return keys and values; a key that no dict takes is left out."""
    return {
        key: value
        for key, value in zip(items[::2], items[1::2], strict=True)
        if isinstance(key, str | int | float | bytes | tuple | None)
    }
