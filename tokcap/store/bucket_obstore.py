"""Buckets of S3, Google Cloud Storage and Azure, through the package obstore. No other module imports it.

The package is loaded with the first request. It has threads of its own, which a forked process does not have:
there, every request would wait forever, so it is refused.
"""

from __future__ import annotations

import os

from tokcap.errors import PackageMissing, StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.bucket import PART_BYTES, Content, StoredObject, parts
from tokcap.store.bucket_problems import problem_of
from tokcap.system.threads import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from tokcap.environment import Environment
    from tokcap.store.bucket import Read
    from tokcap.store.shared_url import SharedUrl

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


def open_s3(url: SharedUrl, env: Environment) -> ObstoreBucket:
    from tokcap.store.aws_settings import settings_of

    return ObstoreBucket("S3Store", url, lambda: settings_of(url, env))


def open_gs(url: SharedUrl, env: Environment) -> ObstoreBucket:
    return ObstoreBucket("GCSStore", url, lambda: at_endpoint(url, "google_base_url"))


def open_az(url: SharedUrl, env: Environment) -> ObstoreBucket:
    return ObstoreBucket("AzureStore", url, lambda: at_endpoint(url, "azure_storage_endpoint"))


def at_endpoint(url: SharedUrl, setting: str) -> dict[str, str]:
    """Return the settings of a client that reads the variables of its provider itself."""
    return {setting: url.parameters["endpoint"]} if "endpoint" in url.parameters else {}


class ObstoreBucket:
    """One bucket, or what is below a prefix in it. Nothing is loaded before the first request."""

    def __init__(self, kind: str, url: SharedUrl, settings: Callable[[], Mapping[str, str]]) -> None:
        self._kind = kind
        self._url = url
        self._settings = settings

    def read(self, key: str, most_bytes: int) -> Content | None:
        def ask(api: Any, client: Any) -> Content:
            found = api.get(client, key)
            meta = found.meta
            if meta["size"] > most_bytes:
                raise StoreError(f"{key} has {meta['size']} bytes, more than tokcap writes")
            return Content(bytes(found.bytes()), meta["last_modified"].timestamp(), version_of(meta))

        return self._found(ask)

    def read_range(self, key: str, start: int, stop: int) -> bytes:
        if start >= stop:
            return b""

        def ask(api: Any, client: Any) -> bytes:
            return bytes(api.get_range(client, key, start=start, end=stop))

        return self._found(ask, past_the_end=b"") or b""

    def stat(self, key: str) -> StoredObject | None:
        return self._found(lambda api, client: object_of(api.head(client, key)))

    def create(self, key: str, size: int, read: Read) -> bool:
        if size > PART_BYTES:
            # A provider takes parts without a condition. Whoever is second sends the same bytes again.
            if self.stat(key):
                return False
            self.replace(key, size, read)
            return True
        data = read(0, size)

        def ask(api: Any, client: Any) -> bool:
            try:
                api.put(client, key, data, mode="create", use_multipart=False)
            except self._exceptions().AlreadyExistsError:
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

    def update(self, key: str, data: bytes, version: str) -> bool:
        tag, _, number = version.partition("\n")
        wanted = {name: value for name, value in (("e_tag", tag), ("version", number)) if value}

        def ask(api: Any, client: Any) -> bool:
            errors = self._exceptions()
            try:
                api.put(client, key, data, mode=wanted, use_multipart=False)
            except (errors.PreconditionError, errors.AlreadyExistsError, FileNotFoundError):
                return False
            return True

        return self._ask(ask)

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

    def _found(self, ask: Callable[[Any, Any], Found], past_the_end: Found | None = None) -> Found | None:
        """Ask for an object that may not exist, or may be shorter."""
        try:
            return self._ask(ask)
        except MissingObject:
            return None
        except RangePastEnd:
            return past_the_end

    def _ask(self, ask: Callable[[Any, Any], Found]) -> Found:
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
        except (StoreError, PackageMissing):
            raise
        except FileNotFoundError as error:
            problem = problem_of(error, self._url)
            raise StoreError(problem) if problem else MissingObject from None
        except Exception as error:
            text = str(error)
            if "416 " in text or "InvalidRange" in text:
                raise RangePastEnd from None
            raise StoreError(
                problem_of(error, self._url) or f"{self._url.title}: {type(error).__name__}"
            ) from None

    @staticmethod
    def _exceptions() -> Any:
        import obstore.exceptions

        return obstore.exceptions

    def _client(self) -> Any:
        settings = self._settings()
        key = (self._kind, self._url.title, self._url.timeout_seconds, tuple(sorted(settings.items())))
        if key not in _clients:
            _clients[key] = self._new_client(settings)
        return _clients[key]

    def _new_client(self, settings: Mapping[str, str]) -> Any:
        import datetime

        import obstore.store

        timeout = datetime.timedelta(seconds=self._url.timeout_seconds)
        # Short enough that a second attempt fits into the timeout.
        connect = datetime.timedelta(seconds=max(self._url.timeout_seconds / 3, LEAST_CONNECT_SECONDS))
        return getattr(obstore.store, self._kind)(
            self._url.place,
            prefix=self._url.prefix or None,
            config=dict(settings),
            client_options={
                "timeout": timeout,
                "connect_timeout": connect,
                "allow_http": any(value.startswith("http://") for value in settings.values()),
            },
            retry_config={"max_retries": RETRIES, "retry_timeout": timeout},
        )


def in_thread(work: Callable[[], Found]) -> Found:
    """Do something in a thread, and wait for it: meanwhile, Ctrl-C reaches the main thread."""
    found: list[Found] = []
    failures: list[BaseException] = []

    def attempt() -> None:
        try:
            found.append(work())
        except BaseException as error:
            # It is raised where the caller waits.
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


class MissingObject(Exception):
    """There is no such object."""


class RangePastEnd(Exception):
    """The object is shorter than where the range begins."""


def object_of(meta: Mapping[str, Any]) -> StoredObject:
    return StoredObject(meta["path"], meta["size"], meta["last_modified"].timestamp())


def version_of(meta: Mapping[str, Any]) -> str:
    return f"{meta.get('e_tag') or ''}\n{meta.get('version') or ''}"
