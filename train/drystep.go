package train

import (
	"errors"

	"hgld/train/device"
)

// DryStep queues one step of a run, the first that freezes no group, on a device that computes nothing. Parameters and
// images stay zero. begin is called before the step, behind all that a run does once. In a group of processes it queues
// three steps and calls begin before each: only one that replays another adds gradients beside the backward pass.
func DryStep(config Config, data Data, b device.Backend, begin func()) error {
	config.Model.Weights, config.From = "", "" // they do not change any operation
	config.Model.Projection = ""
	r, err := New(config, data, Options{Backend: b, blank: true})
	if err != nil {
		return err
	}
	batch := r.loader.NewBatch()
	steps := 1
	if r.network.ranks != nil {
		steps = 3 // the second may be recorded anew, because the loss reads a memory
	}
	err = r.thread.Do(func() error {
		for range steps {
			begin()
			ticket, err := r.step.queue(batch, config.Schedule.Freeze)
			if err == nil {
				_, err = ticket.outcome()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, r.Close())
}
