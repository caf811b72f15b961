package reference

import "hgld/train/device"

// Shared returns the number of levels in [o.From, o.To) that two label paths share, or
// device.AbsentLevel. own says that gl is the query's own row.
func Shared(ql, gl []float64, own bool, o device.SharedKind) float64 {
	n, known, asked := 0.0, false, false
	to := o.To
	if to == 0 {
		to = len(ql)
	}
	for l := range ql {
		known = known || gl[l] >= 0
	}
	for l := o.From; l < to; l++ {
		is, sure := relation(ql, gl, l)
		switch {
		case sure:
			n += is
		case ql[l] >= 0:
			return device.AbsentLevel
		}
		asked = asked || ql[l] >= 0
	}
	switch {
	case !known, !asked, own && o.Self == device.SelfAbsent:
		return device.AbsentLevel
	case own && o.Self == device.SelfZero:
		return 0
	}
	return n
}

// relation returns 1 if two paths share level l and 0 if they do not, or false if neither their
// classes nor the tree say so.
func relation(a, b []float64, l int) (is float64, known bool) {
	both := func(l int) bool { return a[l] >= 0 && b[l] >= 0 }
	if both(l) {
		if a[l] == b[l] {
			is = 1
		}
		return is, true
	}
	for finer := range l {
		if both(finer) && a[finer] == b[finer] {
			return 1, true
		}
	}
	for coarser := l + 1; coarser < len(a); coarser++ {
		if both(coarser) && a[coarser] != b[coarser] {
			return 0, true
		}
	}
	return 0, false
}
