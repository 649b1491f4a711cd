"""Functions and classes as tools: the schemas that are made of them, and where they are accepted."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, TypeVar, Union

import pytest
from shared import WEATHER

import unjinja
from unjinja import Model, Tools, ToolsError


def get_weather(city: str, days: int = 1, unit: Literal["c", "f"] | None = None) -> str:
    """The weather of a place.

    It is a forecast.

    Args:
        city: The name of the city,
            in any language.
        days (int): How many days.
        unit: The unit of temperatures.

    Returns:
        A sentence.
    """
    return city


WEATHER_SCHEMA = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a place.\n\nIt is a forecast.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The name of the city, in any language."},
                "days": {"type": "integer", "description": "How many days."},
                "unit": {"type": "string", "enum": ["c", "f"], "nullable": True, "description": "The unit of temperatures."},
            },
            "required": ["city"],
        },
        "return": {"type": "string", "description": "A sentence."},
    },
}


class Unit(enum.Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


class Empty(enum.Enum):
    pass


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Place:
    """A place on earth.

    Attributes:
        name: Its name.
    """

    name: str
    height: float = 0.0
    tags: list[str] = field(default_factory=list)
    seen: bool = field(default=False, init=False)


class Range(TypedDict, total=False):
    """A range of numbers."""

    low: int
    high: Annotated[int, "The largest."]


UserId = NewType("UserId", int)
AnyText = TypeVar("AnyText", bound=str)

PLACE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Its name."},
        "height": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name"],
    "description": "A place on earth.",
}


class Described:
    """As pydantic's `Field`."""

    description = "From a field."


HINTS: list[tuple[Any, dict[str, Any]]] = [
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (Any, {}),
    (object, {}),
    (list, {"type": "array"}),
    (list[list[int]], {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}),
    (set[int], {"type": "array", "items": {"type": "integer"}}),
    (tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (dict, {"type": "object"}),
    (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
    (Mapping[str, Any], {"type": "object", "additionalProperties": {}}),
    (Optional[int], {"type": "integer", "nullable": True}),
    (int | None, {"type": "integer", "nullable": True}),
    (Union[int, str], {"type": ["integer", "string"]}),
    (Union[list[int], str, None], {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}], "nullable": True}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a", 1, None], {"type": ["string", "integer", "null"], "enum": ["a", 1, None]}),
    (Union[list, tuple, None], {"type": "array", "nullable": True}),
    (dict[int, str], {"type": "object", "additionalProperties": {"type": "string"}}),
    (Literal[True], {"type": "boolean", "enum": [True]}),
    (Unit, {"type": "string", "enum": ["c", "f"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (Place, PLACE),
    (Optional[Place], {**PLACE, "nullable": True}),
    (list[Place], {"type": "array", "items": PLACE}),
    (
        Range,
        {
            "type": "object",
            "properties": {"low": {"type": "integer"}, "high": {"type": "integer", "description": "The largest."}},
            "description": "A range of numbers.",
        },
    ),
    (Annotated[str, "A text."], {"type": "string", "description": "A text."}),
    (Annotated[Optional[int], Described(), 5], {"type": "integer", "nullable": True, "description": "From a field."}),
    (UserId, {"type": "integer"}),
    (AnyText, {"type": "string"}),
    ("list[Place]", {"type": "array", "items": PLACE}),
]


@pytest.mark.parametrize(("hint", "schema"), HINTS, ids=[str(hint) for hint, _ in HINTS])
def test_the_schema_of_a_type(hint: Any, schema: dict[str, Any]) -> None:
    def tool(it):  # type: ignore[no-untyped-def]
        pass

    tool.__annotations__ = {"it": hint}
    (made,) = Tools(tool).to_list()
    assert made["function"] == {"name": "tool", "parameters": {"type": "object", "properties": {"it": schema}, "required": ["it"]}}


def test_a_function_is_a_tool() -> None:
    for tools in (get_weather, [get_weather], (get_weather,)):
        assert Tools(tools).to_list() == [WEATHER_SCHEMA]

    class Service:
        def lookup(self, key: str) -> None:
            """Looks something up."""

        async def wait(self, *rest: Any, seconds: float = 1, **options: Any) -> Range: ...  # type: ignore[empty-body]

        def __call__(self, key: str) -> None: ...

    lookup, wait = Tools([Service().lookup, Service().wait]).to_list()
    assert Tools([Service.lookup]).to_list() == [lookup]
    assert lookup["function"]["parameters"] == {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
    assert lookup["function"]["return"] == {"type": "null"}
    assert wait["function"]["parameters"] == {"type": "object", "properties": {"seconds": {"type": "number"}}}
    partial = functools.partial(get_weather, days=3)
    assert Tools(partial).names == ["get_weather"]
    with pytest.raises(ToolsError, match=r"tools\[0\]: .* has no name"):
        Tools([Service()])


def test_choices_in_a_docstring() -> None:
    def paint(colour: str, how: str) -> None:
        """Paints.

        Args:
            colour: The colour. (choices: ["red", "blue"])
            how: Quickly or slowly (choices: whatever you like)
        """

    properties = Tools(paint).to_list()[0]["function"]["parameters"]["properties"]
    assert properties == {
        "colour": {"type": "string", "enum": ["red", "blue"], "description": "The colour."},
        "how": {"type": "string", "description": "Quickly or slowly (choices: whatever you like)"},
    }


class Node:
    """No form in JSON."""


@dataclass
class Tree:
    children: list[Tree]


def untyped(a: int, b) -> None: ...  # type: ignore[no-untyped-def]
def of_bytes(data: bytes) -> None: ...
def of_class(node: dict[str, list[Node]]) -> None: ...
def of_empty(a: Empty) -> None: ...
def of_tree(tree: Tree) -> None: ...
def of_position(a: int, /) -> None: ...
def of_nothing(a: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def of_value(a: Literal[b"x"]) -> None: ...


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([get_weather, untyped], r"tools\[1\]: untyped: the parameter `b`: it has no type; write a type hint, such as `b: str`"),
        (of_bytes, "tools: of_bytes: the parameter `data`: the type bytes has no JSON schema; use str, int"),
        (of_class, "tools: of_class: the parameter `node`: the type Node has no JSON schema"),
        (of_empty, "of_empty: the parameter `a`: the Enum has no members"),
        (of_tree, "of_tree: the parameter `children`: the class Tree contains itself"),
        (of_position, "of_position: the parameter `a`: it can only be given by its position"),
        (of_nothing, "of_nothing: its type hints cannot be read: name 'Missing' is not defined"),
        (of_value, "of_value: the parameter `a`: the value b'x' has no JSON form"),
        ([lambda x: x], r"tools\[0\]: .*lambda.* has no name"),
        ([Node], r"tools\[0\]: the class Node is no pydantic class, no dataclass and no TypedDict"),
        ([get_weather, get_weather, 5], r"\[2\]"),
    ],
)
def test_what_has_no_schema(tools: Any, says: str) -> None:
    with pytest.raises(ToolsError, match=says):
        Tools(tools)


# ----- classes -----


class LikePydantic:
    """Searches the web.

    It takes a while.
    """

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {
            "$defs": {"Inner": {"type": "string"}},
            "title": "LikePydantic",
            "description": "Searches the web.",
            "type": "object",
            "properties": {"query": {"$ref": "#/$defs/Inner"}},
            "required": ["query"],
        }


class LikePydantic1:
    """Searches."""

    @classmethod
    def schema(cls) -> dict[str, Any]:
        return {"title": "LikePydantic1", "type": "object", "properties": {"query": {"title": "Query", "type": "string"}}}


class LikeRecursive:
    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        inner = {"title": "LikeRecursive", "type": "object", "properties": {"next": {"$ref": "#/$defs/LikeRecursive"}}}
        return {"$defs": {"LikeRecursive": inner}, "$ref": "#/$defs/LikeRecursive"}


class OtherInner:
    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {"$defs": {"Inner": {"type": "integer"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/Inner"}}}


class Broken:
    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        raise RuntimeError("not today")


def test_a_class_is_a_tool() -> None:
    tools = Tools([LikePydantic, LikePydantic1, Place, Range])
    assert tools.names == ["LikePydantic", "LikePydantic1", "Place", "Range"]
    first, second, third, fourth = (tool["function"] for tool in tools.to_list())
    assert first == {
        "name": "LikePydantic",
        "description": "Searches the web.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"$ref": "#/$defs/Inner"}},
            "required": ["query"],
            "$defs": {"Inner": {"type": "string"}},
        },
    }
    assert (second["description"], second["parameters"]) == (
        "Searches.",
        {"type": "object", "properties": {"query": {"title": "Query", "type": "string"}}},
    )
    assert third == {"name": "Place", "description": "A place on earth.", "parameters": {key: value for key, value in PLACE.items() if key != "description"}}
    assert fourth["description"] == "A range of numbers."
    # What a schema refers to belongs to the root, also where the class is the type of a parameter.
    def search(what: list[LikePydantic], again: LikePydantic | None = None) -> None: ...

    parameters = Tools(search).to_list()[0]["function"]["parameters"]
    assert parameters["$defs"] == {"Inner": {"type": "string"}}
    assert "$defs" not in json.dumps(parameters["properties"]).replace("#/$defs/", "")
    (recursive,) = Tools(LikeRecursive).to_list()
    properties = {"next": {"$ref": "#/$defs/LikeRecursive"}}
    assert recursive["function"]["parameters"] == {
        "type": "object",
        "properties": properties,
        "$defs": {"LikeRecursive": {"title": "LikeRecursive", "type": "object", "properties": properties}},
    }

    def both(one: LikePydantic, other: OtherInner) -> None: ...

    with pytest.raises(ToolsError, match="both: the parameter `other`: two different classes are named Inner"):
        Tools(both)
    with pytest.raises(ToolsError, match=r"tools\[0\]: Broken: Broken gives no JSON schema: not today"):
        Tools([Broken])
    # A schema that a class keeps for itself stays as it is.
    assert LikePydantic.model_json_schema()["title"] == "LikePydantic"


def test_a_class_of_pydantic_is_a_tool(qwen3: Model) -> None:
    pydantic = pytest.importorskip("pydantic")

    class City(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        name: str

    class Weather(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        """The weather of a place."""

        city: City
        days: int = pydantic.Field(1, description="How many days.", ge=1)
        unit: Literal["c", "f"] = "c"

    class Bare(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        pass

    def forecast(city: City, days: Annotated[int, pydantic.Field(description="How many.")]) -> Weather: ...  # type: ignore[empty-body]

    forecast.__annotations__ = {"city": City, "days": Annotated[int, pydantic.Field(description="How many.")], "return": Weather}
    weather, bare, function = (tool["function"] for tool in Tools([Weather, Bare, forecast]).to_list())
    assert (weather["name"], weather["description"]) == ("Weather", "The weather of a place.")
    assert weather["parameters"]["properties"]["city"] == {"$ref": "#/$defs/City"} and weather["parameters"]["$defs"]["City"]
    assert weather["parameters"]["properties"]["days"]["description"] == "How many days."
    assert weather["parameters"]["required"] == ["city"] and "title" not in weather["parameters"]
    assert "description" not in bare
    assert function["parameters"]["properties"]["days"] == {"type": "integer", "description": "How many."}
    # The arguments of a call are those of the class.
    output = '<tool_call>\n{"name": "Weather", "arguments": {"city": {"name": "Paris"}}}\n</tool_call>'
    (call,) = qwen3.parse(output, tools=[Weather]).tool_calls
    assert Weather(**call.arguments_value()).city == City(name="Paris")
    # An object of pydantic is a dict, not a class.
    class Function(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        name: str
        parameters: dict[str, Any]

    assert Tools([Function(name="f", parameters={"type": "object"})]).names == ["f"]


def test_tools_are_mixed_and_nested() -> None:
    tools = Tools([WEATHER[0], Tools([Place]), Range, {"name": "bare", "parameters": {"type": "object"}}])
    assert tools.names == ["get_weather", "Place", "Range", "bare"]
    assert tools.to_list()[0] == WEATHER[0]
    with pytest.raises(ToolsError, match="get_weather"):
        Tools([get_weather, WEATHER[0]])


def test_functions_are_accepted_wherever_tools_are(qwen3: Model) -> None:
    schema = Tools([WEATHER_SCHEMA])
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    other = call.replace("get_weather", "other")
    ask = [{"role": "user", "content": "Rain?"}]
    offers: list[Any] = [get_weather, [get_weather], Tools(get_weather), json.dumps([WEATHER_SCHEMA])]
    for tools in offers:
        assert qwen3.render(ask, tools=tools) == qwen3.render(ask, tools=schema)
        assert [d.kind for d in qwen3.parse(call, tools=tools).diagnostics] == []
        assert [d.kind for d in qwen3.parse(other, tools=tools).diagnostics] == ["unknown_tool"]
        stream = qwen3.stream(tools=tools)
        stream.push(other)
        stream.finish()
        assert [d.kind for d in stream.message.diagnostics] == ["unknown_tool"]
        assert qwen3.grammar(tools) == qwen3.grammar(schema)
    with pytest.raises(unjinja.ToolsError, match="the parameter `b`"):
        qwen3.grammar([untyped])


def test_frozen_and_generic_dataclasses() -> None:
    @dataclasses.dataclass(frozen=True)
    class Bare:
        x: int

    (made,) = Tools(Bare).to_list()
    # Python writes a docstring for it, which describes nothing.
    assert made["function"] == {"name": "Bare", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}
