package scrape_test

import (
	"bytes"
	"database/sql"
	"path/filepath"
	"testing"

	"hgld/scrape"
)

// version1 is the schema of format 1, and the way back to it from format 2.
const version1 = `
CREATE TABLE page (
	title TEXT PRIMARY KEY, outcome TEXT NOT NULL, tries INTEGER NOT NULL, record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE answer (
	title TEXT NOT NULL, hop INTEGER NOT NULL, url TEXT NOT NULL, status INTEGER NOT NULL, type TEXT NOT NULL,
	fetched TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (title, hop)
) STRICT, WITHOUT ROWID;
INSERT INTO page SELECT title, outcome, tries, json_set(record, '$.fetched', '2026-01-02T03:04:05Z') FROM finding;
INSERT INTO answer SELECT f.key, 0, r.url, r.status, r.type, r.fetched, r.sha256
	FROM fact f JOIN response r ON r.batch = f.batch JOIN finding ON title = f.key;
INSERT INTO answer SELECT title, 1, r.url, r.status, r.type, r.fetched, r.sha256
	FROM finding JOIN fact f ON f.key = json_extract(record, '$.redirects[0]') JOIN response r ON r.batch = f.batch;
DROP TABLE finding; DROP TABLE fact; DROP TABLE response;
UPDATE meta SET value = '1' WHERE key = 'format';
INSERT INTO meta VALUES ('input_sha256', 'x');`

// TestVersion1IsConvertedWithoutARequest makes a state of format 1 and opens it in
// every way.
func TestVersion1IsConvertedWithoutARequest(t *testing.T) {
	t.Parallel()
	s := newSite(t, places(27))
	for name, use := range map[string]func(scrape.Config) error{
		"Run":     func(cfg scrape.Config) error { _, err := scrape.Run(t.Context(), cfg); return err },
		"Reparse": func(cfg scrape.Config) error { _, err := scrape.Reparse(t.Context(), cfg); return err },
	} {
		cfg := s.config(t, t.TempDir())
		_, want := mustRun(t, cfg)
		before := s.requestsOf()
		db, err := sql.Open("sqlite", filepath.Join(cfg.State, "scrape.db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(version1); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if plan, err := scrape.NewPlan(cfg); err != nil || plan.Done != 27 || plan.Requests != 0 {
			t.Errorf("%s: plan of format 1: %+v, %v", name, plan, err)
		}
		for range 2 {
			if err := use(cfg); err != nil || !bytes.Equal(readFile(t, cfg.Out.Tags), want) {
				t.Errorf("%s: tags.jsonl differs, or %v", name, err)
			}
		}
		if _, err := scrape.Reparse(t.Context(), cfg); err != nil {
			t.Errorf("%s: then Reparse: %v", name, err)
		}
		if plan, err := scrape.NewPlan(cfg); err != nil || plan.Done != 27 {
			t.Errorf("%s: plan of format 2: %+v, %v", name, plan, err)
		}
		if s.requestsOf() != before {
			t.Errorf("%s: %d pages were asked for again", name, s.requestsOf()-before)
		}
	}
}
