package scrape

// stateVersion is the format of scrape.db.
const stateVersion = 1

const schema = `
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE response (
	id INTEGER PRIMARY KEY, batch INTEGER NOT NULL, step TEXT NOT NULL, method TEXT NOT NULL, url TEXT NOT NULL,
	form TEXT NOT NULL, status INTEGER NOT NULL, type TEXT NOT NULL, fetched TEXT NOT NULL, agent TEXT NOT NULL,
	sha256 TEXT NOT NULL, row_sha256 TEXT NOT NULL
) STRICT;
CREATE INDEX response_batch ON response (batch);
CREATE TABLE fact (
	step TEXT NOT NULL, key TEXT NOT NULL, batch INTEGER NOT NULL, data TEXT NOT NULL, again TEXT NOT NULL,
	PRIMARY KEY (step, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_batch ON fact (batch);
CREATE INDEX fact_again ON fact (again) WHERE again <> '';
CREATE TABLE finding (
	title TEXT PRIMARY KEY, outcome TEXT NOT NULL, tries INTEGER NOT NULL, record TEXT NOT NULL
) STRICT, WITHOUT ROWID;`
