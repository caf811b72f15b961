package cost

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"hgld/train"
	"hgld/train/config"
	"hgld/train/device"
)

// Together compares processes that train together with as many that each train alone on their part of a batch.
type Together struct {
	// Ranks is the number of processes.
	Ranks int `json:"ranks"`

	// Alone is the images per second of all, if each trains alone.
	Alone float64 `json:"images_per_second_alone"`

	// Efficiency is the images per second together, divided by Alone.
	Efficiency float64 `json:"efficiency"`

	// ByProcessor is the processor time per image alone, divided by that together: what the efficiency would be
	// without other work on the machine, if the time spent waiting counts as well. 0: unknown.
	ByProcessor float64 `json:"efficiency_by_processor_time"`
}

// joined is the device of a process in a group.
type joined interface {
	device.Backend
	device.Collective
	// Alone returns the device as that of one process.
	Alone() device.Backend
}

// BenchTogether is Bench on a device that works with those of other processes, and before that on each of them alone.
// Together is nil if there is one process.
func BenchTogether(ctx context.Context, c config.Config, data train.Data, o train.Options, steps int,
	see func(taken int)) (StepTimes, *Together, error) {
	group, is := o.Backend.(joined)
	if !is {
		times, err := Bench(ctx, c, data, o, steps, see)
		return times, nil, err
	}
	_, ranks := group.Rank()
	own, alone := c, o
	own.Sampler.Batch, alone.Backend = c.Sampler.Batch/ranks, group.Alone()
	before, err := Bench(ctx, own, data, alone, steps, see)
	if err != nil {
		return before, nil, err
	}
	times, err := Bench(ctx, c, data, o, steps, see)
	if err != nil {
		return times, nil, err
	}
	part := float64(c.Sampler.Batch / ranks)
	sums, err := added(group, before.Images, before.Processor/part, times.Processor/part)
	if err != nil {
		return times, nil, err
	}
	t := &Together{Ranks: ranks, Alone: sums[0], Efficiency: times.Images / sums[0]}
	if sums[2] > 0 {
		t.ByProcessor = sums[1] / sums[2]
	}
	return times, t, nil
}

// added returns the sums of numbers over all processes.
func added(group joined, numbers ...float64) ([]float64, error) {
	a := device.New(group, device.F32, len(numbers))
	defer group.Free(a.Buf)
	var bytes []byte
	for _, v := range numbers {
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(float32(v)))
	}
	group.Upload(a, bytes)
	group.AllReduce(a)
	if err := errors.Join(group.Wait(group.Download(bytes, a)), group.Sync()); err != nil {
		return nil, err
	}
	for i := range numbers {
		numbers[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:])))
	}
	return numbers, nil
}
