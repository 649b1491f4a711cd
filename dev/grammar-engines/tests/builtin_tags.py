"""Writes the structural tags that xgrammar's own Python package builds for known models.

Reads one JSON object per line: {"model", "tools", "options"}; the options are those of `get_model_structural_tag`. Writes one line
each: a list of the tags for all settings of reasoning, without repeats, or the reason why there is none. The package itself would
import torch, so that only its modules for structural tags are loaded. Argument: the folder that holds the package `xgrammar`.
"""

import importlib
import itertools
import json
import pathlib
import sys
import types

package = types.ModuleType("xgrammar")
package.__path__ = [str(pathlib.Path(sys.argv[1]) / "xgrammar")]
sys.modules["xgrammar"] = package
builtin = importlib.import_module("xgrammar.builtin_structural_tag")

for line in sys.stdin:
    asked = json.loads(line)
    tags, why = [], ""
    for reasoning, forced in itertools.product(["enabled", "disabled", "auto"], [False, True]):
        try:
            tag = builtin.get_model_structural_tag(
                asked["model"],
                tools=asked["tools"],
                reasoning=reasoning,
                force_reasoning=forced,
                **asked["options"],
            ).model_dump_json()
        except Exception as error:  # What a model's function raises is its own choice.
            why = f"{type(error).__name__}: {error}"
            continue
        if tag not in tags:
            tags.append(tag)
    print(json.dumps({"tags": tags, "why": why}), flush=True)
