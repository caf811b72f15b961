package cuda

import (
	"fmt"

	"hgld/train/device"
)

// Random draws every element of dst from d, using the words of Philox with the given key and
// stream.
func (b *Backend) Random(dst, key device.Array, stream uint32, d device.Dist) {
	if key.Len() != 2 || d.Kind > device.TruncatedNormal {
		panic(fmt.Sprintf("%s, distribution %d", shapes("Random", dst, key), d.Kind))
	}
	l := linesOf("Random", dst)
	b.op("Random").ptr(f32(dst)).i64(stride(dst)).i64(l.rows).i64(l.width).ptr(i32(key)).u32(stream).
		i32(int(d.Kind)).f32(d.A).f32(d.B).run("random", "random_f32", l.blocks(), 256, 0)
}
