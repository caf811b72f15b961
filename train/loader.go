package train

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"hgld/internal/img"
	"hgld/labels"
	"hgld/train/sample"
)

// loader decodes, augments and batches images with several workers, a few batches ahead of the
// reader. The content of a batch depends only on the plan and the seed. Workers and prefetch
// change only the time.
type loader struct {
	data     Dataset
	labels   []labels.Path // of every item, as the batches hold them
	size     int           // rows of a batch
	in       Input
	filter   filter
	decoder  *img.Decoder
	training bool // use training crops instead of the centre
	seed     uint64
	workers  int
	prefetch int
	width    int // width of the vectors; 0: the data are images

	// packs says that the device resamples the images. send uploads the images of a batch to one
	// of deviceSlots places on the device, while it computes with another.
	packs bool
	send  func(place int, images *packed)

	// skip is called for an image that cannot be used, concurrently. If it returns true, the
	// image is replaced by black pixels. nil: the batch fails.
	skip func(row int, err *ImageError) bool
}

// ImageError is an image that cannot be used.
type ImageError struct {
	ID string // of the image

	// Decoding reports that the file was read but no decoder accepts it. Otherwise Err comes from
	// the data set.
	Decoding bool

	Err error // what is wrong
}

// Error names the image.
func (e *ImageError) Error() string { return fmt.Sprintf("train: image %s: %v", e.ID, e.Err) }

// Unwrap returns Err.
func (e *ImageError) Unwrap() error { return e.Err }

// work is one batch to load: its rows, and the random numbers of its augmentation.
type work struct {
	epoch, index int
	rows         []int
	last         bool // the last batch of its epoch
}

// batch is the input of a step. Rows beyond len(rows) are padding: black pixels with labels −1.
// No loss sees them, but batch statistics do.
type batch struct {
	work
	pixels []byte  // [size, H, W, 3]; empty if packed is set
	packed *packed // images for the device to resample; nil: none
	sent   bool    // packed is on the device, in place
	place  int
	crop   []int32 // [size, 3]: top, left, flip
	labels []int32 // [size, L]

	missing sync.WaitGroup // rows that are still missing
	mu      sync.Mutex
	err     error // the first error
}

type slot struct {
	b  *batch
	at int
}

// batches yields the batches of a plan in order. A batch is valid until the next one is
// requested. It yields nothing after an error.
func (l *loader) batches(ctx context.Context, plan iter.Seq2[work, error]) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var workers sync.WaitGroup
		defer workers.Wait()
		defer cancel()
		free := make(chan *batch, l.prefetch+1)
		for range l.prefetch + 1 {
			free <- l.newBatch()
		}
		queue := make(chan *batch, l.prefetch+1) // in the order of the plan
		slots := make(chan slot)
		workers.Go(func() { l.schedule(ctx, plan, free, queue, slots) })
		for range l.workers {
			workers.Go(func() { l.fill(ctx, slots) })
		}
		ready, places := make(chan *batch), make(chan int, deviceSlots)
		for i := range deviceSlots {
			places <- i
		}
		workers.Go(func() { l.complete(ctx, queue, ready, places) })
		for b := range ready {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if b.err != nil {
				yield(nil, b.err)
				return
			}
			if !yield(b, nil) {
				return
			}
			if b.sent {
				places <- b.place
			}
			free <- b
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
		}
	}
}

func (l *loader) newBatch() *batch {
	levels := len(l.data.Levels())
	b := &batch{crop: make([]int32, l.size*3), labels: make([]int32, l.size*levels)}
	if l.packs {
		b.packed = newPacked(l.size, l.in.Size)
	} else {
		b.pixels = make([]byte, l.size*rowBytes(l.width, l.in.Size))
	}
	return b
}

// bytes returns the host memory that a batch takes.
func (b *batch) bytes() int {
	n := len(b.pixels) + 4*len(b.crop) + 4*len(b.labels)
	if b.packed != nil {
		n += b.packed.size()
	}
	return n
}

// schedule hands out the rows of the batches, one batch after another.
func (l *loader) schedule(ctx context.Context, plan iter.Seq2[work, error], free, queue chan *batch,
	slots chan<- slot) {
	defer close(queue)
	defer close(slots)
	for w, err := range plan {
		var b *batch
		select {
		case b = <-free:
		case <-ctx.Done():
			return
		}
		b.work, b.err = w, err
		if len(w.rows) > l.size {
			b.err = fmt.Errorf("train: a batch of %d rows, want at most %d", len(w.rows), l.size)
		}
		if b.err != nil {
			queue <- b
			return
		}
		l.pad(b)
		b.missing.Add(len(w.rows))
		queue <- b // never blocks: there is room for every batch
		for at := range w.rows {
			select {
			case slots <- slot{b, at}:
			case <-ctx.Done():
				b.missing.Add(at - len(w.rows))
				return
			}
		}
	}
}

// deviceSlots is how many batches of images the device holds: the one of the step, and the next.
const deviceSlots = 2

// complete passes on a batch when all its rows are loaded and, if the device resamples, uploaded.
func (l *loader) complete(ctx context.Context, queue <-chan *batch, ready chan<- *batch, places <-chan int) {
	defer close(ready)
	for b := range queue {
		b.missing.Wait()
		if b.sent = b.packed != nil && l.send != nil && b.err == nil; b.sent {
			select {
			case b.place = <-places:
			case <-ctx.Done():
				return
			}
			l.send(b.place, b.packed)
		}
		select {
		case ready <- b:
		case <-ctx.Done():
			return
		}
	}
}

// pad marks everything after the rows of a short batch as absent.
func (l *loader) pad(b *batch) {
	n := len(b.rows)
	if b.packed != nil {
		b.packed.clear()
	}
	clear(b.pixels[n*len(b.pixels)/l.size:])
	clear(b.crop[n*3:])
	for i := n * len(b.labels) / l.size; i < len(b.labels); i++ {
		b.labels[i] = -1
	}
}

// fill is the loop of a worker.
func (l *loader) fill(ctx context.Context, slots <-chan slot) {
	c := cutter{in: l.in, filter: l.filter, crop: cropOf(l.in)}
	for p := range slots {
		if err := l.load(ctx, &c, p); err != nil {
			p.b.mu.Lock()
			if p.b.err == nil {
				p.b.err = err
			}
			p.b.mu.Unlock()
		}
		p.b.missing.Done()
	}
}

// load puts one image or vector into its place.
func (l *loader) load(ctx context.Context, c *cutter, p slot) error {
	b, row := p.b, p.b.rows[p.at]
	path := l.labels[row]
	copy(b.labels[p.at*len(path):], path)
	if l.width > 0 {
		bytes := rowBytes(l.width, 0)
		return vectorOf(l.data, b.pixels[p.at*bytes:][:bytes], row)
	}
	decoded, failed := l.decode(ctx, row)
	if failed != nil {
		if l.skip == nil || ctx.Err() != nil || !l.skip(row, failed) {
			return failed
		}
		if b.packed == nil {
			clear(b.pixels[p.at*len(b.pixels)/l.size:][:len(b.pixels)/l.size])
		}
		return nil
	}
	at, flip := c.centre(decoded.W, decoded.H), false
	var random *sample.Random
	if l.training {
		random = sample.NewRandom(l.seed, augmentStream, uint64(b.epoch), uint64(b.index), uint64(p.at))
		at, flip = c.place(decoded.W, decoded.H, random)
	}
	b.crop[3*p.at+2] = 0
	if flip {
		b.crop[3*p.at+2] = 1
	}
	if b.packed != nil && b.packed.add(p.at, decoded, at, c) {
		return nil
	}
	var cut img.RGB
	c.cut(&cut, decoded, at)
	if l.training {
		c.distort(&cut, random)
	}
	if b.packed != nil {
		b.packed.finish(p.at, cut.Pix)
		return nil
	}
	copy(b.pixels[p.at*len(cut.Pix):], cut.Pix)
	return nil
}

// decode reads and decodes an image.
func (l *loader) decode(ctx context.Context, row int) (*img.RGB, *ImageError) {
	data, err := l.data.Image(ctx, row)
	if err != nil {
		return nil, &ImageError{ID: l.data.ID(row), Err: err}
	}
	decoded, err := l.decoder.Decode(data)
	if err != nil {
		return nil, &ImageError{ID: l.data.ID(row), Decoding: true, Err: err}
	}
	return decoded, nil
}

// cropOf returns the training crop of a checked configuration.
func cropOf(in Input) cropFunc {
	crop, err := cropTable.Get("crop", in.Crop)
	if err != nil {
		panic(err)
	}
	return crop
}

// position is the next batch of a run in the sampler's stream.
type position struct {
	Epoch int `json:"epoch"` // from 0
	Batch int `json:"batch"` // from 0, within the epoch
}

// epochs is the plan of a training: the batches of all epochs in order, starting at at.
func epochs(s sample.Sampler, paths []labels.Path, seed uint64, at position) iter.Seq2[work, error] {
	return func(yield func(work, error) bool) {
		for epoch := at.Epoch; ; epoch++ {
			list, err := s.Epoch(paths, seed, epoch)
			if err != nil {
				yield(work{}, err)
				return
			}
			first := 0
			if epoch == at.Epoch {
				first = at.Batch
			}
			for i := first; i < len(list); i++ {
				if !yield(work{epoch: epoch, index: i, rows: list[i], last: i == len(list)-1}, nil) {
					return
				}
			}
		}
	}
}

// repeatFirst yields the first batch of a plan forever.
func repeatFirst(plan iter.Seq2[work, error]) iter.Seq2[work, error] {
	return func(yield func(work, error) bool) {
		for w, err := range plan {
			w.last = false
			for yield(w, err) && err == nil {
			}
			return
		}
	}
}

// inOrder is the plan of an evaluation: all rows in order, size at a time.
func inOrder(n, size int) iter.Seq2[work, error] {
	return func(yield func(work, error) bool) {
		for lo := 0; lo < n; lo += size {
			rows := make([]int, min(size, n-lo))
			for i := range rows {
				rows[i] = lo + i
			}
			if !yield(work{index: lo / size, rows: rows, last: lo+size >= n}, nil) {
				return
			}
		}
	}
}
