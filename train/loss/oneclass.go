package loss

// classed is a Loss that compares an item with its one class.
type classed interface {
	// oneClass returns the levels of the classes.
	oneClass() []int
}

// OneClass returns the levels at which a loss compares an item with its one class, by a proxy or a score of it, or
// passes the class on to a process. At such a level above the finest, an item of two classes would be pushed from the
// second. The others compare items with one another.
func OneClass(l Loss) []int {
	if c, ok := l.(classed); ok {
		return c.oneClass()
	}
	return nil
}

func (l *sum) oneClass() (levels []int) {
	for _, term := range l.terms {
		levels = append(levels, OneClass(term)...)
	}
	return levels
}

func (l *proxied) oneClass() (levels []int) {
	for level := l.from; level < l.to; level++ {
		levels = append(levels, level)
	}
	return levels
}

func (l *nsm) oneClass() []int { return []int{l.level} }
