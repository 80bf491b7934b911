"""Find the vocabulary of a model by its name, in the directories where other programs keep models.

Nothing is downloaded, and only names of files are looked at, except the small manifests of Ollama.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from tokcap.errors import NotFound, TokenizerRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokcap.environment import Environment

# The files of a model that can be compiled, the best first. Any other GGUF file comes last.
FILES = ("tokenizer.json", "tekken.json", "tiktoken.model")
GGUF = ".gguf"
MODEL_LAYER = "application/vnd.ollama.image.model"
MOST_MANIFEST_BYTES = 1 << 20
MOST_SHOWN = 5


def find(name: str, env: Environment) -> str:
    """Return the file of the model of this name. Raise if there is none, or several models have the name."""
    places = caches(env.variables)
    found: dict[str, str] = {}
    for place, models in places:
        for model, path in models(place):
            if is_called(model, name):
                found.setdefault(model, path)
    if len(found) > 1 and name.lower() in map(str.lower, found):
        found = {model: path for model, path in found.items() if model.lower() == name.lower()}
    if not found:
        looked = ", ".join(place for place, _ in places)
        raise NotFound(
            f"there is no file {name!r}, and no model of this name in {looked}; nothing is ever downloaded"
        )
    if len(found) > 1:
        shown = ", ".join(sorted(found)[:MOST_SHOWN])
        raise TokenizerRefused(f"several models are called {name!r}: {shown}; give the whole name")
    return next(iter(found.values()))


def is_called(model: str, name: str) -> bool:
    """Return whether a name means a model: its whole name, or that without its owner or its tag."""
    whole, asked = model.lower(), name.lower()
    short = whole.rpartition("/")[2]
    return asked in (whole, short, whole.partition(":")[0], short.partition(":")[0])


def hugging_face(place: str) -> Iterator[tuple[str, str]]:
    """Yield the models in a cache of the Hub: `models--OWNER--NAME/snapshots/COMMIT`."""
    for entry in names_in(place):
        if not entry.startswith("models--"):
            continue
        directory = os.path.join(place, entry)
        try:
            with open(os.path.join(directory, "refs", "main"), encoding="utf-8") as file:
                commits: Sequence[str] = [file.read(64).strip()]
        except OSError:
            # Another revision was asked for.
            commits = names_in(os.path.join(directory, "snapshots"))
        for commit in commits:
            if path := best_file(os.path.join(directory, "snapshots", os.path.basename(commit))):
                yield entry.removeprefix("models--").replace("--", "/"), path
                break


def lm_studio(place: str) -> Iterator[tuple[str, str]]:
    """Yield the models of LM Studio: `OWNER/NAME/*.gguf`."""
    for owner in names_in(place):
        for model in names_in(os.path.join(place, owner)):
            if path := best_file(os.path.join(place, owner, model)):
                yield f"{owner}/{model}", path


def llama_cpp(place: str) -> Iterator[tuple[str, str]]:
    """Yield the models that llama.cpp has downloaded, by the names of their files."""
    for entry in names_in(place):
        if entry.endswith(GGUF):
            yield entry.removesuffix(GGUF), os.path.join(place, entry)


def ollama(place: str) -> Iterator[tuple[str, str]]:
    """Yield the models of Ollama: `manifests/REGISTRY/OWNER/NAME/TAG` names a blob."""
    manifests = os.path.join(place, "manifests")
    for directory, _, tags in os.walk(manifests):
        for tag in sorted(tags):
            owner, name = directory.split(os.sep)[-2:]
            model = f"{name}:{tag}" if owner == "library" else f"{owner}/{name}:{tag}"
            if path := blob_of(os.path.join(directory, tag), place):
                yield model, path


def blob_of(manifest: str, place: str) -> str | None:
    """Return the file with the model that a manifest names."""
    try:
        with open(manifest, "rb") as file:
            layers = json.loads(file.read(MOST_MANIFEST_BYTES))["layers"]
        digests = [layer["digest"] for layer in layers if layer["mediaType"] == MODEL_LAYER]
        path = os.path.join(place, "blobs", os.path.basename(digests[0].replace(":", "-")))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None
    return path if os.path.isfile(path) else None


def names_in(directory: str) -> Sequence[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return ()


def best_file(directory: str) -> str | None:
    """Return the file of a model that is compiled most exactly."""
    names = names_in(directory)
    found = [name for name in FILES if name in names] + [name for name in names if name.endswith(GGUF)]
    return os.path.join(directory, found[0]) if found else None


def caches(variables: Mapping[str, str]) -> Sequence[tuple[str, Callable[[str], Iterator[tuple[str, str]]]]]:
    """Return the directories where models are kept, and what finds them there."""
    home = variables.get("HOME") or os.path.expanduser("~")
    cache = variables.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    hub = os.path.join(variables.get("HF_HOME") or os.path.join(cache, "huggingface"), "hub")
    return (
        (variables.get("HF_HUB_CACHE") or hub, hugging_face),
        (variables.get("LLAMA_CACHE") or os.path.join(cache, "llama.cpp"), llama_cpp),
        (variables.get("OLLAMA_MODELS") or os.path.join(home, ".ollama", "models"), ollama),
        (os.path.join(home, ".lmstudio", "models"), lm_studio),
        (os.path.join(cache, "lm-studio", "models"), lm_studio),
    )
