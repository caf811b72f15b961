package scrape

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"hgld/labels"
)

// Config describes a crawl.
type Config struct {
	State    string // folder of the state, created if need be
	Input    Input  // may change between runs: what is new is asked for
	Source   Source
	Settings map[string]string // what else must not change between runs: the site's address
	Agent    string            // user agent of the requests, kept with the responses
	Workers  int               // requests at a time
	Limit    int               // trial with the first landmarks only; 0: all
	Grace    time.Duration     // after ctx ends, the time that answers under way still have
	Retry    []string          // names of Retries: what else is asked for again
	Since    bool              // ask for what has changed; the source has to be a Watcher
	Progress func(Progress)    // called after every commit; nil: not wanted

	Out Output
}

// Progress says what has just been committed.
type Progress struct {
	Done, Total int              // titles
	Asked       int              // times that the source was asked in this run, for a title or a batch
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
// again, and so is what Reparse has marked and what Config.Retry names; a finding
// that a title has stands until there is a new one.
//
// Errors: *filelock.LockedError, *MismatchError and *ReadError before anything is
// done, *IncompleteError when the crawl has to be run again, and those of the disk.
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
	if err := s.want(cfg.Source, f.titles, retries); err != nil {
		return nil, err
	}
	if cfg.Since {
		if err := s.watch(ctx, cfg.Source); err != nil {
			return nil, &IncompleteError{Total: len(f.titles), RetryAt: retryAt(err), Cause: err}
		}
	}
	var before map[labels.Split]map[labels.LandmarkID]Tagged
	if cfg.Out.Changes != "" {
		var err error
		if before, err = cfg.Out.tagsBefore(); err != nil {
			return nil, err
		}
	}
	c, err := newCrawl(cfg, s, f)
	if err != nil {
		return nil, err
	}
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	report, err := cfg.Out.write(cfg, s, f)
	if err != nil {
		return nil, err
	}
	report.Stale = c.stale
	if cfg.Out.Changes != "" {
		report.Changes, err = cfg.Out.writeChanges(before)
	}
	return report, err
}

func (cfg *Config) landmarks() []Landmark {
	if cfg.Limit > 0 && cfg.Limit < len(cfg.Input.Landmarks) {
		return cfg.Input.Landmarks[:cfg.Limit]
	}
	return cfg.Input.Landmarks
}

// settings are what makes two runs the same crawl.
func (cfg *Config) settings() map[string]string {
	all := map[string]string{"source": cfg.Source.Name()}
	for k, v := range cfg.Settings {
		all[k] = v
	}
	return all
}

// crawl is one pass over the titles that are not done: workers that ask, and one
// writer that commits what they bring and decides what is asked next.
type crawl struct {
	cfg    Config
	state  *state
	source Source
	titles []string
	known  []bool // titles with a finding that was no failure, at the beginning
	open   []int  // titles that are not done, in order; those before next are waiting
	next   int
	over   []bool // titles that have a finding or have failed in this run
	left   int    // titles that are neither

	queues  map[string][]string // keys to be asked for, by step
	waiting map[Task][]int      // titles that wait for a task

	row         malformedRow
	stale       []string // titles that failed; their earlier finding stands
	asked       int
	done, total int
}

func newCrawl(cfg Config, s *state, f *frontier) (*crawl, error) {
	done, err := s.outcomes()
	if err != nil {
		return nil, err
	}
	marked, err := s.marked()
	if err != nil {
		return nil, err
	}
	n := len(f.titles)
	c := &crawl{cfg: cfg, state: s, source: cfg.Source, titles: f.titles, total: n, known: make([]bool, n),
		over:   make([]bool, n),
		queues: map[string][]string{}, waiting: map[Task][]int{}}
	for i, title := range f.titles {
		outcome := done[title]
		c.known[i] = outcome != "" && outcome != labels.Retryable
		if marked > 0 || !c.known[i] { // a mark is on a fact, which any title may need
			c.open = append(c.open, i)
		}
	}
	c.left, c.done = len(c.open), n-len(c.open)
	return c, nil
}

// maxCommit bounds the results of one transaction: with bodies of 100 kB, about
// 6 MB wait for the disk.
const maxCommit = 64

// ask asks for and commits what the open titles need. The first signal to stop, from
// ctx or the source, ends the asking; answers under way are waited for, at most Grace
// after the end of ctx.
func (c *crawl) ask(ctx context.Context) error {
	feeding, stopFeeding := context.WithCancel(ctx)
	defer stopFeeding()
	fetching, stopFetching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFetching()
	release := context.AfterFunc(ctx, func() { time.AfterFunc(c.cfg.Grace, stopFetching) })
	defer release()

	workers := max(1, c.cfg.Workers)
	jobs, results := make(chan exchange, 2*workers), make(chan exchange, 2*workers)
	for range workers {
		go func() {
			for e := range jobs {
				results <- c.exchange(feeding, fetching, e)
			}
		}()
	}
	defer close(jobs)

	var stop, broken error
	for out := 0; ; {
		for broken == nil && feeding.Err() == nil && out < 2*workers {
			e, err := c.pick(out)
			if broken = err; err != nil || e.step == "" {
				break
			}
			jobs <- e
			out++
		}
		if out == 0 {
			break
		}
		batch := collect(<-results, results)
		out -= len(batch)
		var commit []exchange
		for _, e := range batch {
			if e.stop == nil {
				commit = append(commit, e)
			} else if stop = cmp.Or(stop, e.stop); stop != nil {
				stopFeeding()
			}
		}
		if broken == nil {
			broken = c.commit(commit)
		}
		if err := c.row.err; err != nil && stop == nil {
			stop = err
			stopFeeding()
		}
		if broken != nil {
			stopFeeding()
			stopFetching()
		}
	}
	switch {
	case broken != nil:
		return broken
	case c.left == 0:
		return nil
	case stop == nil || ctx.Err() != nil:
		stop = cmp.Or(ctx.Err(), errors.New("the source leaves titles without an answer"))
	}
	return &IncompleteError{Done: c.done, Total: c.total, RetryAt: retryAt(stop), Cause: stop}
}

// collect takes what else has arrived, so that one transaction serves for it.
func collect(first exchange, more <-chan exchange) []exchange {
	batch := []exchange{first}
	for len(batch) < maxCommit {
		select {
		case e := <-more:
			batch = append(batch, e)
		default:
			return batch
		}
	}
	return batch
}

// exchange asks the source and reads the answers. After the end of feeding nothing
// more is asked.
func (c *crawl) exchange(feeding, fetching context.Context, e exchange) exchange {
	if e.stop = feeding.Err(); e.stop != nil {
		return e
	}
	e.answers, e.err = c.source.Ask(fetching, e.step, e.keys)
	if e.err == nil {
		e.facts, e.err = c.source.Read(e.step, e.keys, e.answers)
	}
	if e.err == nil && len(e.facts) == 0 {
		e.err = errors.New("the source gave no answer")
	}
	switch {
	case e.err == nil:
	case fetching.Err() != nil:
		e.stop = fetching.Err()
	case isStop(e.err):
		e.stop = e.err
	}
	return e
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

// commit makes exchanges and the findings that they complete durable, and reports
// them.
func (c *crawl) commit(done []exchange) error {
	if len(done) == 0 {
		return nil
	}
	sums, err := c.state.putBodies(done)
	if err != nil {
		return err
	}
	var found []labels.Record
	err = c.state.within(func(tx *sql.Tx) error {
		var touched []int
		for i, e := range done {
			if e.err != nil {
				failed, err := c.fail(tx, e)
				if err != nil {
					return err
				}
				found = append(found, failed...)
				continue
			}
			if err := putExchange(tx, e, sums[i], c.cfg.Agent); err != nil {
				return err
			}
			touched = append(touched, c.arrived(e)...)
		}
		for _, i := range touched {
			rec, err := c.settle(tx, i, 1)
			if err != nil {
				return err
			}
			if rec != nil {
				found = append(found, *rec)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.asked += len(done)
	c.report(found)
	return nil
}

// arrived returns the titles that waited for the facts of an exchange. A key that got
// none is asked for again.
func (c *crawl) arrived(e exchange) []int {
	var touched []int
	for _, key := range e.keys {
		if e.facts[key] == nil {
			c.queues[e.step] = append(c.queues[e.step], key)
			continue
		}
		t := Task{e.step, key}
		touched = append(touched, c.waiting[t]...)
		delete(c.waiting, t)
	}
	return touched
}

// fail ends the titles that waited for a failed exchange: a later run asks again.
func (c *crawl) fail(tx *sql.Tx, e exchange) ([]labels.Record, error) {
	var found []labels.Record
	for _, key := range e.keys {
		t := Task{e.step, key}
		for _, i := range c.waiting[t] {
			if c.over[i] {
				continue
			}
			rec := labels.Record{Title: c.titles[i], Source: c.source.Name(), Outcome: labels.Retryable, Error: message(e.err)}
			put, err := putFinding(tx, rec, 1)
			if err != nil {
				return nil, err
			}
			if !put {
				c.stale = append(c.stale, rec.Title)
			}
			c.end(i)
			found = append(found, rec)
		}
		delete(c.waiting, t)
	}
	return found, nil
}

// settle makes and writes the finding of a title, if its facts suffice; otherwise
// the title waits for what is lacking, and the record is nil.
func (c *crawl) settle(tx *sql.Tx, i, tries int) (*labels.Record, error) {
	if c.over[i] {
		return nil, nil
	}
	rec, tasks, err := c.state.finding(tx, c.source, c.titles[i])
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		titles, asked := c.waiting[t]
		if !asked {
			c.queues[t.Step] = append(c.queues[t.Step], t.Key)
		}
		if !slices.Contains(titles, i) {
			c.waiting[t] = append(titles, i)
		}
	}
	if len(tasks) > 0 {
		return nil, nil
	}
	c.end(i)
	if tries == 0 && c.known[i] { // nothing has been asked: it is the finding that is there
		return &rec, nil
	}
	_, err = putFinding(tx, rec, tries)
	return &rec, err
}

func (c *crawl) end(i int) {
	c.over[i] = true
	c.left--
	c.done++
}

// report tells of findings that are committed.
func (c *crawl) report(found []labels.Record) {
	p := Progress{Done: c.done, Total: c.total, Asked: c.asked}
	for _, rec := range found {
		p.Titles, p.Outcomes = append(p.Titles, rec.Title), append(p.Outcomes, rec.Outcome)
	}
	c.row.add(found)
	if c.cfg.Progress != nil {
		c.cfg.Progress(p)
	}
}
