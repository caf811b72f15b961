package train

import (
	"errors"

	"hgld/train/device"
)

// DryStep queues one step of a run, the first that freezes no group, on a device that computes nothing. Parameters and
// images stay zero. begin is called before the step, behind all that a run does once.
func DryStep(config Config, data Data, b device.Backend, begin func()) error {
	config.Model.Weights, config.From = "", "" // they do not change any operation
	config.Model.Projection = ""
	r, err := New(config, data, Options{Backend: b, blank: true})
	if err != nil {
		return err
	}
	batch := r.loader.NewBatch()
	err = r.thread.Do(func() error {
		begin()
		ticket, err := r.step.queue(batch, config.Schedule.Freeze)
		if err == nil {
			_, err = ticket.outcome()
		}
		return err
	})
	return errors.Join(err, r.Close())
}
