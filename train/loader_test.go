package train

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"hgld/internal/img"
	"hgld/train/sample"
)

func testLoader(d Dataset, workers, prefetch int) *loader {
	in := Default().Input
	in.Size, in.Resize, in.Scale = 16, 20, [2]float64{0.3, 1}
	list, err := paths(d)
	if err != nil {
		panic(err)
	}
	return &loader{data: d, labels: list, size: 8, in: in, decoder: new(img.Decoder), training: true, seed: 5,
		workers: workers, prefetch: prefetch}
}

// collect copies the first n batches.
func collect(t *testing.T, l *loader, from position, n int) []*batch {
	t.Helper()
	var list []*batch
	plan := epochs(&sample.MPerClass{Batch: 8, M: 4}, l.labels, l.seed, from)
	for b, err := range l.batches(context.Background(), plan) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, &batch{
			work: b.work, pixels: slices.Clone(b.pixels), crop: slices.Clone(b.crop), labels: slices.Clone(b.labels),
		})
		if len(list) == n {
			break
		}
	}
	return list
}

func sameBatch(a, b *batch) bool {
	return slices.Equal(a.rows, b.rows) && slices.Equal(a.pixels, b.pixels) && slices.Equal(a.crop, b.crop) &&
		slices.Equal(a.labels, b.labels) && a.epoch == b.epoch && a.index == b.index && a.last == b.last
}

func TestBatchesDoNotDependOnTheWorkers(t *testing.T) {
	d := &places{forms: 2, perForm: 2, views: 8, size: 24}
	want := collect(t, testLoader(d, 1, 1), position{}, 10)
	for _, c := range []struct{ workers, prefetch int }{{1, 4}, {3, 1}, {7, 3}} {
		got := collect(t, testLoader(d, c.workers, c.prefetch), position{}, 10)
		for i := range want {
			if !sameBatch(got[i], want[i]) {
				t.Fatalf("%d workers, %d ahead: batch %d differs", c.workers, c.prefetch, i)
			}
		}
	}
}

func TestLoaderStartsInTheMiddleOfAnEpoch(t *testing.T) {
	d := &places{forms: 2, perForm: 2, views: 8, size: 24}
	all := collect(t, testLoader(d, 2, 2), position{}, 9)
	for i, b := range all[:4] {
		got := collect(t, testLoader(d, 2, 2), position{b.epoch, b.index}, 5)
		for j := range got {
			if !sameBatch(got[j], all[i+j]) {
				t.Fatalf("batch %d after a start at %d differs", j, i)
			}
		}
	}
}

func TestEveryViewOfAnImageIsAugmentedAnew(t *testing.T) {
	d := &places{forms: 1, perForm: 2, views: 4, size: 24}
	list := collect(t, testLoader(d, 2, 2), position{}, 6) // an epoch has one batch of all 8 images
	const bytes = 16 * 16 * 3
	views := map[string]bool{}
	flips := 0
	for _, b := range list {
		at := slices.Index(b.rows, 3)
		views[string(b.pixels[at*bytes:][:bytes])] = true
		for i := 2; i < len(b.crop); i += 3 {
			flips += int(b.crop[i])
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
	d := &places{forms: 1, perForm: 1, views: 11, size: 24}
	l := testLoader(d, 2, 1)
	l.training = false
	n := 0
	for b, err := range l.batches(context.Background(), inOrder(d.Len(), l.size)) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			if len(b.rows) != 3 || !b.last {
				t.Fatalf("last batch has %d rows", len(b.rows))
			}
			for _, c := range b.labels[3*2:] {
				if c != -1 {
					t.Fatalf("labels of padding: %v", b.labels[3*2:])
				}
			}
			if slices.Max(b.pixels[3*16*16*3:]) != 0 {
				t.Error("padding is not black")
			}
		}
	}
	if n != 2 {
		t.Errorf("%d batches", n)
	}
}

func TestBrokenImageIsNamed(t *testing.T) {
	d := &places{forms: 2, perForm: 2, views: 8, size: 24, broken: map[int]bool{17: true}}
	l := testLoader(d, 3, 2)
	var failed error
	for _, err := range l.batches(context.Background(), inOrder(d.Len(), l.size)) {
		failed = err
	}
	if failed == nil || !strings.Contains(failed.Error(), "view-0017") {
		t.Errorf("error %v", failed)
	}
}

func TestLoaderEndsWhenItsContextDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := testLoader(&places{forms: 2, perForm: 2, views: 8, size: 24}, 3, 2)
	n := 0
	var failed error
	for _, err := range l.batches(ctx, epochs(&sample.MPerClass{Batch: 8, M: 4}, l.labels, 1, position{})) {
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
	l := testLoader(&places{forms: 1, perForm: 1, views: 3, size: 24}, 1, 1)
	for _, err := range l.batches(context.Background(), epochs(&sample.MPerClass{Batch: 8, M: 4}, l.labels, 1,
		position{})) {
		if err == nil || !strings.Contains(err.Error(), "needs 2 classes") {
			t.Errorf("error %v", err)
		}
	}
}
