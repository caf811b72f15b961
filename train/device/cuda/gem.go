package cuda

import "hgld/train/device"

// gemShape returns the numbers of images, pixels per image and channels, and the grid of GeM.
func gemShape(op string, x, y, p device.Array) (hw, c, grid int) {
	if x.N != 4 || y.Len() != x.Dims[0]*x.Dims[3] || p.Len() != 1 {
		panic(shapes(op, y, x, p))
	}
	return x.Dims[1] * x.Dims[2], x.Dims[3], x.Dims[0] * blocks(x.Dims[3], 32)
}

// GeM computes (mean over the image of max(x, eps)^p)^(1/p), [N,C].
func (b *Backend) GeM(dst, x, p device.Array, eps float32) {
	hw, c, grid := gemShape("GeM", x, dst, p)
	b.op("GeM").active(dst).active(x).ptr(f32(p)).i64(hw).i64(c).f32(eps).run("gem", "gem", grid, 256, 0)
}

// GeMGrad is the gradient of GeM. dx and dp may be absent; y is not read.
func (b *Backend) GeMGrad(dx, dp, dy, x, y, p device.Array, eps, acc float32) {
	hw, c, grid := gemShape("GeMGrad", x, dy, p)
	if !dx.Absent() && dx.Len() != x.Len() || !dp.Absent() && dp.Len() != 1 {
		panic(shapes("GeMGrad", dx, dp, dy, x))
	}
	parts := b.scratch("GeMGrad", 8*grid)[0]
	b.op("GeMGrad").active(dx).addr(parts).active(dy).active(x).ptr(f32(p)).i64(hw).i64(c).f32(eps).
		run("gem", "gem_grad", grid, 256, 0)
	b.join("GeMGrad", dp, acc, parts, 1, grid, 1)
}
