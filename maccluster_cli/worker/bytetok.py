"""The byte tokenizer: a token is a byte, so a fresh node needs no tokenizer library and no file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

BOS, EOS, PAD = 256, 257, 258
SPECIAL = {"<s>": BOS, "</s>": EOS, "<pad>": PAD}
VOCAB = 259
CHAT = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"


def encode(text: str) -> list[int]:
    """Return the token numbers of a text: begin-of-text, then its UTF-8 bytes."""
    return [BOS, *text.encode()]


def byte_names() -> list[str]:
    """Return the printable character that stands for each byte in byte-level vocabularies.

    Printable Latin-1 bytes stand for themselves, the rest for U+0100 onwards: the convention of GPT-2.
    """
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    rest = iter(range(0x100, 0x200))
    return [chr(byte) if byte in plain else chr(next(rest)) for byte in range(256)]


def write(folder: Path) -> None:
    """Lay tokenizer.json and tokenizer_config.json beside a model, as other tools expect them."""
    _dump(folder / "tokenizer.json", _tokenizer())
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT,
    }
    _dump(folder / "tokenizer_config.json", settings)


def _tokenizer() -> dict[str, Any]:
    """Describe byte-level BPE without any merge, which is what a byte tokenizer is to those tools."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    begin = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": name, **flags} for name, number in SPECIAL.items()],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [begin, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [BOS], "tokens": ["<s>"]}},
        },
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {name: number for number, name in enumerate(byte_names())} | SPECIAL,
            "merges": [],
        },
    }


def _dump(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
