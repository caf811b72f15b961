package train

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"sync"
	"testing"

	"hgld/internal/sketch"
	"hgld/labels"
	"hgld/train/metric"
)

// places is a data set of small drawings: every place is a class, its form the
// coarser one.
type places struct {
	forms, perForm, views, size int
	broken                      map[int]bool // items whose image is no image

	files sync.Map // item -> its image, once drawn
}

func (d *places) Len() int         { return d.forms * d.perForm * d.views }
func (d *places) Levels() []string { return []string{"place", "form"} }

func (d *places) Classes(level int) []string {
	if level == 1 {
		return sketch.Forms[:d.forms]
	}
	names := make([]string, d.forms*d.perForm)
	for i := range names {
		names[i] = fmt.Sprintf("place %d", i)
	}
	return names
}

func (d *places) Labels(i int) labels.Path {
	place := i / d.views
	return labels.Path{int32(place), int32(place / d.perForm)}
}

func (d *places) Image(_ context.Context, i int) ([]byte, error) {
	if d.broken[i] {
		return []byte("no image"), nil
	}
	if file, drawn := d.files.Load(i); drawn {
		return file.([]byte), nil
	}
	var file bytes.Buffer
	place := i / d.views
	err := png.Encode(&file, sketch.Picture(place/d.perForm, place, i%d.views, d.size))
	d.files.Store(i, file.Bytes())
	return file.Bytes(), err
}

func (d *places) ID(i int) string { return fmt.Sprintf("view-%04d", i) }

// hierarchical returns H-AP, a metric of all levels.
func hierarchical(t *testing.T) metric.Set {
	t.Helper()
	set, err := metric.ParseSet([]string{"H-AP"})
	if err != nil {
		t.Fatal(err)
	}
	return set
}
