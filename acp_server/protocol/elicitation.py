"""Questions that the client asks the user for the agent: a form to fill in, or a page to visit.

A question belongs to a session or to one request. Nothing secret may be asked for in a form.
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
    ExtensibleModel,
    Int64,
    Lenient,
    Omissible,
    OrElse,
    SiftedArray,
    Uint32,
    Uint64,
    WireModel,
)

# The properties of a form. Every one may have a title, a description and a default.

StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"]


class EnumOption(ExtensibleModel):
    """One choice: the value that is answered and what the user reads."""

    const: str
    title: str
    description: Lenient[str] = None


class PropertySchema(ExtensibleModel):
    """What every kind of property has."""

    title: Lenient[str] = None
    description: Lenient[str] = None


class StringPropertySchema(PropertySchema):
    """A text, or one choice out of `enum` or `one_of`; lengths are in characters."""

    type: Literal["string"] = "string"
    min_length: Omissible[Uint32] = None
    max_length: Omissible[Uint32] = None
    pattern: Omissible[str] = None
    format: Omissible[StringFormat] = None
    default: Lenient[str] = None
    enum: Omissible[Array[str]] = None
    one_of: Omissible[Array[EnumOption]] = None


class NumberPropertySchema(PropertySchema):
    """A number between two bounds, which are allowed themselves."""

    type: Literal["number"] = "number"
    minimum: Omissible[float] = None
    maximum: Omissible[float] = None
    default: Lenient[float] = None


class IntegerPropertySchema(PropertySchema):
    """A whole number between two bounds, which are allowed themselves."""

    type: Literal["integer"] = "integer"
    minimum: Omissible[Int64] = None
    maximum: Omissible[Int64] = None
    default: Lenient[Int64] = None


class BooleanPropertySchema(PropertySchema):
    """Yes or no."""

    type: Literal["boolean"] = "boolean"
    default: Lenient[bool] = None


class StringMultiSelectItems(ExtensibleModel):
    """Choices that the user reads as they are answered."""

    type: Literal["string"] = "string"
    enum: Array[str]


class TitledMultiSelectItems(ExtensibleModel):
    """Choices that have titles."""

    any_of: Array[EnumOption]


def _not_string(type_name: str) -> str:
    if type_name == "string":
        raise ValueError("strings need their choices")
    return type_name


class OtherMultiSelectItems(WireModel):
    """Choices of a type we do not know, with all that is said about them."""

    model_config = ConfigDict(extra="allow")

    type: Annotated[str, AfterValidator(_not_string)]


MultiSelectItems: TypeAlias = Annotated[
    Annotated[StringMultiSelectItems, Field(discriminator="type")]
    | OtherMultiSelectItems
    | TitledMultiSelectItems,
    Field(union_mode="left_to_right"),
]


class MultiSelectPropertySchema(PropertySchema):
    """Several choices out of a list."""

    type: Literal["array"] = "array"
    min_items: Omissible[Uint64] = None
    max_items: Omissible[Uint64] = None
    items: MultiSelectItems
    default: Lenient[SiftedArray[str]] = None


KnownPropertySchema: TypeAlias = Annotated[
    StringPropertySchema
    | NumberPropertySchema
    | IntegerPropertySchema
    | BooleanPropertySchema
    | MultiSelectPropertySchema,
    Field(discriminator="type"),
]


def _not_known(type_name: str) -> str:
    if type_name in {"string", "number", "integer", "boolean", "array"}:
        raise ValueError("a known type has to keep its own rules")
    return type_name


class OtherPropertySchema(WireModel):
    """A property of a type we do not know, with all that is said about it."""

    model_config = ConfigDict(extra="allow")

    type: Annotated[str, AfterValidator(_not_known)]


ElicitationPropertySchema: TypeAlias = Annotated[
    KnownPropertySchema | OtherPropertySchema, Field(union_mode="left_to_right")
]

ElicitationSchemaType: TypeAlias = Literal["object"]


def _object() -> ElicitationSchemaType:
    return "object"


class ElicitationSchema(ExtensibleModel):
    """A form: its properties by name, and the names of those that have to be filled in."""

    type: Annotated[ElicitationSchemaType, OrElse(_object)] = "object"
    title: Lenient[str] = None
    description: Lenient[str] = None
    properties: dict[str, ElicitationPropertySchema] = Field(
        default_factory=dict[str, ElicitationPropertySchema]
    )
    required: Omissible[Array[str]] = None


# The question: in one of two modes, about one of two things.


class ElicitationSessionScope(WireModel):
    """The question is about a session, or about a tool call in it."""

    session_id: SessionId
    tool_call_id: Lenient[ToolCallId] = None


class ElicitationRequestScope(WireModel):
    """The question is about a request from the client that still waits for its answer."""

    request_id: RequestId


class ElicitationFormMode(ExtensibleModel):
    """The client shows a form and answers what was filled in."""

    mode: Literal["form"] = "form"
    message: str
    requested_schema: ElicitationSchema


class ElicitationUrlMode(ExtensibleModel):
    """The client opens a page, and does not hear what becomes of it there."""

    mode: Literal["url"] = "url"
    message: str
    elicitation_id: ElicitationId
    url: str


class SessionForm(ElicitationFormMode, ElicitationSessionScope):
    """A form about a session."""


class RequestForm(ElicitationFormMode, ElicitationRequestScope):
    """A form about a request."""


class SessionUrl(ElicitationUrlMode, ElicitationSessionScope):
    """A page about a session."""


class RequestUrl(ElicitationUrlMode, ElicitationRequestScope):
    """A page about a request."""


CreateElicitationRequest: TypeAlias = SessionForm | RequestForm | SessionUrl | RequestUrl

# The answer.

ElicitationContentValue: TypeAlias = str | Int64 | float | bool | Array[str]
ElicitationAction: TypeAlias = Literal["accept", "decline", "cancel"] | str


class CreateElicitationResponse(ExtensibleModel):
    """What the user did, and for `accept` what was filled in; an unknown action is no consent."""

    action: ElicitationAction
    content: Omissible[dict[str, ElicitationContentValue]] = None

    @field_validator("content", mode="wrap")
    @classmethod
    def _only_accept_has_content(
        cls, value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> object:
        return handler(value) if info.data.get("action") == "accept" else None


class CompleteElicitationNotification(ExtensibleModel):
    """`elicitation/complete`: the page has done its work."""

    elicitation_id: ElicitationId
