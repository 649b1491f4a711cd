"""A model folder without weights, and vLLM's own server over it, in this process: the code that `vllm launch render` runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

END = "<|end-of-test|>"
LENGTH = 1_000_000


def make_folder(folder: Path, template: str, special: Sequence[str] = (), bos: str | None = None, eos: str | None = None) -> Path:
    """Writes a model folder: a tokenizer of bytes and the given special tokens, and a configuration that vLLM accepts."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    # Released tokenizers have tokens for the letters of their markers.
    letters = sorted({letter for letter in template if ord(letter) > 127})
    tokenizer.add_tokens([AddedToken(letter, special=False, normalized=False) for letter in letters])
    names = list(dict.fromkeys([*special, *([bos] if bos else []), eos or END]))
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names if name.strip()])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    end = tokenizer.token_to_id(eos or END)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": bos,
        "eos_token": eos or END,
        "model_max_length": LENGTH,
        "clean_up_tokenization_spaces": False,
        "chat_template": template,
    }
    config = {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "num_hidden_layers": 1,
        "vocab_size": tokenizer.get_vocab_size() + 1,
        "max_position_embeddings": LENGTH,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "bos_token_id": None,
        "eos_token_id": end,
    }
    for name, what in (("tokenizer_config.json", settings), ("config.json", config)):
        (folder / name).write_text(json.dumps(what, ensure_ascii=False), encoding="utf-8")
    return folder


def register() -> None:
    """What vLLM does with the entry point of this package, where that is installed."""
    import unjinja.vllm

    unjinja.vllm.register()


def pieces_of(ids: list[int], size: int) -> list[list[int]]:
    """Tokens in pieces of a size, at least one piece."""
    return [ids[at : at + size] for at in range(0, len(ids), size)] or [[]]


FLAGS = ("--enable-auto-tool-choice", "--tool-call-parser", "unjinja", "--reasoning-parser", "unjinja")


class Server:
    """vLLM's server without an engine. Requests go through its routes, without a socket."""

    def __init__(self, folder: Path, flags: Sequence[str] = FLAGS) -> None:
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.config import VllmConfig
        from vllm.entrypoints.common.cli_args import make_arg_parser, validate_parsed_serve_args
        from vllm.entrypoints.launchers.app import build_app
        from vllm.entrypoints.launchers.render.app_state import init_render_app_state
        from vllm.utils.argparse_utils import FlexibleArgumentParser

        args = make_arg_parser(FlexibleArgumentParser()).parse_args(["--model", str(folder), *flags])
        validate_parsed_serve_args(args)
        engine = AsyncEngineArgs.from_cli_args(args)
        config = VllmConfig(
            model_config=engine.create_model_config(),
            logging_config=engine.create_logging_config(),
            structured_outputs_config=engine.create_structured_outputs_config(),
        )
        self._loop = asyncio.new_event_loop()
        self.app = build_app(args, ("render",))
        self._loop.run_until_complete(init_render_app_state(config, self.app.state, args))
        self.name = str(folder)
        self.derenderer = self.app.state.online_derenderer
        self.tokenizer = self.derenderer.renderer.get_tokenizer()
        transport = httpx.ASGITransport(self.app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://server", timeout=600)

    def post(self, route: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer of a route."""
        answer = self._loop.run_until_complete(self._client.post(route, json=body))
        assert answer.status_code == 200, answer.text
        return answer.json()

    def ids(self, text: str) -> list[int]:
        """The tokens of a text. Special tokens are recognised."""
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def stream(self, chat: dict[str, Any], prompt: list[int], texts: Sequence[str]) -> dict[str, Any]:
        """What the client receives for texts that the engine delivers, cut anywhere. The server's own streaming code, without HTTP.

        No token is cut like this, so there are no ids: the parsers of this package then look at the text alone.
        """
        return self.stream_deltas(chat, prompt, [(text, []) for text in texts])

    def stream_ids(self, chat: dict[str, Any], prompt: list[int], output: list[int], size: int) -> dict[str, Any]:
        """The same for tokens in pieces of a size, with their texts as vLLM's detokenizer gives them."""
        from vllm.tokenizers.detokenizer_utils import detokenize_incrementally

        texts, tokens, before, read = [], None, 0, 0
        for at in range(len(output)):
            new, text, before, read = detokenize_incrementally(
                tokenizer=self.tokenizer,
                all_input_ids=output[: at + 1],
                prev_tokens=tokens,
                prefix_offset=before,
                read_offset=read,
                skip_special_tokens=False,
                spaces_between_special_tokens=False,
            )
            tokens = new if tokens is None else tokens + new
            texts.append(text)
        groups = [slice(at, at + size) for at in range(0, len(output), size)]
        return self.stream_deltas(chat, prompt, [("".join(texts[group]), output[group]) for group in groups])

    def spelled(self, text: str) -> list[int]:
        """The tokens of a text that are ordinary ones: of each letter on its own."""
        return [token for letter in text for token in self.ids(letter)]

    def stream_deltas(self, chat: dict[str, Any], prompt: list[int], deltas: Sequence[tuple[str, list[int]]]) -> dict[str, Any]:
        """What the client receives for deltas, each a text and ids."""
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
        from vllm.entrypoints.openai.chat_completion.stream_processor import ChatStreamProcessor

        request = ChatCompletionRequest.model_validate(chat)
        made = self.derenderer.parser
        switch = chat.get("chat_template_kwargs") or {}
        parser = made(self.tokenizer, request.tools, model_config=self.derenderer.model_config, chat_template_kwargs=switch)
        processor = ChatStreamProcessor(request, parser, enable_auto_tools=True, parser_cls=made)
        received = Received()
        for number, (text, ids) in enumerate(deltas):
            finish = "stop" if number == len(deltas) - 1 else None
            step = processor.step(text, ids, finish, prompt)
            if step.delta is not None:
                received.add(step.delta.model_dump(exclude_none=True))
        return received.message()

    def close(self) -> None:
        """Frees what it holds."""
        self._loop.run_until_complete(self._client.aclose())
        self._loop.close()


def chat_request(name: str, tools: list[dict[str, Any]] | None, **fields: Any) -> dict[str, Any]:
    """The request that an output answers."""
    request: dict[str, Any] = {"model": name, "messages": [{"role": "user", "content": "Hello!"}], **fields}
    if tools:
        request["tools"] = tools
    return request


def derender(server: Any, chat: dict[str, Any], prompt: list[int], output: list[int], finish: str = "stop") -> dict[str, Any]:
    """What the client receives for a whole output."""
    body = {
        "model": server.name,
        "chat_request": chat,
        "prompt_token_ids": prompt,
        "generate_response": {
            "request_id": "r",
            "prompt_token_ids": prompt,
            "choices": [{"index": 0, "token_ids": output, "finish_reason": finish}],
        },
    }
    choice = server.post("/v1/chat/completions/derender", body)["choices"][0]
    return flat(choice["message"])


def derender_stream(server: Any, chat: dict[str, Any], prompt: list[int], pieces: list[list[int]]) -> dict[str, Any]:
    """What the client receives for an output in pieces, put together."""
    received = Received()
    state: Any = None
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        choice = {"index": 0, "token_ids": piece, "finish_reason": "stop" if last else None}
        body = {
            "model": server.name,
            "stream": True,
            "chat_request": {**chat, "stream": True},
            "prompt_token_ids": prompt,
            "generate_chunk": {"request_id": "r", "choices": [choice]},
            "stream_state": state,
        }
        answer = server.post("/v1/chat/completions/derender", body)
        state = answer["stream_state"]
        for choice in answer["chunk"]["choices"]:
            received.add(choice["delta"])
    return received.message()


class Received:
    """A message, put together as a client does."""

    def __init__(self) -> None:
        self.texts = {"reasoning": "", "content": ""}
        self.calls: list[dict[str, Any]] = []

    def add(self, delta: dict[str, Any]) -> None:
        """Adds a delta of the stream."""
        for name in self.texts:
            self.texts[name] += delta.get(name) or ""
        for piece in delta.get("tool_calls") or ():
            function = piece.get("function") or {}
            if piece["index"] == len(self.calls):
                assert piece.get("id") and function.get("name"), f"a call begins without id or name: {piece}"
                self.calls.append({"name": function["name"], "arguments": ""})
            else:
                assert not function.get("name"), f"a call that continues has a name: {piece}"
            self.calls[piece["index"]]["arguments"] += function.get("arguments") or ""

    def message(self) -> dict[str, Any]:
        """The message so far."""
        return {**self.texts, "tool_calls": self.calls}


def flat(message: dict[str, Any]) -> dict[str, Any]:
    """What a message says, without ids."""
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    return {
        "reasoning": message.get("reasoning") or "",
        "content": message.get("content") or "",
        "tool_calls": [{"name": call["name"], "arguments": call["arguments"]} for call in calls],
    }
