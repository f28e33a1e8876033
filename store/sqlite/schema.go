package sqlite

import (
	"fmt"
	"strings"
)

// applicationID marks a database file as clawbot's.
const applicationID = 0x636c6177 // "claw"

// migrations lead from each version of the schema to the next. A version once
// released is never changed.
//
// Rows of a session are clustered by a key that packs the session's number
// with a position, so that one b-tree both finds and orders them:
// entries.key = session<<32 | position, inbox.key = (session<<1 | lane)<<32 |
// position. Times are Unix nanoseconds.
var migrations = []string{`
CREATE TABLE sessions (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	session TEXT NOT NULL UNIQUE,
	due     INTEGER NOT NULL, -- 0: never
	active  INTEGER NOT NULL,
	meta    TEXT NOT NULL     -- store/internal/session.Session as JSON
) STRICT;
CREATE INDEX due ON sessions (due) WHERE due > 0;

CREATE TABLE replies (
	session INTEGER PRIMARY KEY,
	run     TEXT NOT NULL,
	open    INTEGER NOT NULL,
	data    BLOB
) STRICT;

CREATE TABLE entries (
	key    INTEGER PRIMARY KEY,
	kind   INTEGER NOT NULL,
	id     TEXT NOT NULL,
	opens  TEXT,             -- JSON list
	closes TEXT NOT NULL,
	keep   INTEGER NOT NULL,
	token  TEXT NOT NULL,
	at     INTEGER NOT NULL,
	inbox  INTEGER NOT NULL, -- -1: not drained
	drain  TEXT,             -- the call of Drain that moved it
	data   BLOB
) STRICT;

CREATE TABLE inbox (
	key   INTEGER PRIMARY KEY,
	id    TEXT NOT NULL,
	op    INTEGER NOT NULL,
	name  TEXT NOT NULL, -- the event's Key
	quiet INTEGER NOT NULL,
	tail  INTEGER NOT NULL,
	at    INTEGER NOT NULL,
	data  BLOB
) STRICT;

-- Event ids of the last 72 hours, in order of arrival.
CREATE TABLE seen (
	n        INTEGER PRIMARY KEY,
	hash     BLOB NOT NULL UNIQUE, -- of session and event id
	at       INTEGER NOT NULL,
	position INTEGER NOT NULL,
	applied  INTEGER NOT NULL
) STRICT;

CREATE TABLE dead (
	n        INTEGER PRIMARY KEY,
	session  TEXT NOT NULL,
	position INTEGER NOT NULL,
	id       TEXT NOT NULL,
	op       INTEGER NOT NULL,
	name     TEXT NOT NULL,
	quiet    INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	data     BLOB,
	reason   TEXT NOT NULL,
	buried   INTEGER NOT NULL
) STRICT;

CREATE TABLE terms (
	name TEXT PRIMARY KEY,
	meta TEXT NOT NULL -- as in sessions
) STRICT, WITHOUT ROWID;
CREATE TABLE term_values (
	name  TEXT NOT NULL,
	key   TEXT NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: no version is ever used again.
CREATE TABLE state (
	version INTEGER PRIMARY KEY AUTOINCREMENT,
	key     TEXT NOT NULL UNIQUE,
	before  INTEGER NOT NULL, -- the version that this one replaced
	data    BLOB
) STRICT;

CREATE TABLE counters (
	id   INTEGER PRIMARY KEY AUTOINCREMENT,
	key  TEXT NOT NULL UNIQUE,
	sum  INTEGER NOT NULL,
	ends INTEGER NOT NULL -- 0: never
) STRICT;
CREATE TABLE reservations (
	id       TEXT PRIMARY KEY,
	amount   INTEGER NOT NULL,
	counters TEXT NOT NULL, -- JSON list of counters.id
	ends     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_end ON reservations (ends);

CREATE TABLE blobs (
	id  INTEGER PRIMARY KEY AUTOINCREMENT,
	ref TEXT UNIQUE -- NULL while it is being put
) STRICT;
CREATE TABLE chunks (
	key  INTEGER PRIMARY KEY, -- blobs.id<<20 | number
	data BLOB NOT NULL
) STRICT;
`, `
-- What was said, by folded words and a word for its owner; rowid is minus
-- entries.key, so that the latest comes first. It holds neither texts nor
-- positions: what it offers is read and looked at.
CREATE VIRTUAL TABLE found USING fts5(words, content='', contentless_delete=1, detail=none, tokenize='ascii');
CREATE TABLE indexed (
	session INTEGER PRIMARY KEY, -- sessions.id
	upto    INTEGER NOT NULL,    -- position from which on nothing is in found yet
	owner   TEXT NOT NULL        -- of the last user entry before upto
) STRICT;
`, `
ALTER TABLE blobs ADD COLUMN put INTEGER NOT NULL DEFAULT 0; -- when last
`}

// migrate brings the database to the present schema, or refuses one that is
// newer or not clawbot's. A guest does not touch it.
func migrate(c *conn, path string, guest bool) error {
	version, err := c.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	app, err := c.number("PRAGMA application_id")
	if err != nil {
		return err
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	switch {
	case app != applicationID && (tables > 0 || app != 0):
		return fmt.Errorf("%s is another program's database: set store.path to a file of its own", path)
	case version > int64(len(migrations)):
		return fmt.Errorf("%s was written by a newer clawbot (schema %d, this one knows %d): update clawbot, or restore a backup of before the update",
			path, version, len(migrations))
	case version == int64(len(migrations)):
		return nil
	case guest:
		return fmt.Errorf("%s was written by an older clawbot (schema %d, this one needs %d): start this clawbot on it once",
			path, version, len(migrations))
	}
	var sql strings.Builder
	sql.WriteString("BEGIN IMMEDIATE;\n")
	for _, m := range migrations[version:] {
		sql.WriteString(m)
	}
	fmt.Fprintf(&sql, "PRAGMA application_id = %d;\nPRAGMA user_version = %d;\nCOMMIT;", applicationID, len(migrations))
	if err := c.script(sql.String()); err != nil {
		return fmt.Errorf("bring %s from schema %d to %d: %w", path, version, len(migrations), err)
	}
	return nil
}
