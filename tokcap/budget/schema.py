"""The files of the SQLite ledger, and the tables in it."""

from __future__ import annotations

FILE_NAME = "ledger.db"
# The file whose bytes are locked by processes that hold reservations.
HOLDERS_NAME = "ledger.holders"

# The version of the tables, which the file has as its `user_version`.
VERSION = 1
TABLES = (
    # An ended session keeps its row as history; its name is free again.
    # `compactions` counts how often the context was compacted: what was shown before that is gone.
    # `parent` is the name of the session above; `reserved_below` is what sessions below have reserved: see
    # `lineage`. `period` and `period_began` are those of the present period, if the session is renewed.
    """CREATE TABLE sessions (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, created REAL NOT NULL, ended REAL, ended_how TEXT,
        total INTEGER, context_window INTEGER, result_pct REAL, turn_pct REAL, floor_tokens INTEGER,
        parent TEXT, renew TEXT, period INTEGER NOT NULL DEFAULT 0, period_began REAL,
        used INTEGER NOT NULL DEFAULT 0, window_used INTEGER NOT NULL DEFAULT 0,
        reserved_below INTEGER NOT NULL DEFAULT 0, compactions INTEGER NOT NULL DEFAULT 0)""",
    "CREATE UNIQUE INDEX running ON sessions (name) WHERE ended IS NULL",
    # Ids are random and never reused: a grant may outlive its row, and must not settle another grant.
    # `announced` may be written already: it counts as used if the holder dies. `place` is the byte that the
    # holder has locked: see `presence`. `since` and `holder` are for people. `above` has the sessions above,
    # as `ID ID ...`.
    """CREATE TABLE reservations (
        id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, tokens INTEGER NOT NULL,
        turn TEXT, announced INTEGER NOT NULL DEFAULT 0, above TEXT, pid INTEGER NOT NULL,
        started INTEGER NOT NULL, boot TEXT NOT NULL, namespace TEXT NOT NULL, place INTEGER NOT NULL,
        since REAL NOT NULL, holder TEXT NOT NULL)""",
    """CREATE TABLE turns (
        session INTEGER NOT NULL, turn TEXT NOT NULL, used INTEGER NOT NULL,
        PRIMARY KEY (session, turn)) WITHOUT ROWID""",
    # `reservation` is the grant that was settled, so that settling it again changes nothing. `counted_in`
    # has sessions and periods, as `ID.PERIOD ...`, for what may be corrected: its holder seemed dead.
    """CREATE TABLE events (
        id INTEGER PRIMARY KEY, session INTEGER NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL,
        tokens INTEGER NOT NULL, key TEXT, reservation INTEGER, counted_in TEXT)""",
    "CREATE UNIQUE INDEX counted ON events (session, key) WHERE key IS NOT NULL",
    "CREATE INDEX settled ON events (reservation) WHERE reservation IS NOT NULL",
    # What the present context was shown. Keys are digests: commands may contain secrets.
    """CREATE TABLE shown (
        id INTEGER PRIMARY KEY, session INTEGER NOT NULL, key TEXT NOT NULL, handle TEXT NOT NULL)""",
    "CREATE UNIQUE INDEX shown_keys ON shown (session, key)",
    """CREATE TABLE periods (
        session INTEGER NOT NULL, period INTEGER NOT NULL, name TEXT NOT NULL, began REAL NOT NULL,
        ended REAL NOT NULL, total INTEGER, used INTEGER NOT NULL,
        PRIMARY KEY (session, period)) WITHOUT ROWID""",
)
