package scrape

// frontier lists the titles of a crawl, each once, in the order of the first landmark that
// needs it. Several landmarks of GLDv2 may share a category, and a category may be spelled
// in more than one way.
type frontier struct {
	titles []string
	of     []string // title of each landmark, "" if its category is unusable
	errs   []error  // why it is unusable
}

func newFrontier(landmarks []Landmark) *frontier {
	f := &frontier{of: make([]string, len(landmarks)), errs: make([]error, len(landmarks))}
	seen := make(map[string]bool, len(landmarks))
	for i, l := range landmarks {
		title, err := Title(l.Category)
		if err != nil {
			f.errs[i] = err
			continue
		}
		f.of[i] = title
		if !seen[title] {
			seen[title] = true
			f.titles = append(f.titles, title)
		}
	}
	return f
}
