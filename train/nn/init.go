package nn

import "math"

// Init fills a new parameter from the random numbers of its name. values are in the layout of
// files (torch's): the first dimension counts the outputs, and the others are the inputs of one
// output. It draws in that order, so that the values do not depend on the device's layout.
type Init func(values []float32, dims []int, d *draws)

// Constant fills with v.
func Constant(v float32) Init {
	return func(values []float32, _ []int, _ *draws) {
		for i := range values {
			values[i] = v
		}
	}
}

// UniformFan draws from ±1/√fanIn, as torch initialises the bias of a layer with fanIn inputs.
func UniformFan(fanIn int) Init {
	bound := 1 / math.Sqrt(float64(fanIn))
	return func(values []float32, _ []int, d *draws) {
		for i := range values {
			values[i] = float32(bound * (2*d.uniform() - 1))
		}
	}
}

// KaimingUniform is torch's default for the weights of Linear and Conv2d, kaiming_uniform with a
// = √5: uniform in ±1/√fanIn.
func KaimingUniform(values []float32, dims []int, d *draws) {
	UniformFan(fanIn(dims))(values, dims, d)
}

// KaimingNormal initialises torchvision's ResNets: kaiming_normal with mode fan_out for ReLU,
// which is normal with deviation √(2/fanOut), fanOut = outputs × area (He et al., "Delving Deep
// into Rectifiers", ICCV 2015).
func KaimingNormal(values []float32, dims []int, d *draws) {
	fanOut := float64(dims[0])
	for _, n := range dims[min(2, len(dims)):] {
		fanOut *= float64(n)
	}
	Normal(math.Sqrt(2/fanOut))(values, dims, d)
}

// Normal draws from the normal distribution with mean 0, two numbers at a time by the Box–Muller
// transform.
func Normal(deviation float64) Init {
	return func(values []float32, _ []int, d *draws) {
		for i := 0; i < len(values); i += 2 {
			r := deviation * math.Sqrt(-2*math.Log(d.uniform()))
			sin, cos := math.Sincos(2 * math.Pi * d.uniform())
			values[i] = float32(r * cos)
			if i+1 < len(values) {
				values[i+1] = float32(r * sin)
			}
		}
	}
}

// fanIn is the number of inputs of one output.
func fanIn(dims []int) int {
	n := 1
	for _, d := range dims[1:] {
		n *= d
	}
	return n
}
