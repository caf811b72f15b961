package scrape

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"hgld/internal/crash"
	"hgld/internal/filehash"
)

// exchange is the result of one Ask.
type exchange struct {
	step    string
	keys    []string
	answers []Answer
	facts   map[string]Fact
	err     error // the request failed; the keys are still unknown
	stop    error // no further request can succeed
}

// putBodies writes the bodies of exchanges and returns their hashes. It writes several at
// a time because it mostly waits for the disk.
func (s *state) putBodies(done []exchange) ([][]string, error) {
	sums := make([][]string, len(done))
	var writers errgroup.Group
	writers.SetLimit(8)
	for i, e := range done {
		if e.err != nil {
			continue
		}
		sums[i] = make([]string, len(e.answers))
		for n, a := range e.answers {
			writers.Go(func() (err error) {
				defer crash.Guard()
				sums[i][n], err = s.raw.put(a.Body)
				return err
			})
		}
	}
	return sums, writers.Wait()
}

// putExchange inserts the rows of one exchange. sums are the hashes of its bodies.
func putExchange(tx *sql.Tx, e exchange, sums []string, agent string) error {
	var batch int64
	for n, a := range e.answers {
		r := response{a, e.step, a.Fetched.UTC().Format(time.RFC3339), agent, sums[n]}
		row, err := tx.Exec(`INSERT INTO response (batch, step, method, url, form, status, type, fetched, agent, sha256,
			row_sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, batch, r.step, a.Method, a.URL, a.Form, a.Status, a.Type,
			r.fetched, r.agent, r.sum, r.hash())
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		if batch, err = row.LastInsertId(); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE response SET batch = id WHERE id = ?`, batch); err != nil {
			return err
		}
	}
	for key, fact := range e.facts {
		if _, err := tx.Exec(`INSERT INTO fact VALUES (?, ?, ?, ?, '') ON CONFLICT (step, key) DO UPDATE
			SET batch = excluded.batch, data = excluded.data, again = ''`, e.step, key, batch, string(fact)); err != nil {
			return err
		}
	}
	return nil
}

// response is a row of the table response.
type response struct {
	Answer                    // without its body
	step, fetched, agent, sum string
}

// hash returns the SHA-256 of the row, so that a changed URL or time is noticed too.
func (r *response) hash() string {
	return filehash.Text(fmt.Appendf(nil, "%q %q %q %q %d %q %q %q %s", r.step, r.Method, r.URL, r.Form, r.Status, r.Type,
		r.fetched, r.agent, r.sum))
}

// fact looks up the fact of a task. It returns false if the fact is unknown or marked for
// fetching again.
func (s *state) fact(tx *sql.Tx, t Task) (Fact, bool, error) {
	var data string
	err := tx.Stmt(s.lookup).QueryRow(t.Step, t.Key).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	return Fact(data), err == nil, err
}

// answers returns the stored responses of a batch, in the order of the requests.
func (s *state) answers(tx *sql.Tx, batch int64) ([]Answer, error) {
	var all []Answer
	var sums []string
	var r response
	var hash string
	err := eachRow(tx, func() (err error) {
		if r.hash() != hash {
			return &DamageError{URL: r.URL, Err: errRow}
		}
		if r.Fetched, err = time.Parse(time.RFC3339, r.fetched); err != nil {
			return fmt.Errorf("response %d: %w", batch, err)
		}
		all, sums = append(all, r.Answer), append(sums, r.sum)
		return nil
	}, []any{&r.step, &r.Method, &r.URL, &r.Form, &r.Status, &r.Type, &r.fetched, &r.agent, &r.sum, &hash},
		`SELECT step, method, url, form, status, type, fetched, agent, sha256, row_sha256
		FROM response WHERE batch = ? ORDER BY id`, batch)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Body, err = s.raw.get(sums[i])
		switch {
		case errors.Is(err, errNotKept):
			return nil, &DamageError{URL: all[i].URL, Err: err}
		case err != nil:
			return nil, &ReadError{URL: all[i].URL, Err: err}
		}
	}
	return all, nil
}

// errRow is the damage of a response whose row in scrape.db does not match its hash.
var errRow = errors.New("its row in scrape.db does not match its hash")

// ReadError reports that a stored response could not be read: its file or the whole folder
// is missing (fs.ErrNotExist), the system refused access, or the disk failed. The response
// itself may be fine, so nothing is fetched again.
type ReadError struct {
	URL string // of the response; "" if the whole folder is missing
	Err error  // from the file system
}

// Error names the URL of the response and the file.
func (e *ReadError) Error() string {
	if e.URL == "" {
		return fmt.Sprintf("the stored responses cannot be read: %v", e.Err)
	}
	return fmt.Sprintf("%.80s: its stored response cannot be read: %v", e.URL, e.Err)
}

// Unwrap returns Err.
func (e *ReadError) Unwrap() error { return e.Err }

// DamageError reports that a stored response was read and does not match its hash.
type DamageError struct {
	URL string // of the response
	Err error  // how it is damaged
}

// Error names the URL of the damaged response and the damage.
func (e *DamageError) Error() string { return fmt.Sprintf("%.80s: %v", e.URL, e.Err) }

// Unwrap returns Err.
func (e *DamageError) Unwrap() error { return e.Err }
