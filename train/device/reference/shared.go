package reference

import "hgld/train/device"

// Shared returns the number of levels in [o.From, o.To) that two label paths share, or
// device.AbsentLevel. own says that gl is the query's own row.
func Shared(ql, gl []float64, own bool, o device.SharedKind) float64 {
	n, known := 0.0, false
	to := o.To
	if to == 0 {
		to = len(ql)
	}
	for l := range ql {
		known = known || gl[l] >= 0
		if l >= o.From && l < to && ql[l] == gl[l] && ql[l] >= 0 {
			n++
		}
	}
	switch {
	case !known, own && o.Self == device.SelfAbsent:
		return device.AbsentLevel
	case own && o.Self == device.SelfZero:
		return 0
	}
	return n
}
