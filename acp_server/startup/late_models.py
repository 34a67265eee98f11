"""Pydantic models that are defined at first use.

Pydantic collects the fields of a model when its class is defined, which takes 0.3 ms for each. A
start defines a hundred and fifty, and uses a third of them. A model based on `LateModel` is a class
without fields until something asks for them; then pydantic's own metaclass defines it, after its
bases. The result is the model that `BaseModel` would have made with `defer_build`.
"""

from abc import ABCMeta
from collections.abc import Callable, Mapping
from functools import partial
from threading import RLock
from types import GenericAlias
from typing import TYPE_CHECKING, Protocol, cast

from pydantic import BaseModel, ConfigDict

from acp_server.startup.code_store import check_once
from acp_server.startup.fallback import FastWayError, fast_or_plain

_SET_BY_THE_METACLASS = (
    *("model_config", "__class_vars__", "__signature__"),
    *("__pydantic_fields__", "__pydantic_computed_fields__", "__pydantic_decorators__"),
    *("__pydantic_complete__", "__pydantic_validator__", "__pydantic_serializer__"),
    *("__pydantic_custom_init__", "__pydantic_post_init__", "__pydantic_setattr_handlers__"),
    *("__pydantic_generic_metadata__", "__pydantic_parent_namespace__"),
)
"""Attributes of a model that begin to exist when it is defined. Without `__pydantic_core_schema__`
and `__private_attributes__`, which pydantic takes from the dictionary of a class as they are."""

Namespace = dict[str, object]


class _DefineClass(Protocol):
    def __call__(
        self,
        metaclass: type,
        name: str,
        bases: tuple[type, ...],
        namespace: Namespace,
        /,
        **options: object,
    ) -> type: ...


class _DefinedAtFirstUse:
    """Stands in for an attribute of a model, and has the model defined when it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, model: type) -> object:
        _define(model)
        # Asked for by the definition itself: what the bases have.
        if model.__dict__.get(self._name) is self:
            return getattr(cast("object", super(model, model)), self._name)
        return getattr(model if instance is None else instance, self._name)

    def __contains__(self, name: object) -> bool:
        """Return False: a definition looks for each field in its own class, too."""
        return False


_STAND_INS = {name: _DefinedAtFirstUse(name) for name in _SET_BY_THE_METACLASS}
_lock = RLock()
_undefined: dict[type, Callable[[], object]] = {}
"""How to define each model that is not defined yet; guarded by the lock."""


def _define(model: type) -> None:
    """Define a model, if it is not; a thread that asks meanwhile waits."""
    with _lock:
        define = _undefined.pop(model, None)
        if define is None:
            return
        for base in model.__bases__:
            _define(base)
        is_defined = False
        try:
            define()
            is_defined = True
        finally:
            if not is_defined:
                _wait(model, define)
        # Those that the definition has not replaced.
        for name, stand_in in _STAND_INS.items():
            if model.__dict__.get(name) is stand_in:
                type.__delattr__(model, name)


def _wait(model: type, define: Callable[[], object]) -> None:
    for name, stand_in in _STAND_INS.items():
        type.__setattr__(model, name, stand_in)
    _undefined[model] = define


def _make_base() -> type[BaseModel]:
    """Return a base class whose subclasses are defined late."""
    being_defined: list[type] = []

    class ReturnsExisting(ABCMeta):
        """Comes after pydantic's metaclass, which asks it for the class to define."""

        def __new__(
            mcs, name: str, bases: tuple[type, ...], namespace: Namespace, **options: object
        ) -> type:
            if not being_defined:
                return super().__new__(mcs, name, bases, namespace, **options)
            model = being_defined.pop()
            for key, value in namespace.items():
                if key != "__classcell__" and model.__dict__.get(key) is not value:
                    type.__setattr__(model, key, value)
            return model

    define_class = cast("_DefineClass", type(BaseModel).__new__)

    def define_late(
        mcs: type[ABCMeta], name: str, bases: tuple[type, ...], namespace: Namespace
    ) -> type:
        model = ABCMeta.__new__(mcs, name, bases, namespace)

        def define() -> None:
            being_defined.append(model)
            try:
                # The names around the definition are not those around its first use.
                define_class(mcs, name, bases, namespace, __pydantic_reset_parent_namespace__=False)
            finally:
                being_defined.clear()

        with _lock:
            _wait(model, define)
        return model

    metaclass = type("LateModelMeta", (type(BaseModel), ReturnsExisting), {"__new__": define_late})
    names: Namespace = {"__module__": __name__, "model_config": ConfigDict(defer_build=True)}
    base = define_class(metaclass, "LateModel", (BaseModel,), names)
    check_once("late models", partial(_check, base))
    return cast("type[BaseModel]", base)


def _check(base: type) -> None:
    """Define and use some models."""

    def model(name: str, parent: type, types: Mapping[str, object], **values: object) -> type:
        names = {"__module__": __name__, "__qualname__": name, "__annotations__": dict(types)}
        return type(base)(name, (parent,), {**names, **values})

    config = ConfigDict(defer_build=True, frozen=True, alias_generator=str.upper)
    item = model("Item", base, {"number": int}, model_config=config, number=1)
    named = model("Named", item, {"name": str})
    group = model("Group", named, {"items": GenericAlias(tuple, (named | item, ...))})
    given = {"NAME": "a", "ITEMS": [{"NUMBER": "2"}, {"NAME": "b"}]}
    found = cast("type[BaseModel]", group).model_validate(given)
    expected = {"number": 1, "name": "a", "items": ({"number": 2}, {"number": 1, "name": "b"})}
    is_equal = hash(found) == hash(cast("type[BaseModel]", group)(**given))
    if found.model_dump() != expected or not is_equal or _undefined.keys() & {item, named, group}:
        raise FastWayError(f"a model was read as {found!r}")


class _PlainModel(BaseModel):
    model_config = ConfigDict(defer_build=True)


if TYPE_CHECKING:
    LateModel = BaseModel
else:
    LateModel = fast_or_plain("late models", _make_base, lambda: _PlainModel)
