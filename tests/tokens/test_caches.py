"""A model is found by its name where other programs keep models, and nowhere else."""

from __future__ import annotations

import json

import pytest

from tests.support.gguf_files import gguf_file, of_tokenizer_json
from tests.support.toy_models import toy


@pytest.fixture
def home(with_store, tmp_path, monkeypatch):
    """A home without any model."""
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "LLAMA_CACHE", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def write(path, content: bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def in_hub(home, model: str = "Qwen/Qwen3-8B", commit: str = "0123abc"):
    """Put a model into the cache of the Hub. Its files are links, as there."""
    place = home / ".cache/huggingface/hub" / f"models--{model.replace('/', '--')}"
    write(place / "blobs/aa", json.dumps(toy()).encode())
    write(place / "refs/main", commit.encode())
    (place / "snapshots" / commit).mkdir(parents=True)
    (place / "snapshots" / commit / "tokenizer.json").symlink_to("../../blobs/aa")
    write(place / "snapshots/older/tokenizer.json", b"{}")


def gguf() -> bytes:
    return gguf_file(of_tokenizer_json(toy(), "qwen2"))


def in_llama_cpp(home):
    write(home / ".cache/llama.cpp/ggml-org_Qwen3-8B-Q4.gguf", gguf())


def in_ollama(home):
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:11"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:22"},
    ]
    manifest = home / ".ollama/models/manifests/registry.ollama.ai/library/qwen3/8b"
    write(manifest, json.dumps({"layers": layers}).encode())
    write(home / ".ollama/models/blobs/sha256-22", gguf())
    write(manifest.with_name("damaged"), b"{")


def in_lm_studio(home):
    write(home / ".lmstudio/models/lmstudio-community/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf", gguf())


FOUND = {
    "hub": (in_hub, "Qwen/Qwen3-8B", "snapshots/0123abc/tokenizer.json"),
    "hub, short": (in_hub, "qwen3-8b", "snapshots/0123abc/tokenizer.json"),
    "llama.cpp": (in_llama_cpp, "ggml-org_Qwen3-8B-Q4", "llama.cpp/ggml-org_Qwen3-8B-Q4.gguf"),
    "ollama": (in_ollama, "qwen3:8b", "blobs/sha256-22"),
    "ollama, short": (in_ollama, "qwen3", "blobs/sha256-22"),
    "LM Studio": (in_lm_studio, "Qwen3-8B-GGUF", "Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf"),
}


@pytest.mark.parametrize("case", FOUND)
def test_a_model_is_found_by_its_name(inside, home, case):
    make, name, path = FOUND[case]
    make(home)
    assert inside("tokenizer", "add", "own", name).status == 0
    shown = inside("tokenizer", "show", "own", "-o", "json").json["data"]
    assert shown["source"].endswith(path)
    assert inside("--tokenizer", "own", "--token-count", stdin=b"the others").out == b"6\n"


def test_a_name_that_is_nowhere_says_where_was_looked(inside, home):
    ran = inside("tokenizer", "add", "own", "Qwen/Qwen9")
    assert (ran.status, ran.err.count(b"\n")) == (1, 1)
    for place in (".cache/huggingface/hub", "llama.cpp", ".ollama/models", ".lmstudio/models"):
        assert str(place) in ran.err.decode()


def test_a_name_of_several_models_is_refused(inside, home):
    in_hub(home)
    in_hub(home, "unsloth/Qwen3-8B")
    ran = inside("tokenizer", "add", "own", "Qwen3-8B")
    assert (ran.status, b"Qwen/Qwen3-8B, unsloth/Qwen3-8B" in ran.err) == (1, True)
    assert inside("tokenizer", "add", "own", "unsloth/Qwen3-8B").status == 0


def test_variables_name_other_places(inside, home, tmp_path, monkeypatch):
    in_hub(home)
    (home / ".cache/huggingface/hub").rename(tmp_path / "elsewhere")
    assert inside("tokenizer", "add", "own", "Qwen3-8B").status == 1
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "elsewhere"))
    assert inside("tokenizer", "add", "own", "Qwen3-8B").status == 0
