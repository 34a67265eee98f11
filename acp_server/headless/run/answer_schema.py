"""Validation of a run's final answer against a JSON schema.

The schema is added to the task's prompt, and the model gets one chance to correct its answer.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import JsonValue

ANSWER_PROMPT = """\
Your last message of this task must be one JSON value and nothing else: no words around it. This \
JSON schema describes it:

{schema}"""
CORRECTION_PROMPT = """\
Your last message does not have the shape that was asked for:

{problems}

Send the whole answer again, corrected: one JSON value and nothing else."""
MAX_PROBLEMS = 20
_FENCED = re.compile(r"\A```\w*\n(?P<value>.*)\n```\Z", re.DOTALL)


class AnswerSchemaError(ValueError):
    """A file is not a valid JSON schema; the text says why."""


@dataclass(frozen=True, slots=True)
class AnswerSchema:
    """JSON schema of the final answer."""

    schema: Mapping[str, JsonValue]

    def add_to_prompt(self, prompt: str) -> str:
        """Return a prompt with the required answer schema added."""
        return f"{prompt}\n\n{ANSWER_PROMPT.format(schema=json.dumps(dict(self.schema), indent=1))}"

    def parse(self, text: str) -> tuple[JsonValue, tuple[str, ...]]:
        """Parse an answer; return its value and at most 20 validation problems."""
        from jsonschema.validators import validator_for

        try:
            value = cast(
                "JsonValue", json.loads(strip_code_fence(text), parse_constant=_refuse_constant)
            )
        except (ValueError, RecursionError) as error:
            return None, (f"it is not JSON: {error}",)
        schema = dict(self.schema)
        validator = validator_for(schema)(schema)
        try:
            found = sorted(validator.iter_errors(value), key=lambda each: each.json_path)
        except RecursionError:
            return None, ("it is nested too deeply",)
        problems = [f"{each.json_path}: {each.message}" for each in found]
        return value, tuple(problems[:MAX_PROBLEMS])


def correction_prompt(problems: tuple[str, ...]) -> str:
    """Return the prompt that asks the model to correct its answer."""
    return CORRECTION_PROMPT.format(problems="\n".join(f"- {each}" for each in problems))


def load_answer_schema(file: Path) -> AnswerSchema:
    """Load a JSON schema from a file.

    Raises:
        AnswerSchemaError: The file cannot be read or is not a JSON schema.
    """
    from jsonschema import SchemaError as BadSchemaError
    from jsonschema.validators import validator_for

    try:
        schema = cast("JsonValue", json.loads(file.read_text(encoding="utf-8")))
        if not isinstance(schema, dict):
            raise AnswerSchemaError(f"{file}: a JSON schema must be an object")
        validator_for(schema).check_schema(schema)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise AnswerSchemaError(f"{file}: {error}") from None
    except BadSchemaError as error:
        raise AnswerSchemaError(f"{file}: {error.json_path}: {error.message}") from None
    return AnswerSchema(schema)


def strip_code_fence(text: str) -> str:
    """Return an answer without the Markdown code fence that models often add."""
    text = text.strip()
    found = _FENCED.match(text)
    return text if found is None else found["value"]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
