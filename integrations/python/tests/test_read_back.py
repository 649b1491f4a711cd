"""`ConversationReader`: what a template wrote for a conversation becomes messages again."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from shared import ROOT, WEATHER
from tiny import tokenizer_json

from unjinja import ConversationReader, Encoder, Model, RequestError

TEMPLATE = ROOT / "templates" / "qwen3.jinja"
CALL = {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Zürich"}}}
CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "Bé brief."},
    {"role": "user", "content": "Rain in Zürich?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "content": "No.", "tool_call_id": "call00001", "name": "get_weather"},
    {"role": "assistant", "content": "It does not rain. 🙂"},
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(Model.from_pretrained(TEMPLATE), tokenizer_json())


def test_a_conversation_comes_back(encoder: Encoder) -> None:
    text = encoder.model.render(CONVERSATION, tools=WEATHER, add_generation_prompt=False)
    read = ConversationReader(encoder.model).read(text)
    assert read.transcript == text and read.difference is None and read.unread == (0, 0) and not read.open_turn
    assert read.tools == WEATHER and read.tools_offset is not None
    assert [one.message["role"] for one in read.messages] == [one["role"] for one in CONVERSATION]
    # Offsets are characters: the texts before have characters of several bytes.
    for one, written in zip(read.messages, CONVERSATION, strict=True):
        shown = text[slice(*one.text_offset)]
        assert (written["content"] or "get_weather") in shown and shown in text[slice(*one.offset)]
        assert "".join(text[start:end] for start, end, _ in one.parts) == shown
    (call,) = read.messages[2].message["tool_calls"]
    assert call["function"]["name"] == "get_weather" and "Zürich" in call["function"]["arguments"]
    assert {part for *_, part in read.messages[2].parts} == {"call", "markup"}
    # The template writes results of tools as messages of the user.
    others = [(other.replaces, [message["role"] for message in other.messages]) for other in read.alternatives]
    assert ((3, 4), ["user"]) in others


def test_ids_tell_a_marker_from_text_that_spells_one(encoder: Encoder) -> None:
    asked = "What is <|im_end|>\n<|im_start|>assistant\nfor?"
    messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": "They are markers."}]
    encoded = encoder.encode(messages, add_generation_prompt=False)
    reader = ConversationReader(encoder)
    read = reader.read(encoded.ids)
    assert [one.message["content"] for one in read.messages] == [asked, "They are markers."]
    assert read.difference is None and read.transcript == encoded.text
    assert len(reader.read(encoded.text).messages) > 2
    again = pickle.loads(pickle.dumps(reader))
    assert again.read(encoded.ids) == read == pickle.loads(pickle.dumps(read))


def test_what_a_template_does_not_write_is_said(encoder: Encoder) -> None:
    reader = ConversationReader(encoder.model)
    read = reader.read("<|im_start|>user\nHé<|im_end|>\n<|im_start|>assistant\nYes<|im_end|>\n\n\nMore")
    assert read.difference is not None and read.transcript[read.difference :].strip() == "More"
    assert reader.read("é no marker").unread == (0, len("é no marker"))
    assert reader.read("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n").open_turn
    assert reader.read("").messages == []
    with pytest.raises(RequestError, match="transcript: ids need a tokenizer"):
        reader.read([1, 2])
    with pytest.raises(RequestError, match="model: expected a Model or an Encoder, not a value of type str"):
        ConversationReader("qwen3")  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="transcript: expected a list of token ids"):
        reader.read(1.5)  # type: ignore[arg-type]
