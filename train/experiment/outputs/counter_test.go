package outputs

import (
	"context"

	"hgld/train/retrieval"
)

// counter is an output that counts what it receives.
type counter struct {
	places, seen     int
	finished, closed bool
}

func (c *counter) Look(l *retrieval.Observer) { l.Places = c.places }

func (c *counter) Ranking(_ int, rows []int32, _ []float32) error {
	c.seen += len(rows)
	return nil
}

func (c *counter) Finish(context.Context, *retrieval.Result) error {
	c.finished = true
	return nil
}

func (c *counter) Close() error {
	c.closed = true
	return nil
}
