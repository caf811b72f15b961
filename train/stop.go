package train

import (
	"context"
	"errors"
	"fmt"
)

// stopped returns the error of a run that was cancelled.
func (r *Run) stopped(ctx context.Context, err error) error {
	if r.stops(ctx, err) {
		if r.network.ranks == nil {
			err = ctx.Err()
		}
		return fmt.Errorf("train: stopped after step %d: %w", r.state.Step, err)
	}
	return err
}

// stops reports whether a run that ends with err has been told to stop. Processes that train together stop
// together; any other failure of one is its own.
func (r *Run) stops(ctx context.Context, err error) bool {
	if r.network.ranks != nil {
		return errors.As(err, new(*StopError))
	}
	return ctx.Err() != nil
}

// interrupted returns an error if the run was told to stop before the step that ended last.
func (r *Run) interrupted(ctx context.Context) error {
	switch {
	case r.stop != nil:
		return r.stopped(ctx, r.stop)
	case r.network.ranks == nil && ctx.Err() != nil:
		return r.stopped(ctx, ctx.Err())
	}
	return nil
}
