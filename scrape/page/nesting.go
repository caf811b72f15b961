package page

import "slices"

func void(name string) bool {
	switch name {
	case "br", "hr", "img", "input", "link", "meta", "wbr", "area", "base", "col", "embed", "param", "source", "track":
		return true
	}
	return false
}

// The walls that the rules of HTML put around tables, cells and lists: an element
// behind one is out of reach (HTML standard, 13.2.6.4).
var (
	tableWalls = []string{"table"}
	cellWalls  = []string{"table", "td", "th", "caption"}
	listWalls  = []string{"table", "td", "th", "caption", "ul", "ol"}

	cells    = []string{"td", "th"}
	sections = []string{"tbody", "thead", "tfoot"}
)

// implied returns the level that a start tag leaves of the stack, because it ends
// an open element of its kind.
func (b *infobox) implied(name string) int {
	at := -1
	switch name {
	case "li":
		at = b.find([]string{"li"}, listWalls)
	case "td", "th":
		at = b.find(cells, tableWalls)
	case "tr":
		at = b.find([]string{"tr"}, tableWalls)
	case "tbody", "thead", "tfoot":
		at = b.find(sections, tableWalls)
	}
	if at < 0 {
		return len(b.stack)
	}
	return at
}

// explicit returns the level that an end tag leaves of the stack: all of it,
// where the tag ends nothing.
func (b *infobox) explicit(name string) int {
	walls := cellWalls
	switch name {
	case "table":
		walls = nil
	case "td", "th", "tr", "tbody", "thead", "tfoot", "caption":
		walls = tableWalls
	case "li":
		walls = listWalls
	}
	if at := b.find([]string{name}, walls); at >= 0 {
		return at
	}
	return len(b.stack)
}

// find returns the index of the innermost open element with one of the names, or
// -1 if there is none inside the innermost wall.
func (b *infobox) find(names, walls []string) int {
	for i := len(b.stack) - 1; i >= 0; i-- {
		if slices.Contains(names, b.stack[i]) {
			return i
		}
		if slices.Contains(walls, b.stack[i]) {
			return -1
		}
	}
	return -1
}
