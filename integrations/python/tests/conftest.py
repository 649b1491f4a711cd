"""Fixtures of the tests."""

from __future__ import annotations

import pytest
from shared import ROOT

import unjinja


@pytest.fixture(scope="session")
def qwen3() -> unjinja.Model:
    """A template of the project: reasoning in tags, and calls as JSON in tags."""
    return unjinja.Model.from_pretrained(ROOT / "templates" / "qwen3.jinja")
