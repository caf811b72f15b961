package scrape

import "database/sql"

// maxSeed is the number of titles looked at in one transaction.
const maxSeed = 512

// pick returns the next keys to request. It prefers the last step that has a full batch,
// which keeps the queues short. Partial batches wait as long as requests are pending (out
// is their number), because the answers may fill them. Once none is pending, pick returns
// the keys of the first nonempty step. The step is "" if there is nothing to request now.
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

// seed looks at further titles until the first step has enough keys. Of 300,000 titles
// most are looked at late, and use no queue until then.
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
