package scrape_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
	"hgld/scrape"
)

// Every value of the database is compared with something: a hash, a response or a record.
func TestVerifyFindsEveryChangeOfTheDatabase(t *testing.T) {
	cfg := listedConfig(t, 5, &listed{reply: park, size: 1})
	mustRun(t, cfg)
	path := filepath.Join(cfg.State, "scrape.db")
	sound := readFile(t, path)
	for _, change := range []string{
		"", "UPDATE response SET url = url || 'x' WHERE id = 2", "UPDATE response SET method = 'PUT' WHERE id = 2",
		"UPDATE response SET form = 'x' WHERE id = 2", "UPDATE response SET status = 404 WHERE id = 2",
		"UPDATE response SET type = 'x' WHERE id = 2", "UPDATE response SET agent = 'x' WHERE id = 2",
		"UPDATE response SET fetched = '2001-02-03T04:05:06Z' WHERE id = 2",
		"UPDATE response SET sha256 = (SELECT sha256 FROM response WHERE id = 1), row_sha256 = 'x' WHERE id = 2",
		"DELETE FROM response WHERE id = 2", "UPDATE response SET batch = 1 WHERE id = 2",
		"UPDATE fact SET data = data || ' ' WHERE batch = 2", "UPDATE fact SET batch = 77 WHERE batch = 2",
		"UPDATE finding SET outcome = 'no_tag' WHERE title IN (SELECT min(title) FROM finding)",
		"DELETE FROM finding WHERE title IN (SELECT min(title) FROM finding)",
	} {
		must.Do(t, os.WriteFile(path, sound, 0o644))
		db := must.Get(sql.Open("sqlite", path))(t)
		if change != "" {
			if _, err := db.Exec(change); err != nil {
				t.Fatalf("%s: %v", change, err)
			}
		}
		must.Do(t, db.Close())
		v, err := scrape.Verify(t.Context(), cfg)
		if found := err != nil || len(v.Problems) > 0; found != (change != "") {
			t.Errorf("%s: found %v: %v, %v", change, found, v, err)
		}
	}
}
