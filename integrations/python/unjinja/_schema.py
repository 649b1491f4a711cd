"""Functions and classes as tools: OpenAI's schema of a function, made of its signature, its type hints and its docstring.

What `transformers.utils.get_json_schema` accepts gives the same schema, so a prompt does not depend on who made it. More is accepted:
descriptions may be missing, and hints may be enums, dataclasses, typed dicts, pydantic classes and `Annotated`. Only the standard
library is needed: a class is pydantic's if it has `model_json_schema` (version 2) or `schema` (version 1).
"""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
import enum
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NoReturn, Union

from ._lib import Tools, ToolsError

_Schema = dict[str, Any]

_SIMPLE: dict[Any, _Schema] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
}

_LISTS: tuple[Any, ...] = (list, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)

_DICTS: tuple[Any, ...] = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def described(tools: Any) -> Any:
    """The same tools with a schema in place of each function, class and `Tools`. What is no tool is left to the reader of the list."""
    if not isinstance(tools, (list, tuple)):
        return [_described(tools, "tools")] if callable(tools) else tools
    listed: list[Any] = []
    for index, tool in enumerate(tools):
        if isinstance(tool, Tools):
            listed.extend(tool.to_list())
        else:
            listed.append(_described(tool, f"tools[{index}]"))
    return listed


def _described(tool: Any, place: str) -> Any:
    if isinstance(tool, Mapping) or not callable(tool):
        return tool
    return {"type": "function", "function": _of_class(tool, place) if isinstance(tool, type) else _of_function(tool, place)}


# ----- functions -----


def _of_function(function: Callable[..., Any], place: str) -> _Schema:
    # A `functools.partial` has the name and the hints of its function.
    inner = getattr(function, "func", function)
    name = getattr(inner, "__name__", None)
    if not isinstance(name, str) or not name.isidentifier():
        _refuse(place, f"{function!r} has no name; pass a function that is made with `def`")
    types_of = _Types(f"{place}: {name}")
    hints = types_of.hints(inner if inspect.isroutine(inner) else type(inner).__call__)
    about = _Docstring(inspect.getdoc(inner) or "")
    properties: _Schema = {}
    required: list[str] = []
    for index, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue  # It has no name that a call could use.
        if index == 0 and parameter.name in ("self", "cls") and parameter.name not in hints:
            continue  # A method, taken from its class.
        if parameter.kind is parameter.POSITIONAL_ONLY:
            types_of.refuse(parameter.name, "it can only be given by its position, and a call of a tool gives names")
        if parameter.name not in hints:
            types_of.refuse(parameter.name, f"it has no type; write a type hint, such as `{parameter.name}: str`")
        properties[parameter.name] = _with_description(types_of.schema(hints[parameter.name], parameter.name), about.parameters.get(parameter.name))
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    schema = types_of.object(properties, required)
    result: _Schema = {"name": name, **about.description, "parameters": schema}
    if "return" in hints:
        returned = types_of.returned(hints["return"])
        if returned is not None:
            result["return"] = {**returned, **({"description": about.returns} if about.returns else {})}
    return result


def _with_description(schema: _Schema, text: str | None) -> _Schema:
    """The schema of a parameter with the text about it. Its end may list the values: `(choices: ["a", "b"])`."""
    if not text:
        return schema
    choices = re.search(r"\(choices:\s*(.*?)\)\s*\Z", text, re.IGNORECASE)
    if choices:
        try:
            values = json.loads(choices[1])
        except ValueError:
            values = None  # Somebody wrote it for people.
        if isinstance(values, list):
            schema["enum"] = [value.strip() if isinstance(value, str) else value for value in values]
            text = text[: choices.start()].strip()
    schema["description"] = text
    return schema


class _Docstring:
    """A docstring in Google's style: what it says about the function, its parameters and its result."""

    _SECTION = re.compile(r"^(Args|Arguments|Parameters|Attributes|Returns|Return|Raises|Yields|Examples?|Notes?):[ \t]*(.*)\Z")

    def __init__(self, text: str) -> None:
        sections: dict[str, list[str]] = {"": []}
        lines = sections[""]
        for line in inspect.cleandoc(text).splitlines():
            heading = self._SECTION.match(line)
            if heading:
                lines = sections.setdefault(heading[1], [])
                line = heading[2]
            lines.append(line)
        told = "\n".join(sections[""]).strip()
        self.description = {"description": told} if told else {}
        self.parameters = dict(self._entries(sections))
        self.returns = " ".join(" ".join(sections.get("Returns") or sections.get("Return") or []).split())

    @staticmethod
    def _entries(sections: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
        """The names of parameters and their texts. A line that is indented deeper continues the one before it."""
        for section in ("Args", "Arguments", "Parameters", "Attributes"):
            lines = [line for line in sections.get(section, []) if line.strip()]
            depth = min((len(line) - len(line.lstrip()) for line in lines), default=0)
            entries: list[list[str]] = []
            for line in lines:
                entry = re.match(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)\Z", line[depth:])
                if entry:
                    entries.append([entry[1], entry[2]])
                elif entries:
                    entries[-1].append(line)
            for name, *texts in entries:
                yield name, " ".join(" ".join(texts).split())


# ----- classes -----


def _of_class(made: type, place: str) -> _Schema:
    types_of = _Types(f"{place}: {made.__name__}")
    schema = types_of.of_class(made, None)
    if schema is None:
        _refuse(place, f"the class {made.__name__} is no pydantic class, no dataclass and no TypedDict; pass one of these, or a function")
    described = schema.pop("description", None) or types_of.told(made).get("description")
    return {"name": made.__name__, **({"description": described} if described else {}), "parameters": types_of.with_definitions(schema)}


class _Types:
    """The schemas of type hints. Definitions to which pydantic's schemas refer are gathered, because they belong to the root."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.definitions: dict[str, _Schema] = {}
        self._inside: list[type] = []

    def refuse(self, parameter: str | None, what: str) -> NoReturn:
        _refuse(self.place, f"the parameter `{parameter}`: {what}" if parameter else what)

    def hints(self, owner: Any) -> dict[str, Any]:
        try:
            return typing.get_type_hints(owner, include_extras=True)
        except (NameError, TypeError, AttributeError) as error:
            self.refuse(None, f"its type hints cannot be read: {error}")

    def object(self, properties: _Schema, required: list[str]) -> _Schema:
        schema: _Schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        return self.with_definitions(schema)

    def with_definitions(self, schema: _Schema) -> _Schema:
        for where, definitions in self.definitions.items():
            schema[where] = {**definitions, **schema.get(where, {})}
        return schema

    def returned(self, hint: Any) -> _Schema | None:
        """The schema of a result. A result is not part of a call, so a type without a schema is no error."""
        try:
            return _Types(self.place).schema(hint, "return")
        except ToolsError:
            return None

    def schema(self, hint: Any, name: str) -> _Schema:
        """The schema of a type hint. `name` is the parameter, for errors."""
        simple = _SIMPLE.get(hint) if isinstance(hint, collections.abc.Hashable) else None
        if simple is not None:
            return dict(simple)
        if isinstance(hint, typing.NewType):
            return self.schema(hint.__supertype__, name)
        if isinstance(hint, typing.TypeVar):
            return self.schema(hint.__bound__ or Any, name)
        if type(hint).__name__ == "TypeAliasType":  # `type Name = …`, from Python 3.12 on
            return self.schema(hint.__value__, name)
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self._annotated(arguments, name)
        if origin in (Union, types.UnionType):
            return self._union(arguments, name)
        if origin is Literal:
            return self._values(list(arguments), name)
        if _wrapper(origin):
            return self.schema(arguments[0], name)
        kind = origin or hint
        if kind is tuple:
            return self._tuple(arguments, name)
        if kind in _LISTS:
            return {"type": "array", **({"items": self.schema(arguments[0], name)} if arguments else {})}
        if kind in _DICTS:
            return self._dict(arguments, name)
        schema = self.of_class(hint, name) if isinstance(hint, type) else None
        if schema is None:
            shown = getattr(hint, "__name__", None) or repr(hint)
            self.refuse(name, f"the type {shown} has no JSON schema; use str, int, float, bool, list, dict, Literal, an Enum, a dataclass, a TypedDict or a pydantic class")
        return schema

    def _annotated(self, arguments: tuple[Any, ...], name: str) -> _Schema:
        """A text says what the parameter is, and so does `description` of an object, as pydantic's `Field` has it."""
        schema = self.schema(arguments[0], name)
        for told in arguments[1:]:
            text = told if isinstance(told, str) else getattr(told, "description", None)
            if isinstance(text, str) and text:
                schema["description"] = text
        return schema

    def _union(self, arguments: tuple[Any, ...], name: str) -> _Schema:
        schemas = [self.schema(one, name) for one in arguments if one is not type(None)]
        if len(schemas) == 1:
            (schema,) = schemas
        elif all(schema.keys() == {"type"} and isinstance(schema["type"], str) for schema in schemas):
            schema = {"type": _one_or_all(sorted({str(schema["type"]) for schema in schemas}))}
        else:
            schema = {"anyOf": schemas}
        if type(None) in arguments:
            schema["nullable"] = True
        return schema

    def _values(self, values: list[Any], name: str) -> _Schema:
        """One of these values."""
        if not values:
            self.refuse(name, "the Enum has no members, so it has no value")
        kinds: list[str] = []
        for value in values:
            if type(value) not in _SIMPLE:
                self.refuse(name, f"the value {value!r} has no JSON form")
            kind = str(_SIMPLE[type(value)]["type"])
            if kind not in kinds:
                kinds.append(kind)
        return {"type": _one_or_all(kinds), "enum": values}

    def _tuple(self, arguments: tuple[Any, ...], name: str) -> _Schema:
        if not arguments:
            return {"type": "array"}
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": self.schema(arguments[0], name)}
        return {"type": "array", "prefixItems": [self.schema(one, name) for one in arguments]}

    def _dict(self, arguments: tuple[Any, ...], name: str) -> _Schema:
        if not arguments:
            return {"type": "object"}
        return {"type": "object", "additionalProperties": self.schema(arguments[1], name)}

    def of_class(self, made: type, name: str | None) -> _Schema | None:
        """The schema of a class, or None if its objects have no known form."""
        if issubclass(made, enum.Enum):
            return self._values([member.value for member in made], name or made.__name__)
        own = getattr(made, "model_json_schema", None) or getattr(made, "schema", None)
        if callable(own):
            return self._of_pydantic(made, own, name)
        is_dict = typing.is_typeddict(made)
        if not is_dict and not dataclasses.is_dataclass(made):
            return None
        if made in self._inside:
            self.refuse(name, f"the class {made.__name__} contains itself; pass a dict with the schema, or a pydantic class")
        self._inside.append(made)
        about, hints = _Docstring(_own_doc(made)), self.hints(made)
        required = _required(made, is_dict)
        names = list(hints) if is_dict else [field.name for field in _fields(made) if field.init]
        properties = {member: _with_description(self.schema(hints[member], member), about.parameters.get(member)) for member in names}
        self._inside.pop()
        needed = [member for member in names if member in required]
        return {"type": "object", "properties": properties, **({"required": needed} if needed else {}), **about.description}

    def _of_pydantic(self, made: type, own: Callable[[], Any], name: str | None) -> _Schema:
        try:
            schema = copy.deepcopy(dict(own()))
        except Exception as error:  # noqa: BLE001 - whatever pydantic raises
            self.refuse(name, f"{made.__name__} gives no JSON schema: {error}")
        for where in ("$defs", "definitions"):
            found = schema.pop(where, None) or {}
            known = self.definitions.setdefault(where, {}) if found else {}
            for key, definition in found.items():
                if known.setdefault(key, definition) != definition:
                    self.refuse(name, f"two different classes are named {key}, and one schema cannot hold both")
            # A class that contains itself refers to its own definition.
            own_name = str(schema.get("$ref", "")).removeprefix(f"#/{where}/")
            if own_name in found:
                schema = copy.deepcopy(found[own_name])
        # The title is the name of the class again.
        if schema.get("title") == made.__name__:
            del schema["title"]
        return schema

    @staticmethod
    def told(made: type) -> _Schema:
        return _Docstring(_own_doc(made)).description


def _one_or_all(kinds: list[str]) -> str | list[str]:
    return kinds[0] if len(kinds) == 1 else kinds


def _wrapper(origin: Any) -> bool:
    """Whether this is `Required`, `NotRequired`, `ReadOnly`, `Final` or `ClassVar`: what a field may do, and not what it is."""
    return getattr(origin, "_name", None) in {"Required", "NotRequired", "ReadOnly", "Final", "ClassVar"}


def _fields(made: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(made)


def _required(made: Any, is_dict: bool) -> frozenset[str]:
    """The fields of a dataclass or typed dict that must be given."""
    if is_dict:
        return frozenset(made.__required_keys__)
    missing = dataclasses.MISSING
    return frozenset(field.name for field in _fields(made) if field.default is missing and field.default_factory is missing)


def _own_doc(made: type) -> str:
    """The docstring that somebody wrote for this class. Enums and dataclasses without one get a text from Python."""
    text = vars(made).get("__doc__") or ""
    from_python = text == "An enumeration." or text.startswith(f"{made.__name__}(")
    return "" if from_python else inspect.cleandoc(text)


def _refuse(place: str, what: str) -> NoReturn:
    raise ToolsError(f"{place}: {what}")
