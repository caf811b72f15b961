package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// shared reports whether several processes share a batch.
func (n *BatchNorm) shared() bool { return *n.Running.ranks != nil }

// ranks returns the number of processes that share a batch.
func (n *BatchNorm) ranks() int {
	if !n.shared() {
		return 1
	}
	_, ranks := (*n.Running.ranks).Rank()
	return ranks
}

// share replaces the statistics of this process's rows by those of the whole batch: the mean of the
// means, and the mean of the variances plus the variance of the means. All processes have as many rows.
func (n *BatchNorm) share(t *grad.Tape, stats *grad.Var) {
	if !n.shared() {
		return
	}
	ranks, channels := n.ranks(), n.Running.channels
	t.Do(func(b device.Backend) {
		all := t.Scratch(device.F32, ranks, 2*channels)
		deviations := t.Scratch(device.F32, ranks, channels)
		(*n.Running.ranks).AllGather(all, stats.Value)
		row := func(i int) device.Array { return stats.Value.RowRange(i, i+1).Reshape(channels) }
		mean, variance := row(0), row(1)
		means, variances := all.ColRange(0, channels), all.ColRange(channels, 2*channels)
		b.Sums(mean, means, device.SumCols, 0)
		b.Axpby(mean, 1/float32(ranks), mean, 0, device.Array{})
		b.Axpby(deviations, 1, means, -1, mean)
		b.Sums(variance, variances, device.SumCols, 0)
		b.Sums(variance, deviations, device.SquaresCols, 1)
		b.Axpby(variance, 1/float32(ranks), variance, 0, device.Array{})
	})
}

// sharedSums returns the sums [2,C] that NormGrad takes over the rows of a batch, Σ dy and Σ dy·(x − mean), for
// processes that share one. sums are those of this process's rows, or absent. NormGrad divides them by the
// number of this process's rows, and the gradients of γ and β that it makes of them are added over the
// processes later. Both want the mean over the processes.
func (n *BatchNorm) sharedSums(t *grad.Tape, b device.Backend, sums, dy, x, stats device.Array) device.Array {
	if !n.shared() {
		return sums
	}
	if channels := n.Running.channels; sums.Absent() {
		sums = t.Scratch(device.F32, 2, channels)
		b.ReluGrad(device.Array{}, dy, device.GradEpilogue{Sums: sums, X: x,
			Mean: stats.RowRange(0, 1).Reshape(channels)}, 0)
	}
	(*n.Running.ranks).AllReduce(sums)
	b.Axpby(sums, 1/float32(n.ranks()), sums, 0, device.Array{})
	return sums
}
