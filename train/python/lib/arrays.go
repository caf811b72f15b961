//go:build clib

package main

// #include "hgld.h"
import "C"

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"hgld/train/python/call"
)

// put adds a value under a number of the caller's.
func (h *handles[T]) put(n uint64, value T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		h.held = map[uint64]T{}
	}
	h.held[n] = value
}

// matrix returns the memory of a matrix of C.
func matrix(m *C.hgld_matrix) (call.Matrix, error) {
	if m == nil || m.data == nil {
		return call.Matrix{}, nil
	}
	rows, cols, stride := int64(m.rows), int64(m.cols), int64(m.stride)
	if rows < 1 || cols < 1 || stride < cols || rows > math.MaxInt32 || stride > math.MaxInt32 {
		return call.Matrix{}, fmt.Errorf("a matrix has %d rows of %d columns that are %d apart, want 1 to %d of each, and "+
			"rows apart by no less than their columns", rows, cols, stride, math.MaxInt32)
	}
	n := (rows-1)*stride + cols
	of := call.Matrix{Rows: int(rows), Cols: int(cols), Stride: int(stride)}
	switch m._type {
	case C.HGLD_FLOAT32:
		of.F32 = unsafe.Slice((*float32)(m.data), n)
	case C.HGLD_FLOAT64:
		of.F64 = unsafe.Slice((*float64)(m.data), n)
	default:
		return of, fmt.Errorf("a matrix has type %d, want %d for float32 or %d for float64", int(m._type),
			int(C.HGLD_FLOAT32), int(C.HGLD_FLOAT64))
	}
	return of, nil
}

// matrices returns n matrices, or nil for NULL.
func matrices(list *C.hgld_matrix, n int) (of []call.Matrix, err error) {
	if list == nil {
		return nil, nil
	}
	for i := range unsafe.Slice(list, n) {
		m, err := matrix(&unsafe.Slice(list, n)[i])
		if err != nil {
			return nil, err
		}
		of = append(of, m)
	}
	return of, nil
}

// numbers returns n integers of C, or nil for NULL.
func numbers(list *C.int32_t, n int) []int32 {
	if list == nil {
		return nil
	}
	return unsafe.Slice((*int32)(unsafe.Pointer(list)), n)
}

// labelsOf returns the labels of rows, or nil for NULL. Those of 64 bits are copied.
func labelsOf(what string, list unsafe.Pointer, kind C.int32_t, rows, levels int) ([]int32, error) {
	n := rows * levels
	switch {
	case list == nil:
		return nil, nil
	case kind == C.HGLD_INT32:
		return unsafe.Slice((*int32)(list), n), nil
	case kind != C.HGLD_INT64:
		return nil, fmt.Errorf("labels have type %d, want %d for int32 or %d for int64", int(kind), int(C.HGLD_INT32),
			int(C.HGLD_INT64))
	}
	narrow := make([]int32, n)
	for i, c := range unsafe.Slice((*int64)(list), n) {
		if c < -1 || c > math.MaxInt32 {
			return nil, fmt.Errorf("row %d of %s has class %d at level %d, want −1 for no class, or 0 to %d", i/levels, what, c,
				i%levels, math.MaxInt32)
		}
		narrow[i] = int32(c)
	}
	return narrow, nil
}

// batchOf returns a batch in the memory of C.
func batchOf(l *call.Loss, b *C.hgld_batch) (*call.Batch, error) {
	if b == nil {
		return nil, fmt.Errorf("there is no batch")
	}
	about, levels := l.Describe(), l.Levels()
	in := &call.Batch{MemoryWeight: float32(b.memory_weight), Seed: uint32(b.seed), Step: uint32(b.step)}
	var err error
	for _, m := range []struct {
		what   string
		to     *call.Matrix
		labels *[]int32
		from   *C.hgld_matrix
		of     unsafe.Pointer
	}{{"queries", &in.Query, &in.QueryLabels, &b.query, b.query_labels},
		{"gallery", &in.Gallery, &in.GalleryLabels, &b.gallery, b.gallery_labels},
		{"memory", &in.Memory, &in.MemoryLabels, &b.memory, b.memory_labels}} {
		if *m.to, err = matrix(m.from); err != nil {
			return nil, err
		}
		if *m.labels, err = labelsOf(m.what, m.of, b.labels_type, m.to.Rows, levels); err != nil {
			return nil, err
		}
	}
	in.Self, in.MemorySelf = numbers(b.self, in.Query.Rows), numbers(b.memory_self, in.Query.Rows)
	if in.Params, err = matrices(b.params, len(about.Params)); err != nil {
		return nil, err
	}
	if b.states != nil {
		for i, p := range unsafe.Slice(b.states, len(about.States)) {
			if p == nil {
				return nil, fmt.Errorf("state %d is missing", i)
			}
			in.States = append(in.States, unsafe.Slice((*byte)(p), about.States[i].Bytes()))
		}
	}
	return in, nil
}

// gradientOf returns where gradients go in the memory of C.
func gradientOf(l *call.Loss, g *C.hgld_gradient) (*call.Gradient, error) {
	out := new(call.Gradient)
	if g == nil {
		return out, nil
	}
	var err error
	if out.Query, err = matrix(&g.query); err != nil {
		return nil, err
	}
	if out.Gallery, err = matrix(&g.gallery); err != nil {
		return nil, err
	}
	out.Params, err = matrices(g.params, len(l.Describe().Params))
	return out, err
}

// evaluated evaluates vectors in the memory of C.
func evaluated(ctx context.Context, measures string, query, gallery *C.hgld_side, self *C.int32_t) (*call.Result,
	error) {
	levels, err := call.LevelsOf([]byte(measures))
	if err != nil {
		return nil, err
	}
	side := func(s *C.hgld_side) (*call.Side, error) {
		if s == nil {
			return new(call.Side), nil
		}
		m, err := matrix(&s.vectors)
		return &call.Side{Vectors: m, Classes: numbers(s.classes, m.Rows*levels), Ignore: numbers(s.ignore, m.Rows)}, err
	}
	q, err := side(query)
	if err != nil {
		return nil, err
	}
	g, err := side(gallery)
	if err != nil {
		return nil, err
	}
	return call.Evaluate(ctx, backend, []byte(measures), q, g, numbers(self, q.Vectors.Rows))
}
