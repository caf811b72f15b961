package cuda

import "hgld/train/device"

// sharedQueries is the number of queries per block of Shared.
const sharedQueries = 16

// Shared counts the shared label columns in [From, To) of each query and gallery row; see device.Rank.
func (b *Backend) Shared(sh, ql, gl, self device.Array, o device.SharedKind) {
	if !o.FitsLabels(sh, ql, gl, self) {
		panic(shapes("Shared", sh, ql, gl, self))
	}
	q, g := sh.Dims[0], sh.Dims[1]
	b.op("Shared").ptr(u8(sh)).ptr(i32(ql)).ptr(i32(gl)).ptr(i32(self)).
		i64(q).i64(g).i64(sh.Ld).i64(ql.Ld).i64(gl.Ld).i32(ql.Cols()).i32(o.From).i32(o.To).i32(int(o.Self)).
		run("shared", "shared_u8", blocks(q, sharedQueries)*blocks(g, 256), 256, 0)
}
