// Package predicted states what a work takes before it begins. What it predicts holds for one core of the processor
// that measured it: scripts/results/scale.md.
package predicted

import "fmt"

const (
	DecodedRate = 9e6  // bytes of JPEGs that a core decodes in a second
	FLOPRate    = 45e9 // operations that a core does in a second of a training step
)

// Text states a work, such as "3 shards to build", the size of the images that it reads, "" if it is not known, the
// hours of a core, and the requests to an object store if there are any.
func Text(work, size string, hours float64, requests int) string {
	if size != "" {
		work += " from " + size + " of images"
	}
	text := "under 0.01"
	if hours >= 0.01 {
		text = fmt.Sprintf("%.2f", hours)
	}
	work += "; predicted: " + text + " core hours"
	if requests > 0 {
		work += fmt.Sprintf(", %d requests", requests)
	}
	return work
}
