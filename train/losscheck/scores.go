package losscheck

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"hgld/labels"
	"hgld/train/embeddings"
	"hgld/train/loss"
)

// AsScores makes rows whose vectors are scores [N,C], a column for each class, and whose label is the number
// of a column, from 0. An item without a label is the background: it is a negative of all classes.
func AsScores(rows *embeddings.Evaluation) error {
	if !rows.Same || len(rows.Levels) != 1 {
		return fmt.Errorf("scores have one column of labels, the number of the class, and no gallery; got the levels %.80q",
			rows.Levels)
	}
	names, columns := rows.Classes.Names(0), rows.Query.Vectors.Cols()
	class := make([]int32, len(names))
	for i, name := range names {
		c, err := strconv.Atoi(name)
		if err != nil || c < 0 || c >= columns {
			return fmt.Errorf("label %.80q: want the number of a column of the scores, 0 to %d, or nothing for the background",
				name, columns-1)
		}
		class[i] = int32(c)
	}
	list := make([]labels.Path, len(rows.Query.Labels))
	for i, p := range rows.Query.Labels {
		list[i] = labels.Path{int32(columns)}
		if p[0] >= 0 {
			list[i][0] = class[p[0]]
		}
	}
	rows.Query.Labels, rows.Gallery.Labels = list, list
	return nil
}

// ofScores describes scores as one batch: an item is scored by the inner product with a column of the
// identity, which is the weight of its class.
func (in *Input) ofScores() loss.Facts {
	C := in.Rows.Query.Vectors.Cols()
	f := loss.Facts{Dim: C, Classes: []int{C}, Batch: len(in.Rows.Query.Labels)}
	for c := range C {
		f.Paths = append(f.Paths, labels.Path{int32(c)})
	}
	return f
}

// setIdentity makes the weights of the classes the identity.
func (m *measured) setIdentity() {
	C := m.in.ofScores().Dim
	var data []byte
	for i := range C * C {
		v := float32(0)
		if i%(C+1) == 0 {
			v = 1
		}
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	m.b.Upload(m.params[0].Value, data)
}

// checkScores returns an error for a loss that is not of scores.
func (in *Input) checkScores(kind loss.Kind) error {
	if _, ok := kind.(loss.ByClass); !ok {
		return fmt.Errorf("%s is a loss of embeddings: want a loss of scores, rambo-detection", in.Loss.Name)
	}
	if in.PerQuery {
		return errors.New("scores have no queries, so no values by query")
	}
	return nil
}

// background counts the items without a class.
func (in *Input) background() (n int) {
	for _, p := range in.Rows.Query.Labels {
		if int(p[0]) == in.Rows.Query.Vectors.Cols() {
			n++
		}
	}
	return n
}
