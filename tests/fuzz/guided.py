"""The process in which atheris drives one target: `python -m tests.fuzz.guided TARGET CORPUS [OPTION]...`"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["tokcap"]):
    from tests.fuzz.target import load_all

    TARGET = load_all()[sys.argv[1]]

atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGET)
atheris.Fuzz()
