"""What is wrong with a bucket, in one line, from the error of the package that asked it.

The text of such an error can contain parts of credentials: Azure has a signature in its URLs. So nothing of
it is repeated but a status of HTTP and the code of the provider.
"""

from __future__ import annotations

import re

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.store.shared_url import SharedUrl

STATUS = re.compile(r"status code: (\d{3}(?: [A-Z][A-Za-z-]*)*)")
CODE = re.compile(r"<Code>([A-Za-z]{1,60})</Code>")
MISSING_BUCKETS = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist")
DENIED = ("PermissionDeniedError", "UnauthenticatedError")
NO_CREDENTIALS = (
    "InstanceCredential",
    "169.254.169.254",
    "metadata.google",
    "MissingCredential",
    "credential",
)


def problem_of(error: Exception, url: SharedUrl) -> str:
    """Return the line; empty if the error only says that there is no such object."""
    text = str(error)
    if any(word in text for word in MISSING_BUCKETS):
        return f"{url.title}: there is no such bucket; create it, or correct the URL"
    if isinstance(error, FileNotFoundError):
        return ""
    if type(error).__name__ in DENIED:
        return f"{url.title}: access was denied{code_of(text)}; check the credentials and their rights"
    status = STATUS.search(text)
    if status:
        return f"{url.title} answered {status[1]}{code_of(text)}"
    if any(word in text for word in NO_CREDENTIALS):
        return f"{url.title}: no credentials were found; set those of {url.scheme}:// in the environment"
    lower = text.lower()
    if "timed out" in lower or "timeout" in lower or "deadline" in lower:
        return f"{url.title} did not answer within {url.timeout_seconds:g} seconds"
    if "error sending request" in lower or "connect" in lower or "dns" in lower:
        return f"{url.title} cannot be reached"
    return f"{url.title}: {type(error).__name__}"


def code_of(text: str) -> str:
    found = CODE.search(text)
    return f" ({found[1]})" if found else ""
