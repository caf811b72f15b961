package scrape

import (
	"database/sql"
	"fmt"
	"strings"
)

// convertVersion1 converts the tables of format 1, which stored only pages, to format 2:
//
//	page    title, outcome, tries, record                     -> finding
//	answer  title, hop, url, status, type, fetched, sha256     -> response, fact
//	again   title, why                                         -> fact.again
//
// The fact of a page stays empty until it is needed and is then parsed from the stored
// body. If a title has several answers, for example because two titles redirect to it, the
// latest one counts.
func convertVersion1(tx *sql.Tx) error {
	if _, err := tx.Exec(`ALTER TABLE page RENAME TO finding`); err != nil {
		return err
	}
	parts := strings.SplitAfter(schema, ";")
	for _, part := range parts {
		if strings.Contains(part, "TABLE finding") || strings.Contains(part, "TABLE IF NOT EXISTS meta") {
			continue
		}
		if _, err := tx.Exec(part); err != nil {
			return err
		}
	}
	if err := convertAnswers(tx); err != nil {
		return err
	}
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS again (title TEXT PRIMARY KEY, why TEXT NOT NULL) STRICT, WITHOUT ROWID`,
		`UPDATE fact SET again = (SELECT why FROM again WHERE title = fact.key) WHERE key IN (SELECT title FROM again)`,
		`DROP TABLE again`, `DROP TABLE answer`,
		`DELETE FROM meta WHERE key = 'input_sha256'`,
		fmt.Sprintf(`UPDATE meta SET value = '%d' WHERE key = 'format'`, stateVersion),
	} {
		if _, err := tx.Exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// convertAnswers copies the rows of the table answer. The first answer of a title is that
// title's own page. Later answers belong to the title in their URL.
func convertAnswers(tx *sql.Tx) error {
	rows, err := tx.Query(`SELECT title, hop, url, status, type, fetched, sha256 FROM answer ORDER BY fetched, title, hop`)
	if err != nil {
		return err
	}
	type answer struct {
		title, url, kind, fetched, sum string
		hop, status                    int
	}
	var all []answer
	for rows.Next() {
		var a answer
		if err := rows.Scan(&a.title, &a.hop, &a.url, &a.status, &a.kind, &a.fetched, &a.sum); err != nil {
			_ = rows.Close()
			return err
		}
		all = append(all, a)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for i, a := range all {
		key := a.title
		if a.hop > 0 {
			if key = titleOf(a.url); key == "" {
				continue
			}
		}
		if _, err := tx.Exec(`INSERT INTO response VALUES (?1, ?1, 'page', 'GET', ?2, '', ?3, ?4, ?5, '', ?6)`,
			i+1, a.url, a.status, a.kind, a.fetched, a.sum); err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO fact VALUES ('page', ?, ?, '', '') ON CONFLICT (step, key) DO UPDATE SET `+
			`batch = excluded.batch`,
			key, i+1); err != nil {
			return err
		}
	}
	return nil
}

// titleOf returns the title in the URL of a page, or "" if there is none.
func titleOf(address string) string {
	_, path, found := strings.Cut(address, "/wiki/")
	if !found {
		return ""
	}
	title, err := Title("/wiki/" + path)
	if err != nil {
		return ""
	}
	return title
}
