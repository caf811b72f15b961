package labels

import "testing"

// What the tree implies where a path lacks a level: levels are class, parent, kind.
func TestRelatedPathsShareWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		p, q     Path
		from, to int
		shared   int
		known    bool
	}{
		{Path{0, 0, 0}, Path{0, 0, 0}, 0, 3, 3, true},
		{Path{0, 0, 0}, Path{1, 0, 0}, 0, 3, 2, true},
		{Path{0, 0, 0}, Path{1, 1, 1}, 0, 3, 0, true},
		{Path{0, 0, 0}, Path{0, -1, -1}, 0, 3, 3, true},   // one class has one parent
		{Path{0, -1, -1}, Path{0, -1, -1}, 0, 3, 3, true}, // whichever it is
		{Path{0, 0, 0}, Path{-1, -1, 1}, 0, 3, 0, true},   // another kind: another class and parent
		{Path{0, 0, 0}, Path{-1, 0, 0}, 0, 3, 0, false},   // may be the same class
		{Path{0, 0, 0}, Path{-1, 0, 0}, 1, 3, 2, true},
		{Path{0, 0, 0}, Path{1, -1, 0}, 0, 3, 0, false}, // may have the same parent
		{Path{0, 0, 0}, Path{1, -1, 0}, 0, 1, 0, true},
		{Path{0, -1, 0}, Path{1, 5, 0}, 0, 3, 1, true}, // does not ask for the parent
		{Path{0, -1, 0}, Path{1, 5, 0}, 1, 2, 0, false},
		{Path{-1, -1, -1}, Path{0, 0, 0}, 0, 3, 0, false},
	} {
		shared, known := c.p.Related(c.q, c.from, c.to)
		if shared != c.shared || known != c.known {
			t.Errorf("%v and %v at levels %d to %d: %d, %v; want %d, %v", c.p, c.q, c.from, c.to, shared, known, c.shared, c.known)
		}
	}
}
