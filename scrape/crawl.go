package scrape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hgld/labels"
)

// Config describes a crawl.
type Config struct {
	State    string // folder of the state, created if need be
	Input    Input
	Source   Source
	Settings map[string]string // what else must not change between runs: the site's address
	Workers  int               // titles, or batches, asked for at a time
	Limit    int               // trial with the first landmarks only; 0: all
	Grace    time.Duration     // after ctx ends, the time that answers under way still have
	Retry    []string          // names of Retries: what else is asked for again
	Progress func(Progress)    // called after every commit; nil: not wanted

	Out Output
}

// Progress says what has just been committed.
type Progress struct {
	Done, Total int              // titles
	Titles      []string         // committed just now
	Outcomes    []labels.Outcome // theirs
}

// IncompleteError says that a crawl ended early. What is done is kept, and the
// same call goes on. Cause is the context's error, or what made every further
// title pointless.
type IncompleteError struct {
	Done, Total int // titles
	RetryAt     time.Time
	Cause       error
}

// Error says how far the crawl came, and what ended it.
func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%d of %d titles are done: %v", e.Done, e.Total, e.Cause)
}

// Unwrap returns what ended the crawl.
func (e *IncompleteError) Unwrap() error { return e.Cause }

// Run asks the source for every title of the input that is not done yet, and
// then writes the output. Titles that ended in error_retryable are asked for
// again, and so are those that Reparse has marked and those that Config.Retry
// names; a finding that they have stands until there is a new one.
//
// Errors: *filelock.LockedError and *MismatchError before anything is done,
// *IncompleteError when the crawl has to be run again, and those of the disk.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if err := cfg.Out.Check(); err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	retries, err := cfg.retries()
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	s, err := openState(cfg.State, cfg.settings(), slices.Contains(cfg.Retry, lost))
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	report, err := run(ctx, cfg, s, retries)
	if err = errors.Join(err, s.close()); err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	return report, nil
}

func run(ctx context.Context, cfg Config, s *state, retries []Retry) (*Report, error) {
	f := newFrontier(cfg.landmarks())
	if err := s.want(f.titles, retries); err != nil {
		return nil, err
	}
	done, err := s.outcomes()
	if err != nil {
		return nil, err
	}
	again, err := s.marked()
	if err != nil {
		return nil, err
	}
	c := &crawl{cfg: cfg, state: s, source: cfg.Source, total: len(f.titles)}
	var pending []string
	for _, title := range f.titles {
		if open(done[title], again[title]) {
			pending = append(pending, title)
		}
	}
	c.done = c.total - len(pending)
	if err := c.ask(ctx, pending); err != nil {
		return nil, err
	}
	stale, err := s.marked()
	if err != nil {
		return nil, err
	}
	report, err := cfg.Out.write(cfg, s, f)
	if err != nil {
		return nil, err
	}
	for _, title := range f.titles {
		if stale[title] != "" {
			report.Stale = append(report.Stale, title)
		}
	}
	return report, nil
}

// open says whether a title with such an outcome, "" for none, and such a mark has
// still to be asked for.
func open(outcome labels.Outcome, again why) bool {
	return outcome == "" || outcome == labels.Retryable || again != ""
}

func (cfg *Config) landmarks() []Landmark {
	if cfg.Limit > 0 && cfg.Limit < len(cfg.Input.Landmarks) {
		return cfg.Input.Landmarks[:cfg.Limit]
	}
	return cfg.Input.Landmarks
}

// settings are what makes two runs the same crawl.
func (cfg *Config) settings() map[string]string {
	all := map[string]string{"input_sha256": cfg.Input.SHA256, "source": cfg.Source.Name()}
	for k, v := range cfg.Settings {
		all[k] = v
	}
	return all
}

// crawl is one pass over pending titles: workers that fetch, fed one title or
// batch at a time, and one writer that commits.
type crawl struct {
	cfg         Config
	state       *state
	source      Source
	done, total int
}

// maxCommit bounds the results of one transaction: with bodies of 100 kB, about
// 6 MB wait for the disk.
const maxCommit = 64

// ask fetches and commits the pending titles. The first signal to stop, from ctx
// or the source, ends the feeding; answers under way are waited for, at most
// Grace after the end of ctx.
func (c *crawl) ask(ctx context.Context, pending []string) error {
	feeding, stopFeeding := context.WithCancel(ctx)
	defer stopFeeding()
	fetching, stopFetching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFetching()
	release := context.AfterFunc(ctx, func() { time.AfterFunc(c.cfg.Grace, stopFetching) })
	defer release()

	results := c.work(fetching, feed(feeding, c.batches(pending)))
	asked := 0
	var row malformedRow
	var stop, broken error
	for first := range results {
		batch := collect(first, results)
		var commit []result
		for _, r := range batch {
			if r.stop != nil {
				stop = cmp.Or(stop, r.stop)
				continue
			}
			commit = append(commit, r)
		}
		if stop != nil {
			stopFeeding()
		}
		if broken == nil && len(commit) > 0 {
			if broken = c.commit(commit); broken != nil {
				stopFeeding()
				stopFetching()
			}
			asked += len(commit)
			if err := row.add(commit); err != nil && stop == nil {
				stop = err
				stopFeeding()
			}
		}
	}
	switch {
	case broken != nil:
		return broken
	case asked == len(pending):
		return nil
	case stop == nil || ctx.Err() != nil:
		stop = ctx.Err()
	}
	return &IncompleteError{Done: c.done, Total: c.total, RetryAt: retryAt(stop), Cause: stop}
}

// batches cuts the titles into what one call takes.
func (c *crawl) batches(titles []string) [][]string {
	size := 1
	if b, ok := c.source.(Batcher); ok {
		size = max(1, b.BatchSize())
	}
	var all [][]string
	for ; len(titles) > size; titles = titles[size:] {
		all = append(all, titles[:size])
	}
	if len(titles) > 0 {
		all = append(all, titles)
	}
	return all
}

// feed hands out the batches until ctx ends.
func feed(ctx context.Context, batches [][]string) <-chan []string {
	out := make(chan []string)
	go func() {
		defer close(out)
		for _, b := range batches {
			if ctx.Err() != nil { // select would choose at random between the two
				return
			}
			select {
			case out <- b:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// work runs the workers and closes the channel of results when all are done.
func (c *crawl) work(ctx context.Context, in <-chan []string) <-chan result {
	out := make(chan result, max(1, c.cfg.Workers))
	var workers sync.WaitGroup
	for range max(1, c.cfg.Workers) {
		workers.Go(func() {
			for titles := range in {
				for _, r := range c.fetch(ctx, titles) {
					out <- r
				}
			}
		})
	}
	go func() {
		workers.Wait()
		close(out)
	}()
	return out
}

// collect takes what else has arrived, so that one transaction serves for it.
func collect(first result, more <-chan result) []result {
	batch := []result{first}
	for len(batch) < maxCommit {
		select {
		case r, ok := <-more:
			if !ok {
				return batch
			}
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// fetch asks the source, and turns what comes back into results: one a title.
func (c *crawl) fetch(ctx context.Context, titles []string) []result {
	findings := make([]Finding, len(titles))
	var err error
	switch source := c.source.(type) {
	case Batcher:
		var got []Finding
		got, err = source.FetchBatch(ctx, titles)
		copy(findings, got)
	default:
		findings[0], err = source.Fetch(ctx, titles[0])
		if err != nil {
			findings[0].Outcome = ""
		}
	}
	if err == nil {
		err = errors.New("the source gave no outcome")
	}
	results := make([]result, len(titles))
	for i, title := range titles {
		results[i] = c.result(ctx, title, findings[i], err)
	}
	return results
}

// result is what is kept of a finding; err counts where it has no outcome.
func (c *crawl) result(ctx context.Context, title string, f Finding, err error) result {
	f.Record.Title, f.Record.Source = title, c.source.Name()
	if f.Outcome == "" {
		switch {
		case ctx.Err() != nil:
			return result{title: title, stop: ctx.Err()}
		case isStop(err):
			return result{title: title, stop: err}
		}
		f.Outcome, f.Error, f.Answers = labels.Retryable, message(err), nil
	} else if f.Error != "" {
		f.Error = message(errors.New(f.Error))
	}
	if _, err := f.Record.MarshalJSON(); err != nil {
		f.Record = labels.Record{Title: title, Source: c.source.Name(), Outcome: labels.Malformed, Error: message(err)}
	}
	return result{title: title, rec: f.Record, answers: f.Answers}
}

// isStop says whether an error ends the crawl, as Source.Fetch describes.
func isStop(err error) bool {
	var stop interface{ RetryAt() time.Time }
	return errors.As(err, &stop)
}

func retryAt(err error) time.Time {
	var stop interface{ RetryAt() time.Time }
	if errors.As(err, &stop) {
		return stop.RetryAt()
	}
	return time.Time{}
}

// maxMessage is the most bytes of an error that are kept: more than a line of what
// a server sent helps nobody.
const maxMessage = 300

// message is an error's text for a record: a line of UTF-8 of bounded length, since
// it may quote what a server sent. What a terminal would obey, such as an escape
// sequence or a change of the direction of writing, is shown escaped.
func message(err error) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(err.Error(), "\uFFFD") {
		shown := string(r)
		if r != ' ' && !strconv.IsPrint(r) {
			shown = strings.Trim(strconv.QuoteRune(r), "'")
		}
		if b.Len()+len(shown) > maxMessage {
			b.WriteString("…")
			break
		}
		b.WriteString(shown)
	}
	return b.String()
}

// commit makes results durable and reports them.
func (c *crawl) commit(results []result) error {
	if len(results) == 0 {
		return nil
	}
	if err := c.state.put(results); err != nil {
		return err
	}
	p := Progress{Total: c.total}
	for _, r := range results {
		if r.again == "" {
			c.done++
		}
		p.Titles, p.Outcomes = append(p.Titles, r.title), append(p.Outcomes, r.rec.Outcome)
	}
	p.Done = c.done
	if c.cfg.Progress != nil {
		c.cfg.Progress(p)
	}
	return nil
}
