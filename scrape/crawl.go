package scrape

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"hgld/internal/crash"
	"hgld/labels"
)

// Config describes a crawl.
type Config struct {
	State    string            // state folder; created if it does not exist
	Input    Input             // may change between runs: new landmarks are fetched
	Source   Source            // where to fetch from
	Settings map[string]string // further settings that must not change between runs, such as the site's URL
	Agent    string            // user agent of the requests; stored with the responses
	Workers  int               // concurrent requests
	Limit    int               // number of landmarks from the start of the input; 0: all
	Grace    time.Duration     // how long pending requests may continue after ctx ends
	Retry    []string          // names from Retries: finished titles to fetch again
	Since    bool              // fetch what has changed; the source must be a Watcher
	Progress func(Progress)    // called after every commit; may be nil

	Out Output // what to write at the end
}

// Progress describes one commit and the state of the crawl after it.
type Progress struct {
	Done, Total int              // titles
	Asked       int              // requests of this run; a batch counts once
	Titles      []string         // the titles of this commit
	Outcomes    []labels.Outcome // their outcomes
}

// IncompleteError reports that a crawl ended early. Finished titles are stored, and the
// same call resumes.
type IncompleteError struct {
	Done, Total int       // titles
	RetryAt     time.Time // when to run again; zero: any time
	Cause       error     // the context's error, or the error that stopped the source
}

// Error states how many titles are done and what ended the crawl.
func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%d of %d titles are done: %v", e.Done, e.Total, e.Cause)
}

// Unwrap returns Cause.
func (e *IncompleteError) Unwrap() error { return e.Cause }

// Run fetches every title of the input that is not finished yet and then writes the
// output. It also fetches again titles that ended in error_retryable, titles that Reparse
// has marked, and titles that Config.Retry selects. A title keeps its finding until there
// is a new one.
//
// Run returns a *filelock.LockedError, *MismatchError or *ReadError before it changes
// anything, an *IncompleteError if the crawl has to be run again, and disk errors.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	retries, err := cfg.retries()
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	return cfg.onState(slices.Contains(cfg.Retry, lost),
		func(s *state) (*Report, error) { return run(ctx, cfg, s, retries) })
}

// onState checks the output, opens the state, and closes it after use. lost is as in openState.
func (cfg *Config) onState(lost bool, use func(*state) (*Report, error)) (report *Report, err error) {
	if err = cfg.Out.Check(); err == nil {
		var s *state
		if s, err = openState(cfg.State, cfg.settings(), lost); err == nil {
			report, err = use(s)
			err = errors.Join(err, s.close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	return report, nil
}

func run(ctx context.Context, cfg Config, s *state, retries []Retry) (*Report, error) {
	f := newFrontier(cfg.landmarks())
	if err := s.markRetries(cfg.Source, f.titles, retries); err != nil {
		return nil, err
	}
	if source, ok := cfg.Source.(Linker); ok && cfg.Out.Items != "" {
		if err := s.markUnlinked(source); err != nil {
			return nil, err
		}
	}
	if cfg.Since {
		if err := s.watch(ctx, cfg.Source); err != nil {
			return nil, &IncompleteError{Total: len(f.titles), RetryAt: retryAt(err), Cause: err}
		}
	}
	var before map[labels.LandmarkKey]Tagged
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
	if err := c.fetchOpen(ctx); err != nil {
		return nil, err
	}
	if cfg.Out.Items != "" {
		if err := c.fetchItems(ctx); err != nil {
			return nil, err
		}
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

// settings returns the settings that two runs of the same crawl must share.
func (cfg *Config) settings() map[string]string {
	all := map[string]string{"source": cfg.Source.Name()}
	for k, v := range cfg.Settings {
		all[k] = v
	}
	return all
}

// crawl is one pass over the unfinished titles. Workers send the requests; a single writer
// commits the results and decides what to request next.
type crawl struct {
	cfg        Config
	state      *state
	source     Source
	titles     []string
	known      []bool // titles that had a finding other than a failure at the start
	open       []int  // unfinished titles in order; those before next have been looked at
	next       int
	ended      []bool // titles that got a finding or failed in this run
	unfinished int    // titles that did neither

	queues  map[string][]string // keys to request, by step
	waiting map[Task][]int      // titles waiting for a task

	row         malformedRow
	stale       []string // titles that failed and keep their earlier finding
	asked       int
	done, total int
}

func newCrawl(cfg Config, s *state, f *frontier) (*crawl, error) {
	done, err := s.outcomes()
	if err != nil {
		return nil, err
	}
	marked, err := s.countMarked()
	if err != nil {
		return nil, err
	}
	n := len(f.titles)
	c := &crawl{cfg: cfg, state: s, source: cfg.Source, titles: f.titles, total: n, known: make([]bool, n),
		ended:  make([]bool, n),
		queues: map[string][]string{}, waiting: map[Task][]int{}}
	for i, title := range f.titles {
		outcome := done[title]
		c.known[i] = outcome != "" && outcome != labels.Retryable
		if marked > 0 || !c.known[i] { // any title may need a marked fact
			c.open = append(c.open, i)
		}
	}
	c.unfinished, c.done = len(c.open), n-len(c.open)
	return c, nil
}

// maxCommit limits the results in one transaction: 64 bodies of 100 kB are about 6 MB.
const maxCommit = 64

// fetchOpen requests and commits what the open titles need. It sends no further requests once
// ctx ends or the source returns a stop error. Pending requests get Grace to finish.
func (c *crawl) fetchOpen(ctx context.Context) error {
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
			defer crash.Guard()
			for e := range jobs {
				results <- c.exchange(feeding, fetching, e)
			}
		}()
	}
	defer close(jobs)

	var stop, broken error
	for out := 0; ; {
		for broken == nil && feeding.Err() == nil && out < 2*workers {
			e, err := c.nextRequest(out)
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
	case c.unfinished == 0:
		return nil
	case stop == nil || ctx.Err() != nil:
		stop = cmp.Or(ctx.Err(), errors.New("the source left titles without an answer"))
	}
	return &IncompleteError{Done: c.done, Total: c.total, RetryAt: retryAt(stop), Cause: stop}
}

// collect gathers further results that have arrived, to commit them in one transaction.
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

// exchange sends one request and parses the answers. It sends nothing once feeding has
// ended.
func (c *crawl) exchange(feeding, fetching context.Context, e exchange) exchange {
	if e.stop = feeding.Err(); e.stop != nil {
		return e
	}
	e.answers, e.err = c.source.Ask(fetching, e.step, e.keys)
	if e.err == nil {
		e.facts, e.err = c.source.Read(e.step, e.keys, e.answers)
	}
	if e.err == nil && len(e.facts) == 0 {
		e.err = errors.New("the source returned no answer")
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

// isStop reports whether an error ends the crawl; see Source.Ask.
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

// commit stores exchanges and the findings that they complete, and then reports them.
func (c *crawl) commit(done []exchange) error {
	if len(done) == 0 {
		return nil
	}
	sums, err := c.state.putBodies(done)
	if err != nil {
		return err
	}
	var found []labels.Record
	err = c.state.inTransaction(func(tx *sql.Tx) error {
		var touched []int
		for i, e := range done {
			if e.err != nil {
				failed, err := c.failWaiting(tx, e)
				if err != nil {
					return err
				}
				found = append(found, failed...)
				continue
			}
			if err := putExchange(tx, e, sums[i], c.cfg.Agent); err != nil {
				return err
			}
			touched = append(touched, c.takeWaiting(e)...)
		}
		for _, i := range touched {
			rec, err := c.findOrQueue(tx, i, 1)
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

// takeWaiting returns the titles that waited for the facts of an exchange. Keys without a fact
// go back into the queue.
func (c *crawl) takeWaiting(e exchange) []int {
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

// failWaiting ends the titles that waited for a failed exchange. A later run retries them.
func (c *crawl) failWaiting(tx *sql.Tx, e exchange) ([]labels.Record, error) {
	var found []labels.Record
	for _, key := range e.keys {
		t := Task{e.step, key}
		for _, i := range c.waiting[t] {
			if c.ended[i] {
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
			c.endTitle(i)
			found = append(found, rec)
		}
		delete(c.waiting, t)
	}
	return found, nil
}

// findOrQueue stores the finding of a title if all its facts are known. Otherwise it queues the
// missing tasks and returns nil.
func (c *crawl) findOrQueue(tx *sql.Tx, i, tries int) (*labels.Record, error) {
	if c.ended[i] {
		return nil, nil
	}
	rec, tasks, _, err := c.state.finding(tx, c.source, c.titles[i])
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
	c.endTitle(i)
	if tries == 0 && c.known[i] { // nothing was requested, so the stored finding is unchanged
		return &rec, nil
	}
	_, err = putFinding(tx, rec, tries)
	return &rec, err
}

func (c *crawl) endTitle(i int) {
	c.ended[i] = true
	c.unfinished--
	c.done++
}

// report passes committed findings to Config.Progress.
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
