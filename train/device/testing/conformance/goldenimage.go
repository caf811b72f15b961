package conformance

import "hgld/train/device"

func driveConv(g *golden) {
	set := g.Settings
	shape := device.ConvShape{
		StrideH: set.Stride, StrideW: set.Stride, PadH: set.Padding, PadW: set.Padding,
		DilationH: set.Dilation, DilationW: set.Dilation, Groups: set.Groups,
	}
	x, w, bias, dy := g.image("in.x"), g.filters("weight"), g.param("bias"), g.image("up.y")
	y, dx, dw := g.like(dy), g.like(x), g.like(w)
	g.b.Conv(y, x, w, shape, device.Epilogue{Bias: bias})
	g.checkImage("out.y", y)
	g.b.ConvGradX(dx, dy, w, shape, device.GradEpilogue{})
	g.checkImage("grad.x", dx)
	g.b.ConvGradW(dw, dy, x, shape, 0)
	g.checkImage("grad.weight", dw)
	if !bias.Absent() {
		dbias := g.like(bias)
		g.b.Sums(dbias, dy, device.SumCols, 0)
		g.checkImage("grad.bias", dbias)
	}
}

// drivePatchEmbed computes tokens y [N,T,D]: the class token, an optional distillation token
// and the pixels of a convolution, plus positions.
func drivePatchEmbed(g *golden) {
	patch := g.Settings.Patch
	shape := device.ConvShape{StrideH: patch, StrideW: patch}
	x, w, bias := g.image("in.x"), g.filters("proj_weight"), g.param("proj_bias")
	position, up := g.tensor("param.pos_embed"), g.tensor("up.y")
	n, width, depth := up.Dims[0], up.Dims[1]*up.Dims[2], up.Dims[2]
	pixels := g.alloc(device.F32, n, x.Dims[1]/patch, x.Dims[2]/patch, depth)
	g.b.Conv(pixels, x, w, shape, device.Epilogue{Bias: bias})
	tokens := []string{"cls_token", "dist_token"}
	if g.param("dist_token").Absent() {
		tokens = tokens[:1]
	}
	y, dy := g.alloc(device.F32, n, width), g.put(device.F32, &array{Dims: []int{n, width}, V: up.V})
	first := g.put(device.I32, zeros(n))
	for i, name := range tokens {
		g.b.Gather(y.ColRange(i*depth, (i+1)*depth), g.param(name).Reshape(1, depth), first)
	}
	rest := len(tokens) * depth
	g.b.Copy(y.ColRange(rest, width), pixels.Reshape(n, width-rest))
	g.b.Axpby(y, 1, y, 1, g.put(device.F32, &array{Dims: []int{width}, V: position.V}))
	g.checkImage("out.y", y)

	dposition := g.alloc(device.F32, width)
	g.b.Sums(dposition, dy, device.SumCols, 0)
	g.checkImage("grad.pos_embed", dposition)
	for i, name := range tokens {
		dtoken := g.alloc(device.F32, depth)
		g.b.Sums(dtoken, dy.ColRange(i*depth, (i+1)*depth), device.SumCols, 0)
		g.checkImage("grad."+name, dtoken)
	}
	dpixels, dx, dw, dbias := g.like(pixels), g.like(x), g.like(w), g.like(bias)
	g.b.Copy(dpixels.Reshape(n, width-rest), dy.ColRange(rest, width))
	g.b.ConvGradX(dx, dpixels, w, shape, device.GradEpilogue{})
	g.checkImage("grad.x", dx)
	g.b.ConvGradW(dw, dpixels, x, shape, 0)
	g.checkImage("grad.proj_weight", dw)
	g.b.Sums(dbias, dpixels, device.SumCols, 0)
	g.checkImage("grad.proj_bias", dbias)
}

func driveBatchNorm(g *golden) {
	o := device.NormKind{Eps: float32(g.Settings.Eps), Frozen: g.Settings.Mode == "frozen"}
	if !o.Frozen && g.Settings.Mode != "train" {
		g.Fatalf("unknown mode %q", g.Settings.Mode)
	}
	x, gamma, beta, dy := g.image("in.x"), g.param("weight"), g.param("bias"), g.image("up.y")
	stats := g.statistics()
	y, dx, dgamma, dbeta := g.like(x), g.like(x), g.like(gamma), g.like(beta)
	g.b.Norm(y, stats, x, gamma, beta, absent, o)
	g.checkImage("out.y", y)
	g.b.NormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, absent, o, 0)
	g.checkImage("grad.x", dx)
	g.checkIf("weight", dgamma)
	g.checkIf("bias", dbeta)
	if o.Frozen {
		return
	}
	// running ← running + momentum·(new − running), with the unbiased variance
	running, rate := g.statistics(), g.put(device.F32, flag(g.Settings.Momentum))
	n := float32(x.Rows())
	g.b.Axpby(stats.RowRange(1, 2), n/(n-1), stats.RowRange(1, 2), 0, absent)
	g.b.Average(running, stats, rate, absent)
	g.checkImage("out.running_mean_after", running.RowRange(0, 1))
	g.checkImage("out.running_var_after", running.RowRange(1, 2))
}

// statistics uploads the running mean and variance as [2,C].
func (g *golden) statistics() device.Array {
	mean, variance := g.tensor("in.running_mean"), g.tensor("in.running_var")
	return g.put(device.F32, &array{Dims: []int{2, len(mean.V)}, V: append(mean.V, variance.V...)})
}

// driveNormReLU tests the fused form: Norm with residual and ReLU.
func driveNormReLU(g *golden) {
	o := device.NormKind{Eps: float32(g.Settings.Eps), Frozen: true, ReLU: true}
	x, gamma, beta, dy, stats := g.image("in.x"), g.param("weight"), g.param("bias"), g.image("up.y"), g.statistics()
	var residual device.Array
	if len(g.In) == 4 {
		residual = g.image("in.residual")
	}
	y, dx, dz, dgamma, dbeta := g.like(x), g.like(x), g.like(x), g.like(gamma), g.like(beta)
	g.b.Norm(y, stats, x, gamma, beta, residual, o)
	g.checkImage("out.y", y)
	g.b.ReluGrad(dz, dy, device.GradEpilogue{Mask: y}, 0)
	g.b.NormGrad(dx, dgamma, dbeta, dz, x, gamma, stats, absent, o, 0)
	g.checkImage("grad.x", dx)
	g.checkIf("residual", dz)
	g.checkIf("weight", dgamma)
	g.checkIf("bias", dbeta)
}

func drivePool(g *golden) {
	set := g.Settings
	x, dy := g.image("in.x"), g.image("up.y")
	p := device.PoolShape{H: set.Kernel, W: set.Kernel, StrideH: set.Stride, StrideW: set.Stride, PadH: set.Padding,
		PadW: set.Padding}
	if len(set.Output) == 2 {
		p = device.PoolShape{Global: true}
	}
	if g.Op == "adaptive_avgpool2d" {
		p.Mode = device.AvgPool
	}
	y, dx := g.like(dy), g.like(x)
	g.b.Pool(y, x, p)
	g.checkImage("out.y", y)
	g.b.PoolGrad(dx, dy, x, y, p)
	g.checkImage("grad.x", dx)
	if p.Mode == device.MaxPool { // the maximum is copied, not computed, so it is exact
		g.near("out.y exactly", channelsSecond(g.get(y), y.Dims[0], y.Dims[1]*y.Dims[2], y.Dims[3]),
			g.tensor("out.y").V, 0, 0)
	}
}

func driveGeM(g *golden) {
	eps := float32(g.Settings.Eps)
	x, p, up := g.image("in.x"), g.param("p"), g.tensor("up.y")
	dy := g.put(device.F32, &array{Dims: up.Dims[:2], V: up.V})
	y, dx, dp := g.like(dy), g.like(x), g.like(p)
	g.b.GeM(y, x, p, eps)
	g.checkImage("out.y", y)
	g.b.GeMGrad(dx, dp, dy, x, y, p, eps, 0)
	g.checkImage("grad.x", dx)
	g.checkImage("grad.p", dp)
}

func driveInterpolate(g *golden) {
	set := g.Settings
	o := device.Interpolation{AlignCorners: set.AlignCorners, ScaleH: set.Scale, ScaleW: set.Scale}
	x := g.image("in.x")
	y := g.like(g.image("up.y"))
	g.b.Interpolate(y, x, o)
	g.checkImage("out.y", y)
	g.checked["grad.x"] = true // device.Image has no operation for it
}
