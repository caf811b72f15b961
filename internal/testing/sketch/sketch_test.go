package sketch

import (
	"bytes"
	"image"
	"testing"
)

func TestForms(t *testing.T) {
	if len(Forms) != len(drawings) {
		t.Fatalf("%d names for %d drawings", len(Forms), len(drawings))
	}
}

func TestPictureIsAFunctionOfItsNumbers(t *testing.T) {
	a, b := Picture(2, 7, 3, 32), Picture(2, 7, 3, 32)
	if !bytes.Equal(a.Pix, b.Pix) {
		t.Error("the same numbers gave two pictures")
	}
	if bytes.Equal(a.Pix, Picture(2, 7, 4, 32).Pix) {
		t.Error("two views are the same picture")
	}
}

// Two views of a place must be more similar to each other than to other places of the same
// form. Otherwise there is nothing to retrieve.
func TestViewsOfAPlaceLookAlike(t *testing.T) {
	const views, places = 4, 6
	same, other, pairs := 0.0, 0.0, 0
	for form := range Forms {
		for place := range places {
			for view := range views {
				a := Picture(form, place, view, 24)
				same += difference(a, Picture(form, place, (view+1)%views, 24))
				other += difference(a, Picture(form, (place+1)%places, view, 24))
				pairs++
			}
		}
	}
	if same >= 0.8*other {
		t.Errorf("mean difference within a place %.1f, between places %.1f", same/float64(pairs), other/float64(pairs))
	}
}

func difference(a, b *image.RGBA) float64 {
	sum := 0.0
	for i := range a.Pix {
		d := float64(a.Pix[i]) - float64(b.Pix[i])
		sum += d * d
	}
	return sum / float64(len(a.Pix))
}
