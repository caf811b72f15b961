package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hgld/internal/img"
	"hgld/internal/regular"
	"hgld/internal/tensorfile"
	"hgld/train/device"
	"hgld/train/input"
	"hgld/train/retrieval"
)

// Model is a trained network ready to embed images.
type Model struct {
	Config Config // configuration of the checkpoint
	Step   int    // training steps
	Path   string // checkpoint, or file of published weights

	Published *Published // nil: a run trained it

	state   state
	network *network
	thread  *device.Thread
	sum     string // SHA-256 of published weights
}

// TrainedOn reports whether d holds exactly the images, labels and further parents that the model was
// trained on.
func (m *Model) TrainedOn(d *Data) (bool, error) {
	list, err := input.Paths(d.Train)
	if err != nil {
		return false, err
	}
	known := m.state.Pixels == "" || m.state.Pixels == input.Pixels(d.Train)
	return known && m.state.Data == input.FingerprintOf(d.Train, list) && m.state.Further == d.furtherPrint(), nil
}

// WeightsSum returns the SHA-256 of the file with the weights, in hexadecimal.
func (m *Model) WeightsSum() (string, error) {
	if m.Published != nil {
		return m.sum, nil
	}
	return weightsSum(m.Path, &m.state)
}

// weightsSum returns the SHA-256 of the weights that an evaluation of a checkpoint uses.
func weightsSum(folder string, s *state) (string, error) {
	sums, err := regular.ReadFile(filepath.Join(folder, sumsFile))
	if err != nil {
		return "", fmt.Errorf("train: %w", err)
	}
	for line := range strings.Lines(string(sums)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && name == s.Config.evaluated() {
			return sum, nil
		}
	}
	return "", &DamagedError{filepath.Join(folder, sumsFile), "it does not name " + s.Config.evaluated()}
}

// Saved returns the folder of the checkpoint of the current step, and the SHA-256 of its weights.
// Both are empty if there is no such checkpoint.
func (r *Run) Saved() (folder, sum string, err error) {
	if r.o.Dir == "" || r.saved != r.state.Step {
		return "", "", nil
	}
	folder = filepath.Join(r.o.Dir, checkpointName(r.saved))
	sum, err = weightsSum(folder, &r.state)
	return folder, sum, err
}

// Open loads the network of a run directory from its newest checkpoint, or of a checkpoint
// folder. If untrained is set, the network has the weights that the run started from: the
// baseline of its training. Call Close when done with the backend.
func Open(path string, b device.Backend, d *img.Decoder, untrained bool) (*Model, error) {
	folder, s, err := checkpointIn(path)
	if err != nil {
		return nil, err
	}
	p, err := s.Config.resolve()
	if err != nil {
		return nil, err
	}
	m := &Model{Config: s.Config, Step: s.Step, Path: folder, state: s, thread: device.NewThread(b)}
	err = m.thread.Do(func() error {
		m.network = newNetwork(b, &m.Config, &p, d)
		m.network.store.Build(b, m.Config.Seed)
		if !untrained {
			return m.load()
		}
		m.Step = 0
		if _, err := m.network.warmStart(&m.Config, &p); err != nil {
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
	name := m.Config.evaluated()
	tensors, err := readTensors(m.Path, name)
	if err != nil {
		return err
	}
	if err := m.network.load(tensors); err != nil {
		return fmt.Errorf("train: %s: %w", filepath.Join(m.Path, name), err)
	}
	return nil
}

// Close ends the goroutine that uses the backend.
func (m *Model) Close() error { return m.thread.Close() }

// Evaluate embeds query and gallery and measures retrieval. Without a gallery the queries rank
// each other, and each is left out of its own ranking. e says what to measure; its sides, levels
// and threads are those of the data and the model. Progress counts embedded items instead of
// queries.
func (m *Model) Evaluate(ctx context.Context, query, gallery input.Dataset, e retrieval.Evaluation) (*retrieval.Result,
	error) {
	o := embedOptions{
		thread: m.thread, reads: m.Config.Run.Reads, workers: m.Config.Run.Workers, prefetch: m.Config.Run.Prefetch,
		progress: e.Progress,
	}
	e.Levels, e.Threads, e.Progress = query.Levels(), m.Config.Run.Threads, nil
	var err error
	if e.Query, err = m.network.side(ctx, query, o); err != nil {
		return nil, err
	}
	defer m.free(e.Query)
	if gallery == nil {
		e.Gallery = e.Query
		e.Self = make([]int32, query.Len())
		for i := range e.Self {
			e.Self[i] = int32(i)
		}
	} else {
		if e.Gallery, err = m.network.side(ctx, gallery, o); err != nil {
			return nil, err
		}
		defer m.free(e.Gallery)
	}
	return retrieval.EvaluateOn(ctx, m.network.b, m.thread, &e)
}

func (m *Model) free(s retrieval.Side) {
	m.thread.Do(func() error {
		m.network.b.Free(s.Vectors.Buf)
		return nil
	})
}

// Embed returns the embeddings of a data set, one row per item.
func (m *Model) Embed(ctx context.Context, d input.Dataset, progress func(done, total int)) (tensorfile.Tensor, error) {
	return m.embed(ctx, d, embedOptions{progress: progress})
}

func (m *Model) embed(ctx context.Context, d input.Dataset, o embedOptions) (tensorfile.Tensor, error) {
	o.thread = m.thread
	o.reads, o.workers, o.prefetch = m.Config.Run.Reads, m.Config.Run.Workers, m.Config.Run.Prefetch
	s, err := m.network.side(ctx, d, o)
	if err != nil {
		return tensorfile.Tensor{}, err
	}
	defer m.free(s)
	t := tensorfile.Tensor{Name: "embeddings", DType: "F32", Shape: s.Vectors.Shape()}
	t.Data = make([]byte, 4*s.Vectors.Len())
	err = m.thread.Do(func() error { return m.network.b.Wait(m.network.b.Download(t.Data, s.Vectors)) })
	return t, err
}

// Weights returns the tensors of the network without those of the loss and the optimizer, under
// the names of checkpoints: torchvision's or timm's after "backbone.", then pooling and fc.
func (m *Model) Weights() ([]tensorfile.Tensor, error) {
	var tensors []tensorfile.Tensor
	err := m.thread.Do(func() (err error) {
		tensors, err = m.network.store.Export(m.network.b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("train: %s: %w", m.Path, err)
	}
	return tensors, nil
}
