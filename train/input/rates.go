package input

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"sync/atomic"
	"time"

	"hgld/train/sample"
)

// Rates are the images per second of a loader with some workers, and of each part of the work if there were
// no others.
type Rates struct {
	Workers int     `json:"workers"`           // goroutines that decode
	All     float64 `json:"images_per_second"` // read, decoded and cropped
	Read    float64 `json:"read"`              // from the data set, so many at the same time as the loader reads
	Decode  float64 `json:"decode"`            // of JPEG with some libraries, only what the crop shows
	Crop    float64 `json:"crop"`              // resampled, distorted, or packed for a device that resamples

	// Waited is the share of the workers' time, from 0 to 1, in which they had no image to decode although
	// it was being read. All other reading is hidden behind decoding.
	Waited float64 `json:"waited_for_reads"`
}

// Measure loads the given number of images in batches, chosen at random by seed, and forgets them. Images
// that cannot be used are passed to Skip.
func (l *Loader) Measure(ctx context.Context, workers, images int, seed uint64) (Rates, error) {
	m := *l
	m.Workers, m.Send = workers, nil
	m.Size, m.First, m.Part = l.rows(), 0, 0
	var took times
	began := time.Now()
	for _, err := range m.timed(ctx, m.atRandom(images, sample.NewRandom(seed, uint64(workers))), &took) {
		if err != nil {
			return Rates{}, err
		}
	}
	all := time.Since(began).Seconds()
	rate := func(sum *atomic.Int64, atOnce int) float64 {
		return float64(images*atOnce) / time.Duration(max(sum.Load(), 1)).Seconds()
	}
	return Rates{Workers: workers, All: float64(images) / all, Read: rate(&took.reading, m.readers()),
		Decode: rate(&took.decoding, workers), Crop: rate(&took.cutting, workers),
		Waited: time.Duration(took.waiting.Load()).Seconds() / (all * float64(workers))}, nil
}

// atRandom is a plan of so many random images.
func (l *Loader) atRandom(images int, random *sample.Random) iter.Seq2[Work, error] {
	return func(yield func(Work, error) bool) {
		for i := 0; images > 0; i++ {
			rows := make([]int, min(images, l.Size))
			for at := range rows {
				rows[at] = random.IntN(l.Data.Len())
			}
			if images -= len(rows); !yield(Work{Index: i, Rows: rows, Last: images == 0}, nil) {
				return
			}
		}
	}
}

// MeasureUpload returns how many images per second go to the device, or 0 if Send is nil: the device reads
// the memory of the host. It sends a batch of random images several times.
func (l *Loader) MeasureUpload(ctx context.Context, times int) (float64, error) {
	if l.Send == nil {
		return 0, nil
	}
	m := *l
	m.Send, m.Size, m.First, m.Part = nil, l.rows(), 0, 0
	var rate float64
	for b, err := range m.Batches(ctx, m.atRandom(m.Size, sample.NewRandom(l.Seed))) {
		if err != nil {
			return 0, fmt.Errorf("a batch to upload: %w", err)
		}
		l.Send(0, b)
		began := time.Now()
		for i := range times {
			l.Send(i%DeviceSlots, b)
		}
		rate = float64(times*m.Size) / time.Since(began).Seconds()
	}
	return rate, nil
}

// StoredSide returns the length to which the short sides of larger images were reduced when they were
// stored, or 0 if they were not or the data set does not know it.
func StoredSide(d Dataset) (least int) {
	for _, part := range sources(d) {
		if p, knows := part.(interface{ StoredSide() int }); knows && p.StoredSide() > 0 {
			least = min(cmp.Or(least, math.MaxInt), p.StoredSide())
		}
	}
	return least
}

// MeanBytes returns the mean size of the image files of a data set, or of those that it is a part of; 0 if it does not
// know them.
func MeanBytes(d Dataset) float64 {
	bytes, images := int64(0), 0
	for _, part := range sources(d) {
		if p, knows := part.(interface{ ImageBytes() int64 }); knows {
			bytes, images = bytes+p.ImageBytes(), images+part.Len()
		}
	}
	return float64(bytes) / float64(max(images, 1))
}

// MostBytes returns the size of the largest image file of a data set, or of one that it is a part of; 0 if it does not
// know it.
func MostBytes(d Dataset) (most int) {
	for _, part := range sources(d) {
		if p, knows := part.(interface{ MostBytes() int }); knows {
			most = max(most, p.MostBytes())
		}
	}
	return most
}
