package scrape

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hgld/internal/filelock"
	"hgld/labels"
)

// stateVersion is the format of scrape.db that this hgld writes and reads.
const stateVersion = 1

const schema = `
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page (
	title TEXT PRIMARY KEY, outcome TEXT NOT NULL, tries INTEGER NOT NULL, record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answer (
	title TEXT NOT NULL, hop INTEGER NOT NULL, url TEXT NOT NULL, status INTEGER NOT NULL, type TEXT NOT NULL,
	fetched TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (title, hop)
) STRICT, WITHOUT ROWID;`

// MismatchError says that a state folder belongs to another crawl.
type MismatchError struct {
	Dir, Setting, Have, Want string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s was begun with %s %s, now it is %s; use another state folder, or remove this one to start over", e.Dir, e.Setting, e.Have, e.Want)
}

// state is an open state folder.
type state struct {
	dir  string
	db   *sql.DB
	raw  rawStore
	lock *filelock.Lock // nil where it is only read
}

// openState locks and opens the state folder, and creates it if need be. The
// settings of a new one are kept, those of an old one must be equal. Errors are
// *filelock.LockedError and *MismatchError among others.
func openState(dir string, settings map[string]string) (*state, error) {
	raw := rawStore{filepath.Join(dir, "raw")}
	if err := os.MkdirAll(raw.dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := filelock.Acquire(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	s := &state{dir: dir, raw: raw, lock: lock}
	if err := s.open("rwc", settings); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := raw.sweep(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// readState opens a state folder without lock for reading, for a look at what is
// left to do. It returns nil where there is no state.
func readState(dir string, settings map[string]string) (*state, error) {
	if _, err := os.Stat(filepath.Join(dir, "scrape.db")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s := &state{dir: dir, raw: rawStore{filepath.Join(dir, "raw")}}
	if err := s.open("ro", settings); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *state) open(mode string, settings map[string]string) error {
	path, err := filepath.Abs(filepath.Join(s.dir, "scrape.db"))
	if err != nil {
		return err
	}
	path = filepath.ToSlash(path)
	if path[0] != '/' { // a drive letter
		path = "/" + path
	}
	query := url.Values{"mode": {mode}, "_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"}}
	if mode == "ro" {
		query["_pragma"], query["_txlock"] = query["_pragma"][:1], []string{"deferred"}
	}
	s.db, err = sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1) // one writer, and a reader that never meets a lock
	if mode != "ro" {
		if _, err := s.db.Exec(schema); err != nil {
			return s.fault(err)
		}
	}
	return s.check(settings, mode != "ro")
}

// check compares the settings with those of the first run, in the order of their
// names.
func (s *state) check(settings map[string]string, keep bool) error {
	want := maps.Clone(settings)
	want["format"] = strconv.Itoa(stateVersion)
	return s.within(context.Background(), func(tx *sql.Tx) error {
		for _, key := range slices.Sorted(maps.Keys(want)) {
			var have string
			err := tx.QueryRow(`SELECT value FROM meta WHERE key = ?`, key).Scan(&have)
			switch {
			case errors.Is(err, sql.ErrNoRows) && keep:
				if _, err := tx.Exec(`INSERT INTO meta VALUES (?, ?)`, key, want[key]); err != nil {
					return err
				}
			case err != nil && !errors.Is(err, sql.ErrNoRows):
				return err
			case have != want[key]:
				return &MismatchError{Dir: s.dir, Setting: key, Have: strconv.Quote(have), Want: strconv.Quote(want[key])}
			}
		}
		return nil
	})
}

// within runs use in one transaction, durable when it returns nil.
func (s *state) within(ctx context.Context, use func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.fault(err)
	}
	if err := use(tx); err != nil {
		return errors.Join(s.fault(err), tx.Rollback())
	}
	return s.fault(tx.Commit())
}

// fault names the file in an error of SQLite, and makes a full disk known as
// such.
func (s *state) fault(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Code()&0xFF == sqlite3.SQLITE_FULL {
		err = fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	}
	return fmt.Errorf("%s: %w", filepath.Join(s.dir, "scrape.db"), err)
}

func (s *state) close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.fault(s.db.Close()))
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

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
	return s.within(context.Background(), func(tx *sql.Tx) error {
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

func (e *DamageError) Error() string { return fmt.Sprintf("%s: %v", e.Title, e.Err) }

func (e *DamageError) Unwrap() error { return e.Err }
