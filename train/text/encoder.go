package text

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"hgld/internal/crash"
	"hgld/train/device"
	"hgld/train/tensor"
)

// batchTokens is how many tokens are computed at once. It is large enough to share the products
// of a layer among threads and to read the weights seldom, and small enough to keep intermediate
// results (13 MB in ViT-L/14) in cache. Measured from 256 to 2,048, the speed stops rising at
// 1,024.
const batchTokens = 1024

// tokenizers is the version of BPE and WordPiece. It is part of the names of encoders, and
// changes whenever their ids change.
const tokenizers = 2

// encoder is a text tower with its tokenizer, shared by CLIP and BERT.
type encoder struct {
	name   string
	b      device.Backend
	arena  *device.Arena
	net    network
	tokens func() func(text string) []int32 // returns a tokenizer for one goroutine
	watch  func(done int)
}

// network turns token ids into vectors of unit length.
type network interface {
	// compare orders texts so that those computed together are adjacent. batch returns how many
	// of the ordered texts to compute next.
	compare(a, b job) int
	batch(jobs []job) int
	// forward computes a batch: [N,D]. It shows the result of each layer.
	forward(p *pass, jobs []job) device.Array
}

// Name returns a string that contains everything that affects the vectors.
func (e *encoder) Name() string { return e.name }

// Watch makes Encode report the number of finished texts.
func (e *encoder) Watch(done func(int)) { e.watch = done }

// job is a distinct text to encode.
type job struct {
	ids  []int32
	rows []int // rows of the result that need it
}

// Encode computes a vector of unit length for each text, on all threads of the device. Nothing is
// padded, and the vector of a text does not depend on the other texts. With an error it returns
// no vectors.
func (e *encoder) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	jobs := e.jobs(texts)
	out := make([][]float32, len(texts))
	done := 0
	err := device.Do(e.b, func() error {
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

// jobs tokenizes the distinct texts on all processors and orders them.
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
	const span = 64
	var group sync.WaitGroup
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), (len(jobs)+span-1)/span) {
		group.Go(func() {
			defer crash.Guard()
			tokenize := e.tokens()
			for lo := int(next.Add(span)) - span; lo < len(jobs); lo = int(next.Add(span)) - span {
				for i := lo; i < min(lo+span, len(jobs)); i++ {
					jobs[i].ids = tokenize(distinct[i])
				}
			}
		})
	}
	group.Wait()
	slices.SortStableFunc(jobs, e.net.compare)
	return jobs
}

// run computes a batch.
func (e *encoder) run(jobs []job) (*tensor.Tensor, error) {
	p := &pass{b: e.b, arena: e.arena}
	defer p.end()
	return tensor.FromDevice(e.b, e.net.forward(p, jobs))
}
