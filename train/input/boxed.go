package input

import (
	"fmt"
	"image"
	"math"
)

// Boxed is a Dataset of which a box of each image counts.
type Boxed interface {
	Dataset
	// Box returns the left, upper, right and lower edge of the box of item i, in pixels.
	Box(i int) [4]float64
}

// Box returns the box of item i of a Boxed data set or a subset of one, in whole pixels.
// It is empty if all of the image counts.
func Box(d Dataset, i int) image.Rectangle {
	switch d := d.(type) {
	case *Subset:
		return Box(d.Of, d.Rows[i])
	case Boxed:
		return WholePixels(d.Box(i))
	}
	return image.Rectangle{}
}

// WholePixels rounds the left, upper, right and lower edge of a box as Pillow's crop does.
func WholePixels(box [4]float64) image.Rectangle {
	var at [4]int
	for k, edge := range box {
		at[k] = int(math.RoundToEven(edge))
	}
	return image.Rect(at[0], at[1], at[2], at[3])
}

// Within returns the part of a box that an image has: all of the image if the box is empty. It fails if they have no
// pixel in common.
func Within(box, whole image.Rectangle) (image.Rectangle, error) {
	if box.Empty() {
		return whole, nil
	}
	part := box.Intersect(whole)
	if part.Empty() {
		return part, fmt.Errorf("its box %v lies outside its %d×%d pixels", box, whole.Dx(), whole.Dy())
	}
	return part, nil
}
