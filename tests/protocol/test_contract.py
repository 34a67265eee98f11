"""Our models and the published schema say the same, but for the deviations that are listed."""

from collections.abc import Iterator
from typing import Literal, cast, get_args, get_origin

from pydantic import JsonValue, ValidationError
from pydantic.fields import FieldInfo

from acp_server.protocol.model import WireModel
from tests.protocol.instances import minimal_object
from tests.protocol.pairing import (
    COMPLETE,
    DEVIATIONS,
    DRAFT_PROPERTIES,
    ENVELOPE,
    PAIRED,
    adapter,
    paired_shapes,
    type_of,
)
from tests.support.case_table import each_case
from tests.support.published_schema import (
    JsonObject,
    ObjectShape,
    alternatives,
    definitions,
    item_schema_errors,
    published_schema,
    schema_errors,
)

ON_ERROR = "x-deserialize-default-on-error"
SKIP_ITEMS = "x-deserialize-skip-invalid-items"
ON_NULL = "x-deserialize-default-on-null"

SAMPLES: tuple[JsonValue, ...] = (
    None,
    True,
    0,
    1,
    -1,
    70_000,
    1 << 40,
    1 << 70,
    1.5,
    "",
    "text",
    [],
    [None],
    [3, ""],
    {},
    {"text": 3},
)


def test_every_definition_has_a_type_and_every_type_a_definition() -> None:
    assert set(PAIRED) | ENVELOPE == set(definitions())


def test_models_have_the_published_properties() -> None:
    published: dict[type[WireModel], set[str]] = {}
    for _, shape, model in paired_shapes():
        published.setdefault(model, set()).update(shape.properties)

    ours = {
        model: {name for name in _fields(model) if (model.__name__, name) not in DRAFT_PROPERTIES}
        for model in published
    }
    assert ours == published


def test_models_require_published_fields_except_their_own_constants() -> None:
    differences = {
        (definition, name)
        for definition, shape, model in paired_shapes()
        for name, schema in shape.properties.items()
        if definition in COMPLETE and "const" not in schema
        if _fields(model)[name].is_required() != (name in shape.required)
    }

    assert differences == {
        ("NewSessionRequest", "mcpServers"),
        ("LoadSessionRequest", "mcpServers"),
    }


def test_models_have_the_published_constants() -> None:
    published: dict[tuple[type[WireModel], str], set[str]] = {}
    for _, shape, model in paired_shapes():
        for name, schema in shape.properties.items():
            if "const" in schema:
                published.setdefault((model, name), set()).add(str(schema["const"]))

    ours = {
        (model, name): set(_constants(_fields(model)[name].annotation)) for model, name in published
    }

    assert ours == published


def test_enumerations_match_the_published_values_and_openness() -> None:
    published = {
        name: (_published_constants(name), any("const" not in one for one in alternatives(schema)))
        for name, schema in definitions().items()
        if name in PAIRED and _published_constants(name)
    }

    ours = {
        name: (set(_constants(type_of(name))), str in get_args(type_of(name))) for name in published
    }

    assert ours == published


def test_defaults_match_the_published_ones() -> None:
    published = {
        (definition, name): schema["default"]
        for definition, shape, _ in paired_shapes()
        for name, schema in shape.properties.items()
        if "default" in schema
    }

    ours = {
        (definition, name): _default(_fields(model)[name])
        for definition, shape, model in paired_shapes()
        for name in shape.properties
        if (definition, name) in published
    }

    assert ours == published


def test_the_published_flags_are_the_known_ones() -> None:
    assert set(_flags(published_schema())) == {ON_ERROR, SKIP_ITEMS, ON_NULL}


def test_every_variant_is_parsed_as_its_own_model() -> None:
    published = [
        (definition, model) for definition, _, model in paired_shapes() if definition in COMPLETE
    ]

    ours = [
        (definition, type(_read(definition, minimal_object(shape))))
        for definition, shape, _ in paired_shapes()
        if definition in COMPLETE
    ]

    assert ours == published


@each_case("definition", COMPLETE)
def test_every_property_tolerates_only_what_its_flags_allow(definition: str) -> None:
    wrong = [
        (name, sample)
        for shape in _shapes(definition)
        for name in shape.properties
        for sample in SAMPLES
        if (definition, name) not in DEVIATIONS
        if not _is_read_as_meant(definition, shape, name, sample)
    ]

    assert wrong == []


@each_case("definition", COMPLETE)
def test_nothing_required_may_be_absent(definition: str) -> None:
    wrong = [
        name
        for shape in _shapes(definition)
        for name in shape.required
        if (definition, name) not in DEVIATIONS
        if (_read(definition, _without(shape, name)) is None)
        != bool(schema_errors(definition, _without(shape, name)))
    ]

    assert wrong == []


def _is_read_as_meant(definition: str, shape: ObjectShape, name: str, sample: JsonValue) -> bool:
    read = _read(definition, minimal_object(shape) | {name: sample})
    meant = _meant(definition, shape, name, sample)
    return read is None if meant is None else read is not None and read == _read(definition, meant)


def _meant(definition: str, shape: ObjectShape, name: str, sample: JsonValue) -> JsonObject | None:
    """The valid object that an object with this sample has to be read as, if there is one."""
    schema, minimal = shape.properties[name], minimal_object(shape)
    if not schema_errors(definition, minimal | {name: sample}):
        return minimal | {name: sample}
    if SKIP_ITEMS in schema and isinstance(sample, list):
        return minimal | {name: [one for one in sample if not item_schema_errors(schema, one)]}
    if ON_ERROR in schema:
        return minimal | {name: []} if name in shape.required else _without(shape, name)
    if ON_NULL in schema and sample is None:
        return minimal | {name: {} if schema["type"] == "object" else []}
    return None


def _read(definition: str, value: JsonObject) -> object:
    """What becomes of a value; None if it is refused."""
    try:
        return adapter(definition).validate_python(value, by_name=False)
    except ValidationError:
        return None


def _without(shape: ObjectShape, name: str) -> JsonObject:
    return {key: value for key, value in minimal_object(shape).items() if key != name}


def _shapes(definition: str) -> list[ObjectShape]:
    return [shape for name, shape, _ in paired_shapes() if name == definition]


def _fields(model: type[WireModel]) -> dict[str, FieldInfo]:
    """The model's fields by the names they have on the wire."""
    return {str(field.alias): field for field in model.model_fields.values()}


def _default(field: FieldInfo) -> object:
    """What the field is when it is absent, as it would be written."""
    default = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(default, WireModel):
        return default.to_wire()
    return list(cast("tuple[object]", default)) if isinstance(default, tuple) else default


def _constants(kind: object) -> Iterator[object]:
    """The values that a type spells out."""
    if get_origin(kind) is Literal:
        yield from get_args(kind)
    else:
        for part in get_args(kind):
            yield from _constants(part)


def _published_constants(definition: str) -> set[str]:
    choices = alternatives(definitions()[definition])
    return {str(choice["const"]) for choice in choices if "const" in choice}


def _flags(schema: JsonValue) -> Iterator[str]:
    """The names of all the flags about reading that are in a schema."""
    if isinstance(schema, dict):
        yield from (key for key in schema if key.startswith("x-deserialize"))
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _flags(part)
