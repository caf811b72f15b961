package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hgld/internal/filehash"
	"hgld/internal/img"
	"hgld/train/device"
	"hgld/train/input"
)

// Published is a network with the weights that were published for it, without a training: its architecture
// and the preprocessing of its images.
type Published struct {
	Input input.Settings `json:"input"` // images
	Model Architecture   `json:"model"` // network, without the path of its weights
}

// PublishedDefault returns the settings of a network whose embedding is what its library calls the features
// of an image: of a ResNet the average of its last layer, of a transformer its vector. It computes in float32.
func PublishedDefault() Config {
	c := Default()
	c.Model.Pooling, c.Model.Standard, c.Model.Dim, c.Model.Precision = "", "none", 0, precisionFloat32
	return c
}

// Complete sets the pooling that the backbone needs if none is set.
func (c *Config) Complete() error {
	spec, err := pick(c.backbones(), "backbone", "model.backbone", c.Model.Backbone)
	if err != nil {
		return &ConfigError{err}
	}
	if c.Model.Pooling == "" {
		c.Model.Pooling = "avg"
		if spec.Facts().Vector {
			c.Model.Pooling = "none"
		}
	}
	return nil
}

// OpenPublished loads a network with the weights of c.Model.Weights, which names a file. notes say what
// was chosen of it. Call Close when done with the backend.
func OpenPublished(ctx context.Context, c Config, b device.Backend, d *img.Decoder) (m *Model, notes []string,
	err error) {
	p, err := c.resolve()
	if err != nil {
		return nil, nil, err
	}
	m = &Model{Config: c, Path: c.Model.Weights, state: state{Config: c}, thread: device.NewThread(b),
		Published: &Published{c.Input, c.Model}}
	if m.sum, _, err = filehash.SHA256(ctx, m.Path); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("train: model.weights: %w", err), m.Close())
	}
	m.Published.Model.Weights = "" // known by its hash
	err = m.thread.Do(func() error {
		m.network = newNetwork(b, &m.Config, &p, d)
		m.network.store.Build(b, m.Config.Seed)
		began, err := m.network.warmStart(&m.Config, &p)
		notes = began.notes
		return err
	})
	if err != nil {
		return nil, nil, errors.Join(err, m.Close())
	}
	return m, notes, nil
}

// Text returns the settings in JSON, to compare and to hash.
func (p *Published) Text() string {
	if p == nil {
		return ""
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // of texts and finite numbers
	}
	return string(text)
}
