package input

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"hgld/internal/crash"
	"hgld/internal/img"
	"hgld/labels"
	"hgld/train/sample"
)

// Loader reads, decodes, augments and batches images, a few batches ahead of the consumer. The
// content of a batch depends only on the plan and the seed. Reads, workers and prefetch change only
// the time. At most Reads + Workers encoded images are in memory.
type Loader struct {
	Data     Dataset       // images or vectors
	Labels   []labels.Path // of every item, as the batches hold them: all of one length
	Size     int           // rows of a batch
	First    int           // first row of a batch that is loaded; the others are those of other processes
	Part     int           // how many rows are loaded; 0: all
	In       Settings      // how an image becomes an input
	Filter   img.Filter    // In.Filter
	Decoder  *img.Decoder  // of images
	Training bool          // use training crops instead of the centre
	Seed     uint64        // of the augmentation
	Reads    int           // images read at the same time, ahead of the workers; 0: DefaultReads
	Workers  int           // goroutines that decode
	Prefetch int           // batches decoded ahead
	Width    int           // width of the vectors; 0: the data are images

	// Packs says that the device resamples the images.
	Packs bool

	// Send uploads the images or vectors of a batch to one of DeviceSlots places on the device, while
	// it computes with another. nil: Arrays.Upload brings them to the device.
	Send func(place int, from *Batch)

	// Skip is called for an image that cannot be used, concurrently. If it returns true, the
	// image is replaced by black pixels. nil: the batch fails.
	Skip func(row int, err *ImageError) bool
}

// DefaultReads is enough for the queue of a hard disk, and for a store that answers after 30 ms to give 1,000 images/s.
const DefaultReads = 32

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

// Work is one batch to load: its rows, and the random numbers of its augmentation.
type Work struct {
	Epoch int   // from 0
	Index int   // of the batch in its epoch, from 0
	Rows  []int // items of the data set
	Last  bool  // the last batch of its epoch
}

// Batch is the input of a step. Rows beyond len(Rows) are padding: black pixels with labels −1.
// No loss sees them, but batch statistics do. A loader of a part of the rows leaves out the images of
// the others. Labels are those of all rows.
type Batch struct {
	Work
	Pixels []byte  // [part, H, W, 3]; empty if packed is set
	packed *packed // images for the device to resample; nil: none
	sent   bool    // the images are on the device, in place
	place  int
	Crop   []int32 // [part, 3]: top, left, flip
	Labels []int32 // [size, columns of Loader.Labels]

	missing  sync.WaitGroup // rows that are still missing
	mu       sync.Mutex
	err      error // of the first row that has one
	failedAt int   // that row
}

// fail records the error of a row. Images come in any order, but the same error is reported each time.
func (b *Batch) fail(at int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil || at < b.failedAt {
		b.err, b.failedAt = err, at
	}
}

// Clone copies a batch, which then stays valid.
func (b *Batch) Clone() *Batch {
	c := &Batch{Work: b.Work, Pixels: slices.Clone(b.Pixels), Crop: slices.Clone(b.Crop), Labels: slices.Clone(b.Labels)}
	if p := b.packed; p != nil {
		c.packed = &packed{packing: p.packing, pixels: slices.Clone(p.pixels), taps: slices.Clone(p.taps),
			images: slices.Clone(p.images), used: p.used, words: p.words}
	}
	return c
}

type slot struct {
	b  *Batch
	at int // among the rows that are loaded
}

// Batches yields the batches of a plan in order. A batch is valid until the next one is
// requested. It yields nothing after an error.
func (l *Loader) Batches(ctx context.Context, plan iter.Seq2[Work, error]) iter.Seq2[*Batch, error] {
	return l.timed(ctx, plan, new(times))
}

// timed is Batches. It adds what the parts of the work take to the given times.
func (l *Loader) timed(ctx context.Context, plan iter.Seq2[Work, error], took *times) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var workers sync.WaitGroup
		defer workers.Wait()
		defer cancel()
		free := make(chan *Batch, l.Prefetch+1)
		for range l.Prefetch + 1 {
			free <- l.NewBatch()
		}
		queue := make(chan *Batch, l.Prefetch+1) // in the order of the plan
		p := l.newPipeline(took)
		workers.Go(func() {
			defer crash.Guard()
			l.schedule(ctx, plan, free, queue, p.slots)
		})
		workers.Go(func() {
			defer crash.Guard()
			p.run(ctx)
		})
		ready, places := make(chan *Batch), make(chan int, DeviceSlots)
		for i := range DeviceSlots {
			places <- i
		}
		workers.Go(func() {
			defer crash.Guard()
			l.complete(ctx, queue, ready, places)
		})
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

// NewBatch returns the memory of a batch.
func (l *Loader) NewBatch() *Batch {
	columns := len(l.Data.Levels())
	if len(l.Labels) > 0 {
		columns = len(l.Labels[0])
	}
	b := &Batch{Crop: make([]int32, l.rows()*3), Labels: make([]int32, l.Size*columns)}
	if l.Packs {
		b.packed = newPacked(l.rows(), l.In.Size)
	} else {
		b.Pixels = make([]byte, l.rows()*RowBytes(l.Width, l.In.Size))
	}
	return b
}

// rows returns how many rows of a batch are loaded.
func (l *Loader) rows() int { return cmp.Or(l.Part, l.Size) }

// own returns how many of the first n rows of a batch are loaded.
func (l *Loader) own(n int) int { return min(max(n-l.First, 0), l.rows()) }

// Bytes returns the host memory that a batch takes.
func (b *Batch) Bytes() int {
	n := len(b.Pixels) + 4*len(b.Crop) + 4*len(b.Labels)
	if b.packed != nil {
		n += b.packed.size()
	}
	return n
}

// schedule hands out the rows of the batches, one batch after another.
func (l *Loader) schedule(ctx context.Context, plan iter.Seq2[Work, error], free, queue chan *Batch,
	slots chan<- slot) {
	defer close(queue)
	defer close(slots)
	for w, err := range plan {
		var b *Batch
		select {
		case b = <-free:
		case <-ctx.Done():
			return
		}
		b.Work, b.err = w, err
		if len(w.Rows) > l.Size {
			b.err = fmt.Errorf("train: a batch of %d rows, want at most %d", len(w.Rows), l.Size)
		}
		if b.err != nil {
			queue <- b
			return
		}
		l.pad(b)
		for at, row := range w.Rows {
			path := l.Labels[row]
			copy(b.Labels[at*len(path):], path)
		}
		own := l.own(len(w.Rows))
		b.missing.Add(own)
		queue <- b // never blocks: there is room for every batch
		for at := range own {
			select {
			case slots <- slot{b, at}:
			case <-ctx.Done():
				b.missing.Add(at - own)
				return
			}
		}
	}
}

// DeviceSlots is how many batches of images the device holds: the one of the step, and the next.
const DeviceSlots = 2

// complete passes on a batch when all its rows are loaded and, if the device has room for them, uploaded.
func (l *Loader) complete(ctx context.Context, queue <-chan *Batch, ready chan<- *Batch, places <-chan int) {
	defer close(ready)
	for b := range queue {
		b.missing.Wait()
		if b.sent = l.Send != nil && b.err == nil; b.sent {
			select {
			case b.place = <-places:
			case <-ctx.Done():
				return
			}
			l.Send(b.place, b)
		}
		select {
		case ready <- b:
		case <-ctx.Done():
			return
		}
	}
}

// pad marks everything after the rows of a short batch as absent.
func (l *Loader) pad(b *Batch) {
	own := l.own(len(b.Rows))
	if b.packed != nil {
		b.packed.clear()
	}
	clear(b.Pixels[own*len(b.Pixels)/l.rows():])
	clear(b.Crop[own*3:])
	for i := len(b.Rows) * len(b.Labels) / l.Size; i < len(b.Labels); i++ {
		b.Labels[i] = -1
	}
}

// row returns the item of a slot, and its place in the whole batch.
func (l *Loader) row(p slot) (row, at int) {
	at = l.First + p.at
	return p.b.Rows[at], at
}

// put decodes an image, or takes a vector, and puts it into its place. Its random numbers depend on the
// place in the whole batch, so that they do not depend on the number of processes.
func (l *Loader) put(ctx context.Context, w *worker, e encoded, took *times) error {
	row, at := l.row(e.slot)
	if l.Width > 0 {
		bytes := RowBytes(l.Width, 0)
		return vectorOf(l.Data, e.b.Pixels[e.at*bytes:][:bytes], row)
	}
	if w.training = l.Training; l.Training {
		w.random.Start(l.Seed, augmentStream, uint64(e.b.Epoch), uint64(e.b.Index), uint64(at))
	}
	began := time.Now()
	if e.failed == nil {
		e.failed = l.decode(w, e.file, row)
		began = sinceAt(&took.decoding, began)
	}
	if e.failed != nil {
		if l.Skip == nil || ctx.Err() != nil || !l.Skip(row, e.failed) {
			return e.failed
		}
		if e.b.packed == nil {
			clear(l.pixels(e.b, e.at))
		}
		return nil
	}
	l.cut(w, e.slot)
	sinceAt(&took.cutting, began)
	return nil
}

// decode decodes what the view of an image reads.
func (l *Loader) decode(w *worker, file []byte, row int) *ImageError {
	w.box = Box(l.Data, row)
	err := l.Decoder.DecodePart(&w.image, file, w.place)
	if err == nil {
		err = w.outside
	}
	if err != nil {
		return &ImageError{ID: l.Data.ID(row), Decoding: true, Err: err}
	}
	return nil
}

// cut puts the view of a decoded image into its place.
func (l *Loader) cut(w *worker, p slot) {
	b := p.b
	b.Crop[3*p.at+2] = 0
	if w.seen.flip {
		b.Crop[3*p.at+2] = 1
	}
	if b.packed != nil {
		w.pack(b.packed, p.at)
	} else {
		w.finish(l.pixels(b, p.at))
	}
}

// pixels returns the memory of an image of a batch.
func (l *Loader) pixels(b *Batch, at int) []byte {
	n := len(b.Pixels) / l.rows()
	return b.Pixels[at*n:][:n]
}

// MostDecoded bounds the bytes of images that a run decodes ahead. A greater value is taken for a
// typing error.
const MostDecoded = 64 << 30

// Position is the next batch of a run in the sampler's stream.
type Position struct {
	Epoch int `json:"epoch"` // from 0
	Batch int `json:"batch"` // from 0, within the epoch
}

// Epochs is the plan of a training: the batches of all epochs in order, starting at at.
func Epochs(s sample.Sampler, paths []labels.Path, seed uint64, at Position) iter.Seq2[Work, error] {
	return func(yield func(Work, error) bool) {
		for epoch := at.Epoch; ; epoch++ {
			list, err := s.Epoch(paths, seed, epoch)
			if err != nil {
				yield(Work{}, err)
				return
			}
			first := 0
			if epoch == at.Epoch {
				first = at.Batch
			}
			for i := first; i < len(list); i++ {
				if !yield(Work{Epoch: epoch, Index: i, Rows: list[i], Last: i == len(list)-1}, nil) {
					return
				}
			}
		}
	}
}

// RepeatFirst yields the first batch of a plan forever.
func RepeatFirst(plan iter.Seq2[Work, error]) iter.Seq2[Work, error] {
	return func(yield func(Work, error) bool) {
		for w, err := range plan {
			w.Last = false
			for yield(w, err) && err == nil {
			}
			return
		}
	}
}

// InOrder is the plan of an evaluation: all rows in order, size at a time.
func InOrder(n, size int) iter.Seq2[Work, error] {
	return func(yield func(Work, error) bool) {
		for lo := 0; lo < n; lo += size {
			rows := make([]int, min(size, n-lo))
			for i := range rows {
				rows[i] = lo + i
			}
			if !yield(Work{Index: lo / size, Rows: rows, Last: lo+size >= n}, nil) {
				return
			}
		}
	}
}
