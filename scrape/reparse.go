package scrape

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"hgld/labels"
)

// ErrMoreNeeded is the error of Reparser.Reparse where the kept responses do not
// suffice.
var ErrMoreNeeded = errors.New("a response is needed that was not kept")

// Reparse reads the kept responses of every title again, with the present
// parser, and then writes the output. No request is sent.
//
// A title whose responses are damaged, or no longer suffice, is marked: the next
// Run asks for it, and until then its finding stands. Then, and where titles were
// missing before, the error is an *IncompleteError, and with damage the first
// *DamageError is its cause. A response that cannot be read ends it with a
// *ReadError, and marks nothing.
func Reparse(ctx context.Context, cfg Config) (*Report, error) {
	source, ok := cfg.Source.(Reparser)
	if !ok {
		return nil, fmt.Errorf("scrape: the source %s keeps nothing that could be read again", cfg.Source.Name())
	}
	if err := cfg.Out.Check(); err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	s, err := openState(cfg.State, cfg.settings(), false)
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	report, err := reparse(ctx, cfg, s, source)
	if err = errors.Join(err, s.close()); err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	return report, nil
}

func reparse(ctx context.Context, cfg Config, s *state, source Reparser) (*Report, error) {
	f := newFrontier(cfg.landmarks())
	outcomes, err := s.outcomes()
	if err != nil {
		return nil, err
	}
	c := &crawl{cfg: cfg, state: s, source: source, total: len(f.titles)}
	var damage error
	missing := 0
	var batch []result
	for i, title := range f.titles {
		if ctx.Err() != nil {
			return nil, &IncompleteError{Done: i, Total: len(f.titles), Cause: ctx.Err()}
		}
		switch outcomes[title] {
		case "":
			missing++
			continue
		case labels.Retryable:
			continue // nothing was kept
		}
		r, err := c.reread(source, title)
		if err != nil {
			return nil, err
		}
		if r.again != "" {
			missing++
			damage = cmp.Or(damage, r.stop)
		}
		if batch = append(batch, r); len(batch) == maxCommit {
			if err := c.commit(batch); err != nil {
				return nil, err
			}
			batch = batch[:0]
		}
	}
	if err := c.commit(batch); err != nil {
		return nil, err
	}
	if missing > 0 {
		return nil, &IncompleteError{Done: len(f.titles) - missing, Total: len(f.titles), Cause: cmp.Or(damage, ErrMoreNeeded)}
	}
	return cfg.Out.write(cfg, s, f)
}

// reread repeats the finding about one title. In a result that asks for the title
// again, stop is the damage that was the reason, if any.
func (c *crawl) reread(source Reparser, title string) (result, error) {
	answers, err := c.state.answers(title)
	var damage *DamageError
	switch {
	case errors.As(err, &damage):
		return result{title: title, again: damaged, stop: err}, nil
	case err != nil:
		return result{}, err
	}
	finding, err := source.Reparse(title, answers)
	if errors.Is(err, ErrMoreNeeded) {
		return result{title: title, again: insufficient}, nil
	}
	if err != nil {
		finding.Outcome = ""
	}
	r := c.result(context.Background(), title, finding, err)
	r.kept = true
	return r, nil
}
