package loss

// OneClass returns the levels at which a loss compares an item with its one class, by a proxy or a score of it, or
// passes the class on to a process. At such a level above the finest, an item of two classes would be pushed from the
// second. The others compare items with one another.
func OneClass(l Loss) (levels []int) {
	switch l := l.(type) {
	case *sum:
		for _, term := range l.terms {
			levels = append(levels, OneClass(term)...)
		}
	case *proxied:
		for level := l.from; level < l.to; level++ {
			levels = append(levels, level)
		}
	case *nsm:
		levels = append(levels, l.level)
	case *crossEntropy:
		levels = append(levels, l.level)
	case *ramboDetection:
		levels = append(levels, l.Level)
	case *ExternalLoss:
		for level := range l.Facts.Classes {
			levels = append(levels, level)
		}
	}
	return levels
}
