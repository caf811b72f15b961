package scrape

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"hgld/labels"
)

// ErrMoreNeeded is the cause of an IncompleteError of Reparse if responses are missing.
var ErrMoreNeeded = errors.New("a required response was never stored")

// Reparse parses every stored response again, rebuilds the findings and then writes the
// output. It sends no request.
//
// Facts of damaged responses, and facts that a response no longer yields, are marked: the
// next Run fetches them, and the old findings stay until then. Reparse then returns an
// *IncompleteError, and likewise if titles were unfinished before. Its cause is the first
// *DamageError, if there is damage. If a response cannot be read, Reparse returns a
// *ReadError and marks nothing.
func Reparse(ctx context.Context, cfg Config) (*Report, error) {
	return cfg.onState(false, func(s *state) (*Report, error) { return reparse(ctx, cfg, s) })
}

func reparse(ctx context.Context, cfg Config, s *state) (*Report, error) {
	f := newFrontier(cfg.landmarks())
	damage, err := s.rereadAll(ctx, cfg.Source)
	if err != nil {
		return nil, err
	}
	outcomes, err := s.outcomes()
	if err != nil {
		return nil, err
	}
	r := &rebuild{cfg: cfg, state: s, titles: f.titles, outcomes: outcomes}
	for from := 0; from < len(f.titles); from += maxSeed {
		if ctx.Err() != nil {
			return nil, &IncompleteError{Done: from, Total: len(f.titles), Cause: ctx.Err()}
		}
		if err := r.rebuildFindings(from, min(from+maxSeed, len(f.titles))); err != nil {
			return nil, err
		}
	}
	if r.missing > 0 {
		return nil, &IncompleteError{Done: len(f.titles) - r.missing, Total: len(f.titles),
			Cause: cmp.Or(damage, ErrMoreNeeded)}
	}
	return cfg.Out.write(cfg, s, f)
}

// rebuild computes the findings of titles from stored facts.
type rebuild struct {
	cfg      Config
	state    *state
	titles   []string
	outcomes map[string]labels.Outcome
	missing  int // titles with missing facts
}

func (r *rebuild) rebuildFindings(from, to int) error {
	p := Progress{Total: len(r.titles)}
	err := r.state.inTransaction(func(tx *sql.Tx) error {
		for _, title := range r.titles[from:to] {
			rec, lacking, _, err := r.state.finding(tx, r.cfg.Source, title)
			switch {
			case err != nil:
				return err
			case len(lacking) > 0 && r.outcomes[title] == labels.Retryable: // it failed, so nothing was stored
				continue
			case len(lacking) > 0:
				r.missing++
				continue
			}
			if _, err := putFinding(tx, rec, 0); err != nil {
				return err
			}
			p.Titles, p.Outcomes = append(p.Titles, title), append(p.Outcomes, rec.Outcome)
		}
		return nil
	})
	if p.Done = to - r.missing; err == nil && r.cfg.Progress != nil {
		r.cfg.Progress(p)
	}
	return err
}

// rereadAll parses every stored response once and replaces its facts. It returns the first
// damage.
func (s *state) rereadAll(ctx context.Context, source Source) (damage, err error) {
	batches, err := s.batches()
	if err != nil {
		return nil, err
	}
	for from := 0; from < len(batches); from += maxCommit {
		if ctx.Err() != nil {
			return nil, &IncompleteError{Total: len(batches), Done: from, Cause: ctx.Err()}
		}
		err := s.inTransaction(func(tx *sql.Tx) error {
			for _, b := range batches[from:min(from+maxCommit, len(batches))] {
				err := s.reread(tx, source, b)
				if found := (*DamageError)(nil); errors.As(err, &found) {
					damage = cmp.Or(damage, err)
				} else if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return damage, nil
}

// batch identifies the responses that answer one question together.
type batch struct {
	id   int64
	step string
}

func (s *state) batches() ([]batch, error) {
	var all []batch
	var b batch
	err := eachRow(s.db, func() error {
		all = append(all, b)
		return nil
	}, []any{&b.id, &b.step}, `SELECT id, step FROM response WHERE id = batch ORDER BY id`)
	return all, s.namedError(err)
}

// reread parses one batch again. If it is damaged, reread marks its facts and returns a
// *DamageError.
func (s *state) reread(tx *sql.Tx, source Source, b batch) error {
	keys, err := keysOf(tx, b.id)
	if err != nil || len(keys) == 0 { // none: all were fetched again since
		return err
	}
	answers, err := s.answers(tx, b.id)
	if damage := (*DamageError)(nil); errors.As(err, &damage) {
		return cmp.Or(markBatch(tx, b.id, damaged), err)
	}
	if err != nil {
		return err
	}
	facts, err := source.Read(b.step, keys, answers)
	if err != nil {
		return markBatch(tx, b.id, insufficient)
	}
	for _, key := range keys {
		if facts[key] == nil {
			if err := markFact(tx, Task{b.step, key}, insufficient); err != nil {
				return err
			}
			continue
		}
		if _, err := tx.Exec(`UPDATE fact SET data = ?, again = iif(again = ?, again, '') WHERE step = ? AND key = ?`,
			string(facts[key]), string(wanted), b.step, key); err != nil {
			return err
		}
	}
	return nil
}

// keysOf lists the keys whose facts come from a batch.
func keysOf(tx *sql.Tx, batch int64) ([]string, error) {
	var keys []string
	var key string
	err := eachRow(tx, func() error {
		keys = append(keys, key)
		return nil
	}, []any{&key}, `SELECT key FROM fact WHERE batch = ?`, batch)
	return keys, err
}
