package conformance

import (
	"slices"

	"hgld/train/device"
)

// rows uploads <case>/<key> as a matrix whose rows are its last dimension.
func (g *golden) rows(key string) device.Array {
	g.Helper()
	a := g.tensor(key)
	return g.put(device.F32, &array{Dims: []int{a.Rows(), a.Cols()}, V: a.V})
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
	g.b.LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, absent, 0)
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

func driveSoftmax(g *golden) {
	log := g.Op == "log_softmax"
	x, dy := g.rows("in.x"), g.rows("up.y")
	y, dx := g.like(x), g.like(x)
	g.b.Softmax(y, x, log)
	g.checkImage("out.y", y)
	g.b.SoftmaxGrad(dx, dy, y, log)
	g.checkImage("grad.x", dx)
}

// driveAttention computes the surrounding linear maps by MatMul.
func driveAttention(g *golden) {
	set := g.Settings
	dims := g.tensor("in.x").Dims
	o, length := device.Heads{Heads: set.Heads, Causal: set.Causal}, absent
	if set.Lengths != nil {
		length = g.put(device.I32, &array{Dims: []int{len(set.Lengths)}, V: set.Lengths})
	}
	x, dz := g.rows("in.x"), g.rows("up.y")
	w, bias, out, outBias := g.param("qkv_weight"), g.param("qkv_bias"), g.param("out_weight"), g.param("out_bias")
	qkv := g.alloc(device.F32, dims[0], dims[1], 3*dims[2])
	flat := qkv.Reshape(dims[0]*dims[1], 3*dims[2])
	y, z, lse := g.like(x), g.like(dz), g.alloc(device.F32, dims[0], set.Heads, dims[1])
	g.b.MatMul(flat, x, w, device.Mul{TransB: true, Alpha: 1, Bias: bias})
	g.b.Attention(y, lse, qkv, length, o)
	g.b.MatMul(z, y, out, device.Mul{TransB: true, Alpha: 1, Bias: outBias})
	g.checkImage("out.y", z)

	dy, dqkv, dx, dw, dout := g.like(y), g.like(qkv), g.like(x), g.like(w), g.like(out)
	g.b.MatMul(dy, dz, out, device.Mul{Alpha: 1})
	g.b.MatMul(dout, dz, y, device.Mul{TransA: true, Alpha: 1})
	g.checkImage("grad.out_weight", dout)
	g.b.AttentionGrad(dqkv, dy, y, lse, qkv, length, o)
	dflat := dqkv.Reshape(flat.Shape()...)
	g.b.MatMul(dx, dflat, w, device.Mul{Alpha: 1})
	g.checkImage("grad.x", dx)
	g.b.MatMul(dw, dflat, x, device.Mul{TransA: true, Alpha: 1})
	g.checkImage("grad.qkv_weight", dw)
	if bias.Absent() {
		return
	}
	dbias, doutBias := g.like(bias), g.like(outBias)
	g.b.Sums(dbias, dflat, device.SumCols, 0)
	g.checkImage("grad.qkv_bias", dbias)
	g.b.Sums(doutBias, dz, device.SumCols, 0)
	g.checkImage("grad.out_bias", doutBias)
}

func driveCrossEntropy(g *golden) {
	set := g.Settings
	x, target, up := g.rows("in.x"), g.put(device.I32, g.tensor("in.target")), g.tensor("up.y")
	rows := x.Dims[0]
	loss, dz := g.alloc(device.F32, rows), g.like(x)
	g.b.SoftmaxLoss(loss, dz, x, target, device.Softmax{Temperature: float32(set.Temperature),
		Smoothing: float32(set.Smoothing)})
	y, factor := g.get(loss), slices.Clone(up.V)
	switch set.Reduction {
	case "none":
	case "sum", "mean":
		sum := 0.0
		for _, v := range y {
			sum += v
		}
		factor = slices.Repeat(up.V, rows)
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
