package input

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"hgld/internal/crash"
)

// The way of an image: schedule hands out a slot, a reader brings the encoded image, a worker decodes it. There are
// more readers than workers, and a reader goes on to the next slot while workers decode, so that an image of a slow
// disk or an object store is there when a worker is free.
type pipeline struct {
	*Loader
	slots chan slot    // in the order of the plan
	read  chan encoded // in the order in which the images come
	files chan []byte  // memory for encoded images that nobody uses: it bounds what is read ahead
	took  *times
}

// encoded is an image that was read for a slot.
type encoded struct {
	slot
	file   []byte      // its memory goes back to files
	failed *ImageError // instead of the image
	asked  time.Time   // when its reading began
}

// times add up over all images.
type times struct{ reading, waiting, decoding, cutting atomic.Int64 } // nanoseconds

// sinceAt adds the time since began to a sum, and returns the time.
func sinceAt(sum *atomic.Int64, began time.Time) time.Time {
	now := time.Now()
	sum.Add(int64(now.Sub(began)))
	return now
}

func (l *Loader) newPipeline(took *times) *pipeline {
	p := &pipeline{Loader: l, slots: make(chan slot), read: make(chan encoded), took: took}
	p.files = make(chan []byte, l.readers()+l.Workers)
	for range cap(p.files) {
		p.files <- nil
	}
	return p
}

// readers returns how many images are read at the same time. Vectors are in memory.
func (l *Loader) readers() int {
	if l.Width > 0 {
		return 1
	}
	return cmp.Or(l.Reads, DefaultReads)
}

// run reads and decodes the images of all slots.
func (p *pipeline) run(ctx context.Context) {
	var readers, workers sync.WaitGroup
	for range p.readers() {
		readers.Go(func() {
			defer crash.Guard()
			p.fetch(ctx)
		})
	}
	for range p.Workers {
		workers.Go(func() {
			defer crash.Guard()
			p.fill(ctx)
		})
	}
	readers.Wait()
	close(p.read)
	workers.Wait()
}

// FileBytes returns at most how many bytes of image files are in memory, where larger ones than mostKept do not come
// together; 0 if the data set does not know their sizes.
func (l *Loader) FileBytes() int64 {
	largest := MostBytes(l.Data)
	return int64(l.readers()+l.Workers)*int64(min(largest, mostKept)) + int64(max(largest-mostKept, 0))
}

// mostKept is the largest memory of an encoded image that is used again. A few large images would otherwise make
// that of all readers as large, one after another.
const mostKept = 4 << 20

// fetch is the loop of a reader.
func (p *pipeline) fetch(ctx context.Context) {
	for {
		file := <-p.files
		s, more := <-p.slots
		if !more {
			return
		}
		e := encoded{slot: s, file: file[:0], asked: time.Now()}
		if p.Width == 0 {
			row, _ := p.row(s)
			e.file, e.failed = p.readImage(ctx, e.file, row)
			sinceAt(&p.took.reading, e.asked)
		}
		p.read <- e
	}
}

// readImage appends an encoded image to dst.
func (l *Loader) readImage(ctx context.Context, dst []byte, row int) ([]byte, *ImageError) {
	err := ctx.Err()
	if err == nil {
		dst, err = AppendImage(ctx, l.Data, dst, row)
	}
	if err != nil {
		return dst, &ImageError{ID: l.Data.ID(row), Err: err}
	}
	return dst, nil
}

// fill is the loop of a worker.
func (p *pipeline) fill(ctx context.Context) {
	w := newWorker(newFramer(p.In, p.Filter))
	for began := time.Now(); ; began = time.Now() {
		e, more := <-p.read
		if !more {
			return
		}
		// Before its reading began, the image was not waited for but the memory of its batch.
		p.took.waiting.Add(int64(min(time.Since(began), time.Since(e.asked))))
		if err := p.put(ctx, w, e, p.took); err != nil {
			e.b.fail(e.at, err)
		}
		if cap(e.file) > mostKept {
			e.file = nil
		}
		p.files <- e.file // never blocks: there is room for all
		e.b.missing.Done()
	}
}
