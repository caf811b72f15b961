package scrape

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"hgld/labels"
)

// result is what one Fetch has brought.
type result struct {
	title   string
	rec     labels.Record
	answers []Answer
	kept    bool  // answers are in the state already
	drop    bool  // the title is to be asked for again: remove it
	stop    error // no further title can be had; nothing is known about this one
}

// put makes results durable in one transaction. The bodies are written first, so
// that a committed row always has its bodies.
func (s *state) put(results []result) error {
	sums, err := s.putBodies(results)
	if err != nil {
		return err
	}
	return s.within(func(tx *sql.Tx) error {
		for i, r := range results {
			if err := putOne(tx, r, sums[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// putBodies writes the bodies behind results, several at a time because most of
// it is waiting for the disk, and returns their hashes.
func (s *state) putBodies(results []result) ([][]string, error) {
	sums := make([][]string, len(results))
	var writers errgroup.Group
	writers.SetLimit(8)
	for i, r := range results {
		if r.kept {
			continue
		}
		sums[i] = make([]string, len(r.answers))
		for hop, a := range r.answers {
			writers.Go(func() (err error) {
				sums[i][hop], err = s.raw.put(a.Body)
				return err
			})
		}
	}
	return sums, writers.Wait()
}

func putOne(tx *sql.Tx, r result, sums []string) error {
	if r.drop {
		_, err := tx.Exec(`DELETE FROM page WHERE title = ?`, r.title)
		return err
	}
	record, err := json.Marshal(r.rec)
	if err != nil {
		return fmt.Errorf("%s: %w", r.title, err)
	}
	tries := 1
	if r.kept {
		tries = 0
	}
	if _, err := tx.Exec(`INSERT INTO page VALUES (?, ?, ?, ?) ON CONFLICT (title) DO UPDATE
		SET outcome = excluded.outcome, tries = tries + excluded.tries, record = excluded.record`,
		r.title, string(r.rec.Outcome), tries, string(record)); err != nil {
		return err
	}
	if r.kept {
		return nil
	}
	if _, err := tx.Exec(`DELETE FROM answer WHERE title = ?`, r.title); err != nil {
		return err
	}
	for hop, a := range r.answers {
		if _, err := tx.Exec(`INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)`,
			r.title, hop, a.URL, a.Status, a.Type, a.Fetched.UTC().Format(time.RFC3339), sums[hop]); err != nil {
			return err
		}
	}
	return nil
}

// outcomes returns the outcome of every title that has one.
func (s *state) outcomes() (map[string]labels.Outcome, error) {
	rows, err := s.db.Query(`SELECT title, outcome FROM page`)
	if err != nil {
		return nil, s.fault(err)
	}
	defer rows.Close()
	all := map[string]labels.Outcome{}
	for rows.Next() {
		var title, outcome string
		if err := rows.Scan(&title, &outcome); err != nil {
			return nil, s.fault(err)
		}
		all[title] = labels.Outcome(outcome)
	}
	return all, s.fault(rows.Err())
}

// record returns the record of a title.
func (s *state) record(title string) (labels.Record, error) {
	var text string
	var rec labels.Record
	if err := s.db.QueryRow(`SELECT record FROM page WHERE title = ?`, title).Scan(&text); err != nil {
		return rec, fmt.Errorf("%s: %w", title, s.fault(err))
	}
	if err := json.Unmarshal([]byte(text), &rec); err != nil {
		return rec, fmt.Errorf("%s: %w", title, err)
	}
	return rec, nil
}

// answers returns the kept responses of a title, in the order of asking.
func (s *state) answers(title string) ([]Answer, error) {
	rows, err := s.db.Query(`SELECT url, status, type, fetched, sha256 FROM answer WHERE title = ? ORDER BY hop`, title)
	if err != nil {
		return nil, s.fault(err)
	}
	var all []Answer
	var sums []string
	for rows.Next() {
		var a Answer
		var fetched, sum string
		if err := rows.Scan(&a.URL, &a.Status, &a.Type, &fetched, &sum); err != nil {
			return nil, errors.Join(s.fault(err), rows.Close())
		}
		if a.Fetched, err = time.Parse(time.RFC3339, fetched); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", title, err), rows.Close())
		}
		all, sums = append(all, a), append(sums, sum)
	}
	if err := errors.Join(s.fault(rows.Err()), rows.Close()); err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Body, err = s.raw.get(sums[i]); err != nil {
			return nil, &DamageError{Title: title, Err: err}
		}
	}
	return all, nil
}

// DamageError says that the kept responses of a title are missing or not what
// was kept.
type DamageError struct {
	Title string
	Err   error
}

// Error names the title whose record is damaged, and how.
func (e *DamageError) Error() string { return fmt.Sprintf("%s: %v", e.Title, e.Err) }

// Unwrap returns how it is damaged.
func (e *DamageError) Unwrap() error { return e.Err }
