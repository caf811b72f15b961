package scrape

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hgld/internal/registry"
	"hgld/labels"
)

// refetchReason is the reason for fetching a fact again.
type refetchReason string

const (
	damaged      refetchReason = "damaged" // a stored response does not match its hash
	insufficient refetchReason = "more"    // the stored responses no longer yield the fact
	wanted       refetchReason = "wanted"  // requested by Config.Retry
)

// lost is the name of the retry that refetches titles whose stored responses are gone.
const lost = "lost"

// Retry selects titles to fetch again.
type Retry struct {
	Outcomes []labels.Outcome // titles with one of these outcomes
	Lost     bool             // titles whose stored responses are missing
}

// Retries lists the groups of finished titles that can be fetched again.
var Retries = registry.Table[Retry]{
	{Name: "failed", About: "titles given up as error_final", Value: Retry{Outcomes: []labels.Outcome{labels.Failed}}},
	{Name: "malformed", About: "titles whose answer could not be read",
		Value: Retry{Outcomes: []labels.Outcome{labels.Malformed}}},
	{Name: "missing", About: "categories that did not exist", Value: Retry{Outcomes: []labels.Outcome{labels.Missing}}},
	{Name: lost, About: "titles whose stored responses are missing from the state", Value: Retry{Lost: true}},
}

// retries looks up the names in cfg.Retry.
func (cfg *Config) retries() ([]Retry, error) {
	var all []Retry
	for _, name := range cfg.Retry {
		r, err := Retries.Get("retry", name)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// finding builds the record of a title, or returns the tasks that are still missing. used are the tasks whose facts it
// looked up.
func (s *state) finding(tx *sql.Tx, source Source, title string) (rec labels.Record, lacking, used []Task, err error) {
	rec, lacking = source.Finding(title, func(t Task) (Fact, bool) {
		if err != nil {
			return nil, false
		}
		used = append(used, t)
		fact, known, e := s.fact(tx, t)
		err = e
		return fact, known
	})
	if err != nil {
		return rec, nil, nil, err
	}
	rec.Title, rec.Source = title, source.Name()
	if len(lacking) == 0 && rec.Outcome == "" {
		rec.Outcome, rec.Error = labels.Malformed, "the source returned no outcome"
	}
	if rec.Error != "" {
		rec.Error = message(errors.New(rec.Error))
	}
	if _, e := rec.MarshalJSON(); e != nil {
		rec = labels.Record{Title: title, Source: source.Name(), Outcome: labels.Malformed, Error: message(e)}
	}
	return rec, lacking, used, nil
}

// markFact marks a fact for fetching again.
func markFact(tx *sql.Tx, t Task, reason refetchReason) error {
	_, err := tx.Exec(`UPDATE fact SET again = ? WHERE step = ? AND key = ?`, string(reason), t.Step, t.Key)
	return err
}

// markBatch marks all facts of a batch of responses.
func markBatch(tx *sql.Tx, batch int64, reason refetchReason) error {
	_, err := tx.Exec(`UPDATE fact SET again = ? WHERE batch = ?`, string(reason), batch)
	return err
}

// countMarked returns the number of facts marked for fetching again.
func (s *state) countMarked() (n int, err error) {
	err = s.db.QueryRow(`SELECT count(*) FROM fact WHERE again <> ''`).Scan(&n)
	return n, s.namedError(err)
}

// markRetries marks the facts that the retries select, in one transaction. An interrupted run
// therefore resumes without naming the retries again.
func (s *state) markRetries(source Source, titles []string, retries []Retry) error {
	if len(retries) == 0 {
		return nil
	}
	outcomes, err := s.outcomes()
	if err != nil {
		return err
	}
	chosen := map[labels.Outcome]bool{}
	var gone []int64
	for _, r := range retries {
		for _, o := range r.Outcomes {
			chosen[o] = true
		}
		if r.Lost {
			if gone, err = s.lostBatches(); err != nil {
				return err
			}
		}
	}
	return s.inTransaction(func(tx *sql.Tx) error {
		for _, batch := range gone {
			if err := markBatch(tx, batch, wanted); err != nil {
				return err
			}
		}
		for _, title := range titles {
			if !chosen[outcomes[title]] {
				continue
			}
			_, _, used, err := s.finding(tx, source, title)
			if err != nil {
				return err
			}
			for _, t := range used {
				if err := markFact(tx, t, wanted); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// lostBatches returns the batches with at least one response whose file is missing.
func (s *state) lostBatches() ([]int64, error) {
	var gone []int64
	var batch int64
	var sum string
	err := eachRow(s.db, func() error {
		if len(sum) < 2 {
			return fmt.Errorf("response %d: %.80q is not a sha256; the state is damaged", batch, sum)
		}
		_, err := os.Stat(s.raw.path(sum))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			gone = append(gone, batch)
		case err != nil:
			return &ReadError{URL: s.raw.path(sum), Err: err}
		}
		return nil
	}, []any{&batch, &sum}, `SELECT batch, sha256 FROM response`)
	return gone, s.namedError(err)
}
