package scrape

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hgld/internal/regular"
)

// Verification is the result of Verify.
type Verification struct {
	Responses int      `json:"responses"` // stored responses, all read and hashed
	Facts     int      `json:"facts"`     // facts, all compared with their responses
	Titles    int      `json:"titles"`    // findings, all compared with their facts
	Again     int      `json:"again"`     // facts that the next run fetches again
	Problems  []string `json:"problems"`  // one line each, at most mostProblems
	Derived   bool     `json:"-"`         // a new run from the stored responses mends some of them
}

// mostProblems limits the list: a missing folder means 300,000 problems.
const mostProblems = 1000

// derived adds a problem in what is made of the stored responses.
func (v *Verification) derived(format string, args ...any) {
	v.Derived = true
	v.problem(format, args...)
}

func (v *Verification) problem(format string, args ...any) {
	switch len(v.Problems) {
	case mostProblems:
		v.Problems = append(v.Problems, "… and more")
	case mostProblems + 1:
	default:
		v.Problems = append(v.Problems, message(fmt.Errorf(format, args...)))
	}
}

// Verify checks a finished crawl and changes nothing. Every response must exist and match
// its hash, every fact must follow from its responses, every finding from its facts, and
// cfg.Out.Tags from the findings. A file that cannot be read counts as a problem; Verify
// then continues with the others.
func Verify(ctx context.Context, cfg Config) (*Verification, error) {
	if err := cfg.Out.Check(); err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	s, err := readState(cfg.State, cfg.settings())
	if err == nil && s == nil {
		err = fmt.Errorf("%s: no crawl was found here: %w", cfg.State, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	defer s.close()
	v := &Verification{Problems: []string{}}
	if err := s.verify(ctx, cfg, v); err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	return v, nil
}

func (s *state) verify(ctx context.Context, cfg Config, v *Verification) error {
	again, err := s.countMarked()
	if err != nil {
		return err
	}
	v.Again = again
	if err := s.verifyTables(v); err != nil {
		return err
	}
	batches, err := s.batches()
	if err != nil {
		return err
	}
	for _, b := range batches {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.inTransaction(func(tx *sql.Tx) error { return s.verifyBatch(tx, cfg.Source, b, v) }); err != nil {
			return err
		}
	}
	f := newFrontier(cfg.landmarks())
	known := 0
	for _, title := range f.titles {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		found, err := s.verifyTitle(cfg.Source, title, v)
		if err != nil {
			return err
		}
		if found {
			known++
		}
	}
	if known < len(f.titles) {
		v.problem("%d of %d titles have no finding: the crawl is not finished", len(f.titles)-known, len(f.titles))
		return nil
	}
	return s.verifyTags(cfg, f, v)
}

// verifyTables checks the structure of the database, and that every fact has its responses.
func (s *state) verifyTables(v *Verification) error {
	var result string
	if err := s.db.QueryRow(`PRAGMA integrity_check(1)`).Scan(&result); err != nil {
		return s.namedError(err)
	}
	if result != "ok" {
		v.problem("scrape.db: %s", result)
	}
	var lost int
	err := s.db.QueryRow(`SELECT count(*) FROM fact WHERE batch NOT IN (SELECT batch FROM response)`).Scan(&lost)
	if err != nil {
		return s.namedError(err)
	}
	if lost > 0 {
		v.problem("scrape.db: %d facts have no responses", lost)
	}
	var other int
	err = s.db.QueryRow(`SELECT count(*) FROM finding WHERE outcome <> json_extract(record, '$.outcome')`).Scan(&other)
	if err == nil && other > 0 {
		v.derived("scrape.db: %d findings have another outcome than their records", other)
	}
	return s.namedError(err)
}

// verifyBatch parses the responses of a batch and compares the result with the facts.
func (s *state) verifyBatch(tx *sql.Tx, source Source, b batch, v *Verification) error {
	answers, err := s.answers(tx, b.id)
	damage, unread := (*DamageError)(nil), (*ReadError)(nil)
	if errors.As(err, &damage) || errors.As(err, &unread) {
		v.problem("%w", err)
		return nil
	}
	if err != nil {
		return err
	}
	v.Responses += len(answers)
	keys, err := keysOf(tx, b.id)
	if err != nil || len(keys) == 0 {
		return err
	}
	facts, err := source.Read(b.step, keys, answers)
	if err != nil {
		v.problem("%s: %w", answers[0].URL, err)
		return nil
	}
	for _, key := range keys {
		v.Facts++
		var data string
		if err := tx.QueryRow(`SELECT data FROM fact WHERE step = ? AND key = ?`, b.step, key).Scan(&data); err != nil {
			return err
		}
		if data != "" && data != string(facts[key]) {
			v.derived("%s %s: the stored fact differs from its response", b.step, key)
		}
	}
	return nil
}

// verifyTitle compares a finding with its facts. It returns false if there is no finding.
func (s *state) verifyTitle(source Source, title string, v *Verification) (bool, error) {
	kept, err := s.record(title)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	v.Titles++
	return true, s.inTransaction(func(tx *sql.Tx) error {
		rec, lacking, _, err := s.finding(tx, source, title)
		if err != nil || len(lacking) > 0 { // marked or failed: counted elsewhere
			return err
		}
		want, err := json.Marshal(rec)
		if err != nil {
			return err
		}
		have, err := json.Marshal(kept)
		if err == nil && !bytes.Equal(want, have) {
			v.derived("%s: the finding differs from its facts", title)
		}
		return err
	})
}

// verifyTags builds tags.jsonl again and compares it with the file.
func (s *state) verifyTags(cfg Config, f *frontier, v *Verification) error {
	dir, err := os.MkdirTemp("", "hgld-verify-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	again := *s
	again.dir = dir // where the report goes
	out := cfg.Out
	out.Tags = filepath.Join(dir, "tags.jsonl")
	if out.Items != "" {
		out.Items = filepath.Join(dir, "items.jsonl")
	}
	if _, err := out.write(cfg, &again, f); err != nil {
		return err
	}
	for _, file := range []struct{ have, want, with string }{
		{cfg.Out.Tags, out.Tags, " with policy " + cfg.Out.Policy}, {cfg.Out.Items, out.Items, ""},
	} {
		if file.want == "" {
			continue
		}
		line, err := firstDifference(file.have, file.want)
		switch {
		case err != nil:
			v.problem("%w", err)
		case line > 0:
			v.derived("%s:%d: differs from the state%s", file.have, line, file.with)
		}
	}
	return nil
}

// firstDifference returns the number of the first line that differs, or 0.
func firstDifference(a, b string) (int, error) {
	var texts [2]string
	for i, path := range []string{a, b} {
		data, err := regular.ReadFile(path)
		if err != nil {
			return 0, err
		}
		texts[i] = string(data)
	}
	if texts[0] == texts[1] {
		return 0, nil
	}
	have, want := strings.Split(texts[0], "\n"), strings.Split(texts[1], "\n")
	for i := range want {
		if i >= len(have) || have[i] != want[i] {
			return i + 1, nil
		}
	}
	return len(want), nil
}
