"""Buckets of S3, Google Cloud Storage and Azure, through the package obstore. No other module imports it.

The package is loaded with the first request. It has threads of its own, which a forked process does not have:
there, every request would wait forever, so it is refused. It reads the variables of each provider itself; the
profiles in the files of AWS are read here.
"""

from __future__ import annotations

import os
import re

from tokcap.errors import PackageMissing, StoreError
from tokcap.startup.record import TYPE_CHECKING
from tokcap.store.bucket import PART_BYTES, StoredObject, parts
from tokcap.system.threads import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from tokcap.environment import Environment
    from tokcap.store.bucket import Read, SharedUrl

    Found = TypeVar("Found")

# Requests that fail are tried again this often, within the timeout.
RETRIES = 2
LEAST_CONNECT_SECONDS = 0.1
# Parts of an upload that are in memory at the same time.
CONCURRENT_PARTS = 2
# How many keys a listing holds at a time.
LISTED_KEYS = 1000

# Clients keep their connections, which a server or a library uses again. With the process that made them.
_clients: dict[tuple[object, ...], Any] = {}
_process: list[int] = []


class ObstoreBucket:
    """One bucket, or what is below a prefix in it. Nothing is loaded before the first request."""

    def __init__(self, url: SharedUrl, env: Environment) -> None:
        self._url = url
        self._env = env

    def read(self, key: str, most_bytes: int) -> bytes | None:
        def ask(api: Any, client: Any) -> bytes:
            found = api.get(client, key)
            if found.meta["size"] > most_bytes:
                raise StoreError(f"{key} has {found.meta['size']} bytes, more than tokcap writes")
            return bytes(found.bytes())

        return self._found(ask)

    def read_range(self, key: str, start: int, stop: int) -> bytes:
        if start >= stop:
            return b""

        def ask(api: Any, client: Any) -> bytes:
            return bytes(api.get_range(client, key, start=start, end=stop))

        return self._found(ask) or b""

    def stat(self, key: str) -> StoredObject | None:
        return self._found(lambda api, client: object_of(api.head(client, key)))

    def create(self, key: str, size: int, read: Read) -> bool:
        if size > PART_BYTES:
            # A provider takes parts without a condition. A second host sends the same bytes again.
            if self.stat(key):
                return False
            self.replace(key, size, read)
            return True
        data = read(0, size)

        def ask(api: Any, client: Any) -> bool:
            from obstore.exceptions import AlreadyExistsError

            try:
                api.put(client, key, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            return True

        return self._ask(ask)

    def replace(self, key: str, size: int, read: Read) -> None:
        if size > PART_BYTES:
            self._ask(
                lambda api, client: api.put(
                    client,
                    key,
                    parts(size, read),
                    chunk_size=PART_BYTES,
                    max_concurrency=CONCURRENT_PARTS,
                )
            )
        else:
            data = read(0, size)
            self._ask(lambda api, client: api.put(client, key, data, use_multipart=False))

    def objects(self, directory: str, beginning: str = "") -> Iterator[StoredObject]:
        pages = self._ask(
            lambda api, client: iter(
                api.list(client, directory or None, offset=beginning or None, chunk_size=LISTED_KEYS)
            )
        )
        while page := self._ask(lambda _, __: next(pages, None)):
            yield from map(object_of, page)

    def delete(self, keys: Sequence[str]) -> None:
        self._found(lambda api, client: api.delete(client, [*keys]))

    def _found(self, ask: Callable[[Any, Any], Found]) -> Found | None:
        """Ask for an object, or for a range of it; None if there is nothing."""
        try:
            return self._ask(ask)
        except FileNotFoundError:
            return None

    def _ask(self, ask: Callable[[Any, Any], Found]) -> Found:
        """Ask the bucket; `FileNotFoundError` if it has no such object, or no such range of it."""
        try:
            import obstore
        except ImportError:
            from tokcap.system.installation import command_to_add

            raise PackageMissing(
                f"{self._url.scheme}:// needs a package; install it: {command_to_add('objectstore')}"
            ) from None
        if not _process:
            _process.append(os.getpid())
        elif _process[0] != os.getpid():
            raise StoreError(
                f"{self._url.title} cannot be used in a process that was forked from one that used it"
            )
        try:
            return in_thread(lambda: ask(obstore, self._client()))
        except StoreError:
            raise
        except Exception as error:
            problem = problem_of(error, self._url)
            raise StoreError(problem) if problem else FileNotFoundError from None

    def _client(self) -> Any:
        settings = SETTINGS[self._url.scheme](self._url, self._env)
        key = (self._url.title, self._url.timeout_seconds, tuple(sorted(settings.items())))
        if key not in _clients:
            import datetime

            import obstore.store

            timeout = datetime.timedelta(seconds=self._url.timeout_seconds)
            # Short enough that a second attempt fits into the timeout.
            connect = datetime.timedelta(seconds=max(self._url.timeout_seconds / 3, LEAST_CONNECT_SECONDS))
            _clients[key] = getattr(obstore.store, CLIENTS[self._url.scheme])(
                self._url.place,
                prefix=self._url.prefix or None,
                config=settings,
                client_options={
                    "timeout": timeout,
                    "connect_timeout": connect,
                    "allow_http": any(value.startswith("http://") for value in settings.values()),
                },
                retry_config={"max_retries": RETRIES, "retry_timeout": timeout},
            )
        return _clients[key]


def in_thread(work: Callable[[], Found]) -> Found:
    """Do something in a thread, and wait for it: meanwhile, Ctrl-C reaches the main thread."""
    found: list[Found] = []
    failures: list[BaseException] = []

    def attempt() -> None:
        try:
            found.append(work())
        except BaseException as error:
            # The error is raised where the caller waits.
            failures.append(error)

    try:
        worker = Worker(attempt)
    except RuntimeError:
        # The user has too many processes.
        return work()
    if not worker.wait():
        raise MemoryError
    if failures:
        raise failures[0]
    return found[0]


def object_of(meta: Mapping[str, Any]) -> StoredObject:
    return StoredObject(meta["path"], meta["size"], meta["last_modified"].timestamp())


# The settings of S3, in variables and in a profile, and what obstore calls them. The later names win.
VARIABLES = {
    "AWS_ACCESS_KEY_ID": "aws_access_key_id",
    "AWS_SECRET_ACCESS_KEY": "aws_secret_access_key",
    "AWS_SESSION_TOKEN": "aws_session_token",
    "AWS_DEFAULT_REGION": "aws_region",
    "AWS_REGION": "aws_region",
    "AWS_ENDPOINT_URL": "aws_endpoint",
    "AWS_ENDPOINT_URL_S3": "aws_endpoint",
}
CREDENTIALS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
PROFILE = {**{name: name for name in CREDENTIALS}, "region": "aws_region", "endpoint_url": "aws_endpoint"}
PARAMETERS = {"endpoint": "aws_endpoint", "region": "aws_region"}


def aws_settings(url: SharedUrl, env: Environment) -> dict[str, str]:
    """Return the settings of an S3 client: those of the profile, over them variables, then the URL.

    Without credentials, obstore asks the container or the instance for those of its role.
    """
    given = {VARIABLES[name]: env.variables[name] for name in VARIABLES if env.variables.get(name)}
    profile = profile_settings(env)
    if CREDENTIALS[0] in given:
        # Parts of two credentials do not belong together.
        profile = {name: value for name, value in profile.items() if name not in CREDENTIALS}
    parameters = {
        setting: url.parameters[name] for name, setting in PARAMETERS.items() if name in url.parameters
    }
    return {"aws_region": "us-east-1", **profile, **given, **parameters}


def profile_settings(env: Environment) -> dict[str, str]:
    """Return the settings of the chosen profile. What cannot be read has none."""
    from configparser import Error, RawConfigParser

    variables = env.variables
    name = variables.get("AWS_PROFILE") or variables.get("AWS_DEFAULT_PROFILE") or "default"
    folder = os.path.join(env.home(), ".aws")
    credentials = variables.get("AWS_SHARED_CREDENTIALS_FILE") or os.path.join(folder, "credentials")
    config = variables.get("AWS_CONFIG_FILE") or os.path.join(folder, "config")
    found: dict[str, str] = {}
    # In the one file sections are called `profile NAME`, in the other `NAME`. The file of credentials wins.
    for path, sections in ((config, (f"profile {name}", name)), (credentials, (name,))):
        parser = RawConfigParser(strict=False, default_section="\0")
        try:
            parser.read(path, encoding="utf-8")
        except (OSError, Error, UnicodeError):
            continue
        for section in filter(parser.has_section, sections):
            values = parser.items(section)
            found |= {PROFILE[key]: value.strip() for key, value in values if key in PROFILE and value}
    return found


def at_endpoint(setting: str) -> Callable[[SharedUrl, Environment], dict[str, str]]:
    """Return the settings of a client that reads the variables of its provider itself."""
    return lambda url, _: {setting: url.parameters["endpoint"]} if "endpoint" in url.parameters else {}


# By URL scheme: the class of obstore, and what gives its settings.
CLIENTS = {"s3": "S3Store", "gs": "GCSStore", "az": "AzureStore"}
SETTINGS = {
    "s3": aws_settings,
    "gs": at_endpoint("google_base_url"),
    "az": at_endpoint("azure_storage_endpoint"),
}

# The text of an error can contain parts of credentials: Azure has a signature in its URLs. So nothing of it
# is repeated but a status of HTTP and the code of the provider.
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
    """Return what is wrong with a bucket, in one line; empty if an object or a range does not exist."""
    text = str(error)
    if any(word in text for word in MISSING_BUCKETS):
        return f"{url.title}: there is no such bucket; create it, or correct the URL"
    if isinstance(error, FileNotFoundError) or "416 " in text or "InvalidRange" in text:
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
