package input

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/must"
	"hgld/train/sample"
	"hgld/train/testing/places"
)

func testLoader(d Dataset, workers, prefetch int) *Loader {
	in := Default()
	in.Size, in.Resize, in.Scale = 16, 20, [2]float64{0.3, 1}
	list, err := Paths(d)
	if err != nil {
		panic(err)
	}
	return &Loader{Data: d, Labels: list, Size: 8, In: in, Decoder: new(img.Decoder), Training: true, Seed: 5,
		Workers: workers, Prefetch: prefetch}
}

// collect copies the first n batches.
func collect(t *testing.T, l *Loader, from Position, n int) []*Batch {
	t.Helper()
	var list []*Batch
	plan := Epochs(&sample.MPerClass{Batch: 8, M: 4}, l.Labels, l.Seed, from)
	for b, err := range l.Batches(context.Background(), plan) {
		must.Do(t, err)
		list = append(list, b.Clone())
		if len(list) == n {
			break
		}
	}
	return list
}

func sameBatch(a, b *Batch) bool {
	return slices.Equal(a.Rows, b.Rows) && slices.Equal(a.Pixels, b.Pixels) && slices.Equal(a.Crop, b.Crop) &&
		slices.Equal(a.Labels, b.Labels) && a.Epoch == b.Epoch && a.Index == b.Index && a.Last == b.Last
}

func TestBatchesDoNotDependOnTheWorkers(t *testing.T) {
	d := &places.Set{Forms: 2, PerForm: 2, Views: 8, Size: 24}
	want := collect(t, testLoader(d, 1, 1), Position{}, 10)
	for _, c := range []struct{ workers, prefetch int }{{1, 4}, {3, 1}, {7, 3}} {
		got := collect(t, testLoader(d, c.workers, c.prefetch), Position{}, 10)
		for i := range want {
			if !sameBatch(got[i], want[i]) {
				t.Fatalf("%d workers, %d ahead: batch %d differs", c.workers, c.prefetch, i)
			}
		}
	}
}

func TestLoaderStartsInTheMiddleOfAnEpoch(t *testing.T) {
	d := &places.Set{Forms: 2, PerForm: 2, Views: 8, Size: 24}
	all := collect(t, testLoader(d, 2, 2), Position{}, 9)
	for i, b := range all[:4] {
		got := collect(t, testLoader(d, 2, 2), Position{b.Epoch, b.Index}, 5)
		for j := range got {
			if !sameBatch(got[j], all[i+j]) {
				t.Fatalf("batch %d after a start at %d differs", j, i)
			}
		}
	}
}

func TestEveryViewOfAnImageIsAugmentedAnew(t *testing.T) {
	d := &places.Set{Forms: 1, PerForm: 2, Views: 4, Size: 24}
	list := collect(t, testLoader(d, 2, 2), Position{}, 6) // an epoch has one batch of all 8 images
	const bytes = 16 * 16 * 3
	views := map[string]bool{}
	flips := 0
	for _, b := range list {
		at := slices.Index(b.Rows, 3)
		views[string(b.Pixels[at*bytes:][:bytes])] = true
		for i := 2; i < len(b.Crop); i += 3 {
			flips += int(b.Crop[i])
		}
	}
	if len(views) != 6 {
		t.Errorf("six epochs show %d different crops of an image", len(views))
	}
	if flips < 12 || flips > 36 { // 48 fair coins: 24 ± 5 standard deviations of 3.5
		t.Errorf("%d of 48 images are mirrored", flips)
	}
}

func TestShortBatchIsPaddedWithAbsentRows(t *testing.T) {
	d := &places.Set{Forms: 1, PerForm: 1, Views: 11, Size: 24}
	l := testLoader(d, 2, 1)
	l.Training = false
	n := 0
	for b, err := range l.Batches(context.Background(), InOrder(d.Len(), l.Size)) {
		must.Do(t, err)
		if n++; n == 2 {
			if len(b.Rows) != 3 || !b.Last {
				t.Fatalf("last batch has %d rows", len(b.Rows))
			}
			for _, c := range b.Labels[3*2:] {
				if c != -1 {
					t.Fatalf("labels of padding: %v", b.Labels[3*2:])
				}
			}
			if slices.Max(b.Pixels[3*16*16*3:]) != 0 {
				t.Error("padding is not black")
			}
		}
	}
	if n != 2 {
		t.Errorf("%d batches", n)
	}
}

func TestBrokenImageIsNamed(t *testing.T) {
	d := &places.Set{Forms: 2, PerForm: 2, Views: 8, Size: 24, Broken: map[int]bool{17: true}}
	l := testLoader(d, 3, 2)
	var failed error
	for _, err := range l.Batches(context.Background(), InOrder(d.Len(), l.Size)) {
		failed = err
	}
	if failed == nil || !strings.Contains(failed.Error(), "view-0017") {
		t.Errorf("error %v", failed)
	}
}

func TestLoaderEndsWhenItsContextDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := testLoader(&places.Set{Forms: 2, PerForm: 2, Views: 8, Size: 24}, 3, 2)
	n := 0
	var failed error
	for _, err := range l.Batches(ctx, Epochs(&sample.MPerClass{Batch: 8, M: 4}, l.Labels, 1, Position{})) {
		failed = err
		if n++; n == 5 {
			cancel()
		}
	}
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("error %v after %d batches", failed, n)
	}
}

func TestSamplerErrorsReachTheReader(t *testing.T) {
	l := testLoader(&places.Set{Forms: 1, PerForm: 1, Views: 3, Size: 24}, 1, 1)
	for _, err := range l.Batches(context.Background(), Epochs(&sample.MPerClass{Batch: 8, M: 4}, l.Labels, 1,
		Position{})) {
		if err == nil || !strings.Contains(err.Error(), "needs 2 classes") {
			t.Errorf("error %v", err)
		}
	}
}
