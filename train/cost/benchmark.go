package cost

import (
	"fmt"
	"strings"
)

// BenchmarkResult is the speed of a training: the times of its steps and the settings measured.
type BenchmarkResult struct {
	Backbone string `json:"backbone"` // name
	Loss     string `json:"loss"`     // name
	Batch    int    `json:"batch"`    // images
	Size     int    `json:"size"`     // side of an image, in pixels
	Device   string `json:"device"`   // name of the backend
	Threads  int    `json:"threads"`  // threads of the processor
	StepTimes
	*Together // nil: one process
}

// Text describes the time of a step and the images per second.
func (r BenchmarkResult) Text() string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s with %s, batches of %d images of %d pixels, %d threads\n", r.Backbone, r.Loss, r.Batch, r.Size,
		r.Threads)
	fmt.Fprintf(w, "step        %8.1f ms     median of %d, from %.1f to %.1f\n", r.Step, r.Steps, r.Fastest, r.Slowest)
	fmt.Fprintf(w, "training    %8.1f img/s  waiting for images %.0f %% of the time\n", r.Images, 100*r.Waiting)
	fmt.Fprintf(w, "arithmetic  %8.1f img/s  without waiting for images\n", r.Arithmetic)
	if t := r.Together; t != nil {
		fmt.Fprintf(w, "processes   %8d       %.1f img/s if each trains alone: efficiency %.2f, by processor time %.2f\n",
			t.Ranks, t.Alone, t.Efficiency, t.ByProcessor)
	}
	return w.String()
}
