"""Make certificates for servers on this machine. It needs `openssl`."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def self_signed(directory: Path) -> tuple[Path, Path]:
    """Write a key and a certificate for this machine to a directory, and return their paths."""
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    for path in (key, certificate):
        path.chmod(0o644)
    return key, certificate
