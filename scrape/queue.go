package scrape

import "database/sql"

// maxSeed is the number of titles looked at in one transaction.
const maxSeed = 512

// nextRequest returns the next keys to request. It prefers the last step that has a full batch,
// which keeps the queues short. Partial batches wait as long as requests are pending (out
// is their number), because the answers may fill them. Once none is pending, it returns
// the keys of the first nonempty step. The step is "" if there is nothing to request now.
func (c *crawl) nextRequest(out int) (exchange, error) {
	steps := c.source.Steps()
	if err := c.fillQueue(steps[0]); err != nil {
		return exchange{}, err
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if size := c.batchSize(steps[i]); len(c.queues[steps[i]]) >= size {
			return c.takeKeys(steps[i], size), nil
		}
	}
	for _, step := range steps {
		if n := len(c.queues[step]); n > 0 && out == 0 {
			return c.takeKeys(step, n), nil
		}
	}
	return exchange{}, nil
}

func (c *crawl) batchSize(step string) int { return max(1, c.source.BatchSize(step)) }

// takeKeys removes the first n keys of a step's queue.
func (c *crawl) takeKeys(step string, n int) exchange {
	queue := c.queues[step]
	e := exchange{step: step, keys: queue[:n:n]}
	c.queues[step] = queue[n:]
	return e
}

// fillQueue looks at further titles until the first step has enough keys. Of 300,000 titles
// most are looked at late, and use no queue until then.
func (c *crawl) fillQueue(first string) error {
	for c.next < len(c.open) && len(c.queues[first]) < 2*max(1, c.cfg.Workers)*c.batchSize(first) {
		from := c.next
		before := c.done
		err := c.state.inTransaction(func(tx *sql.Tx) error {
			for c.next < len(c.open) && c.next < from+maxSeed {
				if _, err := c.findOrQueue(tx, c.open[c.next], 0); err != nil {
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
