"""What background processes write after the shell that started them has ended, as a source."""

from __future__ import annotations

import os
import select

from tokcap.lean.record import TYPE_CHECKING
from tokcap.source.command import read_block
from tokcap.system.descriptors import DescriptorReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokcap.core.request import Stream


class LeftOver:
    """Reads pipes until their last writer has closed them. There is no exit status."""

    def __init__(self, streams: Mapping[int, Stream], reader: int | None) -> None:
        """`reader` is the descriptor to which the answer is written. If its reader is gone, stop reading.

        Then the background processes get a broken pipe, as they would without tokcap.
        """
        self._streams = dict(streams)
        self._reader = reader
        self._poll = select.poll()

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        for descriptor in self._streams:
            self._poll.register(descriptor, select.POLLIN)
        if self._reader is not None:
            self._poll.register(self._reader, 0)
        readers = {descriptor: DescriptorReader(descriptor) for descriptor in self._streams}
        while self._streams:
            ready = {descriptor for descriptor, _ in self._poll.poll()}
            for descriptor in ready.intersection(self._streams):
                block = read_block(readers[descriptor])
                if not block:
                    self._close(descriptor)
                elif descriptor in self._streams:
                    yield self._streams[descriptor], block
            if self._reader in ready:
                return

    def stop(self, stream: Stream) -> None:
        for descriptor in [number for number, name in self._streams.items() if name == stream]:
            self._close(descriptor)

    def end(self) -> None:
        self.close()

    def limit_reached(self) -> None:
        """Go on reading: a background process must not be stopped."""

    def close(self) -> None:
        for descriptor in [*self._streams]:
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        del self._streams[descriptor]
        try:
            self._poll.unregister(descriptor)
        except KeyError:
            # Nothing has been read yet.
            pass
        os.close(descriptor)
