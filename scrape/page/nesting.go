package page

import "slices"

func void(name string) bool {
	switch name {
	case "br", "hr", "img", "input", "link", "meta", "wbr", "area", "base", "col", "embed", "param", "source", "track":
		return true
	}
	return false
}

// The elements that limit the search for an open element. HTML calls this a scope
// (HTML standard, 13.2.4.2).
var (
	tableWalls = []string{"table"}
	cellWalls  = []string{"table", "td", "th", "caption"}
	listWalls  = []string{"table", "td", "th", "caption", "ul", "ol"}

	cells    = []string{"td", "th"}
	sections = []string{"tbody", "thead", "tfoot"}
)

// implied returns the level to which a start tag reduces the stack. For example, <li> closes
// an open <li>.
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

// explicit returns the level to which an end tag reduces the stack. If the tag closes no
// element, that is the whole stack.
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

// find returns the index of the innermost open element with one of the names, or -1 if there
// is none within the innermost wall.
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
