"""Stored outputs: captured bytes in, a handle out; a handle in, the bytes and what is known of them out.

    spill/3f/3f2a91c05d7e/   out  err  record.json  index-cl100k_base  landmarks
    spill/.new-…/            an output that is still arriving, or one that is being removed
    spill/last               the handle that `@last` means

An output becomes visible by one rename, when all of it is there, and vanishes by one. So no lock is needed
to read, and whoever holds a file open reads it to its end.
"""

from tokcap.store.drafts import Draft
from tokcap.store.entry import Entry, EntryRecord, StoredStream
from tokcap.store.retention import Retention, clean, clean_if_due
from tokcap.store.shelf import Listed, Shelf

__all__ = [
    "Draft",
    "Entry",
    "EntryRecord",
    "Listed",
    "Retention",
    "Shelf",
    "StoredStream",
    "clean",
    "clean_if_due",
]
