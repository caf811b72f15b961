package retrieval

import (
	"encoding/binary"
	"slices"

	"hgld/train/device"
)

// classRows lists, for each level, the gallery rows of each class.
type classRows []map[int32][]int32

// classRowsOf returns nil if something other than the labels decides what is positive.
func classRowsOf(e *Evaluation) classRows {
	if e.truth() != nil {
		return nil
	}
	list := make(classRows, len(e.Levels))
	for level := range list {
		list[level] = map[int32][]int32{}
	}
	for row, path := range e.Gallery.Labels {
		for level, class := range path {
			if class >= 0 {
				list[level][class] = append(list[level][class], int32(row))
			}
		}
	}
	return list
}

// relevance holds what the gallery items are to one query. Each thread has its own. It touches only
// the rows that are not negatives.
type relevance struct {
	e         *Evaluation
	rows      classRows
	truth     Truth   // used if rows is nil
	levels    []byte  // of each row: the number of shared levels, or device.AbsentLevel
	positives []int32 // rows that share a level
	absent    []int32 // rows at device.AbsentLevel
}

func newRelevance(e *Evaluation, rows classRows, truth Truth) *relevance {
	return &relevance{e: e, rows: rows, truth: truth, levels: make([]byte, len(e.Gallery.Labels))}
}

// set moves on to query q.
func (m *relevance) set(q int) {
	for _, list := range [][]int32{m.positives, m.absent} {
		for _, row := range list {
			m.levels[row] = 0
		}
	}
	m.positives, m.absent = m.positives[:0], m.absent[:0]
	own := int32(-1)
	if m.e.Self != nil {
		own = m.e.Self[q]
	}
	if m.truth != nil {
		m.truth.Shared(m.levels, q)
		m.list(own)
		return
	}
	if own >= 0 {
		m.levels[own] = device.AbsentLevel
		m.absent = append(m.absent, own)
	}
	for level, class := range m.e.Query.Labels[q] {
		if class >= 0 {
			m.add(m.rows[level][class])
		}
	}
}

// add counts one more shared level for each of the rows.
func (m *relevance) add(rows []int32) {
	m.positives = slices.Grow(m.positives, len(rows))
	for _, row := range rows {
		switch m.levels[row] {
		case 0:
			m.positives = append(m.positives, row)
		case device.AbsentLevel:
			continue
		}
		m.levels[row]++
	}
}

// list collects what the truth marks. It skips negatives eight at a time.
func (m *relevance) list(own int32) {
	if own >= 0 {
		m.levels[own] = device.AbsentLevel
	}
	for row := 0; row < len(m.levels); row++ {
		for row+8 <= len(m.levels) && binary.LittleEndian.Uint64(m.levels[row:]) == 0 {
			row += 8
		}
		if row == len(m.levels) {
			return
		}
		switch m.levels[row] {
		case 0:
		case device.AbsentLevel:
			m.absent = append(m.absent, int32(row))
		default:
			m.positives = append(m.positives, int32(row))
		}
	}
}
