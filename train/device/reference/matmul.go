package reference

import "hgld/train/device"

// MatMul computes Act(Alpha·op(a)·op(b) + Beta·old + bias), [rows,cols]. op transposes if m asks
// for it, and the sum of a product runs over inner. old holds dst or Add, and is read if Beta is
// not 0. bias [cols] may be nil.
func MatMul(x, y, old, bias *Array, m device.Mul, rows, cols, inner int) *Array {
	out := Zeros(rows, cols)
	for i := range rows {
		for j := range cols {
			sum := 0.0
			for k := range inner {
				sum += element(x, i, k, m.TransA) * element(y, k, j, m.TransB)
			}
			sum *= float64(m.Alpha)
			if m.Beta != 0 {
				sum += float64(m.Beta) * old.V[i*cols+j]
			}
			if bias != nil {
				sum += bias.V[j]
			}
			out.V[i*cols+j] = Act(m.Act, sum)
		}
	}
	return out
}

// element returns op(a)[i, j].
func element(a *Array, i, j int, trans bool) float64 {
	if trans {
		i, j = j, i
	}
	return a.V[i*a.Cols()+j]
}
