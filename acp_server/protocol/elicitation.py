"""Elicitation: the agent asks the user through the client, with a form or a URL to open.

An elicitation belongs to a session or to one request. Forms must not ask for secrets.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from acp_server.protocol.identifiers import ElicitationId, RequestId, SessionId, ToolCallId
from acp_server.protocol.model import (
    Array,
    DefaultOnError,
    ExtensibleModel,
    FilteredArray,
    Int64,
    Lenient,
    Omissible,
    Uint32,
    Uint64,
    WireModel,
)

# Form properties. Each may have a title, a description and a default.

StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"]


class EnumOption(ExtensibleModel):
    """One choice: the value that is returned and the title that the user sees."""

    const: str
    title: str
    description: Lenient[str] = None


class PropertySchema(ExtensibleModel):
    """Common fields of all form properties."""

    title: Lenient[str] = None
    description: Lenient[str] = None


class StringPropertySchema(PropertySchema):
    """A string, or one choice of `enum` or `one_of`; lengths are in characters."""

    type: Literal["string"] = "string"
    min_length: Omissible[Uint32] = None
    max_length: Omissible[Uint32] = None
    pattern: Omissible[str] = None
    format: Omissible[StringFormat] = None
    default: Lenient[str] = None
    enum: Omissible[Array[str]] = None
    one_of: Omissible[Array[EnumOption]] = None


class NumberPropertySchema(PropertySchema):
    """A number; both bounds are inclusive."""

    type: Literal["number"] = "number"
    minimum: Omissible[float] = None
    maximum: Omissible[float] = None
    default: Lenient[float] = None


class IntegerPropertySchema(PropertySchema):
    """An integer; both bounds are inclusive."""

    type: Literal["integer"] = "integer"
    minimum: Omissible[Int64] = None
    maximum: Omissible[Int64] = None
    default: Lenient[Int64] = None


class BooleanPropertySchema(PropertySchema):
    """A boolean."""

    type: Literal["boolean"] = "boolean"
    default: Lenient[bool] = None


class StringMultiSelectItems(ExtensibleModel):
    """Choices without titles: the user sees the values."""

    type: Literal["string"] = "string"
    enum: Array[str]


class TitledMultiSelectItems(ExtensibleModel):
    """Choices with titles."""

    any_of: Array[EnumOption]


def _reject_string(type_name: str) -> str:
    if type_name == "string":
        raise ValueError("strings need their choices")
    return type_name


class OtherMultiSelectItems(WireModel):
    """Choices of an unknown type, with all their fields."""

    model_config = ConfigDict(extra="allow")

    type: Annotated[str, AfterValidator(_reject_string)]


MultiSelectItems: TypeAlias = Annotated[
    Annotated[StringMultiSelectItems, Field(discriminator="type")]
    | OtherMultiSelectItems
    | TitledMultiSelectItems,
    Field(union_mode="left_to_right"),
]


class MultiSelectPropertySchema(PropertySchema):
    """Multiple choices out of a list."""

    type: Literal["array"] = "array"
    min_items: Omissible[Uint64] = None
    max_items: Omissible[Uint64] = None
    items: MultiSelectItems
    default: Lenient[FilteredArray[str]] = None


KnownPropertySchema: TypeAlias = Annotated[
    StringPropertySchema
    | NumberPropertySchema
    | IntegerPropertySchema
    | BooleanPropertySchema
    | MultiSelectPropertySchema,
    Field(discriminator="type"),
]


def _reject_known(type_name: str) -> str:
    if type_name in {"string", "number", "integer", "boolean", "array"}:
        raise ValueError("a known type has to keep its own rules")
    return type_name


class OtherPropertySchema(WireModel):
    """A property of an unknown type, with all its fields."""

    model_config = ConfigDict(extra="allow")

    type: Annotated[str, AfterValidator(_reject_known)]


ElicitationPropertySchema: TypeAlias = Annotated[
    KnownPropertySchema | OtherPropertySchema, Field(union_mode="left_to_right")
]

ElicitationSchemaType: TypeAlias = Literal["object"]


class ElicitationSchema(ExtensibleModel):
    """A form: its properties by name, and the names of the required ones."""

    type: Annotated[ElicitationSchemaType, DefaultOnError("object")] = "object"
    title: Lenient[str] = None
    description: Lenient[str] = None
    properties: dict[str, ElicitationPropertySchema] = Field(
        default_factory=dict[str, ElicitationPropertySchema]
    )
    required: Omissible[Array[str]] = None


# The request: one of two modes (form, URL) with one of two scopes (session, request).


class ElicitationSessionScope(WireModel):
    """Scope: a session, or a tool call in it."""

    session_id: SessionId
    tool_call_id: Lenient[ToolCallId] = None


class ElicitationRequestScope(WireModel):
    """Scope: a pending request from the client."""

    request_id: RequestId


class ElicitationFormMode(ExtensibleModel):
    """The client shows a form and returns the values."""

    mode: Literal["form"] = "form"
    message: str
    requested_schema: ElicitationSchema


class ElicitationUrlMode(ExtensibleModel):
    """The client opens a URL; the values that the user enters there are not returned."""

    mode: Literal["url"] = "url"
    message: str
    elicitation_id: ElicitationId
    url: str


class SessionForm(ElicitationFormMode, ElicitationSessionScope):
    """A form scoped to a session."""


class RequestForm(ElicitationFormMode, ElicitationRequestScope):
    """A form scoped to a request."""


class SessionUrl(ElicitationUrlMode, ElicitationSessionScope):
    """A URL scoped to a session."""


class RequestUrl(ElicitationUrlMode, ElicitationRequestScope):
    """A URL scoped to a request."""


CreateElicitationRequest: TypeAlias = SessionForm | RequestForm | SessionUrl | RequestUrl

# The answer.

ElicitationContentValue: TypeAlias = str | Int64 | float | bool | Array[str]
ElicitationAction: TypeAlias = Literal["accept", "decline", "cancel"] | str


class CreateElicitationResponse(ExtensibleModel):
    """The user's action and, for `accept`, the values; treat an unknown action as no consent."""

    action: ElicitationAction
    content: Omissible[dict[str, ElicitationContentValue]] = None

    @field_validator("content", mode="wrap")
    @classmethod
    def _only_accept_has_content(
        cls, value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> object:
        return handler(value) if info.data.get("action") == "accept" else None


class CompleteElicitationNotification(ExtensibleModel):
    """`elicitation/complete`: the interaction at the URL is complete."""

    elicitation_id: ElicitationId
