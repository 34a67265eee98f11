"""Frozen, slotted dataclasses that are cheap to define.

`@dataclass(frozen=True, slots=True)` compiles six functions for each class, about 0.3 ms, and a
start defines hundreds of classes. Here only `__init__` is compiled, when the first object is made;
the other methods are shared closures. The result is a normal dataclass: equality, hash, `match`,
`replace` and `fields` work. Restriction: every field must be an init parameter (no `init=False`).

If a sample class does not behave like a dataclass, `@dataclass(frozen=True, slots=True)` itself is
used.
"""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeVar, cast, dataclass_transform

from acp_server.startup.fallback import FastWayError, fast_or_plain

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
_Fields = Sequence[Field[object]]
_ValuesGetter = Callable[[object], object]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen_dataclass(cls: type[T]) -> type[T]:
    """Turn a class into a frozen, slotted dataclass."""
    return _define(cls)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def _define_fast(cls: type[T]) -> type[T]:
    cls.__doc__ = cls.__doc__ or cls.__name__  # else dataclass() builds one with inspect: slow
    new_class = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    class_fields = _fields(new_class)
    values = _values_getter([each.name for each in class_fields if each.compare])
    methods: dict[str, Callable[..., object]] = {
        "__init__": _lazy_init(new_class, class_fields),
        "__repr__": _repr,
        "__eq__": _make_eq(values),
        "__hash__": _make_hash(values),
        "__setattr__": _raise_frozen,
        "__delattr__": _raise_frozen,
        "__getstate__": _getstate,
        "__setstate__": _setstate,
    }
    for name, method in methods.items():
        if name not in cls.__dict__:
            setattr(new_class, name, method)
    return new_class


def _fields(new_class: object) -> _Fields:
    return fields(cast("DataclassInstance", new_class))


def _lazy_init(new_class: type, class_fields: _Fields) -> Callable[..., None]:
    """Return an `__init__` that replaces itself by a compiled one on the first call."""

    def initialize(self: object, *values: object, **named: object) -> None:
        compiled = _compile_init(new_class, class_fields)
        type.__setattr__(new_class, "__init__", compiled)
        compiled(self, *values, **named)

    return initialize


def _compile_init(new_class: type, class_fields: _Fields) -> Callable[..., None]:
    """Compile an `__init__` that sets the fields through their slot descriptors."""
    known: dict[str, object] = {"_MISSING": MISSING}
    parameters, lines = ["self"], list[str]()
    for each in class_fields:
        name = value = each.name
        known[f"_set_{name}"] = getattr(new_class, name).__set__
        if each.default_factory is not MISSING:
            known[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}() if {name} is _MISSING else {name}"
            parameters.append(f"{name}=_MISSING")
        elif each.default is not MISSING:
            known[f"_default_{name}"] = each.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        lines.append(f" _set_{name}(self, {value})")
    if hasattr(new_class, "__post_init__"):
        lines.append(" self.__post_init__()")
    body = "\n".join(lines) or " pass"
    exec(f"def __init__({', '.join(parameters)}):\n{body}", known)  # noqa: S102  only field names
    return cast("Callable[..., None]", known["__init__"])


def _values_getter(names: Sequence[str]) -> _ValuesGetter:
    return attrgetter(*names) if names else lambda _: ()


def _make_eq(values: _ValuesGetter) -> Callable[[object, object], bool]:
    def equal(self: object, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return equal


def _make_hash(values: _ValuesGetter) -> Callable[[object], int]:
    def hashed(self: object) -> int:
        return hash(values(self))

    return hashed


def _repr(self: object) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in _fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _raise_frozen(self: object, name: str, *_: object) -> NoReturn:
    raise FrozenInstanceError(f"{type(self).__qualname__}.{name} cannot be changed")


def _getstate(self: object) -> list[object]:
    return [getattr(self, each.name) for each in _fields(self)]


def _setstate(self: object, state: Sequence[object]) -> None:
    for each, value in zip(_fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


def _define_plainly(cls: type[T]) -> type[T]:
    return dataclass(frozen=True, slots=True)(cls)


class _Decorator(Protocol):
    def __call__(self, cls: type[T], /) -> type[T]: ...


def _check_fast_way() -> _Decorator:
    """Define and use a class with every kind of field; return the decorator that defined it."""

    @_define_fast
    class Sample:
        number: int
        text: str = "a"
        numbers: tuple[int, ...] = field(default_factory=tuple[int, ...])
        hidden: int = field(default=0, compare=False, repr=False)

    one, same, other = Sample(1), Sample(number=1, hidden=2), Sample(2, "a", ())
    shown = f"{Sample.__qualname__}(number=1, text='a', numbers=())"
    copy = object.__new__(Sample)
    _setstate(copy, _getstate(one))
    if not (one == same == copy and one != other and hash(one) == hash(same)):
        raise FastWayError("instances are not compared by their values")
    if repr(same) != shown or replace(one, number=2) != other or same.hidden != 2:  # noqa: PLR2004
        raise FastWayError("instances do not have the values that they were given")
    try:
        setattr(one, "number", 2)  # noqa: B010  a plain assignment is refused by type checkers
    except FrozenInstanceError:
        return _define_fast
    raise FastWayError("instances can be changed")


_define = fast_or_plain("fast dataclasses", _check_fast_way, lambda: _define_plainly)
