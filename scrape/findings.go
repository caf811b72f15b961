package scrape

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"hgld/labels"
)

// putFinding stores the record of a title. tries is added to the number of requests made
// for it. A failure to reach the site does not replace an earlier finding; putFinding then
// returns false.
func putFinding(tx *sql.Tx, rec labels.Record, tries int) (bool, error) {
	text, err := json.Marshal(rec)
	if err != nil {
		return false, fmt.Errorf("%s: %w", rec.Title, err)
	}
	put, err := tx.Exec(`INSERT INTO finding VALUES (?1, ?2, ?3, ?4) ON CONFLICT (title) DO UPDATE
		SET outcome = excluded.outcome, tries = tries + excluded.tries, record = excluded.record
		WHERE excluded.outcome <> ?5 OR finding.outcome = ?5`,
		rec.Title, string(rec.Outcome), tries, string(text), string(labels.Retryable))
	if err != nil {
		return false, err
	}
	n, err := put.RowsAffected()
	return n > 0, err
}

// outcomes returns the outcome of every title that has one.
func (s *state) outcomes() (map[string]labels.Outcome, error) {
	all := map[string]labels.Outcome{}
	var title, outcome string
	err := eachRow(s.db, func() error {
		all[title] = labels.Outcome(outcome)
		return nil
	}, []any{&title, &outcome}, `SELECT title, outcome FROM finding`)
	return all, s.namedError(err)
}

// record returns the record of a title.
func (s *state) record(title string) (labels.Record, error) {
	var text string
	var rec labels.Record
	if err := s.found.QueryRow(title).Scan(&text); err != nil {
		return rec, fmt.Errorf("%s: %w", title, s.namedError(err))
	}
	if err := json.Unmarshal([]byte(text), &rec); err != nil {
		return rec, fmt.Errorf("%s: %w", title, err)
	}
	return rec, nil
}
