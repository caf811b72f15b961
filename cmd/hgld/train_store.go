package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"hgld/internal/objectstore"
	"hgld/internal/objectstore/address"
	"hgld/train/mirror"
)

// runCopy keeps the copy of a run directory in an object store. nil keeps none.
type runCopy struct {
	mirror *mirror.Mirror
	at     string // its address
	unsent string // the newest checkpoint, if the store did not take it; ""
}

// checkStore checks that the place of the copy is in an object store.
func checkStore(s *trainSettings) error {
	if s.Store == "" {
		return nil
	}
	if err := address.Check(s.Store); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// openCopy opens the copy of a run and brings what it has newer. A run goes to a place of its own below the setting:
// that of its directory in the project.
func openCopy(j *job, s *trainSettings) (*runCopy, error) {
	if s.Store == "" {
		return nil, nil
	}
	name := filepath.Clean(j.project.Inside(s.Out))
	if !filepath.IsLocal(name) || name == "." {
		name = filepath.Base(s.Out)
	}
	c := &runCopy{at: address.Join(s.Store, filepath.ToSlash(name))}
	var err error
	if c.mirror, err = mirror.Open(c.at, s.Out); err != nil {
		return nil, err
	}
	f, err := c.mirror.Fetch(j.ctx)
	if err != nil {
		return nil, err
	}
	for _, err := range f.Damaged {
		j.say("%v; an older checkpoint is taken", err)
	}
	if f.Checkpoint != "" {
		j.say("%s has a newer checkpoint than %s: %s was fetched", c.at, s.Out, f.Checkpoint)
	}
	return c, nil
}

// save sends a checkpoint. A store that fails for the moment does not stop the training: the next checkpoint goes
// there, or the last one at the end. An interrupted run sends its last checkpoint before it ends.
func (c *runCopy) save(j *job, checkpoint string) error {
	if c == nil {
		return nil
	}
	err := c.mirror.Save(context.WithoutCancel(j.ctx), checkpoint)
	c.unsent = ""
	var e *objectstore.Error
	if errors.As(err, &e) && e.Kind == objectstore.Temporary {
		c.unsent = checkpoint
		j.say("%v; the training goes on, and the next checkpoint is sent there", err)
		return nil
	}
	return err
}

// finish sends what is left, after a training that ended with err.
func (c *runCopy) finish(j *job, err error) error {
	if c == nil || err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	ctx := context.WithoutCancel(j.ctx)
	if c.unsent != "" {
		return errors.Join(err, c.mirror.Save(ctx, c.unsent))
	}
	return errors.Join(err, c.mirror.SaveSmall(ctx))
}
