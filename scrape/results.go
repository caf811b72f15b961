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
	again   why   // the title has to be asked for again; its finding stands until then
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

// putOne writes one result. A failure to reach the site does not take the place of
// an earlier finding: that stands until there is a new one.
func putOne(tx *sql.Tx, r result, sums []string) error {
	if r.again != "" {
		return mark(tx, r.title, r.again)
	}
	record, err := json.Marshal(r.rec)
	if err != nil {
		return fmt.Errorf("%s: %w", r.title, err)
	}
	tries := 1
	if r.kept {
		tries = 0
	}
	put, err := tx.Exec(`INSERT INTO page VALUES (?1, ?2, ?3, ?4) ON CONFLICT (title) DO UPDATE
		SET outcome = excluded.outcome, tries = tries + excluded.tries, record = excluded.record
		WHERE excluded.outcome <> ?5 OR page.outcome = ?5`,
		r.title, string(r.rec.Outcome), tries, string(record), string(labels.Retryable))
	if err != nil {
		return err
	}
	if n, err := put.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if r.kept {
		_, err := tx.Exec(`DELETE FROM again WHERE title = ? AND why <> ?`, r.title, string(wanted))
		return err
	}
	for _, table := range []string{"again", "answer"} {
		if _, err := tx.Exec(`DELETE FROM `+table+` WHERE title = ?`, r.title); err != nil {
			return err
		}
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
		all[i].Body, err = s.raw.get(sums[i])
		switch {
		case errors.Is(err, errNotKept):
			return nil, &DamageError{Title: title, Err: err}
		case err != nil:
			return nil, &ReadError{Title: title, Err: err}
		}
	}
	return all, nil
}

// ReadError says that a kept response could not be read: its file, or the whole
// folder, is gone (fs.ErrNotExist), the system refused it, or the disk failed. It
// says nothing about the response itself, so that nothing is asked for again.
type ReadError struct {
	Title string // "" where the folder is gone
	Err   error
}

// Error names the title whose response it is, and the file.
func (e *ReadError) Error() string {
	if e.Title == "" {
		return fmt.Sprintf("the kept responses cannot be read: %v", e.Err)
	}
	return fmt.Sprintf("%s: its kept response cannot be read: %v", e.Title, e.Err)
}

// Unwrap returns why it could not be read.
func (e *ReadError) Unwrap() error { return e.Err }

// DamageError says that a kept response was read and is not what was kept.
type DamageError struct {
	Title string
	Err   error
}

// Error names the title whose record is damaged, and how.
func (e *DamageError) Error() string { return fmt.Sprintf("%s: %v", e.Title, e.Err) }

// Unwrap returns how it is damaged.
func (e *DamageError) Unwrap() error { return e.Err }
