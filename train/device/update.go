package device

// AdamKind holds the constants of an Adam step.
type AdamKind struct {
	Beta1, Beta2, Eps float32 // decay of the two moments; added to the root
	Decoupled         bool    // AdamW: the decay multiplies w and does not enter the moments
}

// SGDKind holds the constants of an SGD step.
type SGDKind struct {
	Momentum, Dampening float32 // of the buffer m; without Momentum, m may be absent
	Nesterov            bool    // look ahead by the momentum
}

// PaceKind selects what Pace writes for update t, counted from 1. Values are computed in float64
// and rounded to F32.
//
//	Moments: dst [3]  1 − Beta1^t, 1 − Beta2^t; 1 if t is 1, 0 otherwise
//	Mean:    dst [1]  1 − Decay, with Rise 1 − min(Decay, (1+t)/(10+t))
type PaceKind struct {
	Kind         PaceOf  // which of the two
	Beta1, Beta2 float32 // Moments
	Decay        float64 // Mean
	Rise         bool    // Mean
}

// PaceOf names the constants that depend on the number of updates.
type PaceOf uint8

// The bias corrections of an optimizer, in the order of the hyper array from HyperBias1 on, and
// the rate of a moving average.
const (
	Moments PaceOf = iota
	Mean
)

// Positions in the hyper array [8] F32 of Adam and SGD. Values that change from step to step are
// in device memory, so that a recorded step can be replayed.
const (
	HyperRate      = 0 // learning rate
	HyperDecay     = 1 // weight decay
	HyperScale     = 2 // factor on the gradient (clipping, loss scale)
	HyperBias1     = 3 // 1 − β1^t
	HyperBias2     = 4 // 1 − β2^t
	HyperFirstStep = 5 // 1 in the first step (SGD's buffer takes the gradient itself)
	HyperLen       = 8
)

// Update is what an optimizer does to parameters after the gradients are known. Whether it happens is
// decided on the device: every operation does nothing else where flag is set, so that the host
// need not wait for the answer.
type Update interface {
	// Adam makes a step of Adam or AdamW: it changes w, m and v by dw, all F32 [n], unless
	// flag, I32 [1], is set. hyper is F32 [HyperLen]. shadow, if present, receives w in its
	// own type. Package optim has the formulas.
	Adam(w, m, v, dw, shadow, hyper, flag Array, o AdamKind)
	// SGD makes a step of stochastic gradient descent: it changes w and m by dw, as Adam
	// does. m is absent without momentum.
	SGD(w, m, dw, shadow, hyper, flag Array, o SGDKind)
	// Pace counts an update: count, I32 [1], becomes t, one more than before, and dst
	// receives what o says of t. If flag is set, nothing changes; flag may be absent. So a
	// host need not know which updates were made.
	Pace(dst, count, flag Array, o PaceKind)
	// Average is dst += rate·(x − dst), rate F32 [1], unless flag is set.
	Average(dst, x, rate, flag Array)
	// Track moves the mean and the variance of running, F32 [2,C], as Average does, towards those of
	// stats [2,C], of which the variance is first multiplied by unbiased. The number of non-finite
	// values of stats is added to flag; where flag is then set, running does not change.
	Track(running, stats, rate, flag Array, unbiased float32)
	// Guard adds the number of non-finite values of x to flag, I32 [1].
	Guard(flag, x Array)
}
