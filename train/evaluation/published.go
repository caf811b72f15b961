package evaluation

import (
	"context"
	"errors"
	"fmt"

	"hgld/internal/filehash"
	"hgld/internal/img"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/network"
	"hgld/train/warmstart"
)

// OpenPublished loads a network with the weights of c.Model.Weights, which names a file. notes say what
// was chosen of it. Call Close when done with the backend.
func OpenPublished(ctx context.Context, c config.Config, b device.Backend, d *img.Decoder) (m *Model, notes []string,
	err error) {
	p, err := c.Resolve()
	if err != nil {
		return nil, nil, err
	}
	m = &Model{Config: c, Path: c.Model.Weights, state: checkpoint.State{Config: c}, thread: device.NewThread(b),
		Published: &config.Published{Input: c.Input, Model: c.Model}}
	if m.sum, _, err = filehash.SHA256(ctx, m.Path); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("train: model.weights: %w", err), m.Close())
	}
	m.Published.Model.Weights = "" // known by its hash
	err = m.thread.Do(func() error {
		m.network = network.New(b, &m.Config, &p, d)
		m.network.Store.Build(b, m.Config.Seed)
		began, err := warmstart.Load(m.network, &m.Config, &p)
		notes = began.Notes
		return err
	})
	if err != nil {
		return nil, nil, errors.Join(err, m.Close())
	}
	return m, notes, nil
}
