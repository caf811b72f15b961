package cost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"hgld/internal/texttable"
	"hgld/train"
	"hgld/train/config"
	"hgld/train/input"
)

// LoaderResult is the speed at which images come to a network, by the number of workers.
type LoaderResult struct {
	Batch   int    `json:"batch"`       // images
	Size    int    `json:"size"`        // side of an image, in pixels
	Stored  int    `json:"stored_side"` // short side of larger images in the shards; 0: their own or unknown
	Device  string `json:"device"`      // name of the backend
	Decoder string `json:"decoder"`     // of JPEG
	Packs   bool   `json:"on_device"`   // the device resamples
	Reads   int    `json:"reads"`       // images read at the same time

	Rates  []input.Rates `json:"workers"` // by the number of workers, rising
	Upload float64       `json:"upload"`  // images per second; 0: the device reads the memory of the host
}

// BenchLoader loads the given number of training images with one worker, with two, and so on up to the
// number of the settings. It passes each number of workers to see before.
func BenchLoader(ctx context.Context, c config.Config, data train.Data, o train.Options, images int,
	see func(workers int)) (b LoaderResult, err error) {
	r, err := rehearsed(c, data, o)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	l := r.Loader()
	if l.Width > 0 {
		return b, errors.New("train: the data are vectors, which need no loader of images")
	}
	b = LoaderResult{Batch: l.Size, Size: l.In.Size, Stored: input.StoredSide(l.Data), Device: o.Backend.Name(),
		Decoder: l.Decoder.JPEGName(), Packs: l.Packs,
		Reads: cmp.Or(l.Reads, input.DefaultReads)}
	for n := 1; ; n = min(2*n, l.Workers) {
		see(n)
		rates, err := l.Measure(ctx, n, images, c.Seed)
		if err != nil {
			return b, err
		}
		b.Rates = append(b.Rates, rates)
		if n == l.Workers {
			break
		}
	}
	b.Upload, err = l.MeasureUpload(ctx, max(images/l.Size, 1))
	return b, err
}

// Short returns the part that holds back all others, with all workers. Reads run beside the workers: they
// are short where they are slower than decoding and cropping together.
func (b LoaderResult) Short() string {
	last := b.Rates[len(b.Rates)-1]
	short := "decode"
	if last.Crop < last.Decode {
		short = "crop"
	}
	if last.Read < 1/(1/last.Decode+1/last.Crop) {
		short = "read"
	}
	if b.Upload > 0 && b.Upload < last.All {
		return "upload"
	}
	return short
}

// Text describes the rates as a table.
func (b LoaderResult) Text() string {
	w := &strings.Builder{}
	where := "the host"
	if b.Packs {
		where = b.Device
	}
	fmt.Fprintf(w, "training images of %d pixels, resampled on %s, decoded by %s\n", b.Size, where, b.Decoder)
	if b.Stored > 0 {
		fmt.Fprintf(w, "stored with a short side of at most %d pixels\n", b.Stored)
	}
	fmt.Fprintln(w, "\nimages per second, of the whole and of each part if there were no others:")
	rows := [][]string{{"workers", "all", "read", "decode", "crop", "waiting for reads"}}
	for _, r := range b.Rates {
		row := texttable.Row(r.Workers)
		for _, rate := range []float64{r.All, r.Read, r.Decode, r.Crop} {
			row = append(row, fmt.Sprintf("%.0f", rate))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.0f %% of the time", 100*r.Waited)))
	}
	fmt.Fprint(w, texttable.Format("%7s %9s %9s %9s %9s  %s", rows...))
	fmt.Fprintf(w, "reads ahead of the workers, at the same time: %d\n", b.Reads)
	if b.Upload > 0 {
		fmt.Fprintf(w, "upload to %s: %.0f\n", b.Device, b.Upload)
	}
	fmt.Fprintf(w, "\nshort: %s\n", b.Short())
	return w.String()
}
