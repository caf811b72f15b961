package optim

import "hgld/train/device"

// EMA is the exponential moving average of arrays. An average e starts at the value of its array
// w and becomes d·e + (1−d)·w after every step. With Rise, the decay d of step t, from 1, is
// min(Decay, (1+t)/(10+t)), so that the initial value is soon forgotten.
type EMA struct {
	Decay float64 // share of the old average, from 0 to 1
	Rise  bool    // Decay is at most (1+t)/(10+t) in step t

	Steps    device.Array   // I32 [1]: steps so far; part of a checkpoint
	Averages []device.Array // part of a checkpoint

	arrays []device.Array
	rate   device.Array // F32 [1]: 1 − d
}

// NewEMA starts averaging F32 arrays: the weights of groups, running statistics.
func NewEMA(b device.Backend, decay float64, rise bool, arrays ...device.Array) *EMA {
	e := &EMA{Decay: decay, Rise: rise, arrays: arrays, rate: device.New(b, device.F32, 1)}
	e.Steps = device.New(b, device.I32, 1)
	b.Fill(e.Steps, 0)
	for _, a := range arrays {
		e.Averages = append(e.Averages, device.New(b, device.F32, a.Shape()...))
	}
	e.Restart(b)
	return e
}

// Restart sets the averages to the current values of the arrays.
func (e *EMA) Restart(b device.Backend) {
	for i, a := range e.arrays {
		b.Copy(e.Averages[i], a)
	}
}

// Step counts a step and moves the averages, unless flag is set. Call it after the optimizer's
// step.
func (e *EMA) Step(b device.Backend, flag device.Array) {
	b.Pace(e.rate, e.Steps, flag, device.PaceKind{Kind: device.Mean, Decay: e.Decay, Rise: e.Rise})
	for i, a := range e.arrays {
		b.Average(e.Averages[i], a, e.rate, flag)
	}
}

// Swap exchanges the arrays with their averages. Call it before an evaluation and again after it.
// It is not part of a step.
func (e *EMA) Swap(b device.Backend) {
	for i, a := range e.arrays {
		old := device.New(b, device.F32, a.Shape()...)
		b.Copy(old, a)
		b.Copy(a, e.Averages[i])
		b.Copy(e.Averages[i], old)
		b.Free(old.Buf)
	}
}
