package retrieval

import (
	"context"
	"encoding/binary"

	"hgld/train/device"
)

// Ranks are processes that evaluate together, each with the whole gallery and a part of the queries.
type Ranks interface {
	// Rank returns the number of this process and the number of processes.
	Rank() (index, size int)
	// CheckStop returns an error if ctx is cancelled in any of the processes, which call it together.
	CheckStop(ctx context.Context) error
	// Exchange sends bytes to all processes and returns those of all, in the order of ranks.
	Exchange(own []byte) ([][]byte, error)
}

// division deals the blocks of queries to the processes, one after another. The blocks are those of one process,
// because the rounding of a product may depend on its shape. So all bytes are the same as with one process.
type division struct {
	of          Ranks // nil: there is one process
	index, size int
}

// newDivision divides an evaluation, unless somebody looks at its rankings, which are shown in order.
func newDivision(e *Evaluation) division {
	if o := e.Observer; e.Ranks == nil || o != nil && (o.Places > 0 || o.Vector != nil || o.Curves != nil) {
		return division{size: 1}
	}
	index, size := e.Ranks.Rank()
	return division{e.Ranks, index, size}
}

// check returns an error if the evaluation is to stop. Processes check together.
func (d *division) check(ctx context.Context, thread *device.Thread) error {
	if d.of == nil {
		return ctx.Err()
	}
	return thread.Do(func() error { return d.of.CheckStop(ctx) })
}

// join exchanges the figures of the queries, and their ranges, after which every process has those of all. A process
// sends its figures, then for each query that ties touch a range of no figure, and one of each figure: query, figure,
// least, greatest.
func (d *division) join(thread *device.Thread, block int, columns [][]float64, ties *tieColumns) error {
	if d.of == nil {
		return nil
	}
	var own []float64
	d.each(d.index, block, columns, func(figure *float64) { own = append(own, *figure) })
	for q, e := range ties.ends {
		own = append(own, float64(q), -1, 0, 0)
		for k, tied := range e.tied {
			if tied {
				own = append(own, float64(q), float64(k), e.values[0][k], e.values[1][k])
			}
		}
	}
	text, err := binary.Append(nil, binary.LittleEndian, own)
	if err != nil {
		return err
	}
	var all [][]byte
	if err := thread.Do(func() error { all, err = d.of.Exchange(text); return err }); err != nil {
		return err
	}
	for rank, text := range all {
		list := make([]float64, len(text)/8)
		if _, err := binary.Decode(text, binary.LittleEndian, list); err != nil {
			return err
		}
		d.each(rank, block, columns, func(figure *float64) { *figure, list = list[0], list[1:] })
		for ; len(list) > 0; list = list[4:] {
			if query, figure := int(list[0]), int(list[1]); figure < 0 {
				ties.add(query, nil, nil, nil)
			} else {
				ties.add(query, []int{figure}, list[2:3], list[3:4])
			}
		}
	}
	return nil
}

// each visits the figures of the queries that a process measures.
func (d *division) each(rank, block int, columns [][]float64, visit func(*float64)) {
	for _, column := range columns {
		for q := range column {
			if q/block%d.size == rank {
				visit(&column[q])
			}
		}
	}
}
