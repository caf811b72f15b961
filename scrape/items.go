package scrape

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"hgld/internal/atomicfile"
	"hgld/labels"
)

// Linker is a Source that can follow the items which records name to the items that these link to:
// classes to the classes above them, places to the places that contain them.
type Linker interface {
	Source

	// LinkStep returns the step of the tasks of items.
	LinkStep() string

	// Roots returns the tasks for the items that a record names.
	Roots(rec labels.Record) []Task

	// Item returns the item that a fact states, and the tasks for the items that it links to. After
	// an error the item must be fetched again: its answer was to a request without links.
	Item(t Task, fact Fact) (labels.Item, []Task, error)
}

// Bounds of the items of a crawl. Wikidata's longest shortest chains have about 20 links, and all the
// classes and places of GLDv2 are fewer than 100,000.
const (
	maxLinks = 64
	maxItems = 1 << 20
)

// itemWalk collects items level by level: those that records name, those that these link to, and so
// on. Each is visited once, so circles end.
type itemWalk struct {
	state   *state
	source  Linker
	seen    map[Task]bool
	items   map[string]labels.Item // by id
	lacking []Task                 // without a fact
	unasked int                    // beyond the bounds

	ask func(tasks []Task) error // fetches facts; nil: nothing is fetched
}

func (s *state) newItemWalk(source Linker, ask func([]Task) error) *itemWalk {
	return &itemWalk{state: s, source: source, seen: map[Task]bool{}, items: map[string]labels.Item{}, ask: ask}
}

// run visits all items that the records of some titles lead to.
func (w *itemWalk) run(titles []string) error {
	level, err := w.roots(titles)
	if err != nil {
		return err
	}
	for depth := 0; len(level) > 0; depth++ {
		if depth == maxLinks || len(w.seen) > maxItems {
			w.unasked += len(level)
			return nil
		}
		if level, err = w.visit(level); err != nil {
			return err
		}
	}
	return nil
}

// roots returns the tasks of the records, in the order of the titles.
func (w *itemWalk) roots(titles []string) (all []Task, err error) {
	for _, title := range titles {
		rec, err := w.state.record(title)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = w.add(all, w.source.Roots(rec))
	}
	return all, nil
}

// add appends the tasks that were not seen before.
func (w *itemWalk) add(all, more []Task) []Task {
	for _, t := range more {
		if !w.seen[t] {
			w.seen[t] = true
			all = append(all, t)
		}
	}
	return all
}

// visit adds the items of one level and returns the tasks of the next.
func (w *itemWalk) visit(level []Task) (next []Task, err error) {
	found, lacking, err := w.look(level)
	if err == nil && len(lacking) > 0 && w.ask != nil {
		if err = w.ask(lacking); err == nil {
			found, lacking, err = w.look(level)
		}
	}
	if err != nil {
		return nil, err
	}
	w.lacking = append(w.lacking, lacking...)
	for _, l := range found {
		next = w.add(next, l.next)
		old, twice := w.items[l.item.ID]
		if !twice || len(l.item.Merged) == 0 {
			l.item.Merged = append(l.item.Merged, old.Merged...)
			w.items[l.item.ID] = l.item
			continue
		}
		old.Merged = append(old.Merged, l.item.Merged...)
		w.items[l.item.ID] = old
	}
	return next, nil
}

// link is an item with the tasks that it leads to.
type link struct {
	item labels.Item
	next []Task
}

// look reads the facts of tasks, in one transaction.
func (w *itemWalk) look(level []Task) (found []link, lacking []Task, err error) {
	err = w.state.inTransaction(func(tx *sql.Tx) error {
		for _, t := range level {
			fact, known, err := w.state.fact(tx, t)
			if err != nil {
				return err
			}
			if !known {
				lacking = append(lacking, t)
				continue
			}
			item, next, err := w.source.Item(t, fact)
			if err != nil {
				lacking = append(lacking, t)
				continue
			}
			found = append(found, link{item, next})
		}
		return nil
	})
	return found, lacking, err
}

// sorted returns the items in the order of the numbers of their ids.
func (w *itemWalk) sorted() []labels.Item {
	byNumber := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
	all := slices.SortedFunc(maps.Values(w.items), func(a, b labels.Item) int { return byNumber(a.ID, b.ID) })
	for i := range all {
		slices.SortFunc(all[i].Merged, byNumber)
	}
	return all
}

// markUnlinked marks the facts of items that were stored without links, so that a state of an earlier
// crawl gets them.
func (s *state) markUnlinked(source Linker) error {
	step := source.LinkStep()
	var old []Task
	var key, data string
	err := eachRow(s.db, func() error {
		if _, _, err := source.Item(Task{step, key}, Fact(data)); err != nil {
			old = append(old, Task{step, key})
		}
		return nil
	}, []any{&key, &data}, `SELECT key, data FROM fact WHERE step = ? AND again = ''`, step)
	if err != nil || len(old) == 0 {
		return s.namedError(err)
	}
	return s.inTransaction(func(tx *sql.Tx) error {
		for _, t := range old {
			if err := markFact(tx, t, wanted); err != nil {
				return err
			}
		}
		return nil
	})
}

// fetchItems fetches what the walk over the items of all titles lacks. Like fetchOpen it sends nothing
// once ctx ends, and lets a pending request finish within the grace. Items whose request fails are
// left out; a later run asks for them again.
func (c *crawl) fetchItems(ctx context.Context) error {
	source, ok := c.source.(Linker)
	if !ok {
		return fmt.Errorf("the source %s has no items", c.source.Name())
	}
	fetching, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	release := context.AfterFunc(ctx, func() { time.AfterFunc(c.cfg.Grace, stop) })
	defer release()
	walk := c.state.newItemWalk(source, func(tasks []Task) error { return c.askItems(ctx, fetching, tasks) })
	return walk.run(c.titles)
}

// askItems requests the facts of tasks, batch by batch, and commits each.
func (c *crawl) askItems(ctx, fetching context.Context, tasks []Task) error {
	keys := make([]string, len(tasks))
	for i, t := range tasks {
		keys[i] = t.Key
	}
	step := tasks[0].Step
	for len(keys) > 0 {
		n := min(len(keys), c.batchSize(step))
		e := c.exchange(ctx, fetching, exchange{step: step, keys: keys[:n:n]})
		if e.stop != nil {
			return &IncompleteError{Done: c.done, Total: c.total, RetryAt: retryAt(e.stop), Cause: e.stop}
		}
		keys = keys[n:]
		if e.err != nil {
			c.asked++
			continue
		}
		for _, key := range e.keys {
			if e.facts[key] == nil { // the answer was cut; at least one key has a fact
				keys = append(keys, key)
			}
		}
		sums, err := c.state.putBodies([]exchange{e})
		if err != nil {
			return err
		}
		err = c.state.inTransaction(func(tx *sql.Tx) error { return putExchange(tx, e, sums[0], c.cfg.Agent) })
		if err != nil {
			return err
		}
		c.asked++
		c.report(nil)
	}
	return nil
}

// writeItems writes items.jsonl from the facts of the state, and counts its items in the report.
func (o Output) writeItems(cfg Config, s *state, titles []string, report *Report) error {
	source, ok := cfg.Source.(Linker)
	if !ok {
		return fmt.Errorf("the source %s has no items", cfg.Source.Name())
	}
	walk := s.newItemWalk(source, nil)
	if err := walk.run(titles); err != nil {
		return err
	}
	items := walk.sorted()
	report.Items, report.ItemsUnasked = len(items), len(walk.lacking)+walk.unasked
	header := labels.ItemsHeader{Tool: o.Tool, Source: cfg.Source.Name(), Unasked: report.ItemsUnasked}
	err := atomicfile.Write(o.Items, func(w io.Writer) error { return labels.WriteItems(w, header, items) })
	if err != nil {
		return fmt.Errorf("%s: %w", o.Items, err)
	}
	return nil
}
