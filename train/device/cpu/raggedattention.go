package cpu

import (
	"fmt"
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
)

// queryGrain is the number of queries per span of a RaggedAttention.
const queryGrain = 16

// RaggedAttention reads a query's keys and values in place, so texts that share tokens need no
// copies.
func (b *Backend) RaggedAttention(dst, qkv, rows, keys, spans device.Array, heads int) {
	q, d := dst.Dims[0], dst.Dims[1]
	if dst.N != 2 || qkv.N != 2 || heads < 1 || d%heads != 0 || qkv.Dims[1] != 3*d || spans.Len() != 2*q ||
		rows.Absent() && qkv.Dims[0] != q || !rows.Absent() && rows.Len() != q || !spans.Contiguous() {
		panic(shapes("RaggedAttention", dst, qkv, rows, keys, spans))
	}
	t := raggedTask{
		dst: f32(dst), qkv: f32(qkv), rows: i32(rows), keys: i32(keys)[:keys.Len()], spans: i32(spans),
		width: d, strideDst: dst.Ld, stride: qkv.Ld, heads: heads, scale: float32(1 / math.Sqrt(float64(d/heads))),
	}
	t.check(q, qkv.Dims[0])
	t.each = d + (t.longest+2)*heads
	t.memory = scratch[float32](b, "raggedattention", b.Threads()*t.each)
	split(b, q, queryGrain, t)
}

type raggedTask struct {
	dst, qkv                 []float32
	rows, keys, spans        []int32
	width, strideDst, stride int
	heads                    int
	scale                    float32
	longest                  int       // largest number of keys per query
	memory                   []float32 // per worker: the query, a line of numbers for each key, and two more
	each                     int
}

// check validates the indices, which come from the caller's data, and finds the longest span.
func (t *raggedTask) check(queries, n int) {
	for i, row := range t.rows[:min(queries, len(t.rows))] {
		if row < 0 || int(row) >= n {
			panic(fmt.Sprintf("cpu: RaggedAttention: query %d is row %d of %d", i, row, n))
		}
	}
	for i, row := range t.keys {
		if row < 0 || int(row) >= n {
			panic(fmt.Sprintf("cpu: RaggedAttention: key %d is row %d of %d", i, row, n))
		}
	}
	for i := range queries {
		from, upto := int(t.spans[2*i]), int(t.spans[2*i+1])
		if from < 0 || upto <= from || upto > len(t.keys) {
			panic(fmt.Sprintf("cpu: RaggedAttention: query %d has the keys %d to %d of %d", i, from, upto, len(t.keys)))
		}
		t.longest = max(t.longest, upto-from)
	}
}

func (t *raggedTask) span(worker, lo, hi int) {
	memory := t.memory[worker*t.each:][:t.each]
	for i := lo; i < hi; i++ {
		row := i
		if t.rows != nil {
			row = int(t.rows[i])
		}
		t.query(t.dst[i*t.strideDst:][:t.width], t.qkv[row*t.stride:][:t.width], t.keys[t.spans[2*i]:t.spans[2*i+1]], memory)
	}
}

// query computes one row. It stores the scores key by key, one number per head, so that the
// softmax runs over whole vectors.
func (t *raggedTask) query(dst, q []float32, keys []int32, memory []float32) {
	scaled, memory := memory[:t.width], memory[t.width:]
	top, memory := memory[:t.heads], memory[t.heads:]
	sum, memory := memory[:t.heads], memory[t.heads:]
	s := memory[:len(keys)*t.heads]
	vec.Scale(scaled, t.scale, q)
	for j, k := range keys {
		line := s[j*t.heads:][:t.heads]
		vec.HeadDots(line, scaled, t.qkv[int(k)*t.stride+t.width:][:t.width])
		if j == 0 {
			copy(top, line)
		} else {
			vec.Maximum(top, line)
		}
	}
	for j := range keys {
		line := s[j*t.heads:][:t.heads]
		vec.Axpby(line, 1, line, -1, top)
	}
	vec.Exp(s, s)
	clear(sum)
	clear(dst)
	for j, k := range keys {
		line := s[j*t.heads:][:t.heads]
		vec.Axpby(sum, 1, sum, 1, line)
		vec.HeadMix(dst, line, t.qkv[int(k)*t.stride+2*t.width:][:t.width])
	}
	size := t.width / t.heads
	for h, v := range sum {
		head := dst[h*size:][:size]
		vec.Scale(head, 1/v, head)
	}
}
