package input

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hgld/internal/crash"
	"hgld/train/sample"
)

// Rates are the images per second of a loader with some workers, and of each part of their work if they
// did nothing else.
type Rates struct {
	Workers int     `json:"workers"`
	All     float64 `json:"images_per_second"`
	Read    float64 `json:"read"`   // from the data set
	Decode  float64 `json:"decode"` // of JPEG with some libraries, only what the crop shows
	Crop    float64 `json:"crop"`   // resampled, distorted, or packed for a device that resamples
}

// Measure loads the given number of images, chosen at random by seed, and forgets them. Images that
// cannot be used are passed to Skip, as in a batch.
func (l *Loader) Measure(ctx context.Context, workers, images int, seed uint64) (Rates, error) {
	var all sync.WaitGroup
	times, failed := make([][3]time.Duration, workers), make([]error, workers)
	began := time.Now()
	for at := range workers {
		all.Go(func() {
			defer crash.Guard()
			share := (images*(at+1))/workers - images*at/workers
			times[at], failed[at] = l.measure(ctx, share, sample.NewRandom(seed, uint64(workers), uint64(at)))
		})
	}
	all.Wait()
	r := Rates{Workers: workers, All: float64(images) / time.Since(began).Seconds()}
	var sum [3]time.Duration
	for _, t := range times {
		for i := range t {
			sum[i] += t[i]
		}
	}
	rate := func(t time.Duration) float64 { return float64(images*workers) / max(t, 1).Seconds() }
	r.Read, r.Decode, r.Crop = rate(sum[0]), rate(sum[1]), rate(sum[2])
	return r, errors.Join(failed...)
}

// measure is the work of one worker. It returns how long it read, decoded and cut.
func (l *Loader) measure(ctx context.Context, images int, random *sample.Random) (took [3]time.Duration, err error) {
	w, b := newWorker(newFramer(l.In, l.Filter)), l.NewBatch()
	w.training = l.Training
	for i := range images {
		at := i % l.rows()
		if at == 0 {
			l.pad(b)
		}
		row := random.IntN(l.Data.Len())
		w.random.Start(l.Seed, augmentStream, random.Uint64())
		began := time.Now()
		failed := l.read(ctx, w, row)
		read := time.Now()
		if failed == nil {
			failed = l.decodeRead(w, row)
		}
		decoded := time.Now()
		if failed == nil {
			l.cut(w, slot{b, at})
		} else if l.Skip == nil || ctx.Err() != nil || !l.Skip(row, failed) {
			return took, failed
		}
		took[0] += read.Sub(began)
		took[1] += decoded.Sub(read)
		took[2] += time.Since(decoded)
	}
	return took, nil
}

// MeasureUpload returns how many images per second go to the device, or 0 if Send is nil: the device reads
// the memory of the host. It sends a batch of random images several times.
func (l *Loader) MeasureUpload(ctx context.Context, times int) (float64, error) {
	if l.Send == nil {
		return 0, nil
	}
	w, b := newWorker(newFramer(l.In, l.Filter)), l.NewBatch()
	random := sample.NewRandom(l.Seed)
	for range l.rows() {
		b.Rows = append(b.Rows, random.IntN(l.Data.Len()))
	}
	l.pad(b)
	for at := range b.Rows {
		if err := l.load(ctx, w, slot{b, at}); err != nil {
			return 0, fmt.Errorf("a batch to upload: %w", err)
		}
	}
	l.Send(0, b)
	began := time.Now()
	for i := range times {
		l.Send(i%DeviceSlots, b)
	}
	return float64(times*l.rows()) / time.Since(began).Seconds(), nil
}

// StoredSide returns the length to which the short sides of larger images were reduced when they were
// stored, or 0 if they were not or the data set does not know it.
func StoredSide(d Dataset) int {
	switch d := d.(type) {
	case *Subset:
		return StoredSide(d.Of)
	case *joined:
		least := 0
		for _, part := range d.parts {
			if side := StoredSide(part); side > 0 && (least == 0 || side < least) {
				least = side
			}
		}
		return least
	case interface{ StoredSide() int }:
		return d.StoredSide()
	}
	return 0
}
