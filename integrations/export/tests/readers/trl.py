"""Prints the response templates that TRL has for chat templates, from its source, without importing it.

The only argument is the folder of the unpacked wheel. The output is a list of `{"name", "chat_template", "file", "template"}`,
one for each chat template that TRL recognises. Which belong together stands in a chain of comparisons; it is read there.
"""

import ast
import json
import os
import sys


def names(test):
    """The variables that a comparison asks for."""
    right = test.comparators[0]
    items = right.elts if isinstance(right, ast.List) else [right]
    return [item.id for item in items]


def main():
    folder = os.path.join(sys.argv[1], "trl")
    with open(os.path.join(folder, "chat_template_utils.py"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    scope = {"_SUPPORTS_PARSE_RESPONSE_TOOLS": True}
    files, pairs = {}, []
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        name = target.id if isinstance(target, ast.Name) else ""
        if name.endswith("_chat_template"):
            found = [item.value for item in ast.walk(node) if isinstance(item, ast.Constant) and str(item.value).endswith(".jinja")]
            files[name] = found[0] if found else None
        elif name.endswith("_template") or name.startswith("_LFM2") or name.startswith("_XML") or isinstance(node, ast.For):
            try:
                exec(compile(ast.Module([node], []), "trl", "exec"), scope)
            except NameError:
                continue
        elif isinstance(node, ast.FunctionDef) and node.name == "add_response_schema":
            for branch in ast.walk(node):
                if not isinstance(branch, ast.If) or not isinstance(branch.test, ast.Compare):
                    continue
                for inner in branch.body:
                    if isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Tuple):
                        template = inner.value.elts[1]
                        if isinstance(template, ast.Name):
                            pairs += [(chat, template.id) for chat in names(branch.test)]
    result = []
    for chat, template in pairs:
        if files.get(chat) and template in scope:
            with open(os.path.join(folder, "chat_templates", files[chat]), encoding="utf-8") as file:
                text = file.read()
            result.append({"name": template, "file": files[chat], "chat_template": text, "template": scope[template]})
    print(json.dumps(result))


main()
