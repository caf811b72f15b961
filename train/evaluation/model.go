// Package evaluation opens a trained or published network, embeds data sets with it and measures retrieval: on the
// items of a data set, on benchmarks of one level, and on benchmarks of landmarks.
package evaluation

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"hgld/internal/img"
	"hgld/internal/tensorfile"
	"hgld/internal/terminal"
	"hgld/labels"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/input"
	"hgld/train/network"
	"hgld/train/retrieval"
	"hgld/train/warmstart"
)

// Model is a trained network ready to embed images.
type Model struct {
	Config config.Config // configuration of the checkpoint
	Step   int           // training steps
	Path   string        // checkpoint, or file of published weights

	Threads int // of the CPU, that rank; 0: one for each processor

	Published *config.Published // nil: a run trained it

	state   checkpoint.State
	network *network.Network
	thread  *device.Thread
	sum     string // SHA-256 of published weights
}

// New is the model of a network that is in training. The caller closes thread.
func New(c config.Config, step int, n *network.Network, thread *device.Thread) *Model {
	return &Model{Config: c, Step: step, network: n, thread: thread}
}

// TrainedOn reports whether a data set and extra parents of its classes are exactly the images, labels and extra
// parents that the model was trained on.
func (m *Model) TrainedOn(d input.Dataset, parents []labels.ExtraParent) (bool, error) {
	list, err := input.Paths(d)
	if err != nil {
		return false, err
	}
	known := m.state.Pixels == "" || m.state.Pixels == input.Pixels(d)
	return known && m.state.Data == input.FingerprintOf(d, list) && m.state.ExtraParents == ExtraParentsPrint(parents), nil
}

// WeightsSum returns the SHA-256 of the file with the weights, in hexadecimal.
func (m *Model) WeightsSum() (string, error) {
	if m.Published != nil {
		return m.sum, nil
	}
	return checkpoint.WeightsSum(m.Path, &m.state)
}

// Open loads the network of a run directory from its newest checkpoint, or of a checkpoint
// folder. If untrained is set, the network has the weights that the run started from: the
// baseline of its training. Call Close when done with the backend.
func Open(path string, b device.Backend, d *img.Decoder, untrained bool) (*Model, error) {
	folder, s, err := checkpoint.Find(path)
	if err != nil {
		return nil, err
	}
	p, err := s.Config.Resolve()
	if err != nil {
		return nil, err
	}
	m := &Model{Config: s.Config, Step: s.Step, Path: folder, state: s, thread: device.NewThread(b)}
	err = m.thread.Do(func() error {
		m.network = network.New(b, &m.Config, &p, d)
		m.network.Store.Build(b, m.Config.Seed)
		if !untrained {
			return m.load()
		}
		m.Step = 0
		if _, err := warmstart.Load(m.network, &m.Config, &p); err != nil {
			return err
		}
		return m.startProjection()
	})
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// load fills the network from its checkpoint, with the averaged weights if there are any. It
// skips the tensors of the loss.
func (m *Model) load() error {
	name := checkpoint.WeightsFile(&m.Config)
	tensors, err := checkpoint.ReadTensors(m.Path, name)
	if err != nil {
		return err
	}
	if err := load(m.network, tensors); err != nil {
		return fmt.Errorf("train: %s: %w", filepath.Join(m.Path, name), err)
	}
	return nil
}

// Close ends the goroutine that uses the backend.
func (m *Model) Close() error { return m.thread.Close() }

// RanksError says that processes that are to evaluate together were given different things.
type RanksError struct {
	Ranks []int // those that differ from rank 0
}

// Error names the ranks.
func (e *RanksError) Error() string {
	return fmt.Sprintf("the processes cannot evaluate together: the model, the images or the measures of %s "+
		"differ from those of rank 0", terminal.Numbered("rank", e.Ranks))
}

// Agree returns a *RanksError if the processes that evaluate together do not all say the same of what they evaluate.
func (m *Model) Agree(own []byte) error {
	if m.network.Ranks == nil {
		return nil
	}
	return m.thread.Do(func() error {
		differ, err := m.network.Ranks.Differ(own)
		if len(differ) > 0 {
			err = &RanksError{differ}
		}
		return err
	})
}

// Evaluate embeds query and gallery and measures retrieval. Without a gallery the queries rank
// each other, and each is left out of its own ranking. e says what to measure; its sides, levels
// and threads are those of the data and the model. Progress counts embedded items instead of
// queries.
func (m *Model) Evaluate(ctx context.Context, query, gallery input.Dataset, e retrieval.Evaluation) (*retrieval.Result,
	error) {
	o := network.EmbedOptions{
		Thread: m.thread, Reads: m.Config.Run.Reads, Workers: m.Config.Run.Workers, Prefetch: m.Config.Run.Prefetch,
		Progress: e.Progress,
	}
	e.Levels, e.Threads, e.Progress = query.Levels(), m.Threads, nil
	if ranks := m.network.Ranks; ranks != nil {
		e.Ranks = ranks
	}
	var err error
	if e.Query, err = m.network.Side(ctx, query, o); err != nil {
		return nil, err
	}
	defer m.free(e.Query)
	if gallery == nil {
		e.Gallery = e.Query
		e.Self = retrieval.OwnRows(query.Len())
	} else {
		if e.Gallery, err = m.network.Side(ctx, gallery, o); err != nil {
			return nil, err
		}
		defer m.free(e.Gallery)
	}
	return retrieval.EvaluateOn(ctx, m.network.Backend, m.thread, &e)
}

func (m *Model) free(s retrieval.Side) {
	m.thread.Do(func() error {
		m.network.Backend.Free(s.Vectors.Buf)
		return nil
	})
}

// Embed returns the embeddings of a data set, one row per item.
func (m *Model) Embed(ctx context.Context, d input.Dataset, progress func(done, total int)) (tensorfile.Tensor, error) {
	return m.embed(ctx, d, network.EmbedOptions{Progress: progress})
}

func (m *Model) embed(ctx context.Context, d input.Dataset, o network.EmbedOptions) (tensorfile.Tensor, error) {
	o.Thread = m.thread
	o.Reads, o.Workers, o.Prefetch = m.Config.Run.Reads, m.Config.Run.Workers, m.Config.Run.Prefetch
	s, err := m.network.Side(ctx, d, o)
	if err != nil {
		return tensorfile.Tensor{}, err
	}
	defer m.free(s)
	t := tensorfile.Tensor{Name: "embeddings", DType: "F32", Shape: s.Vectors.Shape()}
	t.Data = make([]byte, 4*s.Vectors.Len())
	err = m.thread.Do(func() error { return m.network.Backend.Wait(m.network.Backend.Download(t.Data, s.Vectors)) })
	return t, err
}

// Weights returns the tensors of the network without those of the loss and the optimizer, under
// the names of checkpoints: torchvision's or timm's after "backbone.", then pooling and fc.
func (m *Model) Weights() ([]tensorfile.Tensor, error) {
	var tensors []tensorfile.Tensor
	err := m.thread.Do(func() (err error) {
		tensors, err = m.network.Store.Export(m.network.Backend)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("train: %s: %w", m.Path, err)
	}
	return tensors, nil
}

// load fills the network from a file of tensors.
func load(n *network.Network, tensors []tensorfile.Tensor) error {
	return n.Store.Import(n.Backend, checkpoint.OfNetwork(tensors), "")
}
