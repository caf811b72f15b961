package cost

import (
	"hgld/internal/predicted"
	"hgld/train"
	"hgld/train/input"
)

// Work is what steps of runs take, without evaluations and checkpoints.
type Work struct {
	Bytes int64   // of the images that they read
	Hours float64 // of a core, as predicted
}

// Add adds steps of a run that was planned on data. The size of an image is the mean of the data set's.
func (w *Work) Add(plan *train.Estimate, data input.Dataset, steps int) {
	bytes := float64(steps*plan.Batch) * input.MeanBytes(data)
	w.Bytes += int64(bytes)
	w.Hours += (bytes/predicted.DecodedRate + float64(steps)*plan.FLOPs/predicted.FLOPRate) / 3600
}
