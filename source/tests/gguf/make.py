"""Makes the GGUF files of this folder with the format's own package: `pip install gguf==0.19.0`, then
`python source/tests/gguf/make.py`. The tests read the committed files and need no Python."""

from pathlib import Path

from gguf import GGUFEndian, GGUFWriter, gguf_writer

HERE = Path(__file__).parent
TEMPLATES = HERE / "../../../templates"
TOKENS = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "日本", "a", "b", "c", " "]


def template(name):
    return (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")


def make(file, version, order, chat_template):
    gguf_writer.GGUF_VERSION = version
    writer = GGUFWriter(HERE / file, arch="llama", endianess=order)
    writer.add_name("a sample")
    # One of each kind of value, all of them to be skipped.
    writer.add_uint8("sample.uint8", 8)
    writer.add_int8("sample.int8", -8)
    writer.add_uint16("sample.uint16", 16)
    writer.add_int16("sample.int16", -16)
    writer.add_int32("sample.int32", -32)
    writer.add_float32("sample.float32", 0.5)
    writer.add_uint64("sample.uint64", 64)
    writer.add_int64("sample.int64", -64)
    writer.add_float64("sample.float64", 0.25)
    writer.add_bool("sample.bool", True)
    writer.add_array("sample.numbers", list(range(40)))
    writer.add_array("sample.nested", [[1, 2], [3]])
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types([3] * len(TOKENS))
    writer.add_token_merges(["a b", "ab c"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    if chat_template:
        writer.add_chat_template(chat_template)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


one = template("call_id_marker")
named = {"tool_use": one, "rag": template("reasoning_only"), "default": template("no_tools")}
make("v2_little.gguf", 2, GGUFEndian.LITTLE, one)
make("v2_big.gguf", 2, GGUFEndian.BIG, one)
make("v3_little.gguf", 3, GGUFEndian.LITTLE, one)
make("v3_big.gguf", 3, GGUFEndian.BIG, one)
make("named.gguf", 3, GGUFEndian.LITTLE, [{"name": name, "template": text} for name, text in named.items()])
make("bare.gguf", 3, GGUFEndian.LITTLE, None)
