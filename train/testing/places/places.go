// Package places is a data set for tests of training: small drawings of places, whose classes are
// the place and its form.
package places

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"sync"

	"hgld/internal/testing/sketch"
	"hgld/labels"
)

// Set is a data set of small drawings. Every place is a class, and its form is the coarser class.
type Set struct {
	Forms   int          // number of forms, the coarser classes
	PerForm int          // places of each form
	Views   int          // images of each place
	Size    int          // side of an image, in pixels
	Broken  map[int]bool // items whose image is no image
}

// drawing is all that a drawing depends on.
type drawing struct{ form, place, view, size int }

// files holds the images of all sets that were drawn: drawing -> PNG. Most tests draw the same.
var files sync.Map

// Len returns the number of images.
func (d *Set) Len() int { return d.Forms * d.PerForm * d.Views }

// Levels are place and form.
func (d *Set) Levels() []string { return []string{"place", "form"} }

// Classes names the places or the forms.
func (d *Set) Classes(level int) []string {
	if level == 1 {
		return sketch.Forms[:d.Forms]
	}
	names := make([]string, d.Forms*d.PerForm)
	for i := range names {
		names[i] = fmt.Sprintf("place %d", i)
	}
	return names
}

// Labels returns the place and the form of an item.
func (d *Set) Labels(i int) labels.Path {
	place := i / d.Views
	return labels.Path{int32(place), int32(place / d.PerForm)}
}

// Image draws an item, once.
func (d *Set) Image(_ context.Context, i int) ([]byte, error) {
	if d.Broken[i] {
		return []byte("no image"), nil
	}
	place := i / d.Views
	key := drawing{place / d.PerForm, place, i % d.Views, d.Size}
	if file, drawn := files.Load(key); drawn {
		return file.([]byte), nil
	}
	var file bytes.Buffer
	err := png.Encode(&file, sketch.Picture(key.form, key.place, key.view, key.size))
	files.Store(key, file.Bytes())
	return file.Bytes(), err
}

// ID names an item.
func (d *Set) ID(i int) string { return fmt.Sprintf("view-%04d", i) }
