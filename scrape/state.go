package scrape

import (
	"cmp"
	"database/sql"
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

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hgld/internal/atomicfile"
	"hgld/internal/filelock"
)

// MismatchError reports that a state folder belongs to another crawl.
type MismatchError struct {
	Dir     string // state folder
	Setting string // that differs
	Have    string // its quoted value in the state
	Want    string // its quoted value in this run
}

// Error names the setting, both values, and what to do.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s was created with %s %s, but this run has %s; use another state folder, or remove this one "+
		"to start over", e.Dir, e.Setting, e.Have, e.Want)
}

// state is an open state folder.
type state struct {
	dir  string
	db   *sql.DB
	raw  rawStore
	lock *filelock.Lock // nil if opened for reading

	lookup *sql.Stmt // of a fact
	found  *sql.Stmt // of a finding
}

// openState locks and opens the state folder, or creates it. A new state stores the
// settings; those of an existing one must be equal. lost means that responses may be
// missing because they will be fetched again. Errors include *filelock.LockedError and
// *MismatchError.
func openState(dir string, settings map[string]string, lost bool) (*state, error) {
	if err := atomicfile.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := filelock.Acquire(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	s := &state{dir: dir, raw: rawStore{filepath.Join(dir, "raw")}, lock: lock}
	if err := s.open("rwc", settings); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.openRaw(lost); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// openRaw creates or sweeps the folder of the responses. If the folder is missing although
// responses were stored in it, openRaw returns a *ReadError and does not create a new one,
// so that the old one can be moved back.
func (s *state) openRaw(lost bool) error {
	_, err := os.Stat(s.raw.dir)
	if errors.Is(err, fs.ErrNotExist) {
		var kept int
		if e := s.db.QueryRow(`SELECT count(*) FROM (SELECT 1 FROM response LIMIT 1)`).Scan(&kept); e != nil {
			return s.namedError(e)
		}
		if kept > 0 && !lost {
			return &ReadError{Err: err}
		}
		err = atomicfile.Mkdir(s.raw.dir, 0o755)
	}
	if err != nil {
		return err
	}
	return s.raw.sweep()
}

// readState opens a state folder for reading, without a lock. It returns nil if there is no
// state.
func readState(dir string, settings map[string]string) (*state, error) {
	if _, err := os.Stat(filepath.Join(dir, "scrape.db")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s := &state{dir: dir, raw: rawStore{filepath.Join(dir, "raw")}}
	err := s.open("ro", settings)
	if s.unwritable(err) {
		if err = s.db.Close(); err == nil {
			err = s.open("immutable", settings)
		}
	}
	if errors.Is(err, errUnborn) {
		return nil, s.close()
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// unwritable reports whether SQLite failed only because the folder is read-only: readers of
// a write-ahead log need a shared-memory file. If there is no log, nobody is writing and the
// database file is complete, so it can be opened as immutable.
func (s *state) unwritable(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code()&0xFF != sqlite3.SQLITE_CANTOPEN && e.Code()&0xFF != sqlite3.SQLITE_READONLY {
		return false
	}
	_, err = os.Stat(filepath.Join(s.dir, "scrape.db-wal"))
	return errors.Is(err, fs.ErrNotExist)
}

// errUnborn means that scrape.db exists but has no tables: its first transaction was never
// committed.
var errUnborn = errors.New("the database is empty")

// open opens the database: "rwc" for writing, "ro" for reading beside a writer, "immutable"
// for reading if there can be no writer.
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
	if mode == "immutable" {
		query["mode"], query["immutable"] = []string{"ro"}, []string{"1"}
	}
	if mode != "rwc" {
		query["_pragma"], query["_txlock"] = query["_pragma"][:1], []string{"deferred"}
	}
	s.db, err = sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1) // one writer; readers never wait for a lock
	if err := s.check(settings, mode == "rwc"); err != nil {
		return err
	}
	s.lookup, err = s.db.Prepare(`SELECT data FROM fact WHERE step = ? AND key = ? AND again = ''`)
	if err != nil {
		return s.namedError(err)
	}
	s.found, err = s.db.Prepare(`SELECT record FROM finding WHERE title = ?`)
	return s.namedError(err)
}

// check compares the settings with those of the first run, in alphabetical order. With
// create, it also creates the tables of a new state and stores the settings. All of this
// is one transaction.
func (s *state) check(settings map[string]string, create bool) error {
	return s.inTransaction(func(tx *sql.Tx) error {
		tables, err := s.tables(tx, create)
		if err != nil || tables == 0 && !create {
			return cmp.Or(err, errUnborn)
		}
		var known int
		if err := tx.QueryRow(`SELECT count(*) FROM meta`).Scan(&known); err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(settings)) {
			var have string
			err := tx.QueryRow(`SELECT value FROM meta WHERE key = ?`, key).Scan(&have)
			if before, added := addedSettings[key]; added && known > 1 && errors.Is(err, sql.ErrNoRows) {
				have, err = before, nil
			}
			switch {
			case errors.Is(err, sql.ErrNoRows) && create:
				if _, err := tx.Exec(`INSERT INTO meta VALUES (?, ?)`, key, settings[key]); err != nil {
					return err
				}
			case err != nil && !errors.Is(err, sql.ErrNoRows):
				return err
			case have != settings[key]:
				return &MismatchError{Dir: s.dir, Setting: key, Have: strconv.Quote(have), Want: strconv.Quote(settings[key])}
			}
		}
		return nil
	})
}

// addedSettings are settings that the states of earlier versions lack, with the values that they had.
var addedSettings = map[string]string{"language": "en"}

// tables returns 0 if the database has no tables. With create, it creates them.
func (s *state) tables(tx *sql.Tx, create bool) (n int, err error) {
	if err := tx.QueryRow(`SELECT count(*) FROM sqlite_master WHERE name = 'meta'`).Scan(&n); err != nil {
		return 0, err
	}
	if n == 0 {
		if !create {
			return 0, nil
		}
		if _, err := tx.Exec(schema); err != nil {
			return 0, err
		}
		_, err := tx.Exec(`INSERT INTO meta VALUES ('format', ?)`, strconv.Itoa(stateVersion))
		return 1, err
	}
	var format string
	if err := tx.QueryRow(`SELECT value FROM meta WHERE key = 'format'`).Scan(&format); err != nil {
		return n, fmt.Errorf("its format: %w", err)
	}
	if format != strconv.Itoa(stateVersion) {
		return n, &MismatchError{Dir: s.dir, Setting: "format", Have: strconv.Quote(format),
			Want: strconv.Quote(strconv.Itoa(stateVersion))}
	}
	return n, nil
}

// eachRow runs a query and calls use for every row, once its columns are in the variables that to points to.
func eachRow(db interface {
	Query(query string, args ...any) (*sql.Rows, error)
}, use func() error, to []any, query string, args ...any) error {
	rows, err := db.Query(query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if err := use(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// inTransaction runs use in one transaction. It is durable once inTransaction returns nil.
func (s *state) inTransaction(use func(*sql.Tx) error) error {
	tx, err := s.db.Begin()
	if err != nil {
		return s.namedError(err)
	}
	if err := use(tx); err != nil {
		_ = tx.Rollback() // it fails if SQLite has rolled back already; err says more
		return s.namedError(err)
	}
	return s.namedError(tx.Commit())
}

// namedError adds the file name to an error of SQLite and translates a full disk to ENOSPC.
// SQLite reports one as SQLITE_FULL or, for its shared-memory file, as an I/O error.
func (s *state) namedError(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xFF {
	case sqlite3.SQLITE_FULL:
		err = fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	case sqlite3.SQLITE_IOERR:
		err = errors.Join(err, s.probe())
	}
	return fmt.Errorf("%s: %w", filepath.Join(s.dir, "scrape.db"), err)
}

func (s *state) close() error {
	var errs []error
	for _, statement := range []*sql.Stmt{s.lookup, s.found} {
		if statement != nil {
			errs = append(errs, statement.Close())
		}
	}
	if s.db != nil {
		errs = append(errs, s.namedError(s.db.Close()))
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// probe writes as much as SQLite does at a time, to find out why SQLite could not.
func (s *state) probe() error {
	f, err := atomicfile.Create(filepath.Join(s.dir, "probe"))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 64<<10)); err != nil {
		return err
	}
	return f.Sync()
}
