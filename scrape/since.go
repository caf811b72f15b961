package scrape

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"hgld/internal/atomicfile"
	"hgld/labels"
)

// Watcher is a Source that can find out what has changed more cheaply than by fetching
// everything again.
type Watcher interface {
	Source

	// Version returns the version of a stored fact, such as its revision. It returns ""
	// for steps that have no version of their own and change with another fact of the
	// same key.
	Version(step string, fact Fact) string

	// Versions requests the current versions of at most BatchSize keys.
	Versions(ctx context.Context, step string, keys []string) (map[string]string, error)
}

// Change is a line of changes.jsonl: a landmark whose outcome or tag differs from the
// previous tags.jsonl.
type Change struct {
	Landmark labels.LandmarkID `json:"landmark_id"` // within Split
	Split    labels.Split      `json:"split"`       // of the landmark
	Category string            `json:"category"`    // URL as in the input
	Before   *Tagged           `json:"before"`      // in the previous file; null: the landmark is new
	After    Tagged            `json:"after"`       // in the new file
}

// Tagged is the outcome and tag of a landmark, as in labels.Record.
type Tagged struct {
	Outcome labels.Outcome `json:"outcome"`       // as in Record.Outcome
	Tag     string         `json:"tag,omitempty"` // normalised
	Raw     string         `json:"raw,omitempty"` // byte for byte
	QID     string         `json:"qid,omitempty"` // class item; "" for pages
}

func tagged(r labels.Record) Tagged { return Tagged{r.Outcome, r.Tag, r.Raw, r.QID} }

// ErrNoTagsBefore is wrapped by the error of a run that lists changes if there is no tags.jsonl of
// an earlier run.
var ErrNoTagsBefore = errors.New("changes are found by the tags of an earlier run")

// watch requests the versions of all known facts and marks those that have changed for
// fetching again. It commits batch by batch.
func (s *state) watch(ctx context.Context, source Source) error {
	w, ok := source.(Watcher)
	if !ok {
		return fmt.Errorf("the source %s cannot tell what has changed", source.Name())
	}
	for _, step := range w.Steps() {
		known, err := s.versions(w, step)
		if err != nil {
			return err
		}
		for len(known.keys) > 0 {
			n := min(len(known.keys), max(1, w.BatchSize(step)))
			if err := s.watchBatch(ctx, w, step, known.keys[:n], known.of); err != nil {
				return err
			}
			known.keys = known.keys[n:]
		}
	}
	return nil
}

// versions are the versions of the facts of one step.
type versions struct {
	keys []string
	of   map[string]string
}

func (s *state) versions(w Watcher, step string) (versions, error) {
	v := versions{of: map[string]string{}}
	var key, data string
	err := eachRow(s.db, func() error {
		if version := w.Version(step, Fact(data)); version != "" {
			v.keys, v.of[key] = append(v.keys, key), version
		}
		return nil
	}, []any{&key, &data}, `SELECT key, data FROM fact WHERE step = ? AND again = '' ORDER BY batch, key`, step)
	return v, s.namedError(err)
}

func (s *state) watchBatch(ctx context.Context, w Watcher, step string, keys []string, before map[string]string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	now, err := w.Versions(ctx, step, keys)
	if err != nil {
		return err
	}
	return s.inTransaction(func(tx *sql.Tx) error {
		for _, key := range keys {
			if now[key] == before[key] {
				continue
			}
			// The text of a redirect and the label of an item change with the page of the same key.
			if _, err := tx.Exec(`UPDATE fact SET again = ? WHERE key = ?`, string(wanted), key); err != nil {
				return err
			}
		}
		return nil
	})
}

// tagsBefore reads the tags.jsonl that the run is going to replace.
func (o Output) tagsBefore() (map[labels.LandmarkKey]Tagged, error) {
	records, err := labels.OpenTags(o.Tags)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrNoTagsBefore, err)
	}
	if err != nil {
		return nil, err
	}
	before := map[labels.LandmarkKey]Tagged{}
	for _, r := range records {
		before[labels.LandmarkKey{Split: r.Split, Landmark: r.Landmark}] = tagged(r)
	}
	return before, nil
}

// writeChanges writes the landmarks of the new tags.jsonl that differ from before, and
// returns their number.
func (o Output) writeChanges(before map[labels.LandmarkKey]Tagged) (n int, err error) {
	records, err := labels.OpenTags(o.Tags)
	if err != nil {
		return 0, err
	}
	err = atomicfile.Write(o.Changes, func(w io.Writer) error {
		b := bufio.NewWriter(w)
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		for _, r := range records {
			c := Change{Landmark: r.Landmark, Split: r.Split, Category: r.Category, After: tagged(r)}
			if old, known := before[labels.LandmarkKey{Split: r.Split, Landmark: r.Landmark}]; known {
				c.Before = &old
			}
			if c.Before != nil && *c.Before == c.After {
				continue
			}
			n++
			if err := enc.Encode(c); err != nil {
				return err
			}
		}
		return b.Flush()
	})
	return n, err
}
