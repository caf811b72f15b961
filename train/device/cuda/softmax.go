package cuda

import (
	"fmt"

	"hgld/train/device"
)

// Softmax computes the softmax of each row, or its logarithm. dst may be x.
func (b *Backend) Softmax(dst, x device.Array, log bool) {
	rows, width, ld := matrixOf(x)
	if dst.Len() != x.Len() || dst.Cols() != width {
		panic(shapes("Softmax", dst, x))
	}
	if x.Len() == 0 {
		return
	}
	b.op("Softmax").active(dst).i64(stride(dst)).active(x).i64(ld).i64(width).flag(log).
		run("softmax", "softmax", rows, rowThreads(width), 0)
}

// SoftmaxGrad is the gradient of Softmax in terms of its result y. dx may be dy.
func (b *Backend) SoftmaxGrad(dx, dy, y device.Array, log bool) {
	rows, width, ld := matrixOf(y)
	if dx.Len() != y.Len() || dy.Len() != y.Len() || dx.Cols() != width || dy.Cols() != width {
		panic(shapes("SoftmaxGrad", dx, dy, y))
	}
	if y.Len() == 0 {
		return
	}
	b.op("SoftmaxGrad").active(dx).i64(stride(dx)).active(dy).i64(stride(dy)).active(y).i64(ld).i64(width).flag(log).
		run("softmax", "softmax_grad", rows, rowThreads(width), 0)
}

// SoftmaxLoss is the smoothed cross-entropy of softmax(z/T) of each row with its target class.
// dz is its gradient with upstream 1 and may be absent. A row with target −1 has loss and
// gradient 0. A row with an invalid class has loss NaN.
func (b *Backend) SoftmaxLoss(loss, dz, z, target device.Array, o device.Softmax) {
	rows, width, ld := matrixOf(z)
	if loss.Len() != rows || target.Len() != rows || !dz.Absent() && (dz.Len() != z.Len() || dz.Cols() != width) {
		panic(shapes("SoftmaxLoss", loss, dz, z, target))
	}
	if !(o.Temperature > 0) {
		panic(fmt.Sprintf("cuda: SoftmaxLoss: temperature %v", o.Temperature))
	}
	ldz := 0
	if !dz.Absent() {
		ldz = stride(dz)
	}
	b.op("SoftmaxLoss").ptr(f32(loss)).active(dz).i64(ldz).active(z).i64(ld).ptr(i32(target)).i64(width).
		f32(o.Temperature).f32(o.Smoothing).run("softmax", "softmax_loss", rows, rowThreads(width), 0)
}

// rowThreads returns the size of a block for a row of this width: whole warps, at most 256
// threads.
func rowThreads(width int) int { return min(blocks(max(width, 1), 32)*32, 256) }
