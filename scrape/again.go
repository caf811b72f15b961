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

// why says for which reason a title that has a finding is asked for again.
type why string

const (
	damaged      why = "damaged" // a kept response is not what was kept
	insufficient why = "more"    // a response is needed that was not kept
	wanted       why = "wanted"  // by Config.Retry
)

// lost is the name of the retry for titles whose kept responses are gone.
const lost = "lost"

// Retry chooses titles to be asked for again by their outcome; or, where Lost is
// set, by their responses: those whose file is no longer there.
type Retry struct {
	Outcomes []labels.Outcome
	Lost     bool
}

// Retries lists what can be asked for again although it has a finding.
var Retries = registry.Table[Retry]{
	{Name: "failed", About: "titles given up as error_final", Value: Retry{Outcomes: []labels.Outcome{labels.Failed}}},
	{Name: "malformed", About: "titles whose answer could not be read", Value: Retry{Outcomes: []labels.Outcome{labels.Malformed}}},
	{Name: "missing", About: "categories that did not exist", Value: Retry{Outcomes: []labels.Outcome{labels.Missing}}},
	{Name: lost, About: "titles whose kept responses are no longer in the state", Value: Retry{Lost: true}},
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

// mark notes within tx that a title is to be asked for again.
func mark(tx *sql.Tx, title string, reason why) error {
	_, err := tx.Exec(`INSERT INTO again VALUES (?, ?) ON CONFLICT (title) DO UPDATE SET why = excluded.why`, title, string(reason))
	return err
}

// want marks the titles that the retries choose, in one transaction: an interrupted
// run goes on without naming them again.
func (s *state) want(titles []string, retries []Retry) error {
	if len(retries) == 0 {
		return nil
	}
	outcomes, err := s.outcomes()
	if err != nil {
		return err
	}
	chosen := map[labels.Outcome]bool{}
	gone := map[string]bool{}
	for _, r := range retries {
		for _, o := range r.Outcomes {
			chosen[o] = true
		}
		if r.Lost {
			if gone, err = s.gone(); err != nil {
				return err
			}
		}
	}
	return s.within(func(tx *sql.Tx) error {
		for _, title := range titles {
			if !chosen[outcomes[title]] && !gone[title] {
				continue
			}
			if err := mark(tx, title, wanted); err != nil {
				return err
			}
		}
		return nil
	})
}

// gone returns the titles of which a kept response has no file any more.
func (s *state) gone() (map[string]bool, error) {
	rows, err := s.db.Query(`SELECT title, sha256 FROM answer`)
	if err != nil {
		return nil, s.fault(err)
	}
	defer rows.Close()
	gone := map[string]bool{}
	for rows.Next() {
		var title, sum string
		if err := rows.Scan(&title, &sum); err != nil {
			return nil, s.fault(err)
		}
		if len(sum) < 2 {
			return nil, fmt.Errorf("%s: %q is no sha256; the state is damaged", title, sum)
		}
		_, err := os.Stat(s.raw.path(sum))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			gone[title] = true
		case err != nil:
			return nil, &ReadError{Title: title, Err: err}
		}
	}
	return gone, s.fault(rows.Err())
}

// marked returns the titles that are to be asked for again. A state that was only
// written by an older hgld, and is open for reading, has none.
func (s *state) marked() (map[string]why, error) {
	var tables int
	if err := s.db.QueryRow(`SELECT count(*) FROM sqlite_master WHERE name = 'again'`).Scan(&tables); err != nil {
		return nil, s.fault(err)
	}
	all := map[string]why{}
	if tables == 0 {
		return all, nil
	}
	rows, err := s.db.Query(`SELECT title, why FROM again`)
	if err != nil {
		return nil, s.fault(err)
	}
	defer rows.Close()
	for rows.Next() {
		var title, reason string
		if err := rows.Scan(&title, &reason); err != nil {
			return nil, s.fault(err)
		}
		all[title] = why(reason)
	}
	return all, s.fault(rows.Err())
}
