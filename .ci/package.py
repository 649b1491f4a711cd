"""Checks the ways to get unjinja that need no registry: that cargo-binstall finds what the release workflow packs, that the steps of
action.yml install and run a release, that the pre-commit hooks name files and versions that fit, and that docs/publishing.md has the
order. `.ci/package` runs this. UNJINJA_COMMAND is a command that is built; without it, the steps of the action run a stand-in alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tarfile
import tempfile
import textwrap
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASE = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
METADATA = json.loads(
    subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"], cwd=ROOT, check=True, capture_output=True
    ).stdout
)
PACKAGES = {package["name"]: package for package in METADATA["packages"]}
VERSION = PACKAGES["unjinja"]["version"]
REPOSITORY = "https://github.com/unjinja/unjinja"


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def block(text: str, first: str) -> str:
    """The lines below the one that is `first` without its indentation, as far as they are indented more."""
    lines = text.splitlines()
    at = next(at for at, line in enumerate(lines) if line.strip() == first)
    depth = indent(lines[at])
    rest = lines[at + 1 :]
    end = next((at for at, line in enumerate(rest) if line.strip() and indent(line) <= depth), len(rest))
    return "\n".join(rest[:end])


COMMANDS = block(RELEASE, "commands:")
TARGETS = re.findall(r"target: ([\w-]+) }", COMMANDS)
PACK = textwrap.dedent(block(block(COMMANDS, "- name: try and pack"), "run: |"))


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def packed(folder: Path, target: str, command: Path | None = None) -> Path:
    """What the workflow's own step packs for a target, with a stand-in for the command or with one that was built."""
    windows = "-windows-" in target
    built = folder / "target" / target / "release" / ("unjinja.exe" if windows else "unjinja")
    if command:
        built.parent.mkdir(parents=True)
        shutil.copy(command, built)
    else:
        script(built, STAND_IN)
    # The step calls it as Windows does, without the extension.
    bin_folder = folder / "bin"
    script(bin_folder / "7z", '#!/bin/sh\n[ "$1" = a ] && exec python3 -m zipfile -c "$2" "$3"\n')
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "README.md"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "templates", folder / "templates")
    step = PACK
    if windows:
        step = step.replace('"$folder/unjinja" ', '"$folder/unjinja.exe" ')
    environment = {**os.environ, "TARGET": target, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", step], cwd=folder, env=environment, check=True, capture_output=True)
    made = [path for path in folder.iterdir() if path.name.startswith("unjinja-") and path.is_file()]
    assert len(made) == 1, made
    return made[0]


# Says how it was called, and fails like `unjinja lint` where the file `findings` exists.
STAND_IN = """#!/bin/sh
[ "$1" != --version ] || { echo "unjinja 0.0.0-stand-in"; exit 0; }
for argument; do printf '[%s]' "$argument"; done
echo
[ "$1" != lint ] && [ "$1" != check ] || [ ! -e findings ]
"""


class Temporary(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)


class Binstall(Temporary):
    """`[package.metadata.binstall]` of the command, expanded as cargo-binstall does, next to what the workflow packs."""

    def expanded(self, target: str, key: str) -> str:
        metadata = PACKAGES["unjinja-cli"]["metadata"]["binstall"]
        template = {**metadata, **metadata.get("overrides", {}).get(target, {})}[key]
        values = {
            "repo": PACKAGES["unjinja-cli"]["repository"],
            "version": VERSION,
            "target": target,
            "name": "unjinja-cli",
            "bin": "unjinja",
            "binary-ext": ".exe" if "-windows-" in target else "",
        }
        return re.sub(r"{ ([\w-]+) }", lambda found: values[found[1]], template)

    def test_every_archive_is_found(self) -> None:
        self.assertGreaterEqual(len(TARGETS), 5)
        # The tag is the version with a `v`; the workflow compares them.
        self.assertIn('test "v$version" = "$GITHUB_REF_NAME"', RELEASE)
        for target in TARGETS:
            with self.subTest(target):
                place = self.folder / target
                place.mkdir()
                archive = packed(place, target)
                url = self.expanded(target, "pkg-url")
                self.assertEqual(url, f"{REPOSITORY}/releases/download/v{VERSION}/{archive.name}")
                if self.expanded(target, "pkg-fmt") == "zip":
                    names = zipfile.ZipFile(archive).namelist()
                else:
                    self.assertEqual(self.expanded(target, "pkg-fmt"), "tgz")
                    names = tarfile.open(archive, "r:gz").getnames()
                self.assertIn(self.expanded(target, "bin-dir"), names)
                self.assertIn(f"unjinja-{target}/LICENSE-MIT", names)

    def test_the_command_is_the_binary(self) -> None:
        targets = PACKAGES["unjinja-cli"]["targets"]
        self.assertEqual([target["name"] for target in targets if "bin" in target["kind"]], ["unjinja"])


class Action(Temporary):
    """The steps of action.yml, with a release in a folder."""

    TEXT = (ROOT / "action.yml").read_text(encoding="utf-8")
    RUNNERS = {
        ("Linux", "X64"): "x86_64-unknown-linux-musl",
        ("Linux", "ARM64"): "aarch64-unknown-linux-musl",
        ("macOS", "X64"): "x86_64-apple-darwin",
        ("macOS", "ARM64"): "aarch64-apple-darwin",
        ("Windows", "X64"): "x86_64-pc-windows-msvc",
    }

    def setUp(self) -> None:
        super().setUp()
        self.release = self.folder / "releases" / "v1.2.3"
        self.release.mkdir(parents=True)
        self.output = self.folder / "output"

    def publish(self, target: str, command: Path | None = None) -> str:
        """Puts the archive of a target into the release; gives its checksum."""
        place = self.folder / f"pack-{target}"
        place.mkdir()
        archive = shutil.copy(packed(place, target, command), self.release)
        checksum = hashlib.sha256(Path(archive).read_bytes()).hexdigest()
        with (self.release / "SHA256SUMS").open("a", encoding="utf-8") as sums:
            sums.write(f"{checksum}  {Path(archive).name}\n")
        return checksum

    def step(self, name: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            "GITHUB_ACTION_PATH": str(ROOT),
            **environment,
        }
        run = re.search(rf"- id: {name}\n      shell: bash\n      run: (.*)\n", self.TEXT)
        assert run, f"action.yml has no step {name}"
        return subprocess.run(
            ["bash", "-e", "-c", run[1]], env={**os.environ, **environment}, cwd=cwd or self.folder, capture_output=True, text=True
        )

    def install(self, os_and_arch: tuple[str, str] = ("Linux", "X64"), **inputs: str) -> subprocess.CompletedProcess[str]:
        inputs = {"VERSION": "v1.2.3", "SHA256": "", "RELEASES": f"file://{self.folder}/releases", **inputs}
        return self.step("install", RUNNER_OS=os_and_arch[0], RUNNER_ARCH=os_and_arch[1], **inputs)

    def installed(self) -> str:
        return re.findall(r"^command=(.*)$", self.output.read_text(encoding="utf-8"), re.MULTILINE)[-1]

    def run_with(self, **inputs: str) -> subprocess.CompletedProcess[str]:
        inputs = {"COMMAND": "lint", "PATHS": "a template.jinja\n", "SPECS": "", "ARGS": "", "SARIF": "", **inputs}
        return self.step("run", UNJINJA=self.installed(), **inputs)

    def test_inputs_are_declared_and_used(self) -> None:
        declared = set(re.findall(r"^  ([\w-]+):$", block(self.TEXT, "inputs:"), re.MULTILINE))
        used = set(re.findall(r"inputs\.([\w-]+)", self.TEXT))
        self.assertEqual(declared, used)
        page = (ROOT / "docs/action.md").read_text(encoding="utf-8")
        for name in declared:
            self.assertIn(f"| `{name}` |", page)
        self.assertIn(f"default: v{VERSION}\n", self.TEXT)

    def test_each_runner_gets_its_archive(self) -> None:
        self.assertEqual(sorted(self.RUNNERS.values()), sorted(TARGETS))
        for runner, target in self.RUNNERS.items():
            with self.subTest(target):
                self.publish(target)
                done = self.install(runner)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("unjinja 0.0.0-stand-in", done.stdout)
                self.assertTrue(Path(self.installed()).is_file())

    def test_a_wrong_checksum_runs_nothing(self) -> None:
        checksum = self.publish("x86_64-unknown-linux-musl")
        self.assertEqual(self.install(SHA256=checksum).returncode, 0)
        self.output.unlink()
        for wrong in ({"SHA256": "0" * 64}, {}):
            if not wrong:
                (self.release / "SHA256SUMS").write_text(f"{'1' * 64} *unjinja-x86_64-unknown-linux-musl.tar.gz\n", encoding="utf-8")
            done = self.install(**wrong)
            self.assertEqual(done.returncode, 1)
            self.assertIn("nothing was run", done.stderr)
            self.assertNotIn("stand-in", done.stdout)
            self.assertFalse(self.output.exists())

    def test_what_is_missing_is_named(self) -> None:
        self.publish("x86_64-unknown-linux-musl")
        (self.release / "SHA256SUMS").write_text("", encoding="utf-8")
        for done, said in [
            (self.install(), "SHA256SUMS of v1.2.3 does not name unjinja-x86_64-unknown-linux-musl.tar.gz"),
            (self.install(VERSION="v9.9.9"), "is v9.9.9 a release?"),
            (self.install(("Linux", "RISCV64")), "no release for Linux on RISCV64"),
        ]:
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr)

    def test_arguments_reach_the_command(self) -> None:
        self.publish("x86_64-unknown-linux-musl")
        self.install()
        (self.folder / "a template.jinja").write_text("", encoding="utf-8")
        done = self.run_with(ARGS="--strict\n--allow\nsystem-role\n", SARIF="found.sarif")
        self.assertEqual(done.returncode, 0, done.stderr)
        arguments = "[lint][a template.jinja][--strict][--allow][system-role][--format]"
        self.assertEqual(done.stdout, f"{arguments}[github]\n")
        self.assertEqual((self.folder / "summary").read_text(encoding="utf-8"), f"{arguments}[markdown]\n")
        self.assertEqual((self.folder / "found.sarif").read_text(encoding="utf-8"), f"{arguments}[sarif]\n")
        self.assertIn("sarif=found.sarif\n", self.output.read_text(encoding="utf-8"))
        done = self.run_with(COMMAND="check", SPECS="the specs")
        self.assertEqual(done.stdout, "[check][a template.jinja][--specs][the specs][--format][github]\n")
        # Findings fail the step, after the summary is written.
        (self.folder / "findings").touch()
        (self.folder / "summary").unlink()
        self.assertEqual(self.run_with().returncode, 1)
        self.assertIn("[markdown]", (self.folder / "summary").read_text(encoding="utf-8"))

    def test_wrong_inputs_are_refused(self) -> None:
        self.publish("x86_64-unknown-linux-musl")
        self.install()
        (self.folder / "a template.jinja").write_text("", encoding="utf-8")
        for inputs, said in [
            ({"COMMAND": "serve"}, "not `lint` or `check`"),
            ({"PATHS": "\n"}, "the input `paths` is empty"),
            ({"PATHS": "none.jinja"}, "there is no none.jinja"),
            ({"COMMAND": "check"}, "needs the input `specs`"),
            ({"COMMAND": "check", "SPECS": "specs", "SARIF": "x"}, "the input `sarif` is for the command `lint`"),
            ({"SPECS": "specs"}, "the input `specs` is for the command `check`"),
        ]:
            done = self.run_with(**inputs)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(said, done.stderr)

    @unittest.skipUnless(os.environ.get("UNJINJA_COMMAND"), "UNJINJA_COMMAND names no command")
    def test_with_the_real_command(self) -> None:
        self.publish("x86_64-unknown-linux-musl", Path(os.environ["UNJINJA_COMMAND"]))
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"unjinja {VERSION}", done.stdout)
        shutil.copytree(ROOT / "templates", self.folder / "templates")
        done = self.run_with(PATHS="templates/bare_json.jinja\ntemplates/qwen3.jinja", SARIF="found.sarif")
        self.assertEqual(done.returncode, 0, done.stderr)
        sarif = json.loads((self.folder / "found.sarif").read_text(encoding="utf-8"))
        self.assertEqual(sarif["version"], "2.1.0")
        self.assertGreater(len(sarif["runs"][0]["results"]), 0)
        self.assertRegex(done.stdout, "::(warning|notice) ")
        self.assertIn("### Chat templates:", (self.folder / "summary").read_text(encoding="utf-8"))
        # Specs that are missing are a difference.
        (self.folder / "specs").mkdir()
        done = self.run_with(COMMAND="check", PATHS="templates/qwen3.jinja", SPECS="specs")
        self.assertEqual(done.returncode, 1, done.stderr)


class Hooks(unittest.TestCase):
    """.pre-commit-hooks.yaml and what it installs."""

    TEXT = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")

    def test_the_linter_looks_at_chat_templates_alone(self) -> None:
        pattern = re.search(r"^  files: (.*)$", self.TEXT, re.MULTILINE)
        assert pattern
        for name, matches in {
            "chat_template.jinja": True,
            "models/robin/chat_template.jinja": True,
            "chat_template.json": True,
            "model/additional_chat_templates/rag.jinja": True,
            "chat_templates/robin.jinja": True,
            "web/page.jinja": False,
            "my_chat_template.jinja": False,
            "tokenizer_config.json": False,
        }.items():
            self.assertEqual(bool(re.search(pattern[1], name)), matches, name)

    def test_versions_agree(self) -> None:
        project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        self.assertIn(f'version = "{VERSION}"', project)
        self.assertIn(f'dependencies = ["unjinja=={VERSION}"]', project)
        package = json.loads((ROOT / "integrations/js/package.json").read_text(encoding="utf-8"))
        self.assertEqual(package["version"], VERSION)
        for page in ("docs/action.md", "docs/pre-commit.md"):
            self.assertIn(f"v{VERSION}", (ROOT / page).read_text(encoding="utf-8"))


class Order(unittest.TestCase):
    """The list of docs/publishing.md: each crate after those that it needs, and none that is not published."""

    def test_each_crate_comes_after_its_dependencies(self) -> None:
        page = (ROOT / "docs/publishing.md").read_text(encoding="utf-8")
        order = re.findall(r"^\d+\. `([\w-]+)`", page, re.MULTILINE)
        published = {name for name, package in PACKAGES.items() if package["publish"] is None}
        self.assertEqual(sorted(order), sorted(published))
        for at, name in enumerate(order):
            for dependency in PACKAGES[name]["dependencies"]:
                # A dependency of tests without a version is dropped from what is published.
                if dependency["name"] in PACKAGES and (dependency["kind"] != "dev" or dependency["req"] != "*"):
                    self.assertIn(dependency["name"], order[:at], f"{name} needs {dependency['name']}")
        _, _, rest = page.partition("## Not published\n")
        unpublished = re.findall(r"`([\w-]+)`", rest.partition("\n## ")[0].partition("\n\n")[2].partition("\n\n")[0])
        self.assertEqual(sorted(unpublished), sorted(PACKAGES.keys() - published))


if __name__ == "__main__":
    unittest.main(verbosity=1)
