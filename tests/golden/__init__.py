"""Texts that users see, word for word. MACCLUSTER_UPDATE_GOLDEN=1 writes them anew; read the difference."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
_FIXED = (
    (re.compile(r"\d{8}-\d{6}-([a-z]+)-[0-9a-f]{4}"), r"RUN-\1"),
    (re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}"), "CHANGE"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "WHEN"),
    (re.compile(r"\([0-9a-f]{12}, not [0-9a-f]{12}\)"), "(ONE, not OTHER)"),
    (re.compile(r"SHA256:[A-Za-z0-9+/=]+"), "SHA256:FINGERPRINT"),
    (re.compile(r"\d{8}-\d{6}-\d+\.log"), "LOG"),
)


def plainly(text: str, **places: object) -> str:
    """``text`` without what differs from run to run: ``places`` maps a word to the path it stands for."""
    text = text.replace(sys.executable, "PYTHON")
    for word, path in places.items():
        text = text.replace(str(path), word.upper())
    for pattern, word in _FIXED:
        text = pattern.sub(word, text)
    return text


def holds(name: str, text: str) -> None:
    """Compare with the golden file, or write it when asked to."""
    file = HERE / name
    if os.environ.get("MACCLUSTER_UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert file.exists(), f"no golden file {name}: MACCLUSTER_UPDATE_GOLDEN=1 writes it"
    assert text == file.read_text()
