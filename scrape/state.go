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

// MismatchError says that a state folder belongs to another crawl.
type MismatchError struct {
	Dir, Setting, Have, Want string
}

// Error names the setting, both of its values, and the ways out.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s was begun with %s %s, now it is %s; use another state folder, or remove this one to start over", e.Dir, e.Setting, e.Have, e.Want)
}

// state is an open state folder.
type state struct {
	dir  string
	db   *sql.DB
	raw  rawStore
	lock *filelock.Lock // nil where it is only read
	old  bool           // format 1, open for reading: it has outcomes and no facts

	lookup *sql.Stmt // of a fact
	found  *sql.Stmt // of a finding
}

// openState locks and opens the state folder, and creates it if need be. The
// settings of a new one are kept, those of an old one must be equal. Errors are
// *filelock.LockedError and *MismatchError among others.
// lost says that kept responses may be gone: they will be asked for again.
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

// openRaw makes the folder of the responses and sweeps it. A folder that has gone
// although responses were kept in it is a *ReadError, and none is made in its place:
// it can then be moved back.
func (s *state) openRaw(lost bool) error {
	_, err := os.Stat(s.raw.dir)
	if errors.Is(err, fs.ErrNotExist) {
		var kept int
		if e := s.db.QueryRow(`SELECT count(*) FROM (SELECT 1 FROM response LIMIT 1)`).Scan(&kept); e != nil {
			return s.fault(e)
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

// readState opens a state folder without lock for reading, for a look at what is
// left to do. It returns nil where there is no state.
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

// unwritable says whether err means that SQLite could not make the shared-memory file
// that readers of a write-ahead log need, in a folder that cannot be written, and
// that there is no such log: then nobody writes, and the database is all there is.
func (s *state) unwritable(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code()&0xFF != sqlite3.SQLITE_CANTOPEN && e.Code()&0xFF != sqlite3.SQLITE_READONLY {
		return false
	}
	_, err = os.Stat(filepath.Join(s.dir, "scrape.db-wal"))
	return errors.Is(err, fs.ErrNotExist)
}

// errUnborn means that scrape.db is there, but was left before its first
// transaction.
var errUnborn = errors.New("the database is empty")

// open opens the database: "rwc" for writing, "ro" for reading beside a writer,
// "immutable" where there can be none.
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
	s.db.SetMaxOpenConns(1) // one writer, and a reader that never meets a lock
	if err := s.check(settings, mode == "rwc"); err != nil || s.old {
		return err
	}
	s.lookup, err = s.db.Prepare(`SELECT batch, data FROM fact WHERE step = ? AND key = ? AND again = ''`)
	if err != nil {
		return s.fault(err)
	}
	s.found, err = s.db.Prepare(`SELECT record FROM finding WHERE title = ?`)
	return s.fault(err)
}

// check compares the settings with those of the first run, in the order of their
// names. With create, it makes the tables of a new state, keeps its settings, and
// converts an old one, all in one transaction.
func (s *state) check(settings map[string]string, create bool) error {
	return s.within(func(tx *sql.Tx) error {
		tables, err := s.tables(tx, create)
		if err != nil || tables == 0 && !create {
			return cmp.Or(err, errUnborn)
		}
		for _, key := range slices.Sorted(maps.Keys(settings)) {
			var have string
			err := tx.QueryRow(`SELECT value FROM meta WHERE key = ?`, key).Scan(&have)
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

// tables returns 0 for a database without tables. With create it makes them, or
// converts those of format 1.
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
	switch {
	case format == "1" && create:
		return n, convertVersion1(tx)
	case format == "1":
		s.old = true
	case format != strconv.Itoa(stateVersion):
		return n, &MismatchError{Dir: s.dir, Setting: "format", Have: strconv.Quote(format), Want: strconv.Quote(strconv.Itoa(stateVersion))}
	}
	return n, nil
}

// within runs use in one transaction, durable when it returns nil.
func (s *state) within(use func(*sql.Tx) error) error {
	tx, err := s.db.Begin()
	if err != nil {
		return s.fault(err)
	}
	if err := use(tx); err != nil {
		_ = tx.Rollback() // fails where SQLite has done it already; err says more
		return s.fault(err)
	}
	return s.fault(tx.Commit())
}

// fault names the file in an error of SQLite, and makes a full disk known as
// such: SQLite says SQLITE_FULL or, of its shared-memory file, I/O error.
func (s *state) fault(err error) error {
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
		errs = append(errs, s.fault(s.db.Close()))
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// probe writes as much as SQLite does at a time, to learn why SQLite could not.
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
