package loss

import "hgld/train/device"

// LowerStep returns the step function by which a ranking loss counts an item of a lower level ahead of a
// positive: a sigmoid, or H⁻. Of a composition it is that of the first term that has one. Other losses
// have none.
func LowerStep(k Kind) (step device.Step, ok bool) {
	sigmoid := func(tau float64) (device.Step, bool) {
		return device.Step{Kind: device.Sigmoid, Tau: float32(tau)}, true
	}
	switch k := k.(type) {
	case SmoothAP:
		return sigmoid(k.Tau)
	case SmoothRecall:
		return sigmoid(k.Tau)
	case RecallAtKOriginal:
		return sigmoid(k.Tau)
	case SmoothNDCG:
		return sigmoid(k.Tau)
	case SmoothHAP:
		return sigmoid(k.Tau)
	case interface{ step() device.Step }: // HMinus is a part of it
		return k.step(), true
	case Composition:
		return firstStep(k.Terms)
	case Sum:
		return firstStep(k.Terms)
	}
	return device.Step{}, false
}

func firstStep(terms []Term) (device.Step, bool) {
	for _, t := range terms {
		if step, ok := LowerStep(t.Loss); ok {
			return step, true
		}
	}
	return device.Step{}, false
}
