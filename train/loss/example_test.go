package loss_test

import (
	"fmt"
	"log"

	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/grad"
	"hgld/train/loss"
)

// Smooth-AP of one query, (1, 0), and a gallery of two. The negative (0.8, 0.6) is ahead of the
// positive (0.6, 0.8), so the average precision is 1/2, and the loss is 1 − 1/2.
func ExampleKind() {
	kind, err := loss.All.Get("loss", "smooth-ap")
	if err != nil {
		log.Fatal(err)
	}
	l, err := kind.New(loss.Facts{Classes: []int{2}, Dim: 2})
	if err != nil {
		log.Fatal(err)
	}
	b := cpu.New(1)
	rows, classes := device.New(b, device.F32, 3, 2), device.New(b, device.I32, 3, 1)
	copy(b.Floats(rows), []float32{1, 0, 0.8, 0.6, 0.6, 0.8})
	b.Fill(classes, 0)
	b.Fill(classes.RowRange(1, 2), 1)
	tape := grad.NewTape(b, b)
	out := l.Forward(tape, &loss.Batch{
		Query: tape.Leaf(rows.RowRange(0, 1), device.Array{}), QueryLabels: classes.RowRange(0, 1),
		Gallery: tape.Leaf(rows.RowRange(1, 3), device.Array{}), GalleryLabels: classes.RowRange(1, 3),
	})
	fmt.Printf("%T %.3f\n", kind, b.Floats(out.Value)[0])
	// Output:
	// loss.SmoothAP 0.500
}
