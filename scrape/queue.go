package scrape

import "database/sql"

// maxSeed is the number of titles that are looked at in one transaction.
const maxSeed = 512

// pick returns the next keys to ask for, of a step with a full batch if there is
// one: the last such step, so that the queues stay short. While answers are
// under way, out of them, a part of a batch waits for more; without any, the first
// step with a key is asked, since nothing can be added to it. The step is "" where
// there is nothing to ask now.
func (c *crawl) pick(out int) (exchange, error) {
	steps := c.source.Steps()
	if err := c.seed(steps[0]); err != nil {
		return exchange{}, err
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if size := c.size(steps[i]); len(c.queues[steps[i]]) >= size {
			return c.take(steps[i], size), nil
		}
	}
	for _, step := range steps {
		if n := len(c.queues[step]); n > 0 && out == 0 {
			return c.take(step, n), nil
		}
	}
	return exchange{}, nil
}

func (c *crawl) size(step string) int { return max(1, c.source.BatchSize(step)) }

// take removes the first n keys of a step's queue.
func (c *crawl) take(step string, n int) exchange {
	queue := c.queues[step]
	e := exchange{step: step, keys: queue[:n:n]}
	c.queues[step] = queue[n:]
	return e
}

// seed looks at further titles until the first step has enough to ask. Most of 300,000
// titles are so looked at late, and wait nowhere until then.
func (c *crawl) seed(first string) error {
	for c.next < len(c.open) && len(c.queues[first]) < 2*max(1, c.cfg.Workers)*c.size(first) {
		from := c.next
		before := c.done
		err := c.state.within(func(tx *sql.Tx) error {
			for c.next < len(c.open) && c.next < from+maxSeed {
				if _, err := c.settle(tx, c.open[c.next], 0); err != nil {
					return err
				}
				c.next++
			}
			return nil
		})
		if err != nil {
			return err
		}
		if c.done > before {
			c.report(nil)
		}
	}
	return nil
}
