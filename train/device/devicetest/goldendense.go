package devicetest

import (
	"math"
	"slices"

	"hgld/train/device"
)

// rows uploads <case>/<key> as a matrix of its last dimension.
func (g *golden) rows(key string) device.Array {
	g.Helper()
	a := g.tensor(key)
	return g.put(device.F32, &array{[]int{a.rows(), a.cols()}, a.v})
}

func driveLinear(g *golden) {
	x, w, bias, dy := g.rows("in.x"), g.param("weight"), g.param("bias"), g.rows("up.y")
	y, dx, dw := g.like(dy), g.like(x), g.like(w)
	g.b.MatMul(y, x, w, device.Mul{TransB: true, Alpha: 1, Bias: bias})
	g.checkImage("out.y", y)
	g.b.MatMul(dx, dy, w, device.Mul{Alpha: 1})
	g.checkImage("grad.x", dx)
	g.b.MatMul(dw, dy, x, device.Mul{TransA: true, Alpha: 1})
	g.checkImage("grad.weight", dw)
	if !bias.Absent() {
		dbias := g.like(bias)
		g.b.Sums(dbias, dy, device.SumCols, 0)
		g.checkImage("grad.bias", dbias)
	}
}

func driveLayerNorm(g *golden) {
	x, gamma, beta, dy := g.rows("in.x"), g.param("weight"), g.param("bias"), g.rows("up.y")
	y, dx, dgamma, dbeta := g.like(x), g.like(x), g.like(gamma), g.like(beta)
	stats := g.alloc(device.F32, x.Dims[0], 2)
	g.b.LayerNorm(y, stats, x, gamma, beta, float32(g.Settings.Eps))
	g.checkImage("out.y", y)
	g.b.LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, 0)
	g.checkImage("grad.x", dx)
	g.checkIf("weight", dgamma)
	g.checkIf("bias", dbeta)
}

func driveNormalize(g *golden) {
	x, dy := g.rows("in.x"), g.rows("up.y")
	y, dx, norm := g.like(x), g.like(x), g.alloc(device.F32, x.Dims[0])
	g.b.Normalize(y, norm, x, float32(g.Settings.Eps))
	g.checkImage("out.y", y)
	g.b.NormalizeGrad(dx, dy, y, norm)
	g.checkImage("grad.x", dx)
}

func driveAct(g *golden) {
	f := map[string]device.Func{
		"relu": device.ReLU, "gelu": device.GELU, "gelu_tanh": device.GELUTanh, "quick_gelu": device.QuickGELU,
	}[g.Op]
	x, dy := g.rows("in.x"), g.rows("up.y")
	y, dx := g.like(x), g.like(x)
	g.b.Act(y, x, f)
	g.checkImage("out.y", y)
	g.b.ActGrad(dx, dy, x, f)
	g.checkImage("grad.x", dx)
}

// driveSoftmax has no operation of its own to drive: the loss with target k is
// −log p_k, and its gradient that of −log p_k, so one SoftmaxLoss for each class
// gives the whole softmax and the rows of its Jacobian.
func driveSoftmax(g *golden) {
	x, up := g.rows("in.x"), g.tensor("up.y")
	rows, classes := x.Dims[0], x.Dims[1]
	y, dx := make([]float64, rows*classes), make([]float64, rows*classes)
	loss, dz := g.alloc(device.F32, rows), g.like(x)
	for k := range classes {
		target := &array{[]int{rows}, slices.Repeat([]float64{float64(k)}, rows)}
		g.b.SoftmaxLoss(loss, dz, x, g.put(device.I32, target), device.Softmax{Temperature: 1})
		logs, slopes := g.get(loss), g.get(dz)
		for i := range rows {
			scale := 1.0
			if y[i*classes+k] = -logs[i]; g.Op == "softmax" {
				scale = math.Exp(-logs[i])
				y[i*classes+k] = scale
			}
			for j := range classes {
				dx[i*classes+j] -= up.v[i*classes+k] * scale * slopes[i*classes+j]
			}
		}
	}
	g.check("out.y", y)
	g.check("grad.x", dx)
}

func driveCrossEntropy(g *golden) {
	set := g.Settings
	x, target, up := g.rows("in.x"), g.put(device.I32, g.tensor("in.target")), g.tensor("up.y")
	rows := x.Dims[0]
	loss, dz := g.alloc(device.F32, rows), g.like(x)
	g.b.SoftmaxLoss(loss, dz, x, target, device.Softmax{Temperature: float32(set.Temperature), Smoothing: float32(set.Smoothing)})
	y, factor := g.get(loss), slices.Clone(up.v)
	switch set.Reduction {
	case "none":
	case "sum", "mean":
		sum := 0.0
		for _, v := range y {
			sum += v
		}
		factor = slices.Repeat(up.v, rows)
		if y = []float64{sum}; set.Reduction == "mean" {
			y[0] /= float64(rows)
			for i := range factor {
				factor[i] /= float64(rows)
			}
		}
	default:
		g.Fatalf("unknown reduction %q", set.Reduction)
	}
	g.check("out.y", y)
	dx := g.get(dz)
	for i := range dx {
		dx[i] *= factor[i/x.Dims[1]]
	}
	g.check("grad.x", dx)
}
