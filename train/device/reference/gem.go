package reference

import "math"

// GeM returns (mean of max(x, eps)^p over each image)^(1/p), [N,C].
func GeM(x *Array, p float64, eps float64) *Array {
	n, hw, c := x.Dims[0], x.Dims[1]*x.Dims[2], x.Dims[3]
	y := Zeros(n, c)
	for i := range y.V {
		sum := 0.0
		for k := range hw {
			sum += math.Pow(max(x.V[(i/c*hw+k)*c+i%c], eps), p)
		}
		y.V[i] = math.Pow(sum/float64(hw), 1/p)
	}
	return y
}
