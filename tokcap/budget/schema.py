"""The files of the SQLite ledger, and the tables in it: one migration for each version."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.budget.database import Migrations

FILE_NAME = "ledger.db"
# The file whose bytes are locked by processes that hold reservations.
HOLDERS_NAME = "ledger.holders"

# Never change a released migration. A ledger of version N gets the migrations from N on, inside the
# first transaction that opens it.
MIGRATIONS: Migrations = (
    (
        # An ended session keeps its row as history; its name is free again.
        """CREATE TABLE sessions (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, created REAL NOT NULL, ended REAL,
            total INTEGER, context_window INTEGER, result_pct REAL, turn_pct REAL, floor_tokens INTEGER,
            used INTEGER NOT NULL DEFAULT 0, window_used INTEGER NOT NULL DEFAULT 0)""",
        "CREATE UNIQUE INDEX running ON sessions (name) WHERE ended IS NULL",
        # Ids are random and never reused: a grant may outlive its row, and must not settle another grant.
        """CREATE TABLE reservations (
            id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, tokens INTEGER NOT NULL,
            turn TEXT, pid INTEGER NOT NULL, started INTEGER NOT NULL, boot TEXT NOT NULL,
            namespace TEXT NOT NULL)""",
        """CREATE TABLE turns (
            session INTEGER NOT NULL, turn TEXT NOT NULL, used INTEGER NOT NULL,
            PRIMARY KEY (session, turn)) WITHOUT ROWID""",
        """CREATE TABLE events (
            id INTEGER PRIMARY KEY, session INTEGER NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL,
            tokens INTEGER NOT NULL, key TEXT)""",
        "CREATE UNIQUE INDEX counted ON events (session, key) WHERE key IS NOT NULL",
    ),
    (
        # What may be written already: it counts as used if the holder dies.
        "ALTER TABLE reservations ADD COLUMN announced INTEGER NOT NULL DEFAULT 0",
        # The reservation of a dead holder, in case that holder was only out of sight and still settles.
        "ALTER TABLE events ADD COLUMN reservation INTEGER",
        "CREATE INDEX deaths ON events (reservation) WHERE reservation IS NOT NULL",
    ),
    (
        # How often the context was compacted: what was shown before that is gone.
        "ALTER TABLE sessions ADD COLUMN compactions INTEGER NOT NULL DEFAULT 0",
        # What the present context was shown. Keys are digests: commands may contain secrets.
        """CREATE TABLE shown (
            id INTEGER PRIMARY KEY, session INTEGER NOT NULL, key TEXT NOT NULL,
            handle TEXT NOT NULL)""",
        "CREATE UNIQUE INDEX shown_keys ON shown (session, key)",
    ),
    (
        # The byte that the holder has locked: see `presence`.
        "ALTER TABLE reservations ADD COLUMN place INTEGER",
        # What each grant was settled with, so that settling it again changes nothing.
        "DROP INDEX deaths",
        "CREATE INDEX settled ON events (reservation) WHERE reservation IS NOT NULL",
    ),
    (
        # The name of the session above, and what sessions below have reserved: see `lineage`.
        "ALTER TABLE sessions ADD COLUMN parent TEXT",
        "ALTER TABLE sessions ADD COLUMN reserved_below INTEGER NOT NULL DEFAULT 0",
        # The number and the beginning of the present period, if the session is renewed.
        "ALTER TABLE sessions ADD COLUMN renew TEXT",
        "ALTER TABLE sessions ADD COLUMN period INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE sessions ADD COLUMN period_began REAL",
        "ALTER TABLE sessions ADD COLUMN ended_how TEXT",
        """CREATE TABLE periods (
            session INTEGER NOT NULL, period INTEGER NOT NULL, name TEXT NOT NULL, began REAL NOT NULL,
            ended REAL NOT NULL, total INTEGER, used INTEGER NOT NULL,
            PRIMARY KEY (session, period)) WITHOUT ROWID""",
        # For people: who holds it, and since when.
        "ALTER TABLE reservations ADD COLUMN since REAL",
        "ALTER TABLE reservations ADD COLUMN holder TEXT",
        # The sessions above, as `ID ID …`; for what was counted and may be corrected `ID.PERIOD …` of all.
        "ALTER TABLE reservations ADD COLUMN above TEXT",
        "ALTER TABLE events ADD COLUMN counted_in TEXT",
    ),
)
