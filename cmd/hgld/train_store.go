package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"hgld/internal/crash"
	"hgld/internal/objectstore"
	"hgld/internal/objectstore/address"
	"hgld/train/mirror"
)

// runCopy keeps the copy of a run directory in an object store. nil keeps none.
type runCopy struct {
	mirror  *mirror.Mirror
	at      string     // its address
	alone   bool       // the directory keeps one checkpoint, which must stay until it is sent
	sending chan error // the end of a copy beside the training; nil: there is none
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
// that of its directory in the project. Of several processes, rank 0 alone has it.
func openCopy(j *job, s *trainSettings) (*runCopy, error) {
	if s.Store == "" || j.follows() {
		return nil, nil
	}
	name := filepath.Clean(j.project.Inside(s.Out))
	if !filepath.IsLocal(name) || name == "." {
		name = filepath.Base(s.Out)
	}
	c := &runCopy{at: address.Join(s.Store, filepath.ToSlash(name)), alone: s.Run.Keep < 2}
	var err error
	if c.mirror, err = mirror.Open(c.at, s.Out); err != nil {
		return nil, err
	}
	f, err := c.mirror.Fetch(j.ctx)
	if err != nil {
		return nil, err
	}
	for _, err := range f.Damaged {
		j.log("%v; an older checkpoint is taken", err)
	}
	if f.Checkpoint != "" {
		j.log("%s has a newer checkpoint than %s: %s was fetched", c.at, s.Out, f.Checkpoint)
	}
	return c, nil
}

// save begins to send what the run directory has, beside the training, which waits for the copy before. A store that
// fails for the moment does not stop the training: the next checkpoint goes there, or the last one at the end.
func (c *runCopy) save(j *job) error {
	if c == nil {
		return nil
	}
	if err := c.await(j); err != nil {
		return err
	}
	s, err := c.mirror.Look()
	if err != nil {
		return err
	}
	c.sending = make(chan error, 1)
	go func() {
		defer crash.Guard()
		c.sending <- c.mirror.Save(context.WithoutCancel(j.ctx), s)
	}()
	if c.alone {
		return c.await(j)
	}
	return nil
}

// await waits for the end of a copy, while the other processes of the training wait for this one.
func (c *runCopy) await(j *job) error {
	if c.sending == nil {
		return nil
	}
	defer j.ranks.Busy("copying a checkpoint to " + c.at)()
	err := <-c.sending
	c.sending = nil
	var e *objectstore.Error
	if errors.As(err, &e) && e.Kind == objectstore.Temporary {
		j.log("%v; the training goes on, and the next checkpoint is sent there", err)
		return nil
	}
	return err
}

// finish sends what is left, after a training that ended with err. An interrupted run sends its last checkpoint.
func (c *runCopy) finish(j *job, err error) error {
	if c == nil {
		return err
	}
	if failed := c.await(j); failed != nil || err != nil && !errors.Is(err, context.Canceled) {
		return errors.Join(err, failed)
	}
	defer j.ranks.Busy("copying the run to " + c.at)()
	s, failed := c.mirror.Look()
	if failed == nil {
		failed = c.mirror.Save(context.WithoutCancel(j.ctx), s)
	}
	return errors.Join(err, failed)
}

// mirrorAdvice has the exit codes and next steps for errors of the copy of a run in an object store.
var mirrorAdvice = []advice{
	kind(exitUsage, func(*mirror.OtherRunError) string {
		return "name another run directory (--out) or another place (--store); or remove the run directory, and the run " +
			"continues from its copy"
	}),
	kind(exitIntegrity, func(*mirror.DamagedError) string {
		return "remove the damaged checkpoints there, or name another place (--store)"
	}),
}
