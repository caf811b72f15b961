package text

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
	"hgld/train/tensor"
)

// batchTokens is how many tokens are computed at once: enough for the matrix
// products of a layer to be efficient, and so few that what lies between two of
// them (6 MB in ViT-L/14) stays near the processor.
const batchTokens = 512

// tokenizers is the version of BPE and WordPiece: it stands in the names of
// encoders and changes with the ids that these give.
const tokenizers = 1

// encoder is a text tower with its tokenizer: what CLIP and BERT share.
type encoder struct {
	name   string
	b      device.Backend
	arena  *device.Arena
	net    network
	tokens func() func(text string) []int32 // a tokenizer for one goroutine
	watch  func(done int)
}

// network is what turns token ids into vectors of unit length.
type network interface {
	// compare orders texts so that those that are well computed together are
	// neighbours, and batch is how many of ordered ones are computed next.
	compare(a, b job) int
	batch(jobs []job) int
	// forward computes a batch: [N,D]. It shows what each layer gives.
	forward(p *pass, jobs []job) *grad.Var
}

// pass is one batch on its way through a network.
type pass struct {
	*grad.Tape
	show func(x *grad.Var) // or nil
}

// index uploads indices, which live as long as the pass.
func (p *pass) index(values []int32, dims ...int) device.Array {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.NativeEndian.AppendUint32(data, uint32(v))
	}
	x := p.New(device.I32, dims...)
	p.Keep(x)
	p.Backend().Upload(x.Value, data)
	return x.Value
}

// then is layer(x), after which x is not needed.
func (p *pass) then(x *grad.Var, layer nn.Layer) *grad.Var {
	y := layer(p.Tape, x)
	p.Done(x)
	if p.show != nil {
		p.show(y)
	}
	return y
}

// Name gives everything that changes the vectors.
func (e *encoder) Name() string { return e.name }

// Watch makes Encode tell how many texts are done.
func (e *encoder) Watch(done func(int)) { e.watch = done }

// job is a text to encode, of those that are equal the first.
type job struct {
	ids  []int32
	rows []int // of the result
}

// Encode computes a row of unit length for each text, on as many threads as the
// device has. Nothing is padded, and a text's vector does not depend on the others.
// On an error there are no vectors.
func (e *encoder) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	jobs := e.jobs(texts)
	out := make([][]float32, len(texts))
	done := 0
	err := device.Do(e.b, func() error {
		defer e.arena.Trim()
		for len(jobs) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := e.net.batch(jobs)
			y, err := e.run(jobs[:n])
			if err != nil {
				return err
			}
			for i, j := range jobs[:n] {
				for _, row := range j.rows {
					out[row] = y.Row(i)
					done++
				}
			}
			if jobs = jobs[n:]; e.watch != nil {
				e.watch(done)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	return out, nil
}

// jobs tokenizes the texts that differ, on all processors, and orders them.
func (e *encoder) jobs(texts []string) []job {
	var distinct []string
	var jobs []job
	at := map[string]int{}
	for row, t := range texts {
		i, seen := at[t]
		if !seen {
			i = len(jobs)
			at[t] = i
			distinct, jobs = append(distinct, t), append(jobs, job{})
		}
		jobs[i].rows = append(jobs[i].rows, row)
	}
	const span = 512
	var group sync.WaitGroup
	for lo := 0; lo < len(jobs); lo += span {
		group.Go(func() {
			tokenize := e.tokens()
			for i := lo; i < min(lo+span, len(jobs)); i++ {
				jobs[i].ids = tokenize(distinct[i])
			}
		})
	}
	group.Wait()
	slices.SortStableFunc(jobs, e.net.compare)
	return jobs
}

// run computes a batch.
func (e *encoder) run(jobs []job) (*tensor.Tensor, error) {
	p := &pass{Tape: grad.NewTape(e.b, e.arena).Evaluate()}
	defer p.Free()
	return tensor.FromDevice(e.b, e.net.forward(p, jobs).Value)
}

// unit divides rows by their lengths. A row shorter than 1e-12, torch's ε, stays
// shorter than 1.
func unit(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Normalize(t, x, 1e-12) }
