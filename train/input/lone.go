package input

import "fmt"

// Lone counts the classes of a level that have a single class of the next finer level in a part of a data set. In an
// evaluation of the part, the positives of their items are the same at both levels.
type Lone struct {
	Level, Finer string // names of the two levels
	Classes      int    // of the level, in the part
	Single       int    // those with a single class of the finer level in the part
	More         int    // those of Single that have more in the whole data set
	Example      string // the first of Single, one of More if there is any
	Only         string // its class of the finer level
}

// String describes the count.
func (l Lone) String() string {
	text := fmt.Sprintf("hold_out: %d of %d held-out classes of the level %s have one held-out class of %s, "+
		"such as %s with %s: they have the same positives at both levels",
		l.Single, l.Classes, l.Level, l.Finer, l.Example, l.Only)
	if l.More > 0 {
		text += fmt.Sprintf("; a larger share would hold out more of %d of them", l.More)
	}
	return text
}

// LoneClasses returns the pairs of neighbouring levels for which a part of a data set has such classes.
func LoneClasses(whole, part Dataset) []Lone {
	var list []Lone
	levels := whole.Levels()
	for level := 1; level < len(levels); level++ {
		all, in := children(whole, level), children(part, level)
		l := Lone{Level: levels[level], Finer: levels[level-1]}
		for class, name := range whole.Classes(level) {
			finer := in[int32(class)]
			if len(finer) == 0 {
				continue
			}
			l.Classes++
			if len(finer) > 1 {
				continue
			}
			more := len(all[int32(class)]) > 1
			if l.Single == 0 || more && l.More == 0 {
				l.Example = name
				for only := range finer {
					l.Only = whole.Classes(level - 1)[only]
				}
			}
			l.Single++
			if more {
				l.More++
			}
		}
		if l.Single > 0 {
			list = append(list, l)
		}
	}
	return list
}

// children returns the classes of the next finer level of each class of a level that items have.
func children(d Dataset, level int) map[int32]map[int32]bool {
	of := map[int32]map[int32]bool{}
	for i := range d.Len() {
		p := d.Labels(i)
		if p[level] < 0 || p[level-1] < 0 {
			continue
		}
		if of[p[level]] == nil {
			of[p[level]] = map[int32]bool{}
		}
		of[p[level]][p[level-1]] = true
	}
	return of
}
